//! What checks found, for people and as an exit code.

use gbrain_core::doctor::Wellness;

pub(super) use gbrain_core::doctor::Finding;

use crate::error::{CliError, Exit};
use crate::terminal::field;

/// It could not be checked.
pub(super) fn unknown(check: &'static str, error: impl Into<CliError>) -> Finding {
    let error = error.into();
    let finding = Finding::new(check, Wellness::Unknown, error.message);
    error.hints.into_iter().fold(finding, Finding::remedy)
}

/// What a person reads.
pub(super) fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { name, status, message, remedy, details: _ } in findings {
        text += &format!("{:<8}{name}: {}\n", status.name(), field(message));
        if let Some(remedy) = remedy {
            text += &format!("        -> {}\n", field(remedy));
        }
    }
    text
}

/// Warnings are 0, failures 1, what could not be checked 2.
pub(super) fn exit(findings: &[Finding]) -> Exit {
    match findings.iter().map(|finding| finding.status).max() {
        None | Some(Wellness::Ok | Wellness::Warn) => Exit::Pass,
        Some(Wellness::Fail) => Exit::Fail,
        Some(Wellness::Unknown) => Exit::NoVerdict,
    }
}
