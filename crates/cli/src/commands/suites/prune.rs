//! `gbrain suites prune`: erases what suites left behind long ago.

use clap::Args;
use gbrain_core::format::suite::{SUITE_PRUNE_VERSION, SuitePruneBody};
use gbrain_eval::retention::prune_suites;
use gbrain_store::{RunParts, SuiteHistory};
use jiff::SignedDuration;

use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::terminal::{count, local_time};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain suites prune --older-than 90d --dry-run\n  \
    gbrain suites prune --older-than 90d\n  gbrain suites prune --older-than 730d --runs  (figures, too)\n\n\
    Erases reports of runs, logs of their queries, and events. Figures stay, and so do the last run of \
    a suite, runs not yet evaluated for alerts, and events that a suite has yet to process. To prune \
    automatically: gbrain config set suites.retention_days 90")]
pub(super) struct PruneArgs {
    /// Erase runs, logs and events older than this (90d, 12h, 0d).
    #[arg(long, value_name = "DUR", value_parser = duration)]
    older_than: SignedDuration,
    /// Erase whole runs, with their figures.
    #[arg(long)]
    runs: bool,
    /// Only count, and delete nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Erases what is old, or counts it.
pub(super) fn run(context: &CommandContext<'_>, args: &PruneArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let workspace = &context.home.workspace;
    let until = store
        .clock()?
        .checked_sub(args.older_than)
        .map_err(|_| CliError::usage("--older-than lies before the beginning of time"))?;
    let parts = if args.runs { RunParts::All } else { RunParts::Reports };
    let SuiteHistory { runs, logs, events } = match args.dry_run {
        true => store.count_suite_history(workspace, until, parts)?,
        false => prune_suites(&store, workspace, until, parts)?,
    };
    if context.terminal.is_json() {
        context.terminal.json(&SuitePruneBody {
            schema_version: SUITE_PRUNE_VERSION,
            dry_run: args.dry_run,
            before: format!("{until:.3}"),
            whole_runs: args.runs,
            runs,
            logs,
            events,
        });
        return Ok(Exit::Pass);
    }
    let verb = if args.dry_run { "would erase" } else { "erased" };
    let runs = match args.runs {
        true => count(runs, "run", "runs"),
        false => count(runs, "report of a run", "reports of runs"),
    };
    let (logs, events) = (count(logs, "log", "logs"), count(events, "event", "events"));
    let until = local_time(until);
    context.terminal.line(format!("{verb} {runs}, {logs} and {events} from before {until}"));
    Ok(Exit::Pass)
}
