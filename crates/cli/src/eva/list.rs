//! `eva list`: the prompts.

use clap::Args;
use gbrain_core::fault::chain;
use gbrain_prompts::domain::Status;
use gbrain_prompts::domain::bodies::{PROMPTS_VERSION, PromptRow, PromptsBody, missing_evidence};
use gbrain_prompts::{Library, Listed, Standing};

use super::Context;
use crate::error::{CliError, Exit};
use crate::terminal::table;

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva list\n  eva list --status ready --json")]
pub(super) struct ListArgs {
    /// Only prompts of this status: draft, tested or ready.
    #[arg(long, value_name = "STATUS")]
    status: Option<Status>,
}

/// Lists them. A prompt that can't be read is listed as such, and nothing is called whole then.
pub(super) fn run(context: &Context<'_>, args: &ListArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let supported = |listed: &Listed| with_support(&library, listed, row(listed));
    let mut prompts: Vec<PromptRow> = library.list()?.iter().map(supported).collect();
    let is_wanted = |row: &PromptRow| args.status.is_none() || row.status == args.status;
    prompts.retain(|row| is_wanted(row) || row.error.is_some());
    let is_whole = prompts.iter().all(|row| row.error.is_none());
    if context.terminal.is_json() {
        context.terminal.json(&PromptsBody { schema_version: PROMPTS_VERSION, prompts });
    } else {
        let cells = prompts.iter().map(|row| {
            let status = row.status.map_or("unreadable", Status::name);
            let mark = if row.missing_evidence.is_some() { " (no evidence)" } else { "" };
            let status = format!("{status}{mark}");
            let said = row.error.as_ref().or(row.summary.as_ref()).cloned().unwrap_or_default();
            vec![row.id.clone(), status, row.version.clone().unwrap_or_default(), said]
        });
        context.terminal.out(table(&["prompt", "status", "version", "summary"], cells));
    }
    Ok(if is_whole { Exit::Pass } else { Exit::NoVerdict })
}

/// A row that says whether its status rests on evidence.
fn with_support(library: &Library, listed: &Listed, mut row: PromptRow) -> PromptRow {
    match listed.prompt.as_ref().map(|prompt| Standing::read(library, prompt)) {
        Ok(Ok(standing)) => {
            row.missing_evidence = missing_evidence(standing.missing_evidence.as_ref())
        }
        Ok(Err(error)) => row.error = Some(chain(&error)),
        Err(_) => (),
    }
    row
}

/// A prompt in a list.
pub(super) fn row(listed: &Listed) -> PromptRow {
    let id = listed.id.clone();
    match &listed.prompt {
        Err(error) => PromptRow { id, error: Some(chain(error)), ..PromptRow::default() },
        Ok(prompt) => PromptRow {
            id,
            status: Some(prompt.meta.status),
            version: Some(prompt.meta.version.clone()),
            summary: Some(prompt.meta.summary.clone()),
            aliases: prompt.aliases().unwrap_or_default(),
            ..PromptRow::default()
        },
    }
}
