//! Capture: on or off and why, what there is of it, what went wrong.

use gbrain_brain::Brain;
use gbrain_brain::capture::AuditLog;
use gbrain_core::capture::CaptureFailure;
use gbrain_store::{CaptureSummary, StoreError};
use jiff::{Timestamp, Unit};
use serde_json::{Map, Value};

use super::Fixes;
use super::finding::{DoctorCheck, unknown};
use crate::capture::{capture_switch, is_scrubbing, scrubber};
use crate::commands::CommandContext;
use crate::identity::{key_path, workspace_key};
use crate::terminal::count;

pub(super) fn check(context: &CommandContext<'_>, brain: &Brain, fixes: Fixes) -> Vec<DoctorCheck> {
    let audit = AuditLog { dir: context.home.audit_dir() };
    audit.record_lost();
    if fixes.safe {
        audit.store_waiting(brain.store(), brain.workspace());
    }
    let redated = match fixes.redate_captures {
        true => brain.store().redate_captures(brain.workspace(), context.now).map(Some),
        false => Ok(None),
    };
    let summary = brain.store().capture_summary(brain.workspace(), context.now);
    match redated.and_then(|redated| Ok((redated, summary?))) {
        Err(error) => vec![unknown("capture", error)],
        Ok((redated, summary)) => vec![
            state(context, &summary),
            clock(context, &summary, redated),
            failures(context, brain, &audit, &summary),
            identity(context, &summary),
        ],
    }
}

/// Captures that were stored by a process whose clock was ahead: no window shows them until their time has come.
fn clock(
    context: &CommandContext<'_>,
    summary: &CaptureSummary,
    redated: Option<u64>,
) -> DoctorCheck {
    let name = "capture_clock";
    if summary.future > 0 {
        let newest = summary.newest.map_or(String::new(), |at| format!(", up to {at:.3}"));
        let message = format!(
            "{} of {} captures are dated in the future{newest}: a clock was ahead, and export and prune pass them over; \
             this clock says {:.3}: if it is right, date them now",
            summary.future, summary.rows, context.now
        );
        return DoctorCheck::warn(name, message)
            .remedy(context.home.command_line("doctor --redate-captures"))
            .detail("future_rows", summary.future);
    }
    let message = match redated {
        Some(rows) if rows > 0 => format!("{rows} captures from the future are dated now"),
        _ => "no captures from the future".to_owned(),
    };
    DoctorCheck::ok(name, message).detail("future_rows", 0)
}

fn state(context: &CommandContext<'_>, summary: &CaptureSummary) -> DoctorCheck {
    let switch = match capture_switch(&context.home) {
        Ok(switch) => switch,
        Err(error) => return unknown("capture", error),
    };
    let on = if switch.is_on { "on" } else { "off" };
    let age = summary.newest.map_or("no rows yet".to_owned(), |newest| {
        format!(
            "{}, the newest {} old",
            count(summary.rows, "row", "rows"),
            age(context.now, newest)
        )
    });
    let message =
        format!("{on} ({}); {age}; {} in the last 24 h", switch.because, summary.last_day);
    let finding = match scrubber(&context.home) {
        Err(error) if switch.is_on => {
            DoctorCheck::fail("capture", format!("{message}; but nothing can be scrubbed: {error}"))
                .remedy(format!(
                    "mend eval.scrub_patterns in {}",
                    context.home.config_path().display()
                ))
        }
        _ if !switch.is_on && summary.rows == 0 => DoctorCheck::ok("capture", message)
            .remedy("to capture: export GBRAIN_CONTRIBUTOR_MODE=1"),
        _ => DoctorCheck::ok("capture", message),
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

/// The key that keeps scrubbed names apart: without it rows with such names can't be compared.
fn identity(context: &CommandContext<'_>, summary: &CaptureSummary) -> DoctorCheck {
    let path = key_path(&context.home);
    match workspace_key(&context.home) {
        Err(error) => DoctorCheck::fail(
            "identity_key",
            format!("{error}; rows with scrubbed names can't be compared"),
        )
        .remedy(format!("copy {} from where the captures were made", path.display())),
        Ok(None) if summary.rows > 0 && is_scrubbing(&context.home).unwrap_or(true) => {
            DoctorCheck::warn(
                "identity_key",
                "none: captured rows with scrubbed names can't be compared",
            )
            .remedy(format!("copy {} from where the captures were made", path.display()))
        }
        Ok(None) => DoctorCheck::ok("identity_key", "none yet: the first capture makes it"),
        Ok(Some(key)) => {
            DoctorCheck::ok("identity_key", format!("id {}", key.id())).detail("id", key.id())
        }
    }
}

/// Failures of the last 24 hours, those that wait in files with them.
fn failures(
    context: &CommandContext<'_>,
    brain: &Brain,
    audit: &AuditLog,
    summary: &CaptureSummary,
) -> DoctorCheck {
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
        return DoctorCheck::ok("eval_capture", "no failures in the last 24 h");
    }
    let listed: Vec<String> = counts.iter().map(|(reason, n)| format!("{reason}: {n}")).collect();
    let newest = newest_detail(brain, &waiting).unwrap_or_default();
    DoctorCheck::warn(
        "eval_capture",
        format!("failures in the last 24 h: {}{newest}", listed.join(", ")),
    )
    .remedy(context.home.command_line("eval prune --failures"))
    .detail("failures_last_24h", counts)
    .detail("waiting_in_files", waiting.len())
}

fn newest_detail(brain: &Brain, waiting: &[CaptureFailure]) -> Result<String, StoreError> {
    let stored = brain.store().capture_failures(brain.workspace(), None, 1)?;
    let newest = stored.iter().chain(waiting).max_by_key(|failure| failure.at);
    Ok(newest.map_or(String::new(), |failure| format!("; the newest: {}", failure.detail)))
}

fn age(now: Timestamp, then: Timestamp) -> String {
    match now.since((Unit::Hour, then)) {
        Ok(span) if span.get_hours() >= 48 => format!("{} days", span.get_hours() / 24),
        Ok(span) if span.get_hours() >= 1 => format!("{} h", span.get_hours()),
        Ok(span) => format!("{} min", span.get_minutes()),
        Err(_) => "?".to_owned(),
    }
}
