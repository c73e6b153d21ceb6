//! Deploys a threshold: setting and status in one transaction, and an event for suites.

use gbrain_core::calibrate::{
    DeployCandidate, DeploymentObstacle, StoredVerification, VerifyFailure, obstacles, verify,
};
use gbrain_core::config::{RERANK_THRESHOLD, RERANK_THRESHOLD_MODEL};
use gbrain_core::format::calibration::{Deployment, ThresholdBody};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::due::EventKind;
use gbrain_core::target::LOCAL;
use gbrain_store::{NewEvent, RerankThreshold, Store, StoreError, ThresholdStatus};
use jiff::Timestamp;

use super::{CalibrateError, threshold_body};

/// Deploys a threshold. `reranker` is the configured one; `force` is the reason to override
/// obstacles.
pub fn deploy(
    store: &Store,
    workspace: &WorkspaceId,
    id: i64,
    reranker: Option<&str>,
    force: Option<&str>,
    now: Timestamp,
) -> Result<RerankThreshold, CalibrateError> {
    let found = store.threshold(workspace, id)?.ok_or(CalibrateError::NoSuch(id))?;
    let generation = store.head(workspace)?.generation.0;
    let find_obstacles = find_obstacles(&found, reranker, generation, now);
    let is_allowed =
        find_obstacles.iter().all(|one| force.is_some() && DeploymentObstacle::may_be_forced(*one));
    if !is_allowed {
        return Err(CalibrateError::Forbidden { id, obstacles: find_obstacles });
    }
    let deployment = Deployment {
        at: format!("{now:.3}"),
        forced: force.filter(|_| !find_obstacles.is_empty()).map(str::to_owned),
        obstacles: find_obstacles,
    };
    let with = |found: &RerankThreshold| {
        super::json(&ThresholdBody {
            deployment: Some(deployment.clone()),
            ..threshold_body(found)
        })
    };
    store.edit_threshold(workspace, id, &with)?;
    // The event is recorded first: a crash in between causes an extra suite run, never a missing
    // one.
    record_rerank_change(store, workspace, &found.model, &format!("threshold-{id}"), now)?;
    let threshold = found.threshold.to_string();
    let settings = [(RERANK_THRESHOLD, &*threshold), (RERANK_THRESHOLD_MODEL, &*found.model)];
    store.set_rerank_threshold_status(workspace, id, ThresholdStatus::Active, &settings, now)?;
    store.threshold(workspace, id)?.ok_or(CalibrateError::NoSuch(id))
}

/// Records an event for suites that the reranker or its threshold changed.
pub fn record_rerank_change(
    store: &Store,
    workspace: &WorkspaceId,
    model: &str,
    what: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let event = NewEvent {
        kind: EventKind::RerankChanged.name().to_owned(),
        document: model.to_owned(),
        version: format!("{what} {now}"),
        body: "{}".to_owned(),
    };
    store.add_event(workspace, &event, now).map(|_| ())
}

fn find_obstacles(
    found: &RerankThreshold,
    reranker: Option<&str>,
    generation: i64,
    now: Timestamp,
) -> Vec<DeploymentObstacle> {
    let body = threshold_body(found);
    // A verification against another target does not apply to the local settings.
    let own = body.verification.as_ref().filter(|trial| trial.target == LOCAL);
    // Too few queries are a separate obstacle.
    let few = VerifyFailure::TooFewQueries;
    let tried = own.map(|trial| StoredVerification {
        // Failing figures do not pass, even if the record says so.
        passed: trial.passed && verify(&trial.verified()).iter().all(|one| *one == few),
        queries: trial.n,
        generation: trial.generation,
        // An unparseable time counts as long ago.
        at: trial.at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
    });
    let applicant = DeployCandidate {
        model: &found.model,
        set: reranker,
        refusals: &body.refusals,
        was_forced: body.forced.is_some(),
        tried,
        generation,
    };
    obstacles(&applicant, now)
}
