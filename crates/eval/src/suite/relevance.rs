//! Borderline pairs, scored again: whether the threshold of the reranker still fits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::calibrate::{CalibrationPair, Drift, Label, MOST, drift};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::suite::measure::Value;
use gbrain_core::suite::report::Reason;
use gbrain_llm::{Allowance, AskError, Asker, Desk, ModelError, ModelRef, Spending, Task};
use gbrain_store::{RerankThreshold, Store, StoreError};

use super::suites::KIND;
use crate::calibrate::{in_force, pairs_to_send};

/// Scores of a query's passages, in their order, or why there are none.
pub type Score<'a> = dyn Fn(&str, &[&str]) -> Result<Vec<f64>, String> + Sync + 'a;

/// Who scores.
pub struct Scorer<'a> {
    /// The model, as thresholds name it.
    pub model: &'a str,
    pub score: &'a Score<'a>,
}

/// The reranker that a workspace's settings name. Its calls are charged to the day.
pub struct Reranker {
    asker: Asker,
    model: ModelRef,
    name: String,
}

impl Reranker {
    /// The one of a workspace; none where none is set.
    pub fn of(
        desk: &Desk,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        config: &BTreeMap<String, String>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, ModelError> {
        let Some((model, _)) = desk.choose(Task::Rerank, None, config)? else { return Ok(None) };
        let spending = Spending {
            store: store.clone(),
            workspace: workspace.clone(),
            budget: None,
            per_day: Some(Desk::per_day(config)),
            purpose: KIND.to_owned(),
        };
        let asker = desk.asker().spending(spending).until(stop.clone());
        Ok(Some(Self::new(asker, model)))
    }

    /// What scoring may still cost; none where only a cassette answers.
    pub fn allowance(&self) -> Result<Option<Allowance>, AskError> {
        self.asker.allowance()
    }

    /// One that is asked through a door of its own.
    pub fn new(asker: Asker, model: ModelRef) -> Self {
        let name = model.to_string();
        Self { asker, model, name }
    }

    /// Its name, as thresholds have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most that scoring a query's passages may cost.
    pub fn cost(&self, query: &str, texts: &[&str]) -> Result<Usd, String> {
        self.asker.worst_of_rerank(&self.model, query, texts).map_err(|error| error.to_string())
    }

    /// Scores of a query's passages.
    pub fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f64>, String> {
        let scored = self.asker.rerank(&self.model, query, texts);
        scored.map(|(scores, _)| scores).map_err(|error| error.to_string())
    }
}

/// What scoring the pairs gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Relevance {
    /// The scores, with the pairs they are of.
    pub scores: Vec<(CalibrationPair, f64)>,
    /// What to report; none where there is nothing to hold it against.
    pub value: Option<Value>,
    /// Why it does not say enough.
    pub doubts: Vec<Reason>,
    pub notes: Vec<String>,
}

/// The newest borderline pairs of a workspace, at most so many.
pub fn borderline(
    store: &Store,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<Vec<CalibrationPair>, StoreError> {
    pairs_to_send(store, workspace, Some(Label::Borderline), limit.min(MOST))
}

/// The borderline pairs to score, at most so many, and what they scored when the calibration in force was
/// made. Where it was made of some of them, these alone: the same pairs are held against each other.
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

/// What the mean of some scores is held against: the mean of what the same pairs scored before; for pairs
/// that were not there, the mean of the calibration.
fn baseline(
    active: &RerankThreshold,
    before: &BTreeMap<i64, f64>,
    scores: &[(CalibrationPair, f64)],
) -> f64 {
    let old: Option<Vec<f64>> =
        scores.iter().map(|(pair, _)| before.get(&pair.id).copied()).collect();
    old.and_then(|old| gbrain_core::stats::mean(&old)).unwrap_or(active.mean)
}

/// Scores the borderline pairs, and holds their mean against the calibration that is in force. No call begins
/// when `is_over` says so.
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
    let active = in_force(store, workspace)?;
    let (pairs, before) = compared(store, workspace, active.as_ref(), limit)?;
    if pairs.is_empty() {
        doubt(
            Reason::NoCalibration,
            "there are no borderline pairs: `gbrain calibrate collect`".to_owned(),
        );
        return Ok(found);
    }
    let Some(scorer) = scorer else {
        let why = "no reranker is set: `gbrain config set models.rerank PROVIDER:MODEL`";
        doubt(Reason::NoCalibration, why.to_owned());
        return Ok(found);
    };
    let mut scores = Vec::new();
    for pair in pairs {
        if is_over() {
            doubt(Reason::OverTime, "no time was left for all borderline pairs".to_owned());
            break;
        }
        match (scorer.score)(&pair.query, &[&pair.text]).as_deref() {
            Ok([score]) if (0.0..=1.0).contains(score) => scores.push((pair, *score)),
            Ok(_) => doubt(Reason::Errors, format!("pair {} has no score", pair.id)),
            Err(error) => doubt(Reason::Errors, format!("pair {}: {error}", pair.id)),
        }
    }
    let numbers: Vec<f64> = scores.iter().map(|(_, score)| *score).collect();
    let held = match &active {
        None => {
            doubt(
                Reason::NoCalibration,
                "no threshold is in force: `gbrain calibrate deploy`".to_owned(),
            );
            None
        }
        Some(active) => {
            let now = (scorer.model, gbrain_core::stats::mean(&numbers));
            match drift((&active.model, active.mean), now) {
                Drift::Stale { calibrated, now } => {
                    let note = format!("{calibrated} was calibrated, and {now} scores now");
                    doubt(Reason::StaleCalibration, note);
                    None
                }
                _ => Some(baseline(active, &before, &scores)),
            }
        }
    };
    found.value = Some(Value::scores(&numbers, held));
    found.scores = scores;
    Ok(found)
}
