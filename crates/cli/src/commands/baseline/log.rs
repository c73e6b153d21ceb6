//! `gbrain baseline log`: the chain of baselines with their reasons.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::report::json::BaselineLog;

use super::read_checked;
use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::error::{CliError, Exit};
use crate::terminal::{local_time_of, table};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain baseline log ~/.gbrain/baselines/mine.baseline.ndjson")]
pub(crate) struct BaselineLogArgs {
    /// The file of the baseline.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
}

/// Shows what a baseline took the place of, newest first.
pub(super) fn run(context: &CommandContext<'_>, args: &BaselineLogArgs) -> Result<Exit, CliError> {
    let key = args.key.read(&context.home)?;
    let metadata = read_checked(context, &args.file, key.as_ref())?.metadata;
    let log = BaselineLog::new(metadata);
    if context.terminal.is_json() {
        context.terminal.json(&log);
        return Ok(Exit::Pass);
    }
    let short = |hash: &Option<String>| {
        hash.as_deref().map_or("-".to_owned(), |hash| hash.chars().take(12).collect())
    };
    context.terminal.out_paged(table(
        &["published", "label", "rows", "hash", "why"],
        log.chain.iter().map(|past| {
            vec![
                local_time_of(&past.published_at),
                past.label.clone(),
                past.row_count.to_string(),
                short(&past.rows_hash),
                past.why.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        }),
    ));
    Ok(Exit::Pass)
}
