//! `gbrain delete`: deletes pages softly.

use clap::Args;
use gbrain_store::DeleteOutcome;
use serde_json::{Value, json};

use crate::commands::{Context, page_key};
use crate::error::{CliError, Exit};

/// Arguments of `delete`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain delete people/ada    (gbrain restore people/ada brings it back)"
)]
pub(crate) struct DeleteArgs {
    /// The pages: slugs, or `source::slug`.
    #[arg(required = true)]
    slugs: Vec<String>,
    /// The source.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Deletes all or none. A page that never was is a mistake worth an exit code.
pub(crate) fn run(context: &Context<'_>, args: &DeleteArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let source = args.source.as_deref();
    let keys: Vec<_> =
        args.slugs.iter().map(|slug| page_key(&brain, slug, source)).collect::<Result<_, _>>()?;
    let outcomes = brain.store().delete_pages(brain.workspace(), &keys, context.now)?;
    let word = |outcome: &DeleteOutcome| match outcome {
        DeleteOutcome::Deleted(_) => "deleted",
        DeleteOutcome::AlreadyDeleted => "already_deleted",
        DeleteOutcome::Unknown => "unknown",
    };
    if context.terminal.is_json() {
        let rows: Vec<Value> = keys
            .iter()
            .zip(&outcomes)
            .map(|(key, outcome)| json!({ "page": key.to_string(), "outcome": word(outcome) }))
            .collect();
        context.terminal.json(&json!({ "pages": rows }));
    } else {
        for (key, outcome) in keys.iter().zip(&outcomes) {
            context.terminal.line(format!("{key} {}", word(outcome).replace('_', " ")));
        }
    }
    let unknown = outcomes.contains(&DeleteOutcome::Unknown);
    Ok(if unknown { Exit::NoVerdict } else { Exit::Pass })
}
