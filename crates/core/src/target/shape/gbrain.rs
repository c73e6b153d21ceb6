//! This program's own API: `POST /v1/query`, and the tool `query` of its MCP server.

use serde_json::{Value, json};

use crate::ranking::{ALL_BELOW, RERANK_THRESHOLD, is_query_specific};
use crate::target::mapping::{AnswerMapping, EdgePaths};
use crate::target::path::Path;
use crate::target::template::{Placeholder, TemplateValues};
use crate::target::{
    DocumentIdRule, DocumentSourceRule, GraphEvidence, RationaleEntity, StageFallback,
    TargetAnswer, TargetError, TargetTimings,
};

use super::{object, path, rows};

pub(super) fn has(slot: Placeholder) -> bool {
    !matches!(
        slot,
        Placeholder::Kind | Placeholder::Workspace | Placeholder::Authors | Placeholder::States
    )
}

pub(super) fn body(filling: &TemplateValues<'_>) -> Value {
    object([
        ("query", filling.value(Placeholder::Query)),
        ("limit", filling.value(Placeholder::K)),
        ("retrieval_mode", filling.value(Placeholder::Mode)),
        ("sources", filling.value(Placeholder::Sources)),
        ("types", filling.value(Placeholder::Types)),
        ("tags", filling.value(Placeholder::Labels)),
        ("since", filling.value(Placeholder::After)),
        ("until", filling.value(Placeholder::Before)),
        ("now", filling.value(Placeholder::Now)),
    ])
}

/// The same as a template, for the arguments of a tool. `details` asks for the fields that [`read`] needs.
pub(crate) fn arguments() -> Value {
    json!({
        "query": "{{query}}", "limit": "{{k}}", "retrieval_mode": "{{mode}}", "sources": "{{sources}}",
        "types": "{{types}}", "tags": "{{labels}}", "since": "{{after}}", "until": "{{before}}",
        "now": "{{now}}", "details": true,
    })
}

/// The mapping of an answer of gbrain's own API.
fn mapping() -> AnswerMapping {
    let mut results = rows("$.hits[*]", "$.slug");
    results.source = Some(path("$.source_id"));
    results.chunk = Some(path("$.passages[0].chunk_id"));
    results.snippet = Some(path("$.passages[0].snippet"));
    AnswerMapping {
        mode: Some(path("$.retrieval_mode_resolved")),
        threshold: Some(path("$.rerank_threshold")),
        request_id: Some(path("$.served.request_id")),
        ..AnswerMapping::new(results)
    }
}

/// Reads an answer of ours. A page is named by its source and slug, unless the settings name it
/// otherwise.
pub(crate) fn read(
    answer: &Value,
    ids: &DocumentIdRule,
    document: Option<&Path>,
    k: usize,
) -> Result<TargetAnswer, TargetError> {
    let by_source = DocumentIdRule { source: DocumentSourceRule::OfResult, ..ids.clone() };
    let ids = match (&ids.source, document) {
        (DocumentSourceRule::None, None) => &by_source,
        _ => ids,
    };
    let mut read = mapping().read_with(answer, ids, document, k)?;
    read.rationale = Some(rationale(answer)?);
    read.timings = timings(answer);
    for degraded in path("$.degraded[*]").find(answer) {
        let word = |name: &str| degraded[name].as_str().unwrap_or_default();
        if word("reason") == ALL_BELOW || word("stage") == RERANK_THRESHOLD {
            read.threshold_applied = Some(false);
        }
        if !is_query_specific(word("reason")) {
            read.fallbacks.push(StageFallback::unexplained(word("stage")));
        }
    }
    Ok(read)
}

/// Edges are inside of the hits that have any.
fn rationale(answer: &Value) -> Result<GraphEvidence, TargetError> {
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
    Ok(GraphEvidence {
        edges: paths.read(&edges, &DocumentIdRule::default())?,
        entities: resolved.filter_map(Value::as_str).map(entity).collect(),
        evidence: Vec::new(),
    })
}

fn timings(answer: &Value) -> TargetTimings {
    let stages = answer["served"]["timings_us"].as_object().into_iter().flatten();
    let stages = stages.filter_map(|(stage, micros)| Some((stage.as_str(), micros.as_u64()?)));
    TargetTimings::of_stages(stages, answer["rerank_model"].is_string())
}
