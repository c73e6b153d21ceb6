//! `eva migrate`: move prompts of the old layout.

use clap::Args;
use gbrain_core::fault::chain;
use serde_json::json;

use super::EvaContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  eva migrate --dry-run\n\nprompts/ready/greet.md becomes prompts/greet/meta.yml \
    and prompts/greet/prompt.md; the old file is deleted. If prompts/greet exists already, the old file stays."
)]
pub(super) struct MigrateArgs {
    /// Print the changes without making them.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(context: &EvaContext<'_>, args: &MigrateArgs) -> Result<Exit, CliError> {
    let migrated = gbrain_prompts::migrate(&context.library()?, args.dry_run, context.now)?;
    if context.terminal.is_json() {
        let rows = migrated.iter().map(|one| {
            json!({ "from": one.from, "to": one.to, "left": one.left.as_ref().map(|error| chain(error)) })
        });
        context
            .terminal
            .json(&json!({ "dry_run": args.dry_run, "files": rows.collect::<Vec<_>>() }));
    } else {
        for one in &migrated {
            let (from, to) = (one.from.display(), one.to.display());
            match &one.left {
                None => context.terminal.line(format!("{from} -> {to}")),
                Some(error) => {
                    context.terminal.warn(format!("{from} was not moved: {}", chain(error)))
                }
            }
        }
        if migrated.is_empty() {
            context.terminal.remark("no prompt has the old layout");
        }
    }
    let is_whole = migrated.iter().all(|one| one.left.is_none());
    Ok(if is_whole { Exit::Pass } else { Exit::Fail })
}
