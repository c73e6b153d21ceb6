//! Capture: on or off and why, what there is of it, what went wrong.

use gbrain_brain::Brain;
use gbrain_brain::capture::AuditLog;
use gbrain_store::{CaptureSummary, StoreError};
use jiff::{Timestamp, Unit};
use serde_json::{Map, Value};

use super::finding::Finding;
use crate::capture::{scrubber, switch};
use crate::commands::Context;

/// Checks capture.
pub(super) fn check(context: &Context<'_>, brain: &Brain, fix: bool) -> Vec<Finding> {
    let audit = AuditLog { dir: context.home.audit_dir() };
    if fix {
        audit.store_waiting(brain);
    }
    match brain.store().capture_summary(brain.workspace(), context.now) {
        Err(error) => vec![Finding::unknown("capture", error)],
        Ok(summary) => {
            vec![state(context, &summary), failures(context, brain, &audit, &summary)]
        }
    }
}

fn state(context: &Context<'_>, summary: &CaptureSummary) -> Finding {
    let switch = match switch(&context.home) {
        Ok(switch) => switch,
        Err(error) => return Finding::unknown("capture", error),
    };
    let on = if switch.is_on { "on" } else { "off" };
    let age = summary.newest.map_or("no rows yet".to_owned(), |newest| {
        format!("{} rows, the newest {} old", summary.rows, age(context.now, newest))
    });
    let message =
        format!("{on} ({}); {age}; {} in the last 24 h", switch.because, summary.last_day);
    let finding = match scrubber(&context.home) {
        Err(error) if switch.is_on => {
            Finding::fail("capture", format!("{message}; but nothing can be scrubbed: {error}"))
                .remedy(format!(
                    "mend eval.scrub_patterns in {}",
                    context.home.config_path().display()
                ))
        }
        _ if !switch.is_on && summary.rows == 0 => {
            Finding::ok("capture", message).remedy("to capture: export GBRAIN_CONTRIBUTOR_MODE=1")
        }
        _ => Finding::ok("capture", message),
    };
    finding
        .detail("on", switch.is_on)
        .detail("because", switch.because)
        .detail("rows", summary.rows)
        .detail("rows_last_24h", summary.last_day)
        .detail("remote", summary.remote)
        .detail("local", summary.local)
        .detail("oldest", summary.oldest.map(|at| format!("{at:.3}")))
        .detail("newest", summary.newest.map(|at| format!("{at:.3}")))
}

/// Failures of the last 24 hours, those that wait in files with them.
fn failures(
    context: &Context<'_>,
    brain: &Brain,
    audit: &AuditLog,
    summary: &CaptureSummary,
) -> Finding {
    let day_ago = context.now.as_millisecond() - 24 * 3_600_000;
    let waiting: Vec<_> = audit
        .waiting(brain.workspace())
        .into_iter()
        .filter(|failure| failure.at.as_millisecond() >= day_ago)
        .collect();
    let mut counts = Map::new();
    let mut add = |reason: &str, n: u64| {
        let before = counts.get(reason).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(reason.to_owned(), (before + n).into());
    };
    summary.failures_last_day.iter().for_each(|(reason, n)| add(reason.name(), *n));
    waiting.iter().for_each(|failure| add(failure.reason.name(), 1));
    if counts.is_empty() {
        return Finding::ok("eval_capture", "no failures in the last 24 h");
    }
    let listed: Vec<String> = counts.iter().map(|(reason, n)| format!("{reason}: {n}")).collect();
    let newest = newest_detail(brain).unwrap_or_default();
    Finding::warn("eval_capture", format!("failures in the last 24 h: {}{newest}", listed.join(", ")))
        .remedy("see why: gbrain doctor --json; when mended: gbrain eval prune --older-than 0d --failures --dry-run")
        .detail("failures_last_24h", counts)
        .detail("waiting_in_files", waiting.len())
}

fn newest_detail(brain: &Brain) -> Result<String, StoreError> {
    let newest = brain.store().capture_failures(brain.workspace(), None, 1)?;
    Ok(newest.first().map_or(String::new(), |failure| format!("; the newest: {}", failure.detail)))
}

fn age(now: Timestamp, then: Timestamp) -> String {
    match now.since((Unit::Hour, then)) {
        Ok(span) if span.get_hours() >= 48 => format!("{} days", span.get_hours() / 24),
        Ok(span) if span.get_hours() >= 1 => format!("{} h", span.get_hours()),
        Ok(span) => format!("{} min", span.get_minutes()),
        Err(_) => "?".to_owned(),
    }
}
