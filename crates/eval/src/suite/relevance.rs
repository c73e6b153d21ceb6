//! Borderline pairs, scored again: whether the threshold of the reranker still fits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::calibrate::{CalibrationPair, Drift, Label, MOST, drift};
use gbrain_core::format::calibration::PairBody;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::measure::Value;
use gbrain_core::suite::report::Reason;
use gbrain_llm::{Asker, Desk, ModelError, ModelRef, Spending, Task};
use gbrain_store::{Store, StoreError, ThresholdStatus};

use super::suites::KIND;

/// Scores of a query's passages, in their order, or why there are none.
pub type Score<'a> = dyn Fn(&str, &[&str]) -> Result<Vec<f64>, String> + Sync + 'a;

/// Who scores.
pub struct Scorer<'a> {
    /// The model, as thresholds name it.
    pub model: &'a str,
    /// What it says.
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
        store: &Arc<dyn Store>,
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
        let name = model.to_string();
        Ok(Some(Self { asker, model, name }))
    }

    /// Its name, as thresholds have it.
    pub fn name(&self) -> &str {
        &self.name
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
    /// In words.
    pub notes: Vec<String>,
}

/// The newest borderline pairs of a workspace, at most so many.
pub fn borderline(
    store: &dyn Store,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<Vec<CalibrationPair>, StoreError> {
    let pairs = store.pairs(workspace, Some(Label::Borderline.name()), limit.min(MOST))?;
    let read = pairs.into_iter().filter_map(|pair| {
        let body: PairBody = serde_json::from_str(&pair.body).ok()?;
        body.pair(pair.id, &pair.document, &pair.chunk_id, &pair.label)
    });
    Ok(read.collect())
}

/// Scores the borderline pairs, and holds their mean against the calibration that is in force.
pub fn rescore(
    store: &dyn Store,
    workspace: &WorkspaceId,
    scorer: Option<&Scorer<'_>>,
    limit: usize,
) -> Result<Relevance, StoreError> {
    let mut found =
        Relevance { scores: Vec::new(), value: None, doubts: Vec::new(), notes: Vec::new() };
    let mut doubt = |reason, note: String| {
        found.doubts.push(reason);
        found.notes.push(note);
    };
    let pairs = borderline(store, workspace, limit)?;
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
        match (scorer.score)(&pair.query, &[&pair.text]).as_deref() {
            Ok([score]) if score.is_finite() => scores.push((pair, *score)),
            Ok(_) => doubt(Reason::Errors, format!("pair {} has no score", pair.id)),
            Err(error) => doubt(Reason::Errors, format!("pair {}: {error}", pair.id)),
        }
    }
    let numbers: Vec<f64> = scores.iter().map(|(_, score)| *score).collect();
    let thresholds = store.thresholds(workspace, None, usize::MAX)?;
    let active = thresholds.into_iter().find(|one| one.status == ThresholdStatus::Active);
    let baseline = match &active {
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
                _ => Some(active.mean),
            }
        }
    };
    found.value = Some(Value::scores(&numbers, baseline));
    found.scores = scores;
    Ok(found)
}
