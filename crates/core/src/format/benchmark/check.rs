//! Consistency check of a result: recomputes everything that follows from its rows and its label.
//!
//! Guarantees: reports every summary, count, baseline, warning or label that the rows contradict.
//!
//! Not here: the dataset. A file whose rows, label, means and hash were all changed consistently
//! passes; only running the questions again (`eval reproduce`) detects that.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use super::longmemeval::ABSTENTION;
use super::{BenchmarkResult, BenchmarkRow};
use crate::benchmark::{
    Benchmark, DatasetRunLabel, Granularity, QuestionOutcome, QuestionTimings, abstention,
    dataset_name, depth, figures_of_ranks, is_collection, known_as, measures_of, run_id, summarise,
    title_of,
};

/// Smaller differences between numbers are rounding errors of means.
const CLOSE: f64 = 1e-9;
/// Maximum number of characters of a value in a difference.
const LONGEST: usize = 60;

/// A field whose stated value differs from the computed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDifference {
    /// The field, as a path: `summary.recall_all@5`.
    pub field: String,
    /// The value in the file.
    pub stated: String,
    pub computed: String,
}

/// Whether a result was changed after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    Intact,
    /// The hash does not match the content.
    Edited,
    /// The result has no hash.
    NoHash,
}

/// Compares a result with its hash.
pub fn integrity(result: &BenchmarkResult) -> Integrity {
    match result.result_hash.as_str() {
        "" => Integrity::NoHash,
        hash if hash == result.hash() => Integrity::Intact,
        _ => Integrity::Edited,
    }
}

/// The result recomputed from its own rows and label.
pub fn recomputed(result: &BenchmarkResult) -> BenchmarkResult {
    let outcomes = result.outcomes();
    let title = title_of(&result.label, &result.headline).ok().flatten();
    BenchmarkResult::new(result.asked.clone(), &result.label, title, summarise(&outcomes), outcomes)
}

/// Fields of a result that contradict its own rows and label.
pub fn result_differences(result: &BenchmarkResult) -> Vec<FieldDifference> {
    let mut found = label_differences(result);
    if let Err(reason) = title_of(&result.label, &result.headline) {
        found.push(difference("headline", &result.headline, reason));
    }
    let mut seen = HashSet::new();
    for row in &result.per_question {
        if !seen.insert(&row.question_id) {
            found.push(difference("per_question", &row.question_id, "each question once"));
        }
        found.extend(row_differences(&result.label, row));
    }
    let (stated, computed) = (value(result), value(&recomputed(result)));
    let all = field_differences(&stated, &computed);
    // The headline is checked above, and `integrity` checks the hash.
    found.extend(
        all.into_iter().filter(|one| one.field != "result_hash" && one.field != "headline"),
    );
    found
}

/// Fields of a label that contradict its benchmark, its flags or its dataset's hash.
fn label_differences(result: &BenchmarkResult) -> Vec<FieldDifference> {
    let BenchmarkResult { label, asked, .. } = result;
    let flag = |name: &str| asked.flags.get(name).cloned().unwrap_or_else(|| "none".to_owned());
    let is_words = asked.flags.contains_key("keyword-only");
    let granularity = match label.granularity {
        Granularity::Session | Granularity::Turn if is_collection(&label.benchmark) => "document",
        Granularity::Document if !is_collection(&label.benchmark) => "session",
        granularity => granularity.name(),
    };
    let limit = label.limit.map_or("none".to_owned(), |limit| limit.to_string());
    let known = |name: Option<&str>| name.unwrap_or("unknown file").to_owned();
    let retrieval = if label.retrieval.starts_with("words") { "words" } else { "hybrid" };
    let depth = depth(&label.benchmark, label.k);
    let pairs = [
        ("label.benchmark", label.benchmark.clone(), flag("benchmark")),
        ("label.k", label.k.to_string(), flag("top-k")),
        ("label.seed", label.seed.to_string(), flag("seed")),
        (
            "label.retrieval",
            retrieval.to_owned(),
            (if is_words { "words" } else { "hybrid" }).into(),
        ),
        (
            "label.abstention",
            label.abstention.name().to_owned(),
            abstention(&label.benchmark).name().to_owned(),
        ),
        (
            "label.known_as",
            known(label.known_as.as_deref()),
            known(known_as(&label.dataset_sha256)),
        ),
        ("label.dataset", label.dataset.clone(), dataset_name(asked.files.iter().map(Path::new))),
        ("label.granularity", label.granularity.name().into(), flag("granularity")),
        ("label.granularity", label.granularity.name().into(), granularity.into()),
        ("label.depth", label.depth.to_string(), depth.to_string()),
        ("label.limit", limit, flag("limit")),
    ];
    let differ = pairs.into_iter().filter(|(_, stated, computed)| stated != computed);
    differ.map(|(field, stated, computed)| difference(field, &stated, computed)).collect()
}

/// Fields of a row that contradict its own ranks or the label.
fn row_differences(label: &DatasetRunLabel, row: &BenchmarkRow) -> Vec<FieldDifference> {
    let outcome = QuestionOutcome::from(row.clone());
    let mut found = Vec::new();
    let mut differs = |field: &str, stated: String, computed: String| {
        if stated != computed {
            let field = format!("per_question[{}].{field}", row.question_id);
            found.push(difference(&field, &stated, computed));
        }
    };
    differs("run", outcome.run.clone(), run_id(label));
    let is_abstention =
        label.benchmark == Benchmark::LongMemEval.name() && row.question_id.ends_with(ABSTENTION);
    let counts = !is_abstention && !outcome.gold_ranks.is_empty();
    let is_right = |id: &String| outcome.gold_grades.get(id).copied().unwrap_or(1.0) > 0.0;
    let is_hit = outcome
        .gold_ranks
        .iter()
        .any(|(id, rank)| is_right(id) && rank.is_some_and(|rank| rank <= label.k));
    let hit = |hit: Option<bool>| hit.map_or("null".to_owned(), |hit| hit.to_string());
    differs("recall_hit", hit(outcome.hit), hit(counts.then_some(is_hit)));
    let again = figures_of_ranks(&outcome, &measures_of(&label.benchmark, label.k));
    let names: std::collections::BTreeSet<&String> =
        outcome.scores.keys().chain(again.keys()).collect();
    for name in names {
        let shown = |value: Option<&f64>| value.map_or("none".to_owned(), |v| format!("{v:.9}"));
        differs(name, shown(outcome.scores.get(name)), shown(again.get(name)));
    }
    let retrieved = listed_differences(&outcome, label.k);
    if let Some((field, stated, computed)) = retrieved {
        differs(field, stated, computed);
    }
    let listed = outcome.retrieved_turns.as_ref().unwrap_or(&outcome.retrieved);
    for (id, rank) in &outcome.gold_ranks {
        let at = listed.iter().position(|one| one == id).map(|at| at + 1);
        let rank = rank.filter(|rank| *rank <= label.k);
        let shown = |rank: Option<usize>| rank.map_or("none".to_owned(), |rank| rank.to_string());
        differs(&format!("gold_ranks.{id}"), shown(rank), shown(at));
    }
    let is_answered =
        |answered: bool| (if answered { "answered" } else { "not answered" }).to_owned();
    let has_answer = outcome.timings.answer_ms.is_some() && !outcome.hypothesis.is_empty();
    let expects_answer = label.answered_by.is_some() && outcome.error.is_none();
    if outcome.error.is_none() {
        differs("hypothesis", is_answered(has_answer), is_answered(expects_answer));
    }
    found
}

/// Checks that a row's lists are consistent with its ranking: places are distinct and within the
/// haystack, there is a place for every document, ranks exist, shares and times are in range.
/// Returns the field, its stated value and the expected one.
fn listed_differences(
    outcome: &QuestionOutcome,
    k: usize,
) -> Option<(&'static str, String, String)> {
    if outcome.error.is_some() && outcome.places.is_empty() {
        return None;
    }
    let places = &outcome.places;
    let distinct: HashSet<usize> = places.iter().copied().collect();
    if distinct.len() != places.len() || places.iter().any(|at| *at >= outcome.haystack) {
        let expected = format!("each place below {} once", outcome.haystack);
        return Some(("ranked_places", format!("{} places", places.len()), expected));
    }
    // Several turns map to one session, and two entries of a dataset may share an id.
    let most = places.len();
    let lists = [Some(&outcome.retrieved), outcome.retrieved_turns.as_ref()];
    for list in lists.into_iter().flatten() {
        let is_whole = list.len() <= most.min(k) && (list.is_empty() == places.is_empty());
        let ids: HashSet<&String> = list.iter().collect();
        if !is_whole || ids.len() != list.len() {
            let stated = format!("{most} places for {} documents", list.len());
            return Some(("ranked_places", stated, "a place for each document".to_owned()));
        }
    }
    let deepest = outcome.gold_ranks.values().flatten().max();
    if let Some(rank) = deepest.filter(|rank| **rank == 0 || **rank > most) {
        return Some(("gold_ranks", rank.to_string(), format!("ranks from 1 to {most}")));
    }
    let QuestionTimings { import_ms, search_ms, answer_ms } = outcome.timings;
    let times = [Some(import_ms), Some(search_ms), answer_ms];
    if let Some(ms) = times.into_iter().flatten().find(|ms| !ms.is_finite() || *ms < 0.0) {
        return Some(("timings", ms.to_string(), "milliseconds from 0 on".to_owned()));
    }
    let share = outcome.turn_recall.filter(|share| !(0.0..=1.0).contains(share));
    share.map(|share| ("turn_recall", share.to_string(), "a share from 0 to 1".to_owned()))
}

/// The fields in which two documents differ, with their paths.
pub fn field_differences(stated: &Value, computed: &Value) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    walk("", stated, computed, &mut found);
    found
}

fn walk(path: &str, stated: &Value, computed: &Value, found: &mut Vec<FieldDifference>) {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (stated, computed) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            for name in names {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(name).cloned().unwrap_or(Value::Null)
                };
                walk(&below(name), &of(one), &of(other), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                walk(&format!("{path}[{at}]"), one, other, found);
            }
        }
        (Value::Number(one), Value::Number(other))
            if one.as_f64().zip(other.as_f64()).is_some_and(|(a, b)| (a - b).abs() < CLOSE) => {}
        (one, other) if one == other => {}
        (one, other) => found.push(difference(path, &one.to_string(), other.to_string())),
    }
}

fn difference(field: &str, stated: &str, computed: impl Into<String>) -> FieldDifference {
    let cut = |text: &str| text.chars().take(LONGEST).collect::<String>();
    FieldDifference {
        field: field.to_owned(),
        stated: cut(stated),
        computed: cut(&computed.into()),
    }
}

fn value(result: &BenchmarkResult) -> Value {
    serde_json::to_value(result).expect("results have text keys only")
}
