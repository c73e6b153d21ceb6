//! What asking one question gave, and what it is worth.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::official::{Figures, Official};
use super::{Haystack, Question};
use crate::measure::{Graded, Measure};

/// The depths that are measured, beside the one that was asked for.
pub const CUTOFFS: [usize; 3] = [1, 5, 10];

/// Milliseconds that the parts of a question took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timings {
    /// Making its brain and taking its documents in.
    pub import_ms: f64,
    /// Searching.
    pub search_ms: f64,
    /// Answering, where a model did.
    pub answer_ms: Option<f64>,
}

/// What one question gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The question.
    pub question_id: String,
    /// What was asked.
    pub question: String,
    /// The kind of question.
    pub kind: String,
    /// The right answer, as the dataset has it.
    pub answer: Option<String>,
    /// What was answered: a model's answer, or the passages that were retrieved.
    pub hypothesis: String,
    /// The first k of the ranking: ids of sessions or documents, as the dataset writes them.
    pub retrieved: Vec<String>,
    /// The first k turns, where turns were ranked.
    pub retrieved_turns: Option<Vec<String>>,
    /// Whether any of the first k is right; none for a question that nothing answers.
    pub hit: Option<bool>,
    /// Our measures by name; none where `hit` is none.
    pub scores: Figures,
    /// The rank of each right document; none when it was not ranked.
    pub gold_ranks: BTreeMap<String, Option<usize>>,
    /// The share of the turns that answer which the shown passages of the first k hold.
    pub turn_recall: Option<f64>,
    /// LongMemEval's own figures.
    pub official: Option<Official>,
    /// Our measures of other rankings of the same documents.
    pub baselines: BTreeMap<String, Figures>,
    /// How many documents there were to find.
    pub haystack: usize,
    /// How long it took.
    pub timings: Timings,
    /// Stages that could not do their work.
    pub degraded: Vec<String>,
    /// Names everything the row depends on besides the question.
    pub run: String,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// A ranking of a haystack, at one granularity.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Distinct ids of documents, best first.
    pub ids: Vec<String>,
    /// Distinct ids of what they are part of, by the best of their parts.
    pub wholes: Vec<String>,
}

impl Ranked {
    /// The ranking that places of documents make.
    pub fn of(haystack: &Haystack, places: &[usize]) -> Self {
        let documents = || places.iter().map(|at| &haystack.documents[*at]);
        Self {
            ids: distinct(documents().map(|document| document.id.as_str())),
            wholes: distinct(documents().map(|document| document.whole.as_str())),
        }
    }
}

fn distinct<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = FxHashSet::default();
    ids.filter(|id| seen.insert(*id)).map(str::to_owned).collect()
}

/// The measures of a run whose answers are `k` deep.
pub fn measures(k: usize) -> Vec<Measure> {
    let mut cutoffs = CUTOFFS.to_vec();
    cutoffs.push(k);
    cutoffs.sort_unstable();
    cutoffs.dedup();
    let recalls = cutoffs.iter().flat_map(|k| [Measure::recall_any(*k), Measure::recall_all(*k)]);
    let ndcg = [5, 10].into_iter().map(Measure::ndcg);
    recalls.chain(ndcg).chain([Measure::reciprocal_rank()]).collect()
}

/// What a ranking is worth by these measures. A question that nothing answers has no figures.
pub fn score(question: &Question, ids: &[String], measures: &[Measure]) -> Figures {
    if question.is_abstention || question.gold.is_empty() {
        return Figures::new();
    }
    let graded = Graded::of(&question.gold, ids.iter().map(String::as_str));
    measures.iter().map(|measure| (measure.to_string(), measure.of(&graded))).collect()
}
