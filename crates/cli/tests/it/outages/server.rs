//! A server whose embedder goes down: it goes on answering, names what is degraded, and catches up. Labels that are
//! given over the wire are scrubbed, and are of pages that are there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_testkit::providers::Fault;
use serde_json::{Value, json};

use super::{embedder, limits};
use crate::models::Provided;
use crate::serve::client::{Call, Server};
use crate::support::{Home, wait_for};

fn body(server: &Server, call: &Call) -> (u16, Value) {
    let reply = server.send(call);
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
}

fn write_page(server: &Server, slug: &str, text: &str) {
    let call = Call::json("PUT", format!("/v1/pages/{slug}"), &json!({ "content": text }));
    let (status, answer) = body(server, &call);
    assert!((200..300).contains(&status), "{status} {answer}");
}

#[test]
fn a_server_answers_through_an_outage_of_its_embedder() {
    for home in Home::both() {
        let is_down = Arc::new(AtomicBool::new(false));
        let down = is_down.clone();
        let provided = Provided::new(
            home,
            |_| String::new(),
            move |_| match down.load(Ordering::SeqCst) {
                true => Fault::Status(500, None),
                false => Fault::None,
            },
        );
        provided.configure(limits(embedder()));
        // `init` made an index before the embedder was named.
        let _ = std::fs::remove_dir_all(provided.home.path().join("index"));
        let server = Server::of(provided.command(&["serve"]), &[]);
        write_page(&server, "ferry", "The ferry leaves the quay.");
        let ask = |path: &str| {
            let call = Call::json("POST", path, &json!({ "query": "ferry" }));
            let (status, answer) = body(&server, &call);
            assert_eq!(status, 200, "{answer}");
            answer
        };
        assert_eq!(ask("/v1/query")["degraded"], json!([]));
        is_down.store(true, Ordering::SeqCst);
        write_page(&server, "berth", "A new ferry.");
        for path in ["/v1/search", "/v1/query"] {
            let answer = ask(path);
            let first = &answer["degraded"][0];
            assert_eq!((&first["stage"], &first["reason"]), (&json!("index"), &json!("failed")));
            assert_eq!(answer["hits"].as_array().unwrap().len(), 1, "{answer}");
        }
        assert_eq!(server.send(&Call::get("/v1/ready")).status, 200, "it can answer");
        is_down.store(false, Ordering::SeqCst);
        // The embedder is asked again after a pause of four times what the last attempt took.
        let answer = wait_for("an answer that is whole", || {
            Some(ask("/v1/query")).filter(|answer| answer["degraded"] == json!([]))
        });
        assert_eq!(answer["hits"].as_array().unwrap().len(), 2, "{answer}");
        server.stop();
    }
}

#[test]
fn labels_are_scrubbed_and_of_pages_that_are_there() {
    for home in Home::both() {
        let server = Server::of(home.command(&["serve"]), &[]);
        write_page(&server, "ferry", "The ferry leaves the quay.");
        home.put("ours", "---\nvisibility: private\n---\nOurs.");
        let label = |page: &str| {
            let label = json!({
                "query": "who is ada@example.com", "page": page, "grade": 2,
                "note": "call 415-555-0134",
            });
            body(&server, &Call::json("POST", "/v1/labels", &json!({ "labels": [label] })))
        };
        assert_eq!(label("nowhere").0, 404);
        assert_eq!(label("ours").0, 404, "a private page is not there");
        assert_eq!(label("ferry").0, 200);
        for path in ["/v1/labels", "/v1/labels/qrels"] {
            let text = body(&server, &Call::get(path)).1.to_string();
            assert!(!text.contains("ada@example") && !text.contains("555-0134"), "{text}");
            assert!(text.contains("[REDACTED]"), "{text}");
        }
        // A page that goes away takes its labels out of the qrels, and the answer counts them.
        assert_eq!(server.send(&Call::new("DELETE", "/v1/pages/ferry")).status, 200);
        let qrels = body(&server, &Call::get("/v1/labels/qrels")).1;
        assert_eq!((&qrels["queries"], &qrels["labels_left_out"]), (&json!([]), &json!(1)));
        server.stop();
        // Labels of earlier versions were stored as they came.
        home.execute("UPDATE labels SET query = 'who is bo@example.com'");
        let server = Server::of(home.command(&["serve"]), &[]);
        let text = body(&server, &Call::get("/v1/labels")).1.to_string();
        assert!(text.contains("who is [REDACTED]") && !text.contains("bo@"), "{text}");
        server.stop();
    }
}
