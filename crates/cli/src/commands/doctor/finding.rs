//! What a check found.

use gbrain_core::format::doctor::{CheckRow, DoctorBody, Wellness as Status};
use serde_json::{Map, Value};

use crate::error::{CliError, Exit};
use crate::terminal::field;

/// One check.
#[derive(Debug)]
pub(super) struct Finding {
    check: &'static str,
    status: Status,
    message: String,
    /// Ready to be pasted.
    remedy: Option<String>,
    details: Map<String, Value>,
}

impl Finding {
    /// All is well.
    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Status::Ok, message)
    }

    /// Worth a look.
    pub(super) fn warn(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Status::Warn, message)
    }

    /// Broken.
    pub(super) fn fail(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Status::Fail, message)
    }

    /// It could not be checked.
    pub(super) fn unknown(check: &'static str, error: impl Into<CliError>) -> Self {
        let error = error.into();
        let finding = Self::new(check, Status::Unknown, error.message);
        error.hints.into_iter().fold(finding, Self::remedy)
    }

    fn new(check: &'static str, status: Status, message: impl Into<String>) -> Self {
        Self { check, status, message: message.into(), remedy: None, details: Map::new() }
    }

    /// What to do about it.
    #[must_use]
    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    fn row(&self) -> CheckRow<'_> {
        let Self { check, status, message, remedy, details } = self;
        CheckRow { name: check, status: *status, message, remedy: remedy.as_deref(), details }
    }

    /// A number or name for programs.
    #[must_use]
    pub(super) fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// What `--json` prints.
pub(super) fn report(findings: &[Finding]) -> DoctorBody<'_> {
    DoctorBody::new(findings.iter().map(Finding::row).collect())
}

/// What a person reads.
pub(super) fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, status, message, remedy, details: _ } in findings {
        text += &format!("{:<8}{check}: {}\n", status.name(), field(message));
        if let Some(remedy) = remedy {
            text += &format!("        -> {}\n", field(remedy));
        }
    }
    text
}

/// Warnings are 0, failures 1, what could not be checked 2.
pub(super) fn exit(findings: &[Finding]) -> Exit {
    match findings.iter().map(|finding| finding.status).max() {
        None | Some(Status::Ok | Status::Warn) => Exit::Pass,
        Some(Status::Fail) => Exit::Fail,
        Some(Status::Unknown) => Exit::NoVerdict,
    }
}
