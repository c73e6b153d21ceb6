//! The mapping of an answer's fields, as written in settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::mapping::{
    AnswerMapping, EdgePaths, EntityPaths, RationalePaths, ResultPaths, ScoreKind, StagePaths,
    TimingPaths,
};
use crate::target::path::Path;

/// The mapping of an answer's fields: JSONPaths such as `$.data[*]`, `$.meta.took`, `$['a b'][0]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WireResponse {
    /// One value a result, such as `$.data[*]`: the paths below then begin at a result. Without it they
    /// begin at the answer, and each gives one value a result, such as `$.ids[0][*]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Path of the document's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Path of the chunk's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// Path of the document's source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Path of the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<String>,
    /// Whether higher is better (`score`, the default) or lower (`distance`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_kind: Option<ScoreKind>,
    /// Path of the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The passage that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The chunk's whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Paths of the durations of stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timings: Option<TimingPaths<String>>,
    /// The edges that justify the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<WireRationale>,
    /// The documents of each stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<StagePaths<String>>,
    /// Path of the half that answered: knowledge, graph or hybrid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Names of stages that did not do their work, or true if one did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<String>,
    /// Path of the minimum reranker score of a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<String>,
    /// Whether that threshold decided anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_applied: Option<String>,
    /// Path of the number of considered documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<String>,
    /// The target's name for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Paths of the rationales.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RationalePaths")]
pub struct WireRationale {
    /// One value an edge.
    pub edges: String,
    /// In an edge, its meaning.
    #[serde(rename = "type")]
    pub kind: String,
    /// In an edge, where it starts.
    pub from: String,
    /// In an edge, where it ends.
    pub to: String,
    /// In an edge, how sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// In an edge, chunks that say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_evidence: Option<String>,
    /// One value an entity that the question was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<String>,
    /// Path of the id in an entity; `$.id` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// In an entity, its other names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_aliases: Option<String>,
    /// Chunks that say so, for all edges together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// A path under its key, for what is said of it when it is none.
fn path(key: &str, text: &str) -> Result<Path, String> {
    Path::parse(text).map_err(|error| format!("`response.{key}`: {error}"))
}

fn maybe(key: &str, text: Option<String>) -> Result<Option<Path>, String> {
    text.map(|text| path(key, &text)).transpose()
}

impl WireResponse {
    /// Validates the mapping of an answer.
    pub fn mapping(self) -> Result<AnswerMapping, String> {
        let Self {
            results,
            document,
            chunk,
            source,
            score,
            score_kind,
            title,
            snippet,
            text,
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
        let document = document.ok_or("`response.document` is missing: where is the id?")?;
        Ok(AnswerMapping {
            results: ResultPaths {
                rows: maybe("results", results)?,
                document: path("document", &document)?,
                chunk: maybe("chunk", chunk)?,
                source: maybe("source", source)?,
                score: maybe("score", score)?,
                title: maybe("title", title)?,
                snippet: maybe("snippet", snippet)?,
                text: maybe("text", text)?,
                score_kind: score_kind.unwrap_or_default(),
            },
            timings: timings.unwrap_or_default().paths()?,
            rationale: rationale.map(WireRationale::paths).transpose()?,
            stages: stages.unwrap_or_default().paths()?,
            mode: maybe("mode", mode)?,
            fallbacks: maybe("fallbacks", fallbacks)?,
            threshold: maybe("threshold", threshold)?,
            threshold_applied: maybe("threshold_applied", threshold_applied)?,
            candidates: maybe("candidates", candidates)?,
            request_id: maybe("request_id", request_id)?,
        })
    }
}

impl TimingPaths<String> {
    fn paths(self) -> Result<TimingPaths, String> {
        let Self { lexical, dense, rerank, hydration, total, unit } = self;
        Ok(TimingPaths {
            lexical: maybe("timings.lexical", lexical)?,
            dense: maybe("timings.dense", dense)?,
            rerank: maybe("timings.rerank", rerank)?,
            hydration: maybe("timings.hydration", hydration)?,
            total: maybe("timings.total", total)?,
            unit,
        })
    }
}

impl WireRationale {
    fn paths(self) -> Result<RationalePaths, String> {
        let Self {
            edges,
            kind,
            from,
            to,
            confidence,
            edge_evidence,
            entities,
            entity_id,
            entity_aliases,
            evidence,
        } = self;
        let entities = match entities {
            None => None,
            Some(entities) => Some(EntityPaths {
                entities: path("rationale.entities", &entities)?,
                id: path("rationale.entity_id", entity_id.as_deref().unwrap_or("$.id"))?,
                aliases: maybe("rationale.entity_aliases", entity_aliases)?,
            }),
        };
        Ok(RationalePaths {
            edges: path("rationale.edges", &edges)?,
            edge: EdgePaths {
                kind: path("rationale.type", &kind)?,
                from: path("rationale.from", &from)?,
                to: path("rationale.to", &to)?,
                confidence: maybe("rationale.confidence", confidence)?,
                evidence: maybe("rationale.edge_evidence", edge_evidence)?,
            },
            entities,
            evidence: maybe("rationale.evidence", evidence)?,
        })
    }
}

impl StagePaths<String> {
    fn paths(self) -> Result<StagePaths, String> {
        let Self { lexical, vector, rerank, rerank_scores } = self;
        Ok(StagePaths {
            lexical: maybe("stages.lexical", lexical)?,
            vector: maybe("stages.vector", vector)?,
            rerank: maybe("stages.rerank", rerank)?,
            rerank_scores: maybe("stages.rerank_scores", rerank_scores)?,
        })
    }
}
