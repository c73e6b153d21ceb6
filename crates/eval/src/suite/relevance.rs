//! Scores borderline pairs again, to check that the reranker's threshold still fits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::calibrate::{CalibrationPair, Drift, MOST, PairLabel, drift};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::suite::measure::MeasureValue;
use gbrain_core::suite::report::InconclusiveReason;
use gbrain_llm::{
    Allowance, ModelCallError, ModelCatalog, ModelClient, ModelError, ModelRef, ModelTask, Spending,
};
use gbrain_store::{RerankThreshold, Store, StoreError};

use super::suites::KIND;
use crate::calibrate::{deployed_threshold, pairs_to_send};

/// Scores the passages of a query, in their order.
pub type ScoreFn<'a> = dyn Fn(&str, &[&str]) -> Result<Vec<f64>, String> + Sync + 'a;

/// A model that scores passages.
pub struct Scorer<'a> {
    /// The model name, as in stored thresholds.
    pub model: &'a str,
    pub score: &'a ScoreFn<'a>,
}

/// The reranker in a workspace's settings. Its calls are charged to the daily budget.
pub struct Reranker {
    client: ModelClient,
    model: ModelRef,
    name: String,
}

impl Reranker {
    /// The reranker of a workspace; `None` if none is configured.
    pub fn of(
        catalog: &ModelCatalog,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        config: &BTreeMap<String, String>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, ModelError> {
        let Some((model, _)) = catalog.choose(ModelTask::Rerank, None, config)? else {
            return Ok(None);
        };
        let spending = Spending {
            store: store.clone(),
            workspace: workspace.clone(),
            budget: None,
            per_day: Some(ModelCatalog::per_day(config)),
            purpose: KIND.to_owned(),
        };
        let client = catalog.client().spending(spending).cancelled_by(stop.clone());
        Ok(Some(Self::new(client, model)))
    }

    /// The remaining budget for scoring; `None` if only a cassette answers.
    pub fn allowance(&self) -> Result<Option<Allowance>, ModelCallError> {
        self.client.allowance()
    }

    /// A reranker with its own client.
    pub fn new(client: ModelClient, model: ModelRef) -> Self {
        let name = model.to_string();
        Self { client, model, name }
    }

    /// The model name, as in stored thresholds.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Upper bound of the cost of scoring a query's passages.
    pub fn cost(&self, query: &str, texts: &[&str]) -> Result<Usd, String> {
        self.client.max_rerank_cost(&self.model, query, texts).map_err(|error| error.to_string())
    }

    pub fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f64>, String> {
        let scored = self.client.rerank(&self.model, query, texts);
        scored.map(|(scores, _)| scores).map_err(|error| error.to_string())
    }
}

/// The result of scoring the pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Relevance {
    /// The scored pairs with their scores.
    pub scores: Vec<(CalibrationPair, f64)>,
    /// The measure to report; `None` if there is nothing to compare with.
    pub value: Option<MeasureValue>,
    /// Reasons that make the result inconclusive.
    pub doubts: Vec<InconclusiveReason>,
    pub notes: Vec<String>,
}

/// The newest borderline pairs of a workspace, up to `limit`.
pub fn borderline(
    store: &Store,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<Vec<CalibrationPair>, StoreError> {
    pairs_to_send(store, workspace, Some(PairLabel::Borderline), limit.min(MOST))
}

/// The borderline pairs to score, up to `limit`, and their scores in the active calibration. If the
/// calibration used some of them, only these are scored, so that the same pairs are compared.
fn compared(
    store: &Store,
    workspace: &WorkspaceId,
    active: Option<&RerankThreshold>,
    limit: usize,
) -> Result<(Vec<CalibrationPair>, BTreeMap<i64, f64>), StoreError> {
    let before: BTreeMap<i64, f64> = match active {
        Some(active) => {
            let scores = store.rerank_scores(workspace, active.id)?.into_iter();
            scores.map(|one| (one.pair, one.score)).collect()
        }
        None => BTreeMap::new(),
    };
    let mut all = borderline(store, workspace, MOST)?;
    if all.iter().any(|pair| before.contains_key(&pair.id)) {
        all.retain(|pair| before.contains_key(&pair.id));
    }
    all.truncate(limit);
    Ok((all, before))
}

/// The reference for a mean score: the mean of the earlier scores of the same pairs; for pairs
/// without earlier scores, the mean of the calibration.
fn baseline(
    active: &RerankThreshold,
    before: &BTreeMap<i64, f64>,
    scores: &[(CalibrationPair, f64)],
) -> f64 {
    let old: Option<Vec<f64>> =
        scores.iter().map(|(pair, _)| before.get(&pair.id).copied()).collect();
    old.and_then(|old| gbrain_core::stats::mean(&old)).unwrap_or(active.mean)
}

/// Scores the borderline pairs and compares their mean with the active calibration. No call starts
/// once `is_over` returns true.
pub fn rescore(
    store: &Store,
    workspace: &WorkspaceId,
    scorer: Option<&Scorer<'_>>,
    limit: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Relevance, StoreError> {
    let mut found =
        Relevance { scores: Vec::new(), value: None, doubts: Vec::new(), notes: Vec::new() };
    let mut doubt = |reason, note: String| {
        found.doubts.push(reason);
        found.notes.push(note);
    };
    let active = deployed_threshold(store, workspace)?;
    let (pairs, before) = compared(store, workspace, active.as_ref(), limit)?;
    if pairs.is_empty() {
        doubt(
            InconclusiveReason::NoCalibration,
            "there are no borderline pairs: `gbrain calibrate collect`".to_owned(),
        );
        return Ok(found);
    }
    let Some(scorer) = scorer else {
        let why = "no reranker is set: `gbrain config set models.rerank PROVIDER:MODEL`";
        doubt(InconclusiveReason::NoCalibration, why.to_owned());
        return Ok(found);
    };
    let mut scores = Vec::new();
    for pair in pairs {
        if is_over() {
            doubt(
                InconclusiveReason::OverTime,
                "no time was left for all borderline pairs".to_owned(),
            );
            break;
        }
        match (scorer.score)(&pair.query, &[&pair.text]).as_deref() {
            Ok([score]) if (0.0..=1.0).contains(score) => scores.push((pair, *score)),
            Ok(_) => doubt(InconclusiveReason::Errors, format!("pair {} has no score", pair.id)),
            Err(error) => doubt(InconclusiveReason::Errors, format!("pair {}: {error}", pair.id)),
        }
    }
    let numbers: Vec<f64> = scores.iter().map(|(_, score)| *score).collect();
    let reference = match &active {
        None => {
            doubt(
                InconclusiveReason::NoCalibration,
                "no threshold is in force: `gbrain calibrate deploy`".to_owned(),
            );
            None
        }
        Some(active) => {
            let now = (scorer.model, gbrain_core::stats::mean(&numbers));
            match drift((&active.model, active.mean), now) {
                Drift::Stale { calibrated, now } => {
                    let note = format!("{calibrated} was calibrated, and {now} scores now");
                    doubt(InconclusiveReason::StaleCalibration, note);
                    None
                }
                _ => Some(baseline(active, &before, &scores)),
            }
        }
    };
    found.value = Some(MeasureValue::scores(&numbers, reference));
    found.scores = scores;
    Ok(found)
}
