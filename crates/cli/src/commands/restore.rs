//! `gbrain restore`: brings a deleted page back.

use clap::Args;
use gbrain_brain::wire::RestoreBody;

use crate::commands::{CommandContext, page_key};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain restore people/ada")]
pub(crate) struct RestoreArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source of the page.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Brings back the last text.
pub(crate) fn run(context: &CommandContext<'_>, args: &RestoreArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    let outcome = brain.store().restore_page(brain.workspace(), &key, context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&RestoreBody::new(&key, &outcome));
    } else {
        context.terminal.line(format!("{key} {} (version {})", outcome.kind, outcome.version));
    }
    Ok(Exit::Pass)
}
