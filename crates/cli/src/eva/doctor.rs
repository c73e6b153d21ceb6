//! `eva doctor`: report problems of prompts.

use clap::Args;
use gbrain_prompts::doctor;
use gbrain_prompts::domain::CheckupFinding;
use gbrain_prompts::domain::bodies::{CheckupBody, FindingBody};

use super::EvaContext;
use crate::error::{CliError, Exit};
use crate::terminal::count;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva doctor\n  eva doctor greet\n\nExit codes: 0 no problem (there may be warnings), 1 a problem \
    was found."
)]
pub(super) struct DoctorArgs {
    /// Check only this prompt [default: all].
    id: Option<String>,
}

pub(super) fn run(context: &EvaContext<'_>, args: &DoctorArgs) -> Result<Exit, CliError> {
    let checkup = doctor(&context.library()?, args.id.as_deref())?;
    let exit = if checkup.has_problem() { Exit::Fail } else { Exit::Pass };
    print_checkup(context, CheckupBody::new(checkup.prompts, checkup.findings));
    Ok(exit)
}

fn print_checkup(context: &EvaContext<'_>, body: CheckupBody) {
    if context.terminal.is_json() {
        return context.terminal.json(&body);
    }
    for FindingBody { id, finding } in &body.findings {
        let CheckupFinding { level, message } = finding;
        context.terminal.line(format!("{level}  {id}: {message}"));
    }
    if body.findings.is_empty() {
        context
            .terminal
            .line(format!("{}, nothing wrong", count(body.prompts, "prompt", "prompts")));
    }
}
