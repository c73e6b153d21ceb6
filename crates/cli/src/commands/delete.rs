//! `gbrain delete`: deletes pages softly.

use clap::Args;
use gbrain_brain::wire::{DeleteBody, DeletedPage, PageDeletion};

use crate::commands::{CommandContext, page_key};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain delete people/ada    (gbrain restore people/ada brings it back)"
)]
pub(crate) struct DeleteArgs {
    /// The pages: slugs, or `source::slug`.
    #[arg(required = true)]
    slugs: Vec<String>,
    /// The source of the pages.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Deletes all or none. A page that never was is a mistake worth an exit code.
pub(crate) fn run(context: &CommandContext<'_>, args: &DeleteArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let source = args.source.as_deref();
    let keys: Vec<_> =
        args.slugs.iter().map(|slug| page_key(&brain, slug, source)).collect::<Result<_, _>>()?;
    let outcomes = brain.store().delete_pages(brain.workspace(), &keys, context.now)?;
    let body = DeleteBody::new(&keys, &outcomes);
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        for DeletedPage { page, outcome } in &body.pages {
            context.terminal.line(format!("{page} {}", outcome.name().replace('_', " ")));
        }
    }
    let is_unknown = |page: &DeletedPage| page.outcome == PageDeletion::Unknown;
    Ok(if body.pages.iter().any(is_unknown) { Exit::NoVerdict } else { Exit::Pass })
}
