//! Rows of a benchmark, one per question.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::official::{Figures, OfficialFigures};
use crate::benchmark::{
    BY_TYPE_SUMMARY, ByType, QuestionOutcome, QuestionTimings, Recall, ShownDocument,
};
use crate::hash::Hash;

/// The outcome of one question, as a line of a file that LongMemEval's `evaluate_qa.py` accepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkRow {
    /// Id of the question in the dataset.
    pub question_id: String,
    /// Text of the question.
    #[serde(default)]
    pub question: String,
    /// Type of the question.
    #[serde(default)]
    pub question_type: String,
    /// The expected answer from the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The model's answer; the retrieved text if no model was used.
    #[serde(default)]
    pub hypothesis: String,
    /// Retrieved sessions, best first; documents for other benchmarks.
    #[serde(default)]
    pub retrieved_session_ids: Vec<String>,
    /// Retrieved turns, if turns were ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_turn_ids: Option<Vec<String>>,
    /// Whether one of them is relevant; null for a question without a relevant document.
    #[serde(default)]
    pub recall_hit: Option<bool>,
    /// Values of our measures by name.
    #[serde(flatten)]
    pub scores: BTreeMap<String, NumericValue>,
    /// Rank of each relevant document; null if it was not ranked.
    #[serde(default)]
    pub gold_ranks: BTreeMap<String, Option<usize>>,
    /// Grades of the judged documents, if any grade is not 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gold_grades: BTreeMap<String, f64>,
    /// The complete ranking as places of documents in the haystack, from 0. A document is a session, a
    /// turn or an entry of the corpus.
    #[serde(default)]
    pub ranked_places: Vec<usize>,
    /// Documents whose passages are shown to the model, best first; turn recall counts turns in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_passages: Vec<WireShownPassages>,
    /// The session of each numbered excerpt in the prompt: excerpt n is entry n - 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_session_ids: Vec<String>,
    /// LongMemEval's own measures, under its names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval: Option<OfficialFigures>,
    /// Our measures of baseline rankings of the same documents.
    #[serde(default)]
    pub baselines: BTreeMap<String, Figures>,
    /// Number of documents in the haystack.
    #[serde(default)]
    pub haystack: usize,
    /// Durations of the question, in milliseconds.
    #[serde(default)]
    pub timings: QuestionTimings,
    /// Stages that were degraded.
    #[serde(default)]
    pub degraded: Vec<String>,
    /// Fingerprint of everything the row depends on besides the question.
    #[serde(default)]
    pub run: String,
    /// Why the question failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// SHA-256 of the row without its times, in a file of rows. It detects accidental edits; it has no
    /// key, so a deliberate edit can carry a new hash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub row_hash: String,
}

impl BenchmarkRow {
    /// The row with its hash, as written to a file of rows.
    #[must_use]
    pub fn sealed(self) -> Self {
        Self { row_hash: self.hash(), ..self }
    }

    /// Whether the row matches its hash.
    pub fn is_intact(&self) -> bool {
        self.row_hash == self.hash()
    }

    fn hash(&self) -> String {
        let plain =
            Self { timings: QuestionTimings::default(), row_hash: String::new(), ..self.clone() };
        Hash::of(&serde_json::to_vec(&plain).expect("rows have text keys only")).to_hex()
    }
}

/// A numeric value; other types come from foreign rows and are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct NumericValue(pub Option<f64>);

impl<'de> Deserialize<'de> for NumericValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(serde_json::Value::deserialize(deserializer)?.as_f64()))
    }
}

/// A document with the passages that are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownPassages")]
pub struct WireShownPassages {
    /// Place of the document in the haystack, from 0.
    pub place: usize,
    /// Start and end (exclusive) of each passage, in characters.
    pub passages: Vec<[u32; 2]>,
}

impl From<ShownDocument> for WireShownPassages {
    fn from(shown: ShownDocument) -> Self {
        let ShownDocument { place, passages } = shown;
        Self { place, passages: passages.into_iter().map(|p| [p.start, p.end]).collect() }
    }
}

impl From<WireShownPassages> for ShownDocument {
    fn from(shown: WireShownPassages) -> Self {
        let WireShownPassages { place, passages } = shown;
        Self { place, passages: passages.into_iter().map(|[start, end]| start..end).collect() }
    }
}

/// Name of the measure: share of the answering turns that were shown.
pub(super) const TURN_RECALL: &str = "turn_recall";

impl From<QuestionOutcome> for BenchmarkRow {
    fn from(outcome: QuestionOutcome) -> Self {
        let QuestionOutcome {
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
        let measured = scores.into_iter().map(|(name, value)| (name, NumericValue(Some(value))));
        let turns = turn_recall.map(|share| (TURN_RECALL.to_owned(), NumericValue(Some(share))));
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
            shown_passages: shown.into_iter().map(WireShownPassages::from).collect(),
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

impl From<BenchmarkRow> for QuestionOutcome {
    fn from(row: BenchmarkRow) -> Self {
        let BenchmarkRow {
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

/// Recall by question type, as the last line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByTypeSummary {
    /// Version of this format.
    pub schema_version: u32,
    /// Always `by_type_summary`, the kind of this line.
    pub kind: String,
    /// Recall by question type.
    pub recall_by_type: BTreeMap<String, WireRecall>,
    /// Recall over all questions.
    pub aggregate: WireRecall,
    /// Not a question: `evaluate_qa.py` skips unknown ids and fails on a line without an id.
    pub question_id: String,
    /// Full name of the measured configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// Share of questions with a relevant document in the first k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Recall")]
pub struct WireRecall {
    /// Questions with a relevant document in the first k.
    pub hit: u64,
    /// Number of counted questions.
    pub total: u64,
    /// The share; null if no question counts.
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
    /// The summary with the full name of the measured configuration.
    #[must_use]
    pub fn of(by_type: &ByType, measured: String) -> Self {
        Self { measured: Some(measured), ..Self::from(by_type) }
    }
}
