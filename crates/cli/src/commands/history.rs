//! `gbrain history`: the versions of a page.

use clap::Args;
use gbrain_brain::wire::HistoryBody;

use crate::commands::{Context, page_key};
use crate::error::{CliError, Exit};
use crate::terminal::table;

/// Arguments of `history`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain history people/ada")]
pub(crate) struct HistoryArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Lists the versions, oldest first.
pub(crate) fn run(context: &Context<'_>, args: &HistoryArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    let versions = brain.history(&key)?;
    if context.terminal.is_json() {
        context.terminal.json(&HistoryBody::new(&key, &versions));
        return Ok(Exit::Pass);
    }
    let rows = versions.iter().map(|info| {
        vec![
            info.version.to_string(),
            info.created_at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            info.op.to_string(),
            info.bytes.to_string(),
            info.content_hash.short(),
            info.title.clone(),
        ]
    });
    context.terminal.out(table(&["version", "when (UTC)", "what", "bytes", "hash", "title"], rows));
    Ok(Exit::Pass)
}
