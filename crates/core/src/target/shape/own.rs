//! The shape in which commands answer, and in which an answer is printed: every part of it.

use crate::target::mapping::{
    AnswerMapping, EdgePaths, EntityPaths, RationalePaths, StagePaths, TimingPaths,
};

use super::{path, rows};

pub(crate) fn mapping() -> AnswerMapping {
    let mut results = rows("$.results[*]", "$.document");
    results.chunk = Some(path("$.chunk"));
    results.snippet = Some(path("$.snippet"));
    results.text = Some(path("$.text"));
    AnswerMapping {
        timings: TimingPaths {
            lexical: Some(path("$.timings.lexical_ms")),
            dense: Some(path("$.timings.dense_ms")),
            rerank: Some(path("$.timings.rerank_ms")),
            hydration: Some(path("$.timings.hydration_ms")),
            total: Some(path("$.timings.total_ms")),
            ..TimingPaths::default()
        },
        rationale: Some(RationalePaths {
            edges: path("$.rationale.edges[*]"),
            edge: EdgePaths {
                kind: path("$.type"),
                from: path("$.from"),
                to: path("$.to"),
                confidence: Some(path("$.confidence")),
                evidence: Some(path("$.evidence")),
            },
            entities: Some(EntityPaths {
                entities: path("$.rationale.entities[*]"),
                id: path("$.id"),
                aliases: Some(path("$.aliases")),
            }),
            evidence: Some(path("$.rationale.evidence")),
        }),
        stages: StagePaths {
            lexical: Some(path("$.stages.lexical")),
            vector: Some(path("$.stages.vector")),
            rerank: Some(path("$.stages.rerank[*].document")),
            rerank_scores: Some(path("$.stages.rerank[*].score")),
        },
        mode: Some(path("$.mode")),
        fallbacks: Some(path("$.fallbacks[*]")),
        threshold: Some(path("$.threshold")),
        threshold_applied: Some(path("$.threshold_applied")),
        candidates: Some(path("$.candidates")),
        request_id: Some(path("$.request_id")),
        ..AnswerMapping::new(results)
    }
}
