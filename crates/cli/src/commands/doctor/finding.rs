//! The findings of `doctor`, as text and as an exit code.

use gbrain_core::doctor::DoctorStatus;

pub(super) use gbrain_core::doctor::DoctorCheck;

use crate::error::{CliError, Exit};
use crate::terminal::{field, green, red, wrap, yellow};

/// It could not be checked.
pub(super) fn unknown(check: &'static str, error: impl Into<CliError>) -> DoctorCheck {
    let error = error.into();
    let finding = DoctorCheck::new(check, DoctorStatus::Unknown, error.message);
    error.hints.into_iter().fold(finding, DoctorCheck::remedy)
}

const INDENT: &str = "        ";

/// The findings as lines, with the remedy below each finding that has one.
pub(super) fn as_text(findings: &[DoctorCheck]) -> String {
    let mut text = String::new();
    for DoctorCheck { name, status, message, remedy, details: _ } in findings {
        let label = format!("{:<8}", status.name());
        let label = match status {
            DoctorStatus::Ok => green(&label),
            DoctorStatus::Warn => yellow(&label),
            DoctorStatus::Fail | DoctorStatus::Unknown => red(&label),
        };
        text += &wrap(&label, INDENT, &format!("{name}: {}", field(message)));
        text += "\n";
        if let Some(remedy) = remedy {
            text += &wrap(&format!("{INDENT}-> "), &format!("{INDENT}   "), &field(remedy));
            text += "\n";
        }
    }
    text
}

/// Warnings are 0, failures 1, what could not be checked 2.
pub(super) fn exit(findings: &[DoctorCheck]) -> Exit {
    match findings.iter().map(|finding| finding.status).max() {
        None | Some(DoctorStatus::Ok | DoctorStatus::Warn) => Exit::Pass,
        Some(DoctorStatus::Fail) => Exit::Fail,
        Some(DoctorStatus::Unknown) => Exit::NoVerdict,
    }
}
