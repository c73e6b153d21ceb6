//! A threshold, put in force: the setting and the status in one transaction, and an event for suites.

use gbrain_core::calibrate::{Applicant, Obstacle, Tried, VerifyFailure, obstacles, verify};
use gbrain_core::config::{RERANK_THRESHOLD, RERANK_THRESHOLD_MODEL};
use gbrain_core::format::calibration::{Deployment, ThresholdBody};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::due::EventKind;
use gbrain_core::target::LOCAL;
use gbrain_store::{NewEvent, RerankThreshold, Store, StoreError, ThresholdStatus};
use jiff::Timestamp;

use super::{CalibrateError, body};

/// Puts a threshold in force. `reranker` is the one that is set; `force` is why what stands in the way is
/// not to.
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
    let in_the_way = in_the_way(&found, reranker, generation, now);
    let may = in_the_way.iter().all(|one| force.is_some() && Obstacle::may_be_forced(*one));
    if !may {
        return Err(CalibrateError::Forbidden { id, obstacles: in_the_way });
    }
    let deployment = Deployment {
        at: format!("{now:.3}"),
        forced: force.filter(|_| !in_the_way.is_empty()).map(str::to_owned),
        obstacles: in_the_way,
    };
    let with = |found: &RerankThreshold| {
        super::json(&ThresholdBody { deployment: Some(deployment.clone()), ..body(found) })
    };
    store.edit_threshold(workspace, id, &with)?;
    // Told before: a process that ends in between has a suite run too many, and none too few.
    tell_changed(store, workspace, &found.model, &format!("threshold-{id}"), now)?;
    let least = found.threshold.to_string();
    let settings = [(RERANK_THRESHOLD, &*least), (RERANK_THRESHOLD_MODEL, &*found.model)];
    store.set_threshold_status(workspace, id, ThresholdStatus::Active, &settings, now)?;
    store.threshold(workspace, id)?.ok_or(CalibrateError::NoSuch(id))
}

/// Tells suites that the reranker or its threshold is another now.
pub fn tell_changed(
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

/// What stands in the way of a threshold.
fn in_the_way(
    found: &RerankThreshold,
    reranker: Option<&str>,
    generation: i64,
    now: Timestamp,
) -> Vec<Obstacle> {
    let body = body(found);
    // A trial elsewhere says nothing of what is set here.
    let own = body.verification.as_ref().filter(|trial| trial.target == LOCAL);
    // Too few queries are an obstacle of their own.
    let few = VerifyFailure::TooFewQueries;
    let tried = own.map(|trial| Tried {
        // Figures that do not pass are no pass, whatever is written beside them.
        passed: trial.passed && verify(&trial.verified()).iter().all(|one| *one == few),
        queries: trial.n,
        generation: trial.generation,
        // A time that can't be read is long ago.
        at: trial.at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
    });
    let applicant = Applicant {
        model: &found.model,
        set: reranker,
        refusals: &body.refusals,
        was_forced: body.forced.is_some(),
        tried,
        generation,
    };
    obstacles(&applicant, now)
}
