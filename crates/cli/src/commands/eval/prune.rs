//! `gbrain eval prune`: erases captures that are old, and the logs of live queries with them.

use clap::Args;
use gbrain_core::format::work::{PRUNE_VERSION, PruneBody};
use gbrain_core::request::Operation;
use gbrain_store::CaptureFilter;

use super::export::parse_tool;
use super::window::duration;
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval prune`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval prune --older-than 30d --dry-run\n  \
    gbrain eval prune --older-than 0d             (everything)\n  \
    gbrain eval prune --older-than 7d --failures  (what went wrong, too)\n\n\
    To have it done by itself, put \"eval\": { \"retention_days\": 30 } into config.json.")]
pub(crate) struct PruneArgs {
    /// Erase what was stored longer ago than this (30d, 12h, 0d).
    #[arg(long, value_name = "DUR")]
    older_than: String,
    /// Only rows of this operation: query or search.
    #[arg(long, value_name = "TOOL", value_parser = parse_tool)]
    tool: Option<Operation>,
    /// Erase what went wrong while capturing too.
    #[arg(long)]
    failures: bool,
    /// Only count.
    #[arg(long)]
    dry_run: bool,
}

/// Erases old captures, or counts them.
pub(super) fn run(context: &Context<'_>, args: &PruneArgs) -> Result<Exit, CliError> {
    let age = duration(&args.older_than).map_err(CliError::usage)?;
    let until = context
        .now
        .checked_sub(age)
        .map_err(|_| CliError::usage(format!("{} lies before the beginning", args.older_than)))?;
    let filter = CaptureFilter { until: Some(until), tool: args.tool, ..CaptureFilter::default() };
    let (store, ws) = (context.store()?, &context.home.workspace);
    // `0d` means everything there is, rows on their way included.
    store.close_captures(ws, until)?;
    let (rows, failures) = if args.dry_run {
        let failures =
            if args.failures { store.count_capture_failures(ws, None, Some(until))? } else { 0 };
        (store.count_captures(ws, &filter)?, failures)
    } else {
        let failures = if args.failures { store.prune_capture_failures(ws, until)? } else { 0 };
        (store.prune_captures(ws, &filter)?, failures)
    };
    let has_logs = !args.dry_run && args.tool != Some(Operation::Search);
    let logs = has_logs.then(|| store.prune_live_logs(ws, until, None)).transpose()?;
    if context.terminal.is_json() {
        context.terminal.json(&PruneBody {
            schema_version: PRUNE_VERSION,
            dry_run: args.dry_run,
            before: format!("{until:.3}"),
            rows,
            failures: args.failures.then_some(failures),
            logs,
        });
        return Ok(Exit::Pass);
    }
    let verb = if args.dry_run { "would delete" } else { "deleted" };
    context.terminal.line(format!("{verb} {rows} row(s) created before {until:.3}"));
    if let Some(logs) = logs.filter(|logs| *logs > 0) {
        context.terminal.line(format!("{verb} {logs} log(s) of live retrievals"));
    }
    if args.failures {
        context.terminal.line(format!("{verb} {failures} failure(s)"));
    }
    Ok(Exit::Pass)
}
