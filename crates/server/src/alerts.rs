//! Alerts in long-running processes. They are evaluated periodically and when a run is recorded. A
//! separate thread delivers messages, so that a slow receiver does not delay the scheduler.

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

/// How long delivery waits after a store error.
const RECOVERY: Duration = Duration::from_secs(5);

/// Dependencies for evaluating and delivering the alerts of all workspaces.
#[derive(Clone)]
pub struct AlertTools {
    pub registry: ChannelRegistry,
    pub settings: AlertSettings,
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
            .evaluate_all(now, &mut |workspace, evaluated| log_evaluation(workspace, evaluated))
    }

    /// Starts a thread that delivers messages until it is stopped.
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
                    tracing::warn!(%error, "queued messages could not be read");
                    std::thread::park_timeout(RECOVERY);
                }
            }
        })
    }
}

fn log_evaluation(workspace: &WorkspaceId, evaluated: Result<AlertEvaluation, StoreError>) {
    let workspace = workspace.as_str();
    let AlertEvaluation { changes, problems, .. } = match evaluated {
        Ok(evaluation) => evaluation,
        Err(error) => {
            tracing::warn!(workspace, %error, "alerts could not be evaluated");
            return;
        }
    };
    // The field is not called `key`, because log redaction removes that name.
    changes.raised.iter().for_each(|alert| tracing::warn!(workspace, alert, "alert raised"));
    changes.resolved.iter().for_each(|alert| tracing::info!(workspace, alert, "alert resolved"));
    problems.iter().for_each(|problem| tracing::warn!(workspace, problem, "alerts"));
}

fn log_delivery(delivery: &Delivery, outcome: &DeliveryOutcome) {
    let Delivery { workspace, id, channel, dedup_key: alert, attempt, .. } = delivery;
    let workspace = workspace.as_str();
    match outcome {
        DeliveryOutcome::Sent => {
            tracing::info!(workspace, id, channel, alert, attempt, "message delivered")
        }
        DeliveryOutcome::Later(why) => {
            tracing::warn!(
                workspace,
                id,
                channel,
                alert,
                attempt,
                why,
                "message delivery will be retried"
            );
        }
        DeliveryOutcome::Dead(why) => {
            tracing::error!(workspace, id, channel, alert, why, "message delivery failed");
        }
    }
}
