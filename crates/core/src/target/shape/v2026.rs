//! `POST /v1/search` with `query` and `limit`: the public API as it shipped.
//!
//! Its `mode` is how hard to try (fast, balanced, thorough): there is no place for the retrieval mode.

use serde_json::{Value, json};

use crate::target::mapping::{Mapping, TimingPaths};
use crate::target::template::{Filling, Slot};
use crate::target::{StageFallback, TargetAnswer};

use super::{Tier, asked_for, filters, object, path, rows};

pub(super) fn has(slot: Slot) -> bool {
    !matches!(slot, Slot::Mode | Slot::Kind | Slot::Workspace)
}

pub(super) fn body(filling: &Filling<'_>, tier: Option<Tier>) -> Value {
    let question = filling.question;
    object([
        ("query", filling.value(Slot::Query)),
        ("limit", Some(json!(asked_for(question.k)))),
        ("offset", Some(json!(0))),
        ("mode", tier.map(|tier| json!(tier.name()))),
        ("filters", filters(&question.filter)),
        ("includeContext", Some(json!(question.rationale))),
        ("includeHighlights", Some(json!(question.highlights))),
    ])
}

pub(super) fn mapping() -> Mapping {
    let mut results = rows("$.data[*]", "$.id");
    results.snippet = Some(path("$.snippet"));
    Mapping {
        timings: TimingPaths {
            dense: Some(path("$.latency.retrieval")),
            rerank: Some(path("$.latency.rerank")),
            hydration: Some(path("$.latency.enrich")),
            total: Some(path("$.latency.total")),
            ..TimingPaths::default()
        },
        request_id: Some(path("$.requestId")),
        ..Mapping::new(results)
    }
}

/// It keeps a fewest number of results whatever the threshold says, and tells by `fallback` when it did.
pub(super) fn note_bypass(answer: &Value, read: &mut TargetAnswer) {
    let told =
        [&answer["meta"]["fallback"], &answer["fallback"]].into_iter().find_map(Value::as_bool);
    if let Some(bypassed) = told {
        read.threshold_applied = Some(!bypassed);
        if bypassed {
            read.fallbacks.push(StageFallback::unexplained(crate::ranking::RERANK));
        }
    }
}
