//! `eva doctor`: what is wrong with prompts.

use clap::Args;
use gbrain_prompts::doctor;
use gbrain_prompts::domain::Finding;
use gbrain_prompts::domain::bodies::{CheckupBody, FindingBody};

use super::Context;
use crate::error::{CliError, Exit};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva doctor\n  eva doctor greet\n\nEnds with 1 if there is a problem; \
    warnings do not count."
)]
pub(super) struct DoctorArgs {
    /// Only this prompt.
    id: Option<String>,
}

/// Looks.
pub(super) fn run(context: &Context<'_>, args: &DoctorArgs) -> Result<Exit, CliError> {
    let checkup = doctor(&context.library()?, args.id.as_deref())?;
    let exit = if checkup.has_problem() { Exit::Fail } else { Exit::Pass };
    tell(context, CheckupBody::new(checkup.prompts, checkup.findings));
    Ok(exit)
}

fn tell(context: &Context<'_>, body: CheckupBody) {
    if context.terminal.is_json() {
        return context.terminal.json(&body);
    }
    for FindingBody { id, finding } in &body.findings {
        let Finding { level, message } = finding;
        context.terminal.line(format!("{level}  {id}: {message}"));
    }
    if body.findings.is_empty() {
        context.terminal.line(format!("{} prompt(s), nothing wrong", body.prompts));
    }
}
