//! Rows of a benchmark: one question each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::official::{Figures, Official};
use crate::benchmark::{BY_TYPE_SUMMARY, ByType, Outcome, Recall, ShownDocument, Timings};
use crate::hash::Hash;

/// What one question gave, as a line of a file. LongMemEval's `evaluate_qa.py` reads it as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkRow")]
pub struct Row {
    /// The question, by the dataset's name for it.
    pub question_id: String,
    /// What was asked.
    #[serde(default)]
    pub question: String,
    /// Its kind.
    #[serde(default)]
    pub question_type: String,
    /// The right answer, as the dataset has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What was answered; what was retrieved, where no model was asked.
    #[serde(default)]
    pub hypothesis: String,
    /// The sessions that were retrieved, best first; documents of other benchmarks too.
    #[serde(default)]
    pub retrieved_session_ids: Vec<String>,
    /// The turns, where turns were ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_turn_ids: Option<Vec<String>>,
    /// Whether one of them is right; null for a question that nothing answers.
    #[serde(default)]
    pub recall_hit: Option<bool>,
    /// Our measures by name.
    #[serde(flatten)]
    pub scores: BTreeMap<String, Score>,
    /// The rank of each right document; null when it was not ranked.
    #[serde(default)]
    pub gold_ranks: BTreeMap<String, Option<usize>>,
    /// The grades of judged documents, where any is not 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gold_grades: BTreeMap<String, f64>,
    /// The whole ranking, as deep as it was made: places of documents in the haystack, from 0. A
    /// document is a session, a turn or an entry of the corpus.
    #[serde(default)]
    pub ranked_places: Vec<usize>,
    /// The documents whose passages are shown, best first: what a model reads, and what turns are
    /// counted in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_passages: Vec<WireShown>,
    /// The session behind each number in the excerpts that a model reads: number n is entry n - 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_session_ids: Vec<String>,
    /// LongMemEval's own figures, under its names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval: Option<Official>,
    /// Our measures of other rankings of the same documents.
    #[serde(default)]
    pub baselines: BTreeMap<String, Figures>,
    /// How many documents there were to find.
    #[serde(default)]
    pub haystack: usize,
    /// Milliseconds.
    #[serde(default)]
    pub timings: Timings,
    /// Stages that could not do their work.
    #[serde(default)]
    pub degraded: Vec<String>,
    /// Names everything the row depends on besides the question.
    #[serde(default)]
    pub run: String,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// SHA-256 of the row without its times, in a file of rows. It shows that a row was edited by
    /// mistake; it has no key, so an edit on purpose can carry a new one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub row_hash: String,
}

impl Row {
    /// The row with its hash, as a file of rows has it.
    #[must_use]
    pub fn sealed(self) -> Self {
        Self { row_hash: self.hash(), ..self }
    }

    /// Whether the row is as it was written.
    pub fn is_intact(&self) -> bool {
        self.row_hash == self.hash()
    }

    fn hash(&self) -> String {
        let plain = Self { timings: Timings::default(), row_hash: String::new(), ..self.clone() };
        Hash::of(&serde_json::to_vec(&plain).expect("rows have text keys only")).to_hex()
    }
}

/// A number. Anything else that a row holds is not ours and is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Score(pub Option<f64>);

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(serde_json::Value::deserialize(deserializer)?.as_f64()))
    }
}

/// A document whose passages are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownPassages")]
pub struct WireShown {
    /// Its place in the haystack, from 0.
    pub place: usize,
    /// First character and one past the last, for each passage.
    pub passages: Vec<[u32; 2]>,
}

impl From<ShownDocument> for WireShown {
    fn from(shown: ShownDocument) -> Self {
        let ShownDocument { place, passages } = shown;
        Self { place, passages: passages.into_iter().map(|p| [p.start, p.end]).collect() }
    }
}

impl From<WireShown> for ShownDocument {
    fn from(shown: WireShown) -> Self {
        let WireShown { place, passages } = shown;
        Self { place, passages: passages.into_iter().map(|[start, end]| start..end).collect() }
    }
}

/// The name of the share of answering turns that was shown.
pub(super) const TURN_RECALL: &str = "turn_recall";

impl From<Outcome> for Row {
    fn from(outcome: Outcome) -> Self {
        let Outcome {
            question_id,
            question,
            kind,
            answer,
            hypothesis,
            retrieved,
            retrieved_turns,
            hit,
            scores,
            gold_ranks,
            gold_grades,
            places,
            shown,
            prompt_sessions,
            turn_recall,
            official,
            baselines,
            haystack,
            timings,
            degraded,
            run,
            error,
        } = outcome;
        let measured = scores.into_iter().map(|(name, value)| (name, Score(Some(value))));
        let turns = turn_recall.map(|share| (TURN_RECALL.to_owned(), Score(Some(share))));
        Self {
            question_id,
            question,
            question_type: kind,
            answer,
            hypothesis,
            retrieved_session_ids: retrieved,
            retrieved_turn_ids: retrieved_turns,
            recall_hit: hit,
            scores: measured.chain(turns).collect(),
            gold_ranks,
            gold_grades,
            ranked_places: places,
            shown_passages: shown.into_iter().map(WireShown::from).collect(),
            prompt_session_ids: prompt_sessions,
            longmemeval: official,
            baselines,
            haystack,
            timings,
            degraded,
            run,
            error,
            row_hash: String::new(),
        }
    }
}

impl From<Row> for Outcome {
    fn from(row: Row) -> Self {
        let Row {
            question_id,
            question,
            question_type,
            answer,
            hypothesis,
            retrieved_session_ids,
            retrieved_turn_ids,
            recall_hit,
            scores,
            gold_ranks,
            gold_grades,
            ranked_places,
            shown_passages,
            prompt_session_ids,
            longmemeval,
            baselines,
            haystack,
            timings,
            degraded,
            run,
            error,
            row_hash: _,
        } = row;
        let mut scores: Figures =
            scores.into_iter().filter_map(|(name, score)| Some((name, score.0?))).collect();
        Self {
            question_id,
            question,
            kind: question_type,
            answer,
            hypothesis,
            retrieved: retrieved_session_ids,
            retrieved_turns: retrieved_turn_ids,
            hit: recall_hit,
            turn_recall: scores.remove(TURN_RECALL),
            scores,
            gold_ranks,
            gold_grades,
            places: ranked_places,
            shown: shown_passages.into_iter().map(ShownDocument::from).collect(),
            prompt_sessions: prompt_session_ids,
            official: longmemeval,
            baselines,
            haystack,
            timings,
            degraded,
            run,
            error,
        }
    }
}

/// Recall by kind of question, as the last line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByTypeSummary {
    /// The version.
    pub schema_version: u32,
    /// `by_type_summary`.
    pub kind: String,
    /// By kind of question.
    pub recall_by_type: BTreeMap<String, WireRecall>,
    /// In all.
    pub aggregate: WireRecall,
    /// No question: `evaluate_qa.py` passes over an id it does not know, and stops at a line
    /// without one.
    pub question_id: String,
    /// The full name of what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// How often one of the first k was right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Recall")]
pub struct WireRecall {
    /// Questions with a right document among the first k.
    pub hit: u64,
    /// Questions that count.
    pub total: u64,
    /// The share; null of nothing.
    pub rate: Option<f64>,
}

impl From<Recall> for WireRecall {
    fn from(recall: Recall) -> Self {
        let Recall { hit, total } = recall;
        Self { hit, total, rate: recall.rate() }
    }
}

impl From<&ByType> for ByTypeSummary {
    fn from(by_type: &ByType) -> Self {
        let ByType { kinds, aggregate } = by_type;
        let recall = |(kind, recall): (&String, &Recall)| (kind.clone(), (*recall).into());
        Self {
            schema_version: 1,
            kind: BY_TYPE_SUMMARY.to_owned(),
            recall_by_type: kinds.iter().map(recall).collect(),
            aggregate: (*aggregate).into(),
            question_id: BY_TYPE_SUMMARY.to_owned(),
            measured: None,
        }
    }
}

impl ByTypeSummary {
    /// The same with the full name of what was measured.
    #[must_use]
    pub fn of(by_type: &ByType, measured: String) -> Self {
        Self { measured: Some(measured), ..Self::from(by_type) }
    }
}
