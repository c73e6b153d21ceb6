//! `gbrain eval prune`: erases captures that are old and the logs of live queries with them, or capture failures alone.

use clap::Args;
use gbrain_brain::capture::AuditLog;
use gbrain_core::report::json::{PRUNE_VERSION, PruneBody, PruneCounts};
use gbrain_core::request::Operation;
use gbrain_store::{CaptureFilter, Store};
use jiff::Timestamp;

use super::export::parse_tool;
use super::window::duration;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{count, local_time};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval prune --older-than 30d --dry-run\n  \
    gbrain eval prune --older-than 0d             (everything)\n  \
    gbrain eval prune --failures                  (capture failures; no capture is erased)\n  \
    gbrain eval prune --failures --older-than 7d\n\n\
    To prune automatically, put \"eval\": { \"retention_days\": 30 } into config.json.")]
pub(crate) struct PruneArgs {
    /// Erase captures older than this (30d, 12h, 0d).
    #[arg(long, value_name = "DUR", required_unless_present = "failures")]
    older_than: Option<String>,
    /// Only rows of this operation: query or search.
    #[arg(long, value_name = "TOOL", value_parser = parse_tool, conflicts_with = "failures")]
    tool: Option<Operation>,
    /// Erase capture failures and leave the captures alone [default age: 0d].
    #[arg(long)]
    failures: bool,
    /// Only count, and delete nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Erases old captures or failures, or counts them.
pub(super) fn run(context: &CommandContext<'_>, args: &PruneArgs) -> Result<Exit, CliError> {
    let older_than = args.older_than.as_deref().unwrap_or("0d");
    let age = duration(older_than).map_err(CliError::usage)?;
    let before = context
        .now
        .checked_sub(age)
        .map_err(|_| CliError::usage(format!("{older_than} lies before the beginning")))?;
    // `0d` means everything there is, rows that are dated in the future included.
    let until = (before < context.now).then_some(before);
    let store = context.store()?;
    let pruned = match args.failures {
        true => prune_failures(context, args, &store, until)?,
        false => prune_captures(context, args, &store, until)?,
    };
    report(context, args, before, &pruned);
    Ok(Exit::Pass)
}

fn prune_captures(
    context: &CommandContext<'_>,
    args: &PruneArgs,
    store: &Store,
    until: Option<Timestamp>,
) -> Result<PruneCounts, CliError> {
    let ws = &context.home.workspace;
    let filter = CaptureFilter { until, tool: args.tool, ..CaptureFilter::default() };
    // Waits for rows on their way.
    store.close_captures(ws, until.unwrap_or(context.now))?;
    if args.dry_run {
        return Ok(PruneCounts {
            rows: store.count_captures(ws, &filter)?,
            ..PruneCounts::default()
        });
    }
    let rows = store.prune_captures(ws, &filter)?;
    let has_logs = args.tool != Some(Operation::Search);
    let end = until.unwrap_or(Timestamp::MAX);
    let logs = has_logs.then(|| store.prune_live_logs(ws, end, None)).transpose()?;
    Ok(PruneCounts { rows, logs, failures: None })
}

/// Captures queued in files are deleted with the stored ones.
fn prune_failures(
    context: &CommandContext<'_>,
    args: &PruneArgs,
    store: &Store,
    until: Option<Timestamp>,
) -> Result<PruneCounts, CliError> {
    let ws = &context.home.workspace;
    AuditLog { dir: context.home.audit_dir() }.store_waiting(store, ws);
    let failures = match args.dry_run {
        true => store.count_capture_failures(ws, None, until)?,
        false => store.prune_capture_failures(ws, until)?,
    };
    Ok(PruneCounts { failures: Some(failures), ..PruneCounts::default() })
}

fn report(context: &CommandContext<'_>, args: &PruneArgs, before: Timestamp, pruned: &PruneCounts) {
    let PruneCounts { rows, failures, logs } = *pruned;
    if context.terminal.is_json() {
        return context.terminal.json(&PruneBody {
            schema_version: PRUNE_VERSION,
            dry_run: args.dry_run,
            before: format!("{before:.3}"),
            counts: *pruned,
        });
    }
    let verb = if args.dry_run { "would delete" } else { "deleted" };
    if let Some(failures) = failures {
        let kept = "no capture is touched";
        return context.terminal.line(format!(
            "{verb} {} before {}; {kept}",
            count(failures, "failure", "failures"),
            local_time(before)
        ));
    }
    let rows = count(rows, "row", "rows");
    context.terminal.line(format!("{verb} {rows} created before {}", local_time(before)));
    if let Some(logs) = logs.filter(|logs| *logs > 0) {
        let logs = count(logs, "log", "logs");
        context.terminal.line(format!("{verb} {logs} of live retrievals"));
    }
}
