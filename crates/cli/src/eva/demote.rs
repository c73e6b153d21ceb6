//! `eva demote`: lower the status of a prompt, to collect new evidence.

use clap::Args;
use gbrain_prompts::domain::PromptStatus;
use gbrain_prompts::domain::bodies::{MoveBody, PROMPTS_VERSION};
use gbrain_prompts::domain::logs::EvidenceLine;
use gbrain_prompts::{Demotion, demote};

use super::{EvaContext, user_name};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva demote greet --reason \"the model changed\"\n  eva demote greet --to draft"
)]
pub(super) struct DemoteArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// The new status: draft or tested [default: one step down].
    #[arg(long, value_name = "STATUS")]
    to: Option<PromptStatus>,
    /// The reason, recorded in .promotions.jsonl.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(context: &EvaContext<'_>, args: &DemoteArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let demotion = Demotion { to: args.to, reason: args.reason.clone() };
    let evidence = demote(&library, &prompt, &demotion, &user_name(), context.now)?;
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
