//! The outcome of one question and its measures.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::official::{self, Figures, OfficialFigures};
use super::{DatasetQuestion, Granularity, Haystack, ShownDocument};
use crate::measure::{GradedRanking, Measure};

/// The measured depths, beside the requested one.
pub(crate) const CUTOFFS: [usize; 3] = [1, 5, 10];

/// Milliseconds of the parts of a question.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkTimings")]
pub struct QuestionTimings {
    /// Making its brain and taking its documents in.
    pub import_ms: f64,
    /// Duration of the search.
    pub search_ms: f64,
    /// Answering, where a model did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_ms: Option<f64>,
}

/// The outcome of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionOutcome {
    pub question_id: String,
    pub question: String,
    /// The kind of question.
    pub kind: String,
    /// The right answer, as the dataset has it.
    pub answer: Option<String>,
    /// The answer: a model's answer, or the passages that were retrieved.
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
    /// The grades of judged documents, where any is not 1.
    pub gold_grades: BTreeMap<String, f64>,
    /// The whole ranking, as deep as it was made: places of documents in the haystack, best first.
    /// Every figure of the ranking can be computed again from it.
    pub places: Vec<usize>,
    /// The documents whose passages are shown, best first.
    pub shown: Vec<ShownDocument>,
    /// The session behind each number in the excerpts that a model reads: number n is entry n - 1.
    pub prompt_sessions: Vec<String>,
    pub official: Option<OfficialFigures>,
    /// Our measures of other rankings of the same documents.
    pub baselines: BTreeMap<String, Figures>,
    /// Number of documents to find.
    pub haystack: usize,
    /// Durations of the question.
    pub timings: QuestionTimings,
    /// Stages that could not do their work.
    pub degraded: Vec<String>,
    /// Names everything the row depends on besides the question.
    pub run: String,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// The rules that turn a ranking into figures.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoringRules {
    /// Number of documents of a ranking that count.
    pub k: usize,
    /// The unit that counts as one document.
    pub granularity: Granularity,
    pub measures: Vec<Measure>,
    /// Whether LongMemEval's own figures are worked out.
    pub has_official: bool,
    /// Names everything that rows depend on besides their question.
    pub run: String,
}

/// The outcome of a ranking of a haystack's documents by place: every field that follows from it
/// and the dataset. The others are empty.
pub fn outcome(
    scoring: &ScoringRules,
    haystack: &Haystack,
    question: &DatasetQuestion,
    places: &[usize],
) -> QuestionOutcome {
    let HaystackRanking { ids, wholes } = HaystackRanking::of(haystack, places);
    let is_judged = !question.is_abstention && !question.gold.is_empty();
    let is_right =
        |id: &String| question.gold.iter().any(|gold| gold.grade > 0.0 && gold.doc.as_str() == id);
    let rank = |id: &str| ids.iter().position(|found| found == id).map(|at| at + 1);
    let gold = || question.gold.iter();
    let is_graded = gold().any(|gold| gold.grade != 1.0);
    let grades = gold().filter(|_| is_graded).map(|gold| (gold.doc.clone(), gold.grade));
    let first = |ids: &[String]| ids.iter().take(scoring.k).cloned().collect::<Vec<_>>();
    let by_turn = scoring.granularity == Granularity::Turn;
    QuestionOutcome {
        question_id: question.id.clone(),
        question: question.text.clone(),
        kind: question.kind.clone(),
        answer: question.answer.clone(),
        hypothesis: String::new(),
        retrieved: first(&wholes),
        retrieved_turns: by_turn.then(|| first(&ids)),
        hit: is_judged.then(|| ids.iter().take(scoring.k).any(is_right)),
        scores: score(question, &ids, &scoring.measures),
        gold_ranks: gold().map(|gold| (gold.doc.clone(), rank(&gold.doc))).collect(),
        gold_grades: grades.collect(),
        places: places.to_vec(),
        shown: Vec::new(),
        prompt_sessions: Vec::new(),
        turn_recall: None,
        official: scoring
            .has_official
            .then(|| official::of(haystack, question, scoring.granularity, places)),
        baselines: BTreeMap::new(),
        haystack: haystack.documents.len(),
        timings: QuestionTimings::default(),
        degraded: Vec::new(),
        run: scoring.run.clone(),
        error: None,
    }
}

/// A ranking of a haystack, at one granularity.
#[derive(Debug, Clone, PartialEq)]
pub struct HaystackRanking {
    /// Distinct ids of documents, best first.
    pub ids: Vec<String>,
    /// Distinct ids of what they are part of, by the best of their parts.
    pub wholes: Vec<String>,
}

impl HaystackRanking {
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

/// The measures of chats whose answers are `k` deep, of rankings that are `depth` deep.
pub fn measures(k: usize, depth: usize) -> Vec<Measure> {
    let mut cutoffs = CUTOFFS.to_vec();
    cutoffs.push(k);
    cutoffs.sort_unstable();
    cutoffs.dedup();
    let recalls = cutoffs.iter().flat_map(|k| [Measure::recall_any(*k), Measure::recall_all(*k)]);
    let ndcg = [5, 10].into_iter().map(Measure::ndcg);
    recalls.chain(ndcg).chain([Measure::reciprocal_rank().at_depth(depth)]).collect()
}

/// The measures of a ranking. A question without an answer has none.
pub fn score(question: &DatasetQuestion, ids: &[String], measures: &[Measure]) -> Figures {
    if question.is_abstention || question.gold.is_empty() {
        return Figures::new();
    }
    let graded = GradedRanking::of(&question.gold, ids.iter().map(String::as_str));
    measures.iter().map(|measure| (measure.to_string(), measure.of(&graded))).collect()
}
