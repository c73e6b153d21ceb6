//! Questions and answers of targets on the wire: what a command is sent, what it sends back, and what
//! `targets check --json` prints.

use schemars::JsonSchema;
use serde::Serialize;

use crate::request::RetrievalMode;
use crate::target::{
    Found, Judgement, QueryKind, Question, QuestionFilter, Rationale, RationaleEdge,
    RationaleEntity, StageIds, TargetAnswer, Timings,
};

/// The version of [`QuestionBody`] and [`AnswerBody`].
const VERSION: u32 = 1;

/// A question as a command gets it, on one line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuestionBody<'a> {
    /// The version of this shape.
    schema_version: u32,
    /// The number of the question; the answer has the same.
    id: u64,
    /// What is asked.
    query: &'a str,
    /// The id of the query, where it has one.
    query_id: Option<&'a str>,
    /// How many results are wanted.
    k: usize,
    /// Which half answers; null leaves it to the target.
    mode: Option<RetrievalMode>,
    /// What the query is; null leaves it to the target.
    query_kind: Option<QueryKind>,
    /// Whose documents are searched.
    workspace: Option<&'a str>,
    /// Which documents may be in the answer.
    filter: WireFilter<'a>,
    /// Whether to tell the edges that justify the answer.
    rationale: bool,
    /// Whether to tell the passages that justify the answer.
    highlights: bool,
    /// The time that "recent" is measured against.
    #[schemars(extend("format" = "date-time"))]
    now: Option<String>,
}

/// Which documents may be in the answer; empty lists mean all.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QuestionFilter")]
struct WireFilter<'a> {
    sources: &'a [String],
    types: &'a [String],
    authors: &'a [String],
    states: &'a [String],
    labels: &'a [String],
    after: Option<String>,
    before: Option<String>,
}

impl<'a> QuestionBody<'a> {
    /// The wire form of a question with its number.
    pub fn new(id: u64, question: &'a Question) -> Self {
        let Question {
            id: query_id,
            text,
            k,
            mode,
            kind,
            filter,
            brain: _,
            workspace,
            rationale,
            highlights,
            passages: _,
            stages: _,
            now,
            within: _,
        } = question;
        let QuestionFilter { sources, types, authors, states, labels, after, before } = filter;
        Self {
            schema_version: VERSION,
            id,
            query: text,
            query_id: query_id.as_deref(),
            k: *k,
            mode: *mode,
            query_kind: *kind,
            workspace: workspace.as_deref(),
            filter: WireFilter {
                sources,
                types,
                authors,
                states,
                labels,
                after: after.map(|date| date.to_string()),
                before: before.map(|date| date.to_string()),
            },
            rationale: *rationale,
            highlights: *highlights,
            now: now.map(|now| now.to_string()),
        }
    }
}

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetAnswer")]
pub struct AnswerBody<'a> {
    /// The version of this shape.
    schema_version: u32,
    /// The results, best first.
    results: Vec<WireFound<'a>>,
    /// How long the stages took, as the target says, in milliseconds.
    timings: WireTimes,
    /// How long it took as seen from here, in milliseconds.
    latency_ms: f64,
    /// Attempts that were made.
    attempts: u32,
    /// The edges that justify the answer; null if the target does not tell.
    rationale: Option<WireReasons<'a>>,
    /// Which half answered; null if the target does not tell.
    mode: Option<RetrievalMode>,
    /// Stages that did not do their work.
    fallbacks: Vec<&'a str>,
    /// The least score of a reranker that was to be kept.
    threshold: Option<f64>,
    /// Whether that threshold decided anything.
    threshold_applied: Option<bool>,
    /// What each stage had before it; null if the target does not tell.
    stages: Option<WireStageIds<'a>>,
    /// How many documents were considered.
    candidates: Option<u64>,
    /// The target's name for the request.
    request_id: Option<&'a str>,
    /// Parts of the question that the target has no place for.
    not_asked: &'a [&'static str],
}

/// One result.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetResult")]
struct WireFound<'a> {
    /// The document as it is compared.
    document: &'a str,
    /// The chunk.
    chunk: Option<&'a str>,
    /// Where the document came from.
    source: Option<&'a str>,
    /// Comparable within one answer only.
    score: Option<f64>,
    /// The title.
    title: Option<&'a str>,
    /// The passage that is shown.
    snippet: Option<&'a str>,
    /// The chunk's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// Times in milliseconds; null where the target does not tell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetTimings")]
struct WireTimes {
    lexical_ms: Option<f64>,
    dense_ms: Option<f64>,
    rerank_ms: Option<f64>,
    hydration_ms: Option<f64>,
    total_ms: Option<f64>,
}

/// The edges that justify an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetRationale")]
struct WireReasons<'a> {
    /// The edges.
    edges: Vec<WireReason<'a>>,
    /// What the question was about.
    entities: Vec<WireEntity<'a>>,
    /// Chunks that say so, where it is not told which says what.
    evidence: &'a [String],
}

/// An edge.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetEdge")]
struct WireReason<'a> {
    /// Its meaning.
    #[serde(rename = "type")]
    kind: &'a str,
    /// Where it starts.
    from: &'a str,
    /// Where it ends.
    to: &'a str,
    /// How sure, 0 to 1.
    confidence: Option<f64>,
    /// Chunks that say so.
    evidence: &'a [String],
}

/// Something that the question was about.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetEntity")]
struct WireEntity<'a> {
    id: &'a str,
    aliases: &'a [String],
}

/// The documents of each stage.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetStages")]
struct WireStageIds<'a> {
    /// Found by words.
    lexical: &'a [String],
    /// Found by meaning.
    vector: &'a [String],
    /// Found by walking links.
    graph: &'a [String],
    /// Judged by a reranker.
    rerank: Vec<WireJudgement<'a>>,
}

/// What a reranker said.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetJudgement")]
struct WireJudgement<'a> {
    document: &'a str,
    score: Option<f64>,
}

impl<'a> AnswerBody<'a> {
    /// The wire form of an answer.
    pub fn new(answer: &'a TargetAnswer) -> Self {
        let TargetAnswer {
            results,
            timings,
            latency_ms,
            attempts,
            rationale,
            mode,
            fallbacks,
            threshold,
            threshold_applied,
            stages,
            candidates,
            request_id,
            not_asked,
            provenance: _,
        } = answer;
        Self {
            schema_version: VERSION,
            results: results.iter().map(WireFound::new).collect(),
            timings: WireTimes::new(timings),
            latency_ms: *latency_ms,
            attempts: *attempts,
            rationale: rationale.as_ref().map(WireReasons::new),
            mode: *mode,
            fallbacks: fallbacks.iter().map(|fallback| fallback.stage.as_str()).collect(),
            threshold: *threshold,
            threshold_applied: *threshold_applied,
            stages: stages.as_ref().map(WireStageIds::new),
            candidates: *candidates,
            request_id: request_id.as_deref(),
            not_asked,
        }
    }
}

impl<'a> WireFound<'a> {
    fn new(found: &'a Found) -> Self {
        let Found { document, chunk, source, score, title, snippet, text } = found;
        Self {
            document,
            chunk: chunk.as_deref(),
            source: source.as_deref(),
            score: *score,
            title: title.as_deref(),
            snippet: snippet.as_deref(),
            text: text.as_deref(),
        }
    }
}

impl WireTimes {
    fn new(timings: &Timings) -> Self {
        let Timings { lexical_ms, dense_ms, rerank_ms, hydration_ms, total_ms } = *timings;
        Self { lexical_ms, dense_ms, rerank_ms, hydration_ms, total_ms }
    }
}

impl<'a> WireReasons<'a> {
    fn new(rationale: &'a Rationale) -> Self {
        let Rationale { edges, entities, evidence } = rationale;
        let edge = |edge: &'a RationaleEdge| {
            let RationaleEdge { kind, from, to, confidence, evidence } = edge;
            WireReason { kind, from, to, confidence: *confidence, evidence }
        };
        let entity = |entity: &'a RationaleEntity| {
            let RationaleEntity { id, aliases } = entity;
            WireEntity { id, aliases }
        };
        Self {
            edges: edges.iter().map(edge).collect(),
            entities: entities.iter().map(entity).collect(),
            evidence,
        }
    }
}

impl<'a> WireStageIds<'a> {
    fn new(stages: &'a StageIds) -> Self {
        let StageIds { lexical, vector, graph, rerank } = stages;
        let judgement = |judgement: &'a Judgement| {
            let Judgement { document, score } = judgement;
            WireJudgement { document, score: *score }
        };
        Self { lexical, vector, graph, rerank: rerank.iter().map(judgement).collect() }
    }
}
