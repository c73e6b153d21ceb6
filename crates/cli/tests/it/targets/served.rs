//! The suite of targets on this program's own servers: the same brain here, over HTTP and over MCP.

use std::path::Path;
use std::process::Command;

use gbrain_brain::{Brain, BrainOptions, IndexKind, built_in_models};
use gbrain_core::id::WorkspaceId;
use gbrain_core::replay::LiveContext;
use gbrain_core::request::{RetrievalMode, Viewer};
use gbrain_core::target::Question;
use gbrain_eval::retriever::{LocalOptions, LocalRetriever, Retriever as _};
use gbrain_store::{Location, OpenMode};
use gbrain_testkit::served::Served;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::conformance::{Expected, TEXTS, conforms};
use super::target;
use crate::serve::client::token;
use crate::support::{Home, demo_home};

/// The same program that serves, on the same files.
fn brain(home: &Path) -> Brain {
    let options = BrainOptions {
        location: Location::Sqlite(home.join("brain.db")),
        mode: OpenMode::Use,
        index: IndexKind::Memory,
        index_dir: home.join("index-of-test"),
        workspace: WorkspaceId::default(),
        models: built_in_models(),
    };
    Brain::open(options, Timestamp::now()).unwrap()
}

/// The local brain's answer to a remote caller.
fn world(home: &Home) -> Vec<Expected> {
    let brain = brain(home.path());
    let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let viewer = Viewer::Untrusted;
    let options = LocalOptions { viewer, ..LocalOptions::new(LiveContext::at(now)) };
    let ask = LocalRetriever::newest(&brain, options, &|_, _| ()).unwrap();
    let expected = |question: Question| {
        let question = Question { now: Some(now), ..question };
        let found = ask.retrieve(&question).unwrap().results;
        Expected {
            question,
            documents: found.iter().map(|found| found.document.clone()).collect(),
            scores: found.iter().map(|found| found.score).collect(),
            snippets: found.iter().map(|found| found.snippet.clone()).collect(),
        }
    };
    let mut graph = Question::new("what depends on Plug Gateway?", 6);
    graph.mode = Some(RetrievalMode::Graph);
    let mut journal = Question::new("blackout on the island", 6);
    journal.filter.sources = vec!["journal".to_owned()];
    let asked = TEXTS.iter().map(|text| Question::new(*text, 8)).chain([graph, journal]);
    asked.map(expected).collect()
}

/// A mapping of gbrain's answers, as a user would write it.
fn described(url: &str) -> Value {
    json!({
        "kind": "http", "api": "custom", "url": format!("{url}/v1/query"), "key_env": "TOKEN",
        "body": { "query": "{{query}}", "limit": "{{k}}", "retrieval_mode": "{{mode}}",
                  "sources": "{{sources}}", "now": "{{now}}" },
        "response": {
            "results": "$.hits[*]", "document": "$.slug", "source": "$.source_id", "score": "$.score",
            "title": "$.title", "chunk": "$.passages[0].chunk_id", "snippet": "$.passages[0].snippet",
            "mode": "$.retrieval_mode_resolved", "fallbacks": "$.degraded[*].stage",
            "timings": { "lexical": "$.served.timings_us.words", "dense": "$.served.timings_us.vectors",
                         "hydration": "$.served.timings_us.hydrate", "unit": "us" },
            "rationale": { "edges": "$.hits[*].edges[*]", "type": "$.type", "from": "$.from", "to": "$.to" },
        },
        "ids": { "source_of_result": true },
    })
}

/// A command as settings describe it.
fn as_settings(command: &Command) -> Value {
    let (words, env) = crate::support::described(command);
    json!({ "kind": "mcp", "command": words, "env": env, "timeout_seconds": 60 })
}

#[test]
fn every_way_to_the_same_brain_answers_the_same() {
    let home = demo_home(Home::sqlite());
    let world = world(&home);
    assert!(world.iter().filter(|expected| expected.documents.len() > 2).count() >= 3);
    let served = Served::start(home.command(&["serve"])).unwrap();
    let token = token(&home, "read");
    let url = format!("http://{}", served.address());
    let ready = json!({ "kind": "http", "api": "gbrain", "url": url, "key_env": "TOKEN" });
    let mcp = json!({ "kind": "mcp", "url": format!("{url}/mcp"), "key_env": "TOKEN" });
    let stdio = as_settings(&home.command(&["mcp", "--read-only"]));
    for settings in [ready, described(&url), mcp, stdio] {
        conforms(target(&home, &settings, &token).as_ref(), &world);
    }
    served.stop().unwrap();
}

#[test]
fn optional_response_fields_are_read() {
    let home = demo_home(Home::sqlite());
    let served = Served::start(home.command(&["serve"])).unwrap();
    let token = token(&home, "read");
    let url = format!("http://{}", served.address());
    let ready = json!({ "kind": "http", "api": "gbrain", "url": url, "key_env": "TOKEN" });
    let question = Question {
        rationale: true,
        mode: Some(RetrievalMode::Graph),
        ..Question::new("who owns the berth planner?", 5)
    };
    for settings in [ready, described(&url)] {
        let answer = target(&home, &settings, &token).retrieve(&question).unwrap();
        let edges = answer.rationale.unwrap().edges;
        assert!(
            edges.iter().any(|edge| edge.kind == "owned_by" && edge.to == "wiki::teams/routing")
        );
        assert_eq!(answer.mode, Some(RetrievalMode::Graph));
        assert!(answer.timings.hydration_ms.is_some());
        assert!(answer.not_asked.is_empty(), "{:?}", answer.not_asked);
    }
    let denied = json!({ "kind": "http", "api": "gbrain", "url": url });
    let error = target(&home, &denied, "").retrieve(&question).unwrap_err();
    assert_eq!(error.kind.name(), "denied", "{error}");
    served.stop().unwrap();
}
