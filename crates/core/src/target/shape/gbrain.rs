//! This program's own API: `POST /v1/query`, and the tool `query` of its MCP server.

use serde_json::{Value, json};

use crate::ranking::{ALL_BELOW, RERANK_THRESHOLD, is_of_the_question};
use crate::target::mapping::{EdgePaths, Mapping};
use crate::target::path::Path;
use crate::target::template::{Filling, Slot};
use crate::target::{
    IdRule, Rationale, RationaleEntity, SourceRule, StageFallback, TargetAnswer, TargetError,
    Timings,
};

use super::{object, path, rows};

pub(super) fn has(slot: Slot) -> bool {
    !matches!(slot, Slot::Kind | Slot::Workspace | Slot::Authors | Slot::States)
}

pub(super) fn body(filling: &Filling<'_>) -> Value {
    object([
        ("query", filling.value(Slot::Query)),
        ("limit", filling.value(Slot::K)),
        ("retrieval_mode", filling.value(Slot::Mode)),
        ("sources", filling.value(Slot::Sources)),
        ("types", filling.value(Slot::Types)),
        ("tags", filling.value(Slot::Labels)),
        ("since", filling.value(Slot::After)),
        ("until", filling.value(Slot::Before)),
        ("now", filling.value(Slot::Now)),
    ])
}

/// The same as a template, for the arguments of a tool.
pub(crate) fn arguments() -> Value {
    json!({
        "query": "{{query}}", "limit": "{{k}}", "retrieval_mode": "{{mode}}", "sources": "{{sources}}",
        "types": "{{types}}", "tags": "{{labels}}", "since": "{{after}}", "until": "{{before}}",
        "now": "{{now}}",
    })
}

/// Where things are in an answer of ours.
fn mapping() -> Mapping {
    let mut results = rows("$.hits[*]", "$.slug");
    results.source = Some(path("$.source_id"));
    results.chunk = Some(path("$.passages[0].chunk_id"));
    results.snippet = Some(path("$.passages[0].snippet"));
    Mapping {
        mode: Some(path("$.retrieval_mode_resolved")),
        threshold: Some(path("$.rerank_threshold")),
        request_id: Some(path("$.served.request_id")),
        ..Mapping::new(results)
    }
}

/// Reads an answer of ours. A page is named by its source and slug, unless the settings name it
/// otherwise.
pub(crate) fn read(
    answer: &Value,
    ids: &IdRule,
    document: Option<&Path>,
    k: usize,
) -> Result<TargetAnswer, TargetError> {
    let mut mapping = mapping();
    if let Some(document) = document {
        mapping.results.document = document.clone();
    }
    let by_source = IdRule { source: SourceRule::OfResult, ..ids.clone() };
    let ids = match (&ids.source, document) {
        (SourceRule::None, None) => &by_source,
        _ => ids,
    };
    let mut read = mapping.read(answer, ids, k)?;
    read.rationale = Some(rationale(answer)?);
    read.timings = timings(answer);
    for degraded in path("$.degraded[*]").find(answer) {
        let word = |name: &str| degraded[name].as_str().unwrap_or_default();
        if word("reason") == ALL_BELOW || word("stage") == RERANK_THRESHOLD {
            read.threshold_applied = Some(false);
        }
        if !is_of_the_question(word("reason")) {
            read.fallbacks.push(StageFallback::unexplained(word("stage")));
        }
    }
    Ok(read)
}

/// Edges are inside of the hits that have any.
fn rationale(answer: &Value) -> Result<Rationale, TargetError> {
    let paths = EdgePaths {
        kind: path("$.type"),
        from: path("$.from"),
        to: path("$.to"),
        confidence: Some(path("$.confidence")),
        evidence: Some(path("$.evidence_chunk")),
    };
    let edges = path("$.hits[*].edges[*]").find(answer);
    let resolved = path("$.relation.resolved[*]").find(answer).into_iter();
    let entity = |id: &str| RationaleEntity { id: id.to_owned(), aliases: Vec::new() };
    Ok(Rationale {
        edges: paths.read(&edges, &IdRule::default())?,
        entities: resolved.filter_map(Value::as_str).map(entity).collect(),
        evidence: Vec::new(),
    })
}

fn timings(answer: &Value) -> Timings {
    let stages = answer["served"]["timings_us"].as_object().into_iter().flatten();
    let stages = stages.filter_map(|(stage, micros)| Some((stage.as_str(), micros.as_u64()?)));
    Timings::of_stages(stages, answer["rerank_model"].is_string())
}
