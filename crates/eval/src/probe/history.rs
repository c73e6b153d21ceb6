//! Past runs, from the store and from the audit files of this machine.

use std::collections::BTreeMap;
use std::path::Path;

use gbrain_core::config::PROBE_ENABLED;
use gbrain_core::format::probe::{PROBE_VERSION, ProbeEvent, ProbeHistory, ProbeReport, ProbeRun};
use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{Event, ProbeOutcome, ProbeSwitch, due, merged};
use gbrain_store::{JudgingRun, RunKind, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::audit;

/// Maximum number of runs to read; a probe makes fewer in a year.
const MAX_RUNS: usize = 1_000;
/// The age up to which runs matter for the next one and for the health check.
const RECENT: SignedDuration = SignedDuration::from_hours(8 * 24);

/// Whether a workspace's probe is enabled: only `true` enables it.
pub fn probe_switch(config: &BTreeMap<String, String>) -> ProbeSwitch {
    match config.get(PROBE_ENABLED).map(String::as_str) {
        Some("true") => ProbeSwitch::On,
        _ => ProbeSwitch::Off,
    }
}

/// The runs of the last days, or the newest run if there are none.
pub fn recent(
    store: &Store,
    workspace: &WorkspaceId,
    audit_dir: Option<&Path>,
    now: Timestamp,
) -> Result<Vec<Event>, StoreError> {
    let since = now.saturating_sub(RECENT).unwrap_or(Timestamp::MIN);
    let mut runs = store.runs(workspace, RunKind::QualityProbe, since, MAX_RUNS)?;
    if runs.is_empty() {
        runs = store.runs(workspace, RunKind::QualityProbe, Timestamp::MIN, 1)?;
    }
    let stored = runs.iter().filter_map(|run| event(run_of(run))).collect();
    let files = audit_dir.map(|dir| audit::read(dir, workspace)).unwrap_or_default();
    Ok(merged([stored, files]))
}

/// The runs of the last `days` days, newest first.
pub fn history(
    store: &Store,
    workspace: &WorkspaceId,
    audit_dir: Option<&Path>,
    days: u32,
    now: Timestamp,
) -> Result<ProbeHistory, StoreError> {
    let window = SignedDuration::from_hours(i64::from(days) * 24);
    let since = now.saturating_sub(window).unwrap_or(Timestamp::MIN);
    let runs = store.runs(workspace, RunKind::QualityProbe, since, MAX_RUNS)?;
    let mut runs: Vec<ProbeRun> = runs.iter().map(run_of).collect();
    let files = audit_dir.map(|dir| audit::read(dir, workspace)).unwrap_or_default();
    for event in files.iter().filter(|event| event.at >= since) {
        let event = ProbeEvent::from(event);
        let is_known =
            |run: &ProbeRun| (&run.event.ts, run.event.outcome) == (&event.ts, event.outcome);
        if !runs.iter().any(is_known) {
            runs.push(event.into());
        }
    }
    runs.sort_by(|a, b| b.event.ts.cmp(&a.event.ts));
    let config = store.config_list(workspace)?.into_iter().collect();
    let next = due(&recent(store, workspace, audit_dir, now)?, now);
    Ok(ProbeHistory {
        schema_version: PROBE_VERSION,
        days,
        enabled: probe_switch(&config) == ProbeSwitch::On,
        next_run: next.map(|at| format!("{at:.0}")),
        runs,
    })
}

/// A stored run. The report of another version cannot be parsed, but its outcome is known.
fn run_of(run: &JudgingRun) -> ProbeRun {
    match serde_json::from_str::<ProbeReport>(&run.body) {
        Ok(report) => report.into(),
        Err(_) => {
            let outcome = ProbeOutcome::from_name(&run.outcome).unwrap_or(ProbeOutcome::Error);
            let detail = "its report is of another version of gbrain".to_owned();
            ProbeEvent::from(&Event::bare(run.at, outcome, Some(detail))).into()
        }
    }
}

fn event(run: ProbeRun) -> Option<Event> {
    run.event.event()
}
