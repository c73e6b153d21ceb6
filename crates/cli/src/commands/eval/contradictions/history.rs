//! Past runs of the probe.

use clap::Args;
use gbrain_core::contradiction::Severity;
use gbrain_core::fault::FaultKind;
use gbrain_core::format::contradiction::{ContradictionReport, ContradictionTrend};
use gbrain_core::id::WorkspaceId;
use gbrain_core::report::text;
use gbrain_core::report::text::TrendDay;
use gbrain_core::request::Viewer;
use gbrain_eval::contradictions::current_findings;
use gbrain_store::{JudgingRun, RunKind, Store};
use jiff::{SignedDuration, Timestamp};

use crate::commands::CommandContext;
use crate::commands::eval::window::moment;
use crate::error::{CliError, Exit};
use crate::terminal::count;

/// Runs that a trend shows at most.
const SHOWN: usize = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain eval suspected-contradictions trend --days 30")]
pub(super) struct TrendArgs {
    /// Of how many days.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval suspected-contradictions review\n  \
    gbrain eval suspected-contradictions review --severity high\n\n\
    Findings that no longer stand, because a page was corrected or deleted, are left out.")]
pub(super) struct ReviewArgs {
    /// The least severity: info, low, medium or high.
    #[arg(long, value_name = "S", default_value = "info")]
    severity: Severity,
    /// How old the run may be: a duration (90d) or an instant.
    #[arg(long, value_name = "DUR|INSTANT", default_value = "90d")]
    since: String,
}

/// Shows the runs of some days.
pub(super) fn trend(context: &CommandContext<'_>, args: &TrendArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let window = SignedDuration::from_hours(i64::from(args.days) * 24);
    let since = context.now.saturating_sub(window).unwrap_or(Timestamp::MIN);
    let runs = store.runs(&context.home.workspace, RunKind::Contradictions, since, SHOWN)?;
    let (mut rows, mut unread) = (Vec::new(), 0);
    for run in &runs {
        match read(run) {
            Some(report) => rows.push((format!("{:.0}", run.at), report)),
            None => unread += 1,
        }
    }
    if unread > 0 {
        let runs = count(unread, "run is", "runs are");
        context.terminal.warn(format!("{runs} left out: made by another version"));
    }
    if context.terminal.is_json() {
        context.terminal.json(&ContradictionTrend::new(args.days, rows));
        return Ok(Exit::Pass);
    }
    context.terminal.report(text::contradiction_trend(&TrendDay::of_runs(&rows)));
    Ok(Exit::Pass)
}

/// Lists what the last run found.
pub(super) fn review(context: &CommandContext<'_>, args: &ReviewArgs) -> Result<Exit, CliError> {
    let since = moment(&args.since, context.now).map_err(CliError::usage)?;
    let (store, workspace) = (context.store()?, &context.home.workspace);
    let Some((_, report)) = last_report(&store, workspace, since)? else {
        return Err(CliError::not_found(format!("no run since {since:.0}"))
            .hint("gbrain eval suspected-contradictions --from-capture"));
    };
    let total = report.findings.len();
    let mut report = still_standing(&store, workspace, report)?;
    let gone = total - report.findings.len();
    report.findings.retain(|finding| finding.severity >= args.severity);
    if gone > 0 {
        let findings = count(gone, "finding no longer stands", "findings no longer stand");
        context.terminal.remark(format!("left out: {findings}"));
    }
    if context.terminal.is_json() {
        context.terminal.json(&report);
    } else {
        context.terminal.report(text::contradiction_review(&report, args.severity));
    }
    Ok(Exit::Pass)
}

/// The last run since a moment, and when it ran.
pub(in crate::commands) fn last_report(
    store: &Store,
    workspace: &WorkspaceId,
    since: Timestamp,
) -> Result<Option<(Timestamp, ContradictionReport)>, CliError> {
    let runs = store.runs(workspace, RunKind::Contradictions, since, 1)?;
    let Some(run) = runs.first() else { return Ok(None) };
    let report = read(run).ok_or_else(|| {
        CliError::new(FaultKind::Input, "the last run is of another version of gbrain")
            .hint("run it again: gbrain eval suspected-contradictions --from-capture")
    })?;
    Ok(Some((run.at, report)))
}

/// A report without the findings that no longer stand.
pub(in crate::commands) fn still_standing(
    store: &Store,
    workspace: &WorkspaceId,
    mut report: ContradictionReport,
) -> Result<ContradictionReport, CliError> {
    let findings = std::mem::take(&mut report.findings);
    report.findings = current_findings(store, workspace, findings, Viewer::Trusted)?;
    Ok(report)
}

fn read(run: &JudgingRun) -> Option<ContradictionReport> {
    serde_json::from_str(&run.body).ok()
}
