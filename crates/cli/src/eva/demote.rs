//! `eva demote`: down, to collect new evidence.

use clap::Args;
use gbrain_prompts::domain::Status;
use gbrain_prompts::domain::bodies::{MoveBody, PROMPTS_VERSION};
use gbrain_prompts::domain::logs::EvidenceLine;
use gbrain_prompts::{Demotion, demote};

use super::{Context, who};
use crate::error::{CliError, Exit};

/// Arguments of `demote`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva demote greet --reason \"the model changed\"\n  eva demote greet --to draft"
)]
pub(super) struct DemoteArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Down to this status [default: one step].
    #[arg(long, value_name = "STATUS")]
    to: Option<Status>,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Demotes it.
pub(super) fn run(context: &Context<'_>, args: &DemoteArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let demotion = Demotion { to: args.to, reason: args.reason.clone() };
    let evidence = demote(&library, &prompt, &demotion, &who(), context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&MoveBody {
            schema_version: PROMPTS_VERSION,
            id: &prompt.id,
            moved: true,
            status: evidence.to,
            evidence: Some(EvidenceLine::new(&evidence)),
            gate: None,
            stale: None,
        });
    } else {
        context.terminal.line(format!("{}: {} -> {}", prompt.id, evidence.from, evidence.to));
    }
    Ok(Exit::Pass)
}
