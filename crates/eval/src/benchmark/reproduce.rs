//! Compares two runs of one dataset: every field of the result and every row.

use std::collections::HashMap;

use gbrain_core::benchmark::{DatasetRunLabel, QuestionOutcome};
use gbrain_core::format::benchmark::{
    BenchmarkResult, FieldDifference, field_differences, result_differences,
};
use serde_json::Value;

/// A question whose rows differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDifference {
    pub question_id: String,
    pub what: String,
}

/// Provenance that differs between the runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenanceChange {
    pub what: &'static str,
    pub before: String,
    pub after: String,
}

/// A result compared with a repeat of the same run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reproduction {
    pub rows: Vec<RowDifference>,
    /// Fields that do not match the rows, or that differ.
    pub fields: Vec<FieldDifference>,
    /// Software, source and settings, if the source differs: reported, but not a difference.
    pub changed: Vec<ProvenanceChange>,
    /// The part that was not repeated and is therefore unverified.
    pub not_checked: Option<String>,
}

impl Reproduction {
    /// Whether both runs agree in every compared field.
    pub fn is_same(&self) -> bool {
        self.rows.is_empty() && self.fields.is_empty()
    }
}

/// Compares a result with a repeat of the same run, without the answering model.
pub fn reproduction(before: &BenchmarkResult, after: &BenchmarkResult) -> Reproduction {
    let mut fields = result_differences(before);
    let has_same_code = before.label.code == after.label.code;
    let is_answered = before.label.answered_by.is_some();
    let comparable = |result| comparable(result, has_same_code, is_answered);
    for difference in field_differences(&comparable(before), &comparable(after)) {
        if fields.iter().all(|known| known.field != difference.field) {
            fields.push(difference);
        }
    }
    let changed = if has_same_code { Vec::new() } else { changed(&before.label, &after.label) };
    let answered_by = before.label.answered_by.as_ref();
    Reproduction {
        rows: differences(&before.outcomes(), &after.outcomes()),
        fields,
        changed,
        not_checked: answered_by.map(|model| format!("the answers of {model} were not repeated")),
    }
}

/// The reproducible part of a result: without times, title, dataset paths and model answers, and
/// without provenance if the source differs. Rows are compared one by one.
fn comparable(result: &BenchmarkResult, has_same_code: bool, is_answered: bool) -> Value {
    let mut value = serde_json::to_value(result).expect("results have text keys only");
    let Some(object) = value.as_object_mut() else { return value };
    for field in ["result_hash", "timing", "per_question", "headline"] {
        object.remove(field);
    }
    remove(object.get_mut("asked"), &["files"]);
    remove(object.get_mut("label"), &["dataset"]);
    if is_answered {
        remove(object.get_mut("label"), &["answered_by"]);
    }
    if !has_same_code {
        remove(object.get_mut("label"), &["software", "settings", "code"]);
    }
    value
}

fn remove(object: Option<&mut Value>, fields: &[&str]) {
    if let Some(object) = object.and_then(Value::as_object_mut) {
        for field in fields {
            object.remove(*field);
        }
    }
}

/// The provenance that differs: software, source, settings.
fn changed(before: &DatasetRunLabel, after: &DatasetRunLabel) -> Vec<ProvenanceChange> {
    let named = |label: &DatasetRunLabel| {
        [label.software.clone(), label.code.clone(), label.settings.clone()]
    };
    let names = ["software", "code", "settings"].into_iter();
    let pairs = names.zip(named(before).into_iter().zip(named(after)));
    pairs
        .filter(|(_, (before, after))| before != after)
        .map(|(what, (before, after))| ProvenanceChange { what, before, after })
        .collect()
}

/// The rows that differ in anything but time, and rows that only one run has.
fn differences(before: &[QuestionOutcome], after: &[QuestionOutcome]) -> Vec<RowDifference> {
    let mut again: HashMap<&str, &QuestionOutcome> =
        after.iter().map(|outcome| (outcome.question_id.as_str(), outcome)).collect();
    let mut found = Vec::new();
    for old in before {
        let what = match again.remove(old.question_id.as_str()) {
            None => Some("not repeated".to_owned()),
            Some(new) => difference(old, new),
        };
        found.extend(what.map(|what| RowDifference { question_id: old.question_id.clone(), what }));
    }
    let new = after.iter().filter(|outcome| again.contains_key(outcome.question_id.as_str()));
    found.extend(new.map(|outcome| RowDifference {
        question_id: outcome.question_id.clone(),
        what: "not in the result".to_owned(),
    }));
    found
}

fn difference(old: &QuestionOutcome, new: &QuestionOutcome) -> Option<String> {
    if old.retrieved != new.retrieved {
        let same = old.retrieved.iter().zip(&new.retrieved).take_while(|(a, b)| a == b).count();
        return Some(format!("different document at rank {}", same + 1));
    }
    let figure = old.scores.iter().find(|(name, value)| new.scores.get(*name) != Some(value));
    if let Some((name, _)) = figure {
        return Some(name.clone());
    }
    let parts = [
        (old.question != new.question, "question"),
        (old.kind != new.kind, "question_type"),
        (old.answer != new.answer, "answer"),
        (old.retrieved_turns != new.retrieved_turns, "other turns"),
        (old.places != new.places, "ranked_places"),
        (old.hit != new.hit, "recall_hit"),
        (old.scores.len() != new.scores.len(), "other measures"),
        (old.gold_ranks != new.gold_ranks, "ranks"),
        (old.gold_grades != new.gold_grades, "grades"),
        (old.official != new.official, "LongMemEval's figures"),
        (old.baselines != new.baselines, "baselines"),
        (old.turn_recall != new.turn_recall, "turn_recall"),
        (old.haystack != new.haystack, "haystack"),
        (old.shown != new.shown, "shown_passages"),
        (old.prompt_sessions != new.prompt_sessions, "prompt_session_ids"),
        (old.degraded != new.degraded, "degraded stages"),
        (old.error.is_some() != new.error.is_some(), "error"),
    ];
    parts.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what.to_owned())
}
