//! Targets of every kind: one suite that holds for all, and what goes wrong with each.

mod command;
mod conformance;
mod faults;
mod http;
mod local;
mod mcp;
mod saved;
mod tls;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::format::target::read_target;
use gbrain_core::replay::LiveContext;
use gbrain_core::target::{Question, TargetError, TargetErrorKind};
use gbrain_eval::retriever::{Retriever, TargetEnvironment, open};
use jiff::Timestamp;
use serde_json::Value;

use conformance::{Expected, TEXTS};

use gbrain_testkit::retrieval::Reply;

/// A secret that must show nowhere.
const SECRET: &str = "sk-very-secret-123";

fn environment(dir: &Path) -> TargetEnvironment {
    TargetEnvironment {
        lookup: Arc::new(|name| (name == "PROD_KEY").then(|| SECRET.to_owned())),
        dir: dir.to_owned(),
        cancel: Arc::new(AtomicBool::new(false)),
    }
}

fn try_target(settings: Value) -> Result<Box<dyn Retriever>, TargetError> {
    let settings = read_target("prod", &settings).unwrap_or_else(|error| panic!("{error}"));
    open(settings, LiveContext::at(Timestamp::UNIX_EPOCH), &environment(Path::new("/")))
}

fn target(settings: Value) -> Box<dyn Retriever> {
    try_target(settings).unwrap()
}

/// The fakes' answers: none to one question, and documents that depend on the text to others.
fn documents(text: &str) -> Vec<String> {
    if text == "nothing is like this" {
        return Vec::new();
    }
    let first = text.chars().count();
    (0..5).map(|n| format!("doc-{first}-{n} ü\"x\"")).collect()
}

fn reply(text: &str) -> Reply {
    let documents = documents(text);
    Reply::of(&documents.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The expected answers of the fakes.
fn world() -> Vec<Expected> {
    let expected = |text: &&str| {
        let documents = documents(text);
        let found = 0..documents.len();
        Expected {
            question: Question::new(*text, 10),
            scores: found.clone().map(|at| Some(1.0 / (at + 1) as f64)).collect(),
            snippets: documents
                .iter()
                .map(|document| Some(format!("what {document} says")))
                .collect(),
            documents,
        }
    };
    TEXTS.iter().map(expected).collect()
}

/// How many seconds to wait for a failure: where none is waited for, long enough for the busiest machine.
fn patience(kind: TargetErrorKind, short: f64) -> f64 {
    if kind == TargetErrorKind::Timeout { short } else { 60.0 }
}
