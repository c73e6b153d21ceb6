//! Logs of live queries: written while capture is on, scrubbed, and erased with the pages they name.

use std::time::{Duration, Instant};

use super::*;
use crate::capture::{capturing, configure};
use crate::serve::client::{Call, Server, token};

/// Waits until so many rows are logged: a server stores them a moment after its answers.
fn wait_for(home: &Home, count: usize) -> Vec<RetrievalLog> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let found = logs(home);
        if found.len() >= count || Instant::now() > until {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn queries_are_logged_while_capture_is_on() {
    for home in Home::both() {
        home.put("people/ada", "Ada paints boats.");
        let quiet = home.json(&["query", "who paints boats?"]);
        assert!(quiet["served"].get("request_id").is_none(), "{quiet:#}");
        assert_eq!(logs(&home).len(), 0);
        configure(&home, &json!({ "capture": true }));
        let answer = home.json(&["query", "who paints boats for ada@example.com?", "--limit", "7"]);
        home.ok(&["search", "boats"]);
        let found = logs(&home);
        assert_eq!(found.len(), 1, "a search is captured, and no query");
        let fields = &found[0].fields;
        assert_eq!(fields.request_id.as_deref(), answer["served"]["request_id"].as_str());
        assert!(!fields.query_text.contains("ada@example.com"), "{}", fields.query_text);
        assert_eq!((fields.top_k, fields.retrieval_mode.as_deref()), (Some(7), Some("knowledge")));
        assert!(fields.total_ms.unwrap() > 0.0 && fields.dense_ms.is_some());
        assert_eq!((fields.rerank_threshold, &fields.rerank_ms), (None, &None), "nobody reranked");
        let body = body_of(&found[0]);
        assert_eq!(
            (&body["target"], &body["result_ids"][0]),
            (&json!("local"), &json!("default::people/ada"))
        );
        assert_eq!(body["lexical_ids"], json!(["default::people/ada"]));
        // Erasing a page also erases its name from the log.
        home.ok(&["purge", "people/ada", "--yes"]);
        let erased = body_of(&logs(&home)[0]);
        assert_eq!(erased["result_ids"], json!(["default::[purged-1]"]));
        assert_eq!(erased["lexical_ids"], json!(["default::[purged-1]"]));
        home.ok(&["eval", "prune", "--older-than", "0d"]);
        assert_eq!(logs(&home).len(), 0);
    }
}

#[test]
fn callers_over_a_wire_are_logged_under_their_own_name() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "Ada paints boats.");
        home.put("secret", "---\nvisibility: private\n---\nAda paints a secret boat.");
        home.ok(&["query", "who paints boats?"]);
        let (admin, read) = (token(&home, "admin"), token(&home, "read"));
        let server = Server::start(&home, &[]);
        let send = |call: Call| server.send(&call.token(&admin));
        let ask = json!({ "query": "who paints boats?", "subagent_id": 7 });
        let query = Call::json("POST", "/v1/query", &ask).header("x-request-id", "mine-1");
        let answer = send(query).json();
        assert_eq!(answer["served"]["request_id"], "mine-1", "{answer:#}");
        let tool = json!({ "name": "query", "arguments": { "query": "who paints boats?" } });
        assert_eq!(send(Call::mcp("tools/call", &tool)).status, 200);
        let found = wait_for(&home, 3);
        assert_eq!(found.len(), 3, "{found:#?}");
        let users: Vec<&str> =
            found.iter().map(|log| log.fields.user_id.as_deref().unwrap()).collect();
        let [mcp, http, local] = &found[..] else { panic!("{users:?}") };
        assert_eq!(users, ["remote", "subagent:7", "local"]);
        assert_eq!(http.fields.request_id.as_deref(), Some("mine-1"));
        for log in [mcp, http] {
            assert!(!log.fields.body.as_deref().unwrap().contains("secret"), "{log:?}");
        }
        assert!(local.fields.body.as_deref().unwrap().contains("secret"), "the owner sees it");
        // Feedback sent over HTTP.
        let vote = json!({ "request_id": "mine-1", "vote": "down", "borderline": "people/ada" });
        let refused = Call::json("POST", "/v1/feedback", &vote).token(&read);
        assert_eq!(server.send(&refused).status, 403, "readers change nothing");
        let kept = send(Call::json("POST", "/v1/feedback", &vote));
        assert_eq!((kept.status, kept.json()["log"].as_i64()), (200, Some(http.id)), "{kept:?}");
        let check = |body: Value, status: u16| {
            let reply = send(Call::json("POST", "/v1/feedback", &body));
            assert_eq!(reply.status, status, "{body}: {reply:?}");
        };
        check(json!({ "request_id": "mine-1", "borderline": "secret" }), 422);
        check(json!({ "request_id": "nobody", "vote": "up" }), 404);
        check(json!({ "request_id": "mine-1" }), 422);
        check(json!({ "vote": "up" }), 422);
        // The owner's answers are not there, whatever is in them.
        check(json!({ "log": local.id, "borderline": "secret" }), 404);
        check(json!({ "log": local.id, "borderline": "nothing/such" }), 404);
        check(json!({ "log": local.id, "vote": "up" }), 404);
        check(json!({ "request_id": "mine-1", "vote": "sideways" }), 400);
        let until = format!("{}", Timestamp::now());
        let pruned = send(Call::new("DELETE", format!("/v1/captures?until={until}")));
        assert_eq!((pruned.status, &pruned.json()["logs"]), (200, &json!(2)), "{pruned:?}");
        server.stop();
        assert_eq!(logs(&home).len(), 1, "the owner's own stays");
    }
}
