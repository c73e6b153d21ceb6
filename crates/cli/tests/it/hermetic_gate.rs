//! The gate of this repository: the bundled brain must find what its qrels say it must.
//!
//! No key, no server, no network. `GBRAIN_REPLAY_GATE_TOP1_FLOOR` and
//! `GBRAIN_REPLAY_GATE_RECALL_FLOOR` tighten or loosen it; CONTRIBUTING says when the fixture may
//! change.

use crate::support::{Home, demo, demo_home};

/// A floor from the environment; one that is no rate is an error, not the default.
fn floor(name: &str, default: f64) -> f64 {
    let Ok(text) = std::env::var(name) else { return default };
    let floor: f64 = text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, no number"));
    assert!((0.0..=1.0).contains(&floor), "{name} is {floor}, not from 0 to 1");
    floor
}

#[test]
fn the_bundled_brain_finds_what_it_must() {
    let home = demo_home(Home::sqlite());
    let qrels = demo("qrels.json");
    let report = home.run(&["eval", "gate", "--qrels", qrels.to_str().unwrap(), "--json"]).json();
    let summary = &report["correctness_gate"]["summary"];
    assert_eq!(summary["queries_errored"], 0);
    let judged = summary["expected_top1_denominator"].as_u64().unwrap();
    assert!(judged >= 40, "{judged} queries say which page must be first: too few to tell");
    let top1 = summary["expected_top1_hit_rate"].as_f64().unwrap();
    let recall = summary["mean_recall_at_k"].as_f64().unwrap();
    let (top1_floor, recall_floor) = (
        floor("GBRAIN_REPLAY_GATE_TOP1_FLOOR", 0.85),
        floor("GBRAIN_REPLAY_GATE_RECALL_FLOOR", 0.90),
    );
    let worst = &report["correctness_gate"]["results"];
    assert!(top1 >= top1_floor, "top-1 {top1} is below {top1_floor}: {worst:#}");
    assert!(recall >= recall_floor, "recall@10 {recall} is below {recall_floor}: {worst:#}");
}
