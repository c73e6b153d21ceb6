//! Figures computed again from what they were computed from, so that an edited one is found.

use super::official::Figures;
use super::{
    Haystack, Order, Outcome, Question, Ranked, Scoring, newest_first, oracle, outcome, random,
    score,
};
use crate::measure::{Found, Graded, Measure};

/// The figures of an order that needs no search; none of one that does.
pub fn figures_of_order(
    order: Order,
    haystack: &Haystack,
    question: &Question,
    measures: &[Measure],
    seed: u64,
) -> Option<Figures> {
    let places = match order {
        Order::Random => random(haystack, question, seed),
        Order::Newest => newest_first(haystack),
        Order::Oracle => oracle(haystack, question),
        Order::Words | Order::Vectors => return None,
    };
    Some(score(question, &Ranked::of(haystack, &places).ids, measures))
}

/// The figures that a row's own ranks and grades give, without the dataset.
pub fn figures_of_ranks(row: &Outcome, measures: &[Measure]) -> Figures {
    if row.hit.is_none() {
        return Figures::new();
    }
    let grade = |id: &String| row.gold_grades.get(id).copied().unwrap_or(1.0);
    let ranked = row.gold_ranks.iter().filter_map(|(id, rank)| Some((id, (*rank)?)));
    let mut found: Vec<Found> = ranked.map(|(id, rank)| Found { rank, grade: grade(id) }).collect();
    found.sort_by_key(|found| found.rank);
    let mut ideal: Vec<f64> = row.gold_ranks.keys().map(grade).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let graded = Graded { found, retrieved: row.places.len(), ideal };
    measures.iter().map(|measure| (measure.to_string(), measure.of(&graded))).collect()
}

/// The fields of a row that are not what the dataset and the row's own ranking give.
pub fn row_mismatches(
    scoring: &Scoring,
    seed: u64,
    haystack: &Haystack,
    question: &Question,
    row: &Outcome,
) -> Vec<&'static str> {
    let mut seen = rustc_hash::FxHashSet::default();
    let is_ranking = |at: &usize| *at < haystack.documents.len() && seen.insert(*at);
    if !row.places.iter().all(is_ranking) {
        return vec!["ranked_places"];
    }
    let again = outcome(scoring, haystack, question, &row.places);
    let differs = |(order, figures): (&String, &Figures)| {
        let order = Order::from_name(order);
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
        ("turn_recall", row.turn_recall.is_some_and(|share| !(0.0..=1.0).contains(&share))),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
