//! Reranker calibration: collects pairs, scores them, verifies the threshold and deploys it.
//!
//! ```text
//! feedback, files, canonical queries ─▶ pairs ─▶ score ─▶ candidate ─▶ verify ─▶ deploy ─▶ rerank.threshold
//! ```
//!
//! Promises: an unscored pair prevents a threshold; a refused threshold is stored as rejected, with
//! the reason; scores of two models are never compared; a threshold and its setting change together
//! or not at all.
//!
//! Deliberately absent: the calibration rule ([`gbrain_core::calibrate`]), and the check whether
//! scores fell since ([`suite::rescore`](crate::suite::rescore)).

mod collect;
mod deploy;
mod error;
mod passage;
mod score;
mod show;
mod verify;

pub use collect::{PairCollector, PairSources};
pub use deploy::{deploy, record_rerank_change};
pub use error::CalibrateError;
pub use passage::{Passage, Passages};
pub use score::{CostFn, PairScoring};
pub use show::{calibration_status, history};
pub use verify::{ThresholdTrial, record, trial_settings};

use std::collections::BTreeSet;

use gbrain_core::calibrate::{CalibrationPair, CalibrationRefusal, CalibrationStatus, PairLabel};
use gbrain_core::format::calibration::{PairBody, ThresholdBody, ThresholdInfo};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::Visibility;
use gbrain_store::{RerankThreshold, Store, StoreError, ThresholdStatus};

/// How many past thresholds are searched.
const MAX_THRESHOLDS: usize = 10_000;

/// Pairs of a workspace, each once, newest first; with one label, or all.
pub fn pairs(
    store: &Store,
    workspace: &WorkspaceId,
    label: Option<PairLabel>,
    limit: usize,
) -> Result<Vec<CalibrationPair>, StoreError> {
    let pairs = store.pairs(workspace, None, usize::MAX)?;
    let read = pairs.into_iter().filter_map(|pair| {
        let body: PairBody = serde_json::from_str(&pair.body).ok()?;
        body.pair(pair.id, &pair.document, &pair.chunk_id, &pair.label)
    });
    // Of two texts of one pair the newer one counts, regardless of labels.
    let mut known = BTreeSet::new();
    let once = read.filter(|pair| {
        let (query, of) = pair.identity();
        known.insert((query, pair.is_named, of.to_owned()))
    });
    let is_wanted = |pair: &CalibrationPair| label.is_none_or(|label| pair.label == label);
    Ok(once.filter(is_wanted).take(limit).collect())
}

/// Like [`pairs`], without pairs of pages that have become private: the reranker is a third party.
pub fn pairs_to_send(
    store: &Store,
    workspace: &WorkspaceId,
    label: Option<PairLabel>,
    limit: usize,
) -> Result<Vec<CalibrationPair>, StoreError> {
    let mut all = pairs(store, workspace, label, limit)?;
    let page = |pair: &CalibrationPair| PageKey::parse(&pair.document, &SourceId::default()).ok();
    let keys: Vec<PageKey> = all.iter().filter_map(page).collect();
    let stored = store.pages(workspace, &keys)?.into_iter().flatten();
    let private: BTreeSet<PageKey> = stored
        .filter(|stored| stored.page.visibility == Visibility::Private)
        .map(|stored| stored.page.key)
        .collect();
    all.retain(|pair| !page(pair).is_some_and(|key| private.contains(&key)));
    Ok(all)
}

/// The threshold deployed last, of any model.
pub fn deployed_threshold(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<Option<RerankThreshold>, StoreError> {
    let all = store.thresholds(workspace, None, MAX_THRESHOLDS)?;
    let active = all.into_iter().filter(|one| one.status == ThresholdStatus::Active);
    Ok(active.max_by_key(|one| (one.decided_at, one.id)))
}

/// The newest threshold of a model.
pub fn newest(
    store: &Store,
    workspace: &WorkspaceId,
    model: &str,
) -> Result<Option<RerankThreshold>, StoreError> {
    Ok(store.thresholds(workspace, Some(model), 1)?.into_iter().next())
}

/// The parsed body of a threshold. An unparseable one counts as refused.
fn threshold_body(threshold: &RerankThreshold) -> ThresholdBody {
    let unreadable = || ThresholdBody {
        refusals: vec![CalibrationRefusal::BadScores],
        ..ThresholdBody::default()
    };
    serde_json::from_str(&threshold.body).unwrap_or_else(|_| unreadable())
}

pub fn threshold_info(threshold: &RerankThreshold) -> ThresholdInfo {
    let RerankThreshold {
        id,
        model,
        status,
        threshold: min_score,
        n,
        mean,
        sigma,
        body: _,
        created_at,
        decided_at,
    } = threshold;
    ThresholdInfo {
        id: *id,
        model: model.clone(),
        status: CalibrationStatus::from_name(status.name()).expect("both know the same statuses"),
        threshold: *min_score,
        n: *n,
        mean: *mean,
        sigma: *sigma,
        created_at: format!("{created_at:.3}"),
        decided_at: decided_at.map(|at| format!("{at:.3}")),
        body: threshold_body(threshold),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
