//! Parsing an answer by a mapping of its fields.
//!
//! Promises, for all input: no panic; a result without an id, a field of the wrong type, a time
//! below zero or results that are not where the mapping says are
//! [`TargetErrorKind::Malformed`](super::TargetErrorKind::Malformed), and never an empty answer.
//!
//! Tolerated: null is the same as missing; an id may be a whole number; a field that a result lacks
//! is none; the same document may stand several times, as targets that answer with chunks do; more
//! results than were asked for are cut off.

mod reasons;
mod results;
mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::named;
use crate::request::RetrievalMode;

use super::path::{Path, kind_of};
use super::{
    DocumentIdRule, RerankJudgement, StageFallback, StageIds, TargetAnswer, TargetError,
    TargetTimings,
};

use value::{TypeMismatch, column, count, flag, id, list, number, number_or_null, one, text, time};

named! {
    /// The meaning of a result's score.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum ScoreKind {
        #[default]
        Score = "score",
        /// Lower is better: its negative becomes the score.
        Distance = "distance",
    }
}

named! {
    /// The unit of times.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum TimeUnit {
        #[default]
        Milliseconds = "ms",
        Microseconds = "us",
        Seconds = "s",
    }
}

/// Where the parts of a result are. With rows they are looked for in each row, without in the whole
/// answer, where each path gives one value a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultPaths {
    /// One value a result; none if the answer has columns.
    pub rows: Option<Path>,
    pub document: Path,
    pub chunk: Option<Path>,
    pub source: Option<Path>,
    pub score: Option<Path>,
    pub title: Option<Path>,
    /// The passage that is shown.
    pub snippet: Option<Path>,
    pub text: Option<Path>,
    /// The meaning of the score.
    pub score_kind: ScoreKind,
}

/// Paths of the timings.
// `P` is a path, or its text in settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TimingPaths")]
pub struct TimingPaths<P = Path> {
    /// Path of the duration of keyword search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical: Option<P>,
    /// Path of the duration of vector search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<P>,
    /// Path of the duration of reranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<P>,
    /// Path of the duration of fetching passages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hydration: Option<P>,
    /// Path of the duration of the whole request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<P>,
    /// Unit of the times; `ms` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<TimeUnit>,
}

/// Paths of the parts of an edge.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgePaths {
    pub kind: Path,
    pub from: Path,
    pub to: Path,
    pub confidence: Option<Path>,
    /// Chunks that say so.
    pub evidence: Option<Path>,
}

/// Paths of the entities.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityPaths {
    /// One value an entity.
    pub entities: Path,
    /// In an entity, its id.
    pub id: Path,
    /// In an entity, its other names.
    pub aliases: Option<Path>,
}

/// Paths of the rationales.
#[derive(Debug, Clone, PartialEq)]
pub struct RationalePaths {
    /// One value an edge.
    pub edges: Path,
    pub edge: EdgePaths,
    /// Path of the entities that the question is about.
    pub entities: Option<EntityPaths>,
    /// Chunks that say so, for all edges together.
    pub evidence: Option<Path>,
}

/// Paths of the documents of each stage.
// `P` is a path, or its text in settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StagePaths")]
pub struct StagePaths<P = Path> {
    /// Path of the ids from keyword search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical: Option<P>,
    /// Path of the ids from vector search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<P>,
    /// Judged by a reranker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<P>,
    /// The scores of those that were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_scores: Option<P>,
}

/// The mapping of an answer's fields.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerMapping {
    pub results: ResultPaths,
    pub timings: TimingPaths,
    pub rationale: Option<RationalePaths>,
    pub stages: StagePaths,
    pub mode: Option<Path>,
    /// Names of stages that did not do their work, or true.
    pub fallbacks: Option<Path>,
    /// Path of the minimum score of a result.
    pub threshold: Option<Path>,
    /// Whether it decided anything.
    pub threshold_applied: Option<Path>,
    /// Path of the number of considered documents.
    pub candidates: Option<Path>,
    /// The target's name for the request.
    pub request_id: Option<Path>,
}

impl AnswerMapping {
    /// A description that says where results and their ids are, and nothing else.
    pub fn new(results: ResultPaths) -> Self {
        Self {
            results,
            timings: TimingPaths::default(),
            rationale: None,
            stages: StagePaths::default(),
            mode: None,
            fallbacks: None,
            threshold: None,
            threshold_applied: None,
            candidates: None,
            request_id: None,
        }
    }

    /// The same, with the id of a result somewhere else.
    pub fn read_with(
        &self,
        answer: &Value,
        ids: &DocumentIdRule,
        document: Option<&Path>,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        let Some(document) = document else { return self.read(answer, ids, k) };
        let mut mapping = self.clone();
        mapping.results.document = document.clone();
        mapping.read(answer, ids, k)
    }

    /// Reads an answer of at most `k` results.
    pub fn read(
        &self,
        answer: &Value,
        ids: &DocumentIdRule,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        let Self {
            results,
            timings,
            rationale,
            stages,
            mode,
            fallbacks,
            threshold,
            threshold_applied,
            candidates,
            request_id,
        } = self;
        let mode = one(answer, mode.as_ref(), text)?;
        Ok(TargetAnswer {
            results: results.read(answer, ids, k)?,
            timings: timings.read(answer)?,
            rationale: rationale.as_ref().map_or(Ok(None), |paths| paths.read(answer, ids))?,
            // A target may have modes that gbrain does not know.
            mode: mode.and_then(|mode| RetrievalMode::from_name(&mode)),
            fallbacks: names_of_fallbacks(answer, fallbacks.as_ref())?
                .into_iter()
                .map(StageFallback::unexplained)
                .collect(),
            threshold: one(answer, threshold.as_ref(), number)?,
            threshold_applied: one(answer, threshold_applied.as_ref(), flag)?,
            stages: stages.read(answer, ids)?,
            candidates: one(answer, candidates.as_ref(), count)?,
            request_id: one(answer, request_id.as_ref(), id)?,
            ..TargetAnswer::default()
        })
    }
}

impl TimingPaths {
    fn read(&self, answer: &Value) -> Result<TargetTimings, TargetError> {
        let Self { lexical, dense, rerank, hydration, total, unit } = self;
        let factor = match unit.unwrap_or_default() {
            TimeUnit::Milliseconds => 1.0,
            TimeUnit::Microseconds => 0.001,
            TimeUnit::Seconds => 1000.0,
        };
        let time = |path: &Option<Path>| {
            let time = one(answer, path.as_ref(), time)?;
            Ok::<_, TargetError>(time.map(|time| time * factor))
        };
        Ok(TargetTimings {
            lexical_ms: time(lexical)?,
            dense_ms: time(dense)?,
            rerank_ms: time(rerank)?,
            hydration_ms: time(hydration)?,
            total_ms: time(total)?,
        })
    }
}

impl StagePaths {
    fn read(&self, answer: &Value, ids: &DocumentIdRule) -> Result<Option<StageIds>, TargetError> {
        let Self { lexical, vector, rerank, rerank_scores } = self;
        let mut reported = [lexical, vector, rerank].into_iter().flatten();
        if reported.all(|path| path.find(answer).is_empty()) {
            return Ok(None);
        }
        let documents = |path: &Option<Path>| {
            let documents = list(answer, path.as_ref(), id)?;
            Ok::<_, TargetError>(documents.into_iter().map(|one| ids.named(one)).collect())
        };
        let judged: Vec<String> = documents(rerank)?;
        let scores = match rerank_scores {
            None => vec![None; judged.len()],
            Some(path) => column(answer, Some(path), judged.len(), number_or_null)?,
        };
        let judged = judged.into_iter().zip(scores);
        Ok(Some(StageIds {
            lexical: documents(lexical)?,
            vector: documents(vector)?,
            // Answers name the edges instead.
            graph: Vec::new(),
            rerank: judged.map(|(document, score)| RerankJudgement { document, score }).collect(),
        }))
    }
}

fn names_of_fallbacks(answer: &Value, path: Option<&Path>) -> Result<Vec<String>, TargetError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for value in path.find(answer) {
        match value {
            Value::Null | Value::Bool(false) => (),
            Value::Bool(true) => names.push("fallback".to_owned()),
            Value::String(name) => names.push(name.clone()),
            other => return Err(TypeMismatch { found: kind_of(other), wanted: "a name" }.at(path)),
        }
    }
    Ok(names)
}
