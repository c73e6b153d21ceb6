//! Targets from the command line: one brain, asked in every way there is, and measured all the same.

mod check;
#[path = "../../../../eval/tests/it/target/conformance.rs"]
mod conformance;
mod measured;
mod served;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::format::target::read_target;
use gbrain_core::replay::LiveContext;
use gbrain_eval::retriever::{Retriever, TargetEnvironment, open};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::Home;

/// Writes targets to a home's config.json.
fn describe(home: &Home, targets: &Value) {
    let config = json!({ "format": "gbrain/1", "targets": targets, "eval": { "capture": true } });
    home.write("config.json", config.to_string());
}

/// A target that is asked from here.
fn target(home: &Home, settings: &Value, token: &str) -> Box<dyn Retriever> {
    let token = token.to_owned();
    let environment = TargetEnvironment {
        lookup: Arc::new(move |name| (name == "TOKEN").then(|| token.clone())),
        dir: home.path().to_owned(),
        cancel: Arc::new(AtomicBool::new(false)),
    };
    let live = LiveContext::at(Timestamp::UNIX_EPOCH);
    open(read_target("served", settings).unwrap(), live, &environment).unwrap()
}
