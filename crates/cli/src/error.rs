//! Errors and exit codes of commands.

use std::process::ExitCode;

use gbrain_core::fault::FaultKind;

pub(crate) use gbrain_core::fault::Fault as CliError;

/// Exit codes, a public contract: 0 success, 1 a measurement failed its check, 2 no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Pass,
    Fail,
    NoVerdict,
}

impl From<FaultKind> for Exit {
    fn from(kind: FaultKind) -> Self {
        match kind {
            FaultKind::Usage
            | FaultKind::Config
            | FaultKind::Input
            | FaultKind::Io
            | FaultKind::Page
            | FaultKind::NotFound
            | FaultKind::UnknownWorkspace
            | FaultKind::UnknownSource
            | FaultKind::Conflict
            | FaultKind::Private
            | FaultKind::Unauthorised
            | FaultKind::Forbidden
            | FaultKind::MethodNotAllowed
            | FaultKind::UnsupportedMediaType
            | FaultKind::TooLarge
            | FaultKind::RateLimited
            | FaultKind::Overloaded
            | FaultKind::Timeout
            | FaultKind::Cancelled
            | FaultKind::OverBudget
            | FaultKind::Model
            | FaultKind::Target
            | FaultKind::AttemptsExhausted
            | FaultKind::Unavailable
            | FaultKind::Unreachable
            | FaultKind::Busy
            | FaultKind::NotInitialised
            | FaultKind::Store
            | FaultKind::Index
            | FaultKind::Internal => Self::NoVerdict,
        }
    }
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::NoVerdict => 2,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
