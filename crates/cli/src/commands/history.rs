//! `gbrain history`: the versions of a page.

use clap::Args;
use gbrain_brain::wire::HistoryBody;

use crate::commands::{CommandContext, page_key};
use crate::error::{CliError, Exit};
use crate::terminal::{local_time, table};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain history people/ada")]
pub(crate) struct HistoryArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source of the page.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Lists the versions, oldest first.
pub(crate) fn run(context: &CommandContext<'_>, args: &HistoryArgs) -> Result<Exit, CliError> {
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
            local_time(info.created_at),
            info.op.to_string(),
            info.bytes.to_string(),
            info.content_hash.short(),
            info.title.clone(),
        ]
    });
    context.terminal.out_paged(table(&["version", "when", "what", "bytes", "hash", "title"], rows));
    Ok(Exit::Pass)
}
