//! The result of the last probe for contradictions.

use gbrain_core::contradiction::{RunStatus, Severity, StatementRelation};
use gbrain_core::format::contradiction::{ContradictionReport, WireFinding};
use gbrain_core::report::visible;
use gbrain_store::Store;
use jiff::{SignedDuration, Timestamp};

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::commands::eval::{last_report, still_standing};
use crate::error::CliError;

const CHECK: &str = "contradictions";
/// How old a run may be.
const LATELY: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Findings that are told of, each with its command.
const TOLD: usize = 3;
/// The longest axis that is told.
const LINE: usize = 120;

/// Checks the last run.
pub(super) fn check(context: &CommandContext<'_>, store: &Store) -> DoctorCheck {
    match last(context, store) {
        Err(error) => unknown(CHECK, error),
        Ok(None) => DoctorCheck::ok(CHECK, "no run in the last 7 days")
            .remedy("gbrain eval suspected-contradictions --from-capture"),
        Ok(Some((at, report))) => of_report(at, &report),
    }
}

fn last(
    context: &CommandContext<'_>,
    store: &Store,
) -> Result<Option<(Timestamp, ContradictionReport)>, CliError> {
    let workspace = &context.home.workspace;
    let since = context.now.saturating_sub(LATELY).unwrap_or(Timestamp::MIN);
    let Some((at, report)) = last_report(store, workspace, since)? else { return Ok(None) };
    Ok(Some((at, still_standing(store, workspace, report)?)))
}

fn of_report(at: Timestamp, report: &ContradictionReport) -> DoctorCheck {
    let is_real = |finding: &&WireFinding| finding.verdict == StatementRelation::Contradiction;
    let real: Vec<&WireFinding> = report.findings.iter().filter(is_real).collect();
    let count = |severity| real.iter().filter(|finding| finding.severity == severity).count();
    let counts =
        Severity::ALL.iter().rev().map(|severity| format!("{severity} {}", count(*severity)));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let rate = report.calibration.wilson_ci_95.map_or_else(String::new, |rate| {
        let [point, low, high] = [rate.point, rate.lower, rate.upper].map(|part| part * 100.0);
        format!("; {point:.1} % of {} queries, 95 % CI {low:.1} to {high:.1}", rate.n)
    });
    let message =
        format!("{} standing ({counts}){rate}; judged by {}", real.len(), report.judge_model);
    let high: Vec<&&WireFinding> =
        real.iter().filter(|finding| finding.severity == Severity::High).take(TOLD).collect();
    let finding = match (report.run_status, high.is_empty()) {
        (RunStatus::JudgeFailed, _) => {
            let errors = report.judge_errors.total;
            DoctorCheck::warn(CHECK, format!("the judge failed {errors} times and judged nothing"))
                .remedy("gbrain models; then run it again")
        }
        (_, false) => {
            let told = high.iter().map(|finding| {
                let command = finding.resolution_command.as_deref().unwrap_or_default();
                format!("\n          {}: $ {command}", visible(&finding.axis, LINE))
            });
            DoctorCheck::warn(CHECK, format!("{message}{}", told.collect::<String>()))
                .remedy("gbrain eval suspected-contradictions review --severity high")
        }
        (RunStatus::Inconclusive, true) => {
            let reasons: Vec<_> =
                report.inconclusive_reasons.iter().map(|one| one.name()).collect();
            DoctorCheck::warn(
                CHECK,
                format!("{message}; not the whole picture: {}", reasons.join(", ")),
            )
        }
        (RunStatus::Ok, true) => DoctorCheck::ok(CHECK, message),
    };
    finding
        .detail("ran_at", format!("{at:.3}"))
        .detail("run_status", report.run_status.name())
        .detail("standing", real.len())
        .detail("high", count(Severity::High))
}
