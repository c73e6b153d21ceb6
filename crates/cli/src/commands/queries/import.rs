//! `gbrain queries import`: imports canonical queries from a file.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::format::suite::{QueryFileError, WorkspaceCheck, read_queries};

use gbrain_core::fault::FaultKind;

use super::edit::import_entries;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain queries import queries.jsonl more.yaml\n\n\
    A query is an object: query (also query_text), id, source, difficulty (easy, medium, hard), \
    retrieval_mode, family (ownership, dependencies, alignment), expected and acceptable (ids of documents, \
    or {kind: chunk, id: ...}), expected_snippets, entities, tags, origin, state. Columns of a table such \
    as workspace_id, created_at and active are understood: a row of another workspace is refused.")]
pub(super) struct ImportArgs {
    /// Files of JSON lines, JSON or YAML.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Import rows into the workspaces that they name.
    #[arg(long)]
    any_workspace: bool,
}

/// Takes queries in, all files or none.
pub(super) fn run(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, CliError> {
    let (mut entries, mut places) = (Vec::new(), Vec::new());
    for path in &args.files {
        let text = String::from_utf8(gbrain_eval::read_document(path)?).map_err(|_| {
            CliError::new(FaultKind::Input, format!("{} is not UTF-8", path.display()))
        })?;
        let shown = path.display();
        let wrong = |QueryFileError { line, reason }| {
            let error = CliError::new(FaultKind::Input, format!("{shown}:{line}: {reason}"));
            match reason.contains("the row is of the workspace") {
                true => error.hint(
                    "choose its workspace with --workspace, or take it in here with --any-workspace",
                ),
                false => error,
            }
        };
        let own = context.home.workspace.to_string();
        let of =
            if args.any_workspace { WorkspaceCheck::Any } else { WorkspaceCheck::Workspace(&own) };
        let read = read_queries(&text, of).map_err(wrong)?;
        if read.is_empty() {
            return Err(CliError::new(
                FaultKind::Input,
                format!("there are no queries in {shown}"),
            )
            .hint("`gbrain queries import --help` shows what a query is"));
        }
        for (line, entry) in read {
            places.push(format!("{shown}:{line}"));
            entries.push(entry);
        }
    }
    import_entries(context, entries, &places)
}
