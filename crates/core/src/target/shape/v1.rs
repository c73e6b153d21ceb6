//! `POST /v1/search` with `q` and `topK`: the public API as it was specified.
//!
//! Reasons and highlights come only if `include` asks for them.

use serde_json::{Value, json};

use crate::target::mapping::{EdgePaths, EntityPaths, Mapping, RationalePaths, TimingPaths};
use crate::target::template::{Filling, Slot};

use super::{asked_for, filters, object, path, rows};

pub(super) fn has(slot: Slot) -> bool {
    slot != Slot::Kind
}

pub(super) fn body(filling: &Filling<'_>) -> Value {
    let question = filling.question;
    object([
        ("workspaceId", filling.value(Slot::Workspace)),
        ("q", filling.value(Slot::Query)),
        ("mode", filling.value(Slot::Mode)),
        ("topK", Some(json!(asked_for(question.k)))),
        ("filters", filters(&question.filter)),
        (
            "include",
            Some(json!({
                "document": false,
                "rationale": question.rationale,
                "highlights": question.highlights,
            })),
        ),
    ])
}

pub(super) fn mapping() -> Mapping {
    let mut results = rows("$.results[*]", "$.documentId");
    results.chunk = Some(path("$.chunkId"));
    results.snippet = Some(path("$.highlight"));
    Mapping {
        timings: TimingPaths {
            lexical: Some(path("$.usage.stages.lexical")),
            dense: Some(path("$.usage.stages.vector")),
            rerank: Some(path("$.usage.stages.rerank")),
            hydration: Some(path("$.usage.stages.hydrate")),
            total: Some(path("$.usage.latencyMs")),
            ..TimingPaths::default()
        },
        rationale: Some(RationalePaths {
            edges: path("$.rationale.graph.edges[*]"),
            edge: EdgePaths {
                kind: path("$.type"),
                from: path("$.from"),
                to: path("$.to"),
                confidence: Some(path("$.confidence")),
                evidence: Some(path("$.evidenceChunks")),
            },
            entities: Some(EntityPaths {
                entities: path("$.rationale.graph.entities[*]"),
                id: path("$.id"),
                aliases: Some(path("$.aliases")),
            }),
            evidence: Some(path("$.rationale.graph.evidenceChunks")),
        }),
        mode: Some(path("$.rationale.routerMode")),
        request_id: Some(path("$.requestId")),
        ..Mapping::new(results)
    }
}
