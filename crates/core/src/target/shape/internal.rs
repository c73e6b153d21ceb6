//! `POST /api/knowledge/search`: the API that the playbook's suites were written for.

use serde_json::{Value, json};

use crate::target::mapping::{Mapping, TimingPaths};
use crate::target::template::{Filling, Slot};

use super::{ModeMeans, asked_for, filters, object, path, rows};

pub(super) fn has(slot: Slot, mode_means: ModeMeans) -> bool {
    match slot {
        Slot::Mode => mode_means == ModeMeans::RetrievalMode,
        Slot::Kind => mode_means == ModeMeans::QueryKind,
        _ => true,
    }
}

pub(super) fn body(filling: &Filling<'_>, mode_means: ModeMeans) -> Value {
    let question = filling.question;
    let mode = match mode_means {
        ModeMeans::RetrievalMode => filling.value(Slot::Mode),
        ModeMeans::QueryKind => filling.value(Slot::Kind),
    };
    object([
        ("workspaceId", filling.value(Slot::Workspace)),
        ("text", filling.value(Slot::Query)),
        ("filters", filters(&question.filter)),
        ("mode", mode),
        ("limit", Some(json!(asked_for(question.k)))),
    ])
}

pub(super) fn mapping() -> Mapping {
    let mut results = rows("$.results[*]", "$.documentId");
    results.chunk = Some(path("$.chunkId"));
    results.snippet = Some(path("$.highlight"));
    Mapping {
        timings: TimingPaths {
            lexical: Some(path("$.latency.lexicalMs")),
            dense: Some(path("$.latency.vectorMs")),
            rerank: Some(path("$.latency.rerankMs")),
            hydration: Some(path("$.latency.hydrationMs")),
            total: Some(path("$.latency.totalMs")),
            ..TimingPaths::default()
        },
        candidates: Some(path("$.totalCandidates")),
        ..Mapping::new(results)
    }
}
