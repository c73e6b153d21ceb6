//! Alerts in processes that are left running: they are evaluated when a run is recorded and periodically, and messages
//! are delivered by a thread of their own, so that no receiver holds up the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use gbrain_core::id::WorkspaceId;
use gbrain_eval::alert::{
    AlertEvaluation, AlertEvaluator, AlertSettings, ChannelRegistry, DeliveryMode, DeliveryOutcome,
    DeliveryWorker, SendLimits,
};
use gbrain_store::{Delivery, Store, StoreError};
use jiff::Timestamp;

/// How long a sender whose store does not answer waits before it asks again.
const RECOVERY: Duration = Duration::from_secs(5);

/// What alerts of all workspaces are evaluated and delivered with.
#[derive(Clone)]
pub struct AlertTools {
    /// Where channels are looked up.
    pub registry: ChannelRegistry,
    /// How alerts are told.
    pub settings: AlertSettings,
    /// How messages are sent.
    pub limits: SendLimits,
}

impl AlertTools {
    fn evaluator<'a>(&'a self, store: &'a Store) -> AlertEvaluator<'a> {
        AlertEvaluator { store, registry: &self.registry, settings: &self.settings }
    }

    /// Evaluates the alerts of a workspace. An error is logged: the scheduler evaluates again.
    pub(crate) fn evaluate(&self, store: &Store, workspace: &WorkspaceId, now: Timestamp) {
        log_evaluation(workspace, self.evaluator(store).evaluate(workspace, now));
    }

    pub(crate) fn evaluate_all(&self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        self.evaluator(store)
            .evaluate_all(now, &mut |workspace, looked| log_evaluation(workspace, looked))
    }

    /// A thread that delivers messages until it is stopped.
    pub(crate) fn spawn_delivery(
        self,
        store: Arc<Store>,
        worker: &str,
        stop: Arc<AtomicBool>,
    ) -> JoinHandle<()> {
        let worker = format!("{worker}/alerts");
        std::thread::spawn(move || {
            let delivery = DeliveryWorker {
                store: store.as_ref(),
                registry: &self.registry,
                worker: &worker,
                limits: self.limits,
            };
            while !stop.load(Ordering::Acquire) {
                if let Err(error) = delivery.run(DeliveryMode::Forever, &stop, &log_delivery) {
                    tracing::warn!(%error, "messages could not be looked up");
                    std::thread::park_timeout(RECOVERY);
                }
            }
        })
    }
}

fn log_evaluation(workspace: &WorkspaceId, looked: Result<AlertEvaluation, StoreError>) {
    let workspace = workspace.as_str();
    let AlertEvaluation { raised, resolved, problems, .. } = match looked {
        Ok(raised) => raised,
        Err(error) => {
            tracing::warn!(workspace, %error, "alerts could not be looked at");
            return;
        }
    };
    // Not under the name `key`: what has it is not written.
    raised.iter().for_each(|alert| tracing::warn!(workspace, alert, "an alert"));
    resolved.iter().for_each(|alert| tracing::info!(workspace, alert, "an alert is over"));
    problems.iter().for_each(|problem| tracing::warn!(workspace, problem, "alerts"));
}

fn log_delivery(delivery: &Delivery, outcome: &DeliveryOutcome) {
    let Delivery { workspace, id, channel, dedup_key: alert, attempt, .. } = delivery;
    let workspace = workspace.as_str();
    match outcome {
        DeliveryOutcome::Sent => {
            tracing::info!(workspace, id, channel, alert, attempt, "a message was sent")
        }
        DeliveryOutcome::Later(why) => {
            tracing::warn!(workspace, id, channel, alert, attempt, why, "a message is tried again");
        }
        DeliveryOutcome::Dead(why) => {
            tracing::error!(workspace, id, channel, alert, why, "a message was given up");
        }
    }
}
