//! How a command ends: a fault, or an exit code.

use std::process::ExitCode;

pub(crate) use gbrain_core::fault::Fault as CliError;

/// A public contract: 0 did its work whole, 1 measured something wrong, 2 no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Pass,
    Fail,
    NoVerdict,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Pass => Self::from(0),
            Exit::Fail => Self::from(1),
            Exit::NoVerdict => Self::from(2),
        }
    }
}
