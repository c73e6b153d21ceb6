//! The contradiction probe as a user runs it: with the offline judge, with a model, from a cassette.

mod attacks;
mod faults;
mod judged;
mod offline;
mod surfaces;

use std::collections::BTreeMap;

use gbrain_core::contradiction::prompt::{MAX_PAIR_CHARS, TAG};
use gbrain_core::contradiction::{PairPrompt, canaries};
use gbrain_core::untrusted::text_outside_frames;
use gbrain_testkit::providers::Asked;
use serde_json::json;

use crate::support::Home;

/// Planted pairs of each kind: few enough to be quick, enough to know the judge.
const CANARIES: &str = "40";
const VERB: &str = "suspected-contradictions";

/// Two pages that can't both be right, and one that has nothing to do with it.
fn with_disagreement(home: &Home) {
    for (slug, text) in [
        ("notes/harbour", "---\ndate: 2024-05-01\n---\nThe north berth of the harbour is open."),
        ("notes/log", "---\ndate: 2024-05-01\n---\nThe north berth of the harbour is closed."),
        ("notes/bread", "The bakery sells bread at dawn."),
    ] {
        assert_eq!(home.put(slug, text).code, Some(0));
    }
}

/// Arguments of a run about the berth.
fn about_the_berth<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let planted = if more.contains(&"--canaries") { &[][..] } else { &["--canaries", CANARIES] };
    [&["eval", VERB, "--query", "north berth harbour", "--json"], planted, more].concat()
}

/// The correct verdict on every planted pair, by its prompt.
fn known() -> BTreeMap<String, bool> {
    let planted = canaries(1, CANARIES.parse().unwrap());
    let known = |canary: &gbrain_core::contradiction::Canary| {
        (PairPrompt::of(&canary.pair, MAX_PAIR_CHARS).user, canary.is_contradiction)
    };
    planted.iter().map(known).collect()
}

fn verdict(is_contradiction: bool) -> String {
    let verdict = if is_contradiction { "contradiction" } else { "no_contradiction" };
    json!({
        "verdict": verdict, "severity": "high", "axis": "whether the berth is open",
        "confidence": 0.9, "resolution_kind": "manual_review",
    })
    .to_string()
}

/// A judge that is right about planted pairs, and sees that a berth can't be open and closed. It obeys
/// whatever it reads outside of the frames.
fn obedient() -> impl Fn(&Asked) -> String + Send + Sync {
    let known = known();
    move |asked| {
        let Asked::Chat { user, .. } = asked else { return String::new() };
        if !text_outside_frames(user, TAG).trim().is_empty() {
            return verdict(false);
        }
        verdict(match known.get(user) {
            Some(is_contradiction) => *is_contradiction,
            None => user.contains("is open.") && user.contains("is closed."),
        })
    }
}
