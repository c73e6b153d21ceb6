//! Recomputes figures from their inputs, so that edits are detected.

use super::official::Figures;
use super::reading::excerpts;
use super::{
    DatasetQuestion, Haystack, HaystackRanking, QuestionOutcome, QuestionTimings, ReferenceOrder,
    ScoringRules, newest_first, oracle, outcome, random, score,
};
use super::{DocumentText, ShownPassages, document_page};
use crate::measure::{GradedRanking, JudgedHit, Measure};

/// Whether a run asks a model for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerMode {
    Model,
    /// Passages stand for answers.
    RetrievalOnly,
}

/// The figures of an order that needs no search; none of one that does.
pub fn figures_of_order(
    order: ReferenceOrder,
    haystack: &Haystack,
    question: &DatasetQuestion,
    measures: &[Measure],
    seed: u64,
) -> Option<Figures> {
    let places = match order {
        ReferenceOrder::Random => random(haystack, question, seed),
        ReferenceOrder::Newest => newest_first(haystack),
        ReferenceOrder::Oracle => oracle(haystack, question),
        ReferenceOrder::Words | ReferenceOrder::Vectors => return None,
    };
    Some(score(question, &HaystackRanking::of(haystack, &places).ids, measures))
}

/// The figures that a row's own ranks and grades give, without the dataset.
pub(crate) fn figures_of_ranks(row: &QuestionOutcome, measures: &[Measure]) -> Figures {
    if row.hit.is_none() {
        return Figures::new();
    }
    let grade = |id: &String| row.gold_grades.get(id).copied().unwrap_or(1.0);
    let ranked = row.gold_ranks.iter().filter_map(|(id, rank)| Some((id, (*rank)?)));
    let mut found: Vec<JudgedHit> =
        ranked.map(|(id, rank)| JudgedHit { rank, grade: grade(id) }).collect();
    found.sort_by_key(|found| found.rank);
    let mut ideal: Vec<f64> = row.gold_ranks.keys().map(grade).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let graded = GradedRanking { found, retrieved: row.places.len(), ideal };
    measures.iter().map(|measure| (measure.to_string(), measure.of(&graded))).collect()
}

/// Fields of a row that differ from the values that the dataset and the row's own ranking give.
pub fn row_mismatches(
    scoring: &ScoringRules,
    seed: u64,
    haystack: &Haystack,
    question: &DatasetQuestion,
    row: &QuestionOutcome,
    answers: AnswerMode,
) -> Vec<&'static str> {
    let mut seen = rustc_hash::FxHashSet::default();
    let is_ranking = |at: &usize| *at < haystack.documents.len() && seen.insert(*at);
    if !row.places.iter().all(is_ranking) {
        return vec!["ranked_places"];
    }
    let again = outcome(scoring, haystack, question, &row.places);
    let differs = |(order, figures): (&String, &Figures)| {
        let order = ReferenceOrder::from_name(order);
        let again =
            order.and_then(|o| figures_of_order(o, haystack, question, &scoring.measures, seed));
        order.is_none() || again.is_some_and(|again| again != *figures)
    };
    let fields = [
        ("question", row.question != again.question),
        ("question_type", row.kind != again.kind),
        ("answer", row.answer != again.answer),
        ("retrieved_session_ids", row.retrieved != again.retrieved),
        ("retrieved_turn_ids", row.retrieved_turns != again.retrieved_turns),
        ("recall_hit", row.hit != again.hit),
        ("gold_ranks", row.gold_ranks != again.gold_ranks),
        ("gold_grades", row.gold_grades != again.gold_grades),
        ("measures", row.scores != again.scores),
        ("longmemeval", row.official != again.official),
        ("haystack", row.haystack != again.haystack),
        ("baselines", row.baselines.iter().any(differs)),
        ("timings", !has_times(row, answers)),
    ];
    let differing = fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name);
    differing.chain(shown_mismatches(scoring.k, haystack, question, row, answers)).collect()
}

/// Whether the times of a row are plausible, and an answer was timed if one was requested.
fn has_times(row: &QuestionOutcome, answers: AnswerMode) -> bool {
    let QuestionTimings { import_ms, search_ms, answer_ms } = row.timings;
    // Making a brain and searching take time; the clock counts microseconds.
    let is_time = |ms: f64| ms.is_finite() && ms > 0.0;
    is_time(import_ms)
        && is_time(search_ms)
        && answer_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0)
        && answer_ms.is_some() == (answers == AnswerMode::Model)
}

/// Fields of a row that differ from the values that its shown passages and the dataset give.
fn shown_mismatches(
    k: usize,
    haystack: &Haystack,
    question: &DatasetQuestion,
    row: &QuestionOutcome,
    answers: AnswerMode,
) -> Vec<&'static str> {
    let texts = shown_texts(k, haystack, row);
    let Some(texts) = texts else { return vec!["shown_passages"] };
    let texts: Vec<&DocumentText> = texts.iter().collect();
    let shown = ShownPassages { documents: &row.shown, texts: &texts };
    let sessions = shown.sessions(haystack);
    let passages = shown.passages();
    let hypothesis = || excerpts(&shown.excerpts(haystack, &sessions, &passages));
    let is_forged = answers == AnswerMode::RetrievalOnly && row.hypothesis != hypothesis();
    let fields = [
        ("prompt_session_ids", row.prompt_sessions != sessions),
        ("turn_recall", row.turn_recall != shown.turn_recall(haystack, question)),
        ("hypothesis", is_forged),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// The texts of the shown documents; none if they are not the first of the row's ranking, in its order,
/// or have no such passages. Documents that say the same as one before them are ranked and not shown.
fn shown_texts(k: usize, haystack: &Haystack, row: &QuestionOutcome) -> Option<Vec<DocumentText>> {
    let mut ranked = row.places.iter();
    let is_in_order = row.shown.iter().all(|shown| ranked.any(|place| *place == shown.place));
    let first = row.shown.first().map(|shown| shown.place);
    if !is_in_order || first != row.places.first().copied() || row.shown.len() > k {
        return None;
    }
    let text = |shown: &super::ShownDocument| {
        let (_, text) = document_page(shown.place, &haystack.documents[shown.place]);
        shown.passages.iter().all(|passage| text.holds(passage)).then_some(text)
    };
    row.shown.iter().map(text).collect()
}
