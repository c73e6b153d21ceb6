//! `gbrain get`: prints a page.

use clap::Args;
use gbrain_core::page::PageBody;

use crate::commands::{CommandContext, page_key, suggest_pages};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain get people/ada\n  gbrain get wiki::people/ada --version 2"
)]
pub(crate) struct GetArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source of the page.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// An older version (see `gbrain history`).
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

/// Prints the text as it was given; with `--json` everything that was derived from it too.
pub(crate) fn run(context: &CommandContext<'_>, args: &GetArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    let stored = brain
        .page(&key, args.version)
        .map_err(|error| suggest_pages(&brain, &key, CliError::from(error)))?;
    if context.terminal.is_json() {
        context.terminal.json(&PageBody::new(&stored));
    } else {
        context.terminal.write_text(&stored.page.content);
    }
    Ok(Exit::Pass)
}
