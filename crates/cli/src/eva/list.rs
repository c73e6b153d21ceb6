//! `eva list`: list the prompts.

use clap::Args;
use gbrain_core::fault::chain;
use gbrain_prompts::domain::PromptStatus;
use gbrain_prompts::domain::bodies::{PROMPTS_VERSION, PromptRow, PromptsBody, missing_evidence};
use gbrain_prompts::{Library, PromptAssessment, PromptEntry};

use super::EvaContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva list\n  eva list --status ready --json")]
pub(super) struct PromptListArgs {
    /// Only prompts of this status: draft, tested or ready.
    #[arg(long, value_name = "STATUS")]
    status: Option<PromptStatus>,
}

/// Lists the prompts. A prompt that can't be read is listed with its error, and the exit code is 2.
pub(super) fn run(context: &EvaContext<'_>, args: &PromptListArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let complete = |listed: &PromptEntry| with_evidence(&library, listed, row(listed));
    let mut prompts: Vec<PromptRow> = library.list()?.iter().map(complete).collect();
    let is_wanted = |row: &PromptRow| args.status.is_none() || row.status == args.status;
    prompts.retain(|row| is_wanted(row) || row.error.is_some());
    let is_whole = prompts.iter().all(|row| row.error.is_none());
    if context.terminal.is_json() {
        context.terminal.json(&PromptsBody { schema_version: PROMPTS_VERSION, prompts });
    } else {
        let cells = prompts.iter().map(|row| {
            let status = row.status.map_or("unreadable", PromptStatus::name);
            let mark = if row.missing_evidence.is_some() { " (no evidence)" } else { "" };
            let status = format!("{status}{mark}");
            let summary = row.error.as_ref().or(row.summary.as_ref()).cloned().unwrap_or_default();
            vec![row.id.clone(), status, row.version.clone().unwrap_or_default(), summary]
        });
        context.terminal.out_paged(table(&["prompt", "status", "version", "summary"], cells));
    }
    Ok(if is_whole { Exit::Pass } else { Exit::NoVerdict })
}

/// Adds to a row whether its status lacks evidence.
fn with_evidence(library: &Library, listed: &PromptEntry, mut row: PromptRow) -> PromptRow {
    match listed.prompt.as_ref().map(|prompt| PromptAssessment::read(library, prompt)) {
        Ok(Ok(standing)) => {
            row.missing_evidence = missing_evidence(standing.missing_evidence.as_ref())
        }
        Ok(Err(error)) => row.error = Some(chain(&error)),
        Err(_) => (),
    }
    row
}

/// The row of a prompt, without its evidence.
pub(super) fn row(listed: &PromptEntry) -> PromptRow {
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
