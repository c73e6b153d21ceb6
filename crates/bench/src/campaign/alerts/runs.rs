//! Runs of suites that fail and recover in turn.

use anyhow::Result;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_eval::suite::record as keep;
use gbrain_store::Store;
use serde_json::{Value, json};

/// Records so many runs of each of so many suites: of each, the first fails, the next is well, and so on.
pub(super) fn record(store: &Store, suites: usize, rounds: usize) -> Result<()> {
    let workspace = WorkspaceId::default();
    for round in 0..rounds {
        for suite in 0..suites {
            let run: SuiteRun = serde_json::from_value(body(suite, round))?;
            keep(store, &workspace, &run, store.clock()?)?;
        }
    }
    Ok(())
}

fn body(suite: usize, round: usize) -> Value {
    let is_well = round % 2 == 1;
    let (hits, status) = if is_well { (100, "ok") } else { (80, "alert") };
    json!({
        "schema_version": 1,
        "suite": format!("suite-{suite:04}"),
        "type": "smoke",
        "workspace": "default",
        "target": "local",
        "owners": ["@campaign"],
        "key": format!("manual:{suite}-{round}"),
        "trigger": "manual",
        "started_at": "2026-11-17T12:00:00.000Z",
        "finished_at": "2026-11-17T12:00:01.000Z",
        "duration_ms": 1000,
        "verdict": if is_well { "pass" } else { "fail" },
        "inconclusive_reasons": [],
        "planned": 100,
        "asked": 100,
        "rerank_threshold": null,
        "measures": [{
            "segment": "all", "measure": "recall@5", "value": f64::from(hits) / 100.0, "hits": hits,
            "n": 100, "target": "95%", "alert": "92%", "status": status, "decides": true, "pages": true,
        }],
        "cases": [],
    })
}
