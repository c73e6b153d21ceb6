//! Runs scheduled probes in all workspaces of a store.
//!
//! Promises: a probe that fails or panics stops neither the next workspace nor the next tick. A
//! disabled probe costs only reading the settings.
//!
//! Deliberately absent: waiting, signals and threads. The caller decides when to tick.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{ProbeOutcome, ProbeSwitch};
use gbrain_store::StoreError;

use crate::probe::{
    ProbeInitiator, ProbeRequest, ProbeResult, Probes, ScheduleCheck, probe_switch,
};

#[derive(Debug)]
pub enum ProbeTickResult {
    /// The probe ran, or should have run and failed.
    Ran(Box<ProbeResult>),
    NotDue,
    Stopped,
    /// It failed or panicked.
    Broken(String),
}

/// Checks every workspace where the probe is enabled, runs it if due, and reports the result.
pub fn tick(
    probes: &Probes,
    stop: &Arc<AtomicBool>,
    on_result: &mut dyn FnMut(&WorkspaceId, ProbeTickResult),
) -> Result<(), StoreError> {
    for workspace in probes.store.workspaces()? {
        if stop.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(result) = run_probe_if_due(probes, &workspace.id, stop) {
            on_result(&workspace.id, result);
        }
    }
    Ok(())
}

/// Runs the probe of one workspace if it is due; `None` if it is disabled.
fn run_probe_if_due(
    probes: &Probes,
    workspace: &WorkspaceId,
    stop: &Arc<AtomicBool>,
) -> Option<ProbeTickResult> {
    let config = match probes.store.config_list(workspace) {
        Ok(config) => config.into_iter().collect(),
        Err(error) => return Some(ProbeTickResult::Broken(error.to_string())),
    };
    if probe_switch(&config) == ProbeSwitch::Off {
        return None;
    }
    let request = ProbeRequest {
        workspace,
        initiator: ProbeInitiator::Autopilot,
        schedule: ScheduleCheck::Enforced,
        max_usd: None,
        cassette: None,
        stop: stop.clone(),
        progress: &|_, _, _| (),
    };
    Some(match catch_unwind(AssertUnwindSafe(|| probes.run(request))) {
        Ok(None) => ProbeTickResult::Stopped,
        Ok(Some(result)) if is_idle(result.event.outcome) => ProbeTickResult::NotDue,
        Ok(Some(result)) => ProbeTickResult::Ran(Box::new(result)),
        Err(_) => ProbeTickResult::Broken("the probe panicked".to_owned()),
    })
}

fn is_idle(outcome: ProbeOutcome) -> bool {
    matches!(outcome, ProbeOutcome::RateLimited | ProbeOutcome::Disabled)
}
