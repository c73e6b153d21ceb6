//! Rows of a benchmark: one question each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::official::{Figures, Official};
use crate::benchmark::{ByType, Outcome, Recall, Timings};

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
    /// LongMemEval's own figures, under its names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval: Option<WireOfficial>,
    /// Our measures of other rankings of the same documents.
    #[serde(default)]
    pub baselines: BTreeMap<String, Figures>,
    /// How many documents there were to find.
    #[serde(default)]
    pub haystack: usize,
    /// Milliseconds.
    #[serde(default)]
    pub timings: WireTimings,
    /// Stages that could not do their work.
    #[serde(default)]
    pub degraded: Vec<String>,
    /// Names everything the row depends on besides the question.
    #[serde(default)]
    pub run: String,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
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

/// Milliseconds of the parts of a question.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkTimings")]
pub struct WireTimings {
    /// Making its brain and taking its documents in.
    pub import_ms: f64,
    /// Searching.
    pub search_ms: f64,
    /// Answering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_ms: Option<f64>,
}

/// LongMemEval's own figures of one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LongMemEvalFigures")]
pub struct WireOfficial {
    /// Of sessions.
    pub session: Figures,
    /// Of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Figures>,
    /// Whether its means count the question.
    pub counts: bool,
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
            turn_recall,
            official,
            baselines,
            haystack,
            timings: Timings { import_ms, search_ms, answer_ms },
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
            longmemeval: official.map(|Official { session, turn, counts }| WireOfficial {
                session,
                turn,
                counts,
            }),
            baselines,
            haystack,
            timings: WireTimings { import_ms, search_ms, answer_ms },
            degraded,
            run,
            error,
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
            longmemeval,
            baselines,
            haystack,
            timings: WireTimings { import_ms, search_ms, answer_ms },
            degraded,
            run,
            error,
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
            official: longmemeval.map(|WireOfficial { session, turn, counts }| Official {
                session,
                turn,
                counts,
            }),
            baselines,
            haystack,
            timings: Timings { import_ms, search_ms, answer_ms },
            degraded,
            run,
            error,
        }
    }
}

/// What the last line of a file with `--by-type` says it is.
pub const BY_TYPE_SUMMARY: &str = "by_type_summary";

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
        }
    }
}
