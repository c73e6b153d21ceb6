//! What runs by itself: looked at now and then, in all workspaces of a store.
//!
//! Promises: a duty that fails, or panics, keeps neither the next one nor the next look from coming. What
//! is not turned on costs a look at the settings and nothing else.
//!
//! Deliberately absent: waiting, signals and threads. Whoever looks says when.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{ProbeOutcome, Switch};
use gbrain_store::StoreError;

use crate::probe::{By, Probed, Probes, Window, Wish, switch};

/// What came of a duty that was looked at.
#[derive(Debug)]
pub enum Tended {
    /// The probe ran, or would have and could not.
    Probed(Box<Probed>),
    /// It was not time.
    NotDue,
    /// It was told to stop before its end.
    Stopped,
    /// It could not be looked at, or broke.
    Broken(String),
}

/// Looks once at every workspace where something is turned on, runs what is due, and tells what came of it.
pub fn tick(
    probes: &Probes,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(&WorkspaceId, Tended),
) -> Result<(), StoreError> {
    for workspace in probes.store.workspaces()? {
        if stop.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(tended) = tend(probes, &workspace.id, stop) {
            told(&workspace.id, tended);
        }
    }
    Ok(())
}

/// The duty of one workspace; none where it is off.
fn tend(probes: &Probes, workspace: &WorkspaceId, stop: &Arc<AtomicBool>) -> Option<Tended> {
    let config = match probes.store.config_list(workspace) {
        Ok(config) => config.into_iter().collect(),
        Err(error) => return Some(Tended::Broken(error.to_string())),
    };
    if switch(&config) == Switch::Off {
        return None;
    }
    let wish = Wish {
        workspace,
        by: By::Autopilot,
        window: Window::Kept,
        max_usd: None,
        tape: None,
        stop: stop.clone(),
        progress: &|_, _, _| (),
    };
    Some(match catch_unwind(AssertUnwindSafe(|| probes.run(wish))) {
        Ok(None) => Tended::Stopped,
        Ok(Some(probed)) if is_idle(probed.event.outcome) => Tended::NotDue,
        Ok(Some(probed)) => Tended::Probed(Box::new(probed)),
        Err(_) => Tended::Broken("the probe ended in a panic".to_owned()),
    })
}

fn is_idle(outcome: ProbeOutcome) -> bool {
    matches!(outcome, ProbeOutcome::RateLimited | ProbeOutcome::Disabled)
}
