//! A reranker setting that names no model: refused at the start, named in every answer while serving.
//!
//! `gbrain config set` refuses such a value, so it is written to the store, as an older gbrain or another program may.

use gbrain_core::id::WorkspaceId;
use serde_json::{Value, json};

use super::client::{Call, Server};
use crate::support::Home;

const KEY: &str = "models.rerank";
/// A model without its provider.
const UNRESOLVED: &str = "rerank-v3.5";

fn set(home: &Home, workspace: &str) {
    let workspace = WorkspaceId::new(workspace).unwrap();
    home.store().config_set(&workspace, KEY, UNRESOLVED).unwrap();
}

/// The error of a command that refuses a setting.
#[track_caller]
fn refused(home: &Home, args: &[&str]) -> Value {
    let said = home.run(&[args, &["--json"]].concat()).exits(2).json();
    assert_eq!(said["error"]["kind"], "config", "{said}");
    said["error"].clone()
}

#[test]
fn a_server_does_not_start_with_one() {
    for home in Home::both() {
        home.ok(&["workspaces", "add", "team"]);
        for workspace in ["default", "team"] {
            set(&home, workspace);
            let serve = refused(&home, &["serve", "--listen", "127.0.0.1:0"]);
            let query = refused(&home, &["query", "tides", "--workspace", workspace]);
            assert_eq!(serve["message"], query["message"]);
            let hint = serve["hints"][0].as_str().unwrap();
            assert!(hint.contains(KEY) && hint.contains(&format!("`{workspace}`")), "{hint}");
            home.ok(&["config", "unset", KEY, "--workspace", workspace]);
        }
        Server::start(&home, &[]).stop();
    }
}

#[test]
fn set_while_serving_it_is_a_degraded_stage() {
    let home = Home::sqlite();
    home.put("notes/pier", "# Pier\n\nThe night ferry waits for the tide.");
    let server = Server::start(&home, &[]);
    let degraded = || {
        let body =
            json!({ "query": "what waits for tides at night?", "retrieval_mode": "knowledge" });
        let reply = server.send(&Call::json("POST", "/v1/query", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let answer = reply.json();
        assert_eq!(answer["hits"][0]["slug"], "notes/pier", "{answer}");
        answer["degraded"].clone()
    };
    assert_eq!(degraded(), json!([]));
    set(&home, "default");
    assert_eq!(degraded(), json!([{ "stage": "rerank", "reason": "no_provider" }]));
    home.ok(&["config", "unset", KEY]);
    assert_eq!(degraded(), json!([]));
    server.stop();
}
