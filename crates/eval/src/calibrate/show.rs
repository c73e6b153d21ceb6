//! The calibration status of a workspace.

use std::collections::BTreeMap;

use gbrain_brain::search_settings;
use gbrain_core::calibrate::{
    CalibrationPair, Drift, LabelCounts, ScoredLabel, ThresholdState, drift, histogram,
    threshold_status,
};
use gbrain_core::format::calibration::{CalibrationOverviewBody, HistoryBody, ScoreRow};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{RerankThreshold, Store, StoreError};
use jiff::Timestamp;

use super::{CalibrateError, deployed_threshold, pairs, threshold_info};

/// The calibration status. `config` is the workspace's settings, `reranker` the configured one,
/// `shown` the threshold to show, by default the newest.
pub fn calibration_status(
    store: &Store,
    workspace: &WorkspaceId,
    config: &BTreeMap<String, String>,
    reranker: Option<&str>,
    shown: Option<i64>,
    now: Timestamp,
) -> Result<CalibrationOverviewBody, CalibrateError> {
    let settings = search_settings(config)?;
    let deployed = deployed_threshold(store, workspace)?;
    let shown = match shown {
        Some(id) => Some(store.threshold(workspace, id)?.ok_or(CalibrateError::NoSuch(id))?),
        None => store.thresholds(workspace, None, 1)?.into_iter().next(),
    };
    let known = pairs(store, workspace, None, usize::MAX)?;
    let stands = ThresholdState {
        reranker,
        threshold: settings.rerank_threshold,
        of: settings.rerank_calibrated.as_deref(),
        deployed: deployed.as_ref().and_then(|one| Some((one.threshold, one.decided_at?))),
    };
    let scores = match &shown {
        Some(one) => scores(store, workspace, one, &known)?,
        None => Vec::new(),
    };
    let scored =
        scores.iter().filter_map(|row| Some(ScoredLabel { label: row.label?, score: row.score }));
    let counts = LabelCounts::of(known.iter().map(|pair| pair.label));
    Ok(CalibrationOverviewBody {
        workspace: workspace.to_string(),
        state: threshold_status(&stands, now),
        reranker: reranker.map(str::to_owned),
        set_threshold: settings.rerank_threshold,
        set_for: settings.rerank_calibrated.clone(),
        pairs: counts,
        missing: counts.missing(),
        score_drop: score_drop(deployed.as_ref(), shown.as_ref()),
        in_force: deployed.as_ref().map(threshold_info),
        shown: shown.as_ref().map(threshold_info),
        histogram: histogram(&scored.collect::<Vec<_>>()),
        scores,
    })
}

/// How much scores fell between two calibrations of the same model.
fn score_drop(deployed: Option<&RerankThreshold>, shown: Option<&RerankThreshold>) -> Option<f64> {
    let (deployed, shown) = (deployed?, shown?);
    if deployed.id == shown.id {
        return None;
    }
    match drift((&deployed.model, deployed.mean), (&shown.model, Some(shown.mean))) {
        Drift::Fell { by } | Drift::Steady { by } => Some(by),
        Drift::Stale { .. } | Drift::NoData => None,
    }
}

fn scores(
    store: &Store,
    workspace: &WorkspaceId,
    of: &RerankThreshold,
    known: &[CalibrationPair],
) -> Result<Vec<ScoreRow>, StoreError> {
    let label = |id: i64| known.iter().find(|pair| pair.id == id).map(|pair| pair.label);
    let scores = store.rerank_scores(workspace, of.id)?.into_iter();
    Ok(scores
        .map(|one| ScoreRow { pair: one.pair, label: label(one.pair), score: one.score })
        .collect())
}

pub fn history(
    store: &Store,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<HistoryBody, StoreError> {
    let thresholds = store.thresholds(workspace, None, limit)?;
    Ok(HistoryBody { thresholds: thresholds.iter().map(threshold_info).collect() })
}
