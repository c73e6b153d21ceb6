//! `gbrain purge`: erases a page and its history.

use clap::Args;
use gbrain_brain::wire;

use crate::commands::{Context, page_key};
use crate::error::{CliError, Exit};

/// Arguments of `purge`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain purge people/ada --yes\n\n\
    Every version leaves the database and the index. Nothing brings it back.")]
pub(crate) struct PurgeArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Yes, for good.
    #[arg(long)]
    yes: bool,
}

/// Erases from the store, then from the index files.
pub(crate) fn run(context: &Context<'_>, args: &PurgeArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    if !args.yes {
        return Err(CliError::usage(format!("`{key}` and its history would be erased for good"))
            .hint("say --yes if that is what you want; `gbrain delete` can be undone"));
    }
    let purged = brain.purge(&key, context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&wire::purged(&key, &purged));
    } else {
        context.terminal.line(format!("{key} purged ({} versions)", purged.versions));
    }
    if !purged.scrubbed {
        context.terminal.remark(
            "the database may keep the freed bytes until another process lets go of them or it is vacuumed",
        );
    }
    Ok(Exit::Pass)
}
