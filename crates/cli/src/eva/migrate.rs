//! `eva migrate`: prompts of the old layout.

use clap::Args;
use gbrain_core::fault::chain;
use serde_json::json;

use super::Context;
use crate::error::{CliError, Exit};

/// Arguments of `migrate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  eva migrate --dry-run\n\nprompts/ready/greet.md becomes prompts/greet/meta.yml \
    and prompts/greet/prompt.md; the old file goes. A file whose name is taken stays where it is."
)]
pub(super) struct MigrateArgs {
    /// Say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// Converts them.
pub(super) fn run(context: &Context<'_>, args: &MigrateArgs) -> Result<Exit, CliError> {
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
                Some(error) => context.terminal.warn(format!("{from} stays: {}", chain(error))),
            }
        }
        if migrated.is_empty() {
            context.terminal.remark("nothing is of the old layout");
        }
    }
    let is_whole = migrated.iter().all(|one| one.left.is_none());
    Ok(if is_whole { Exit::Pass } else { Exit::Fail })
}
