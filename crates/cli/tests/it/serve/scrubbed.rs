//! Personal data in any text of a request over a wire is in no capture, no export and no byte of the database.

use serde_json::{Value, json};

use super::client::{Call, Server, token};
use crate::support::Home;

/// A request with personal data in every text that it has, each with a mark of its own.
fn asked(door: &str) -> Value {
    json!({
        "query": format!("who is {door}query@leakmail.com"),
        "tags": [format!("{door}tag@leakmail.com"), "harbour"],
        "types": [format!("{door}type@leakmail.com")],
        "sources": ["default", "415-555-0137"],
    })
}

/// Whether a text holds something of what [`asked`] holds.
fn leak(text: &str) -> Option<&'static str> {
    ["leakmail", "415-555-0137"].into_iter().find(|mark| text.contains(mark))
}

#[test]
fn every_text_of_a_request_over_http_and_mcp_is_scrubbed() {
    for home in Home::both() {
        let config = r#"{"eval":{"capture":true,"scrub_pii":true}}"#;
        home.write("config.json", config);
        home.put("a", "a page about the harbour");
        let admin = token(&home, "admin");
        let server = Server::start(&home, &[]);
        let mut wanted = 0;
        for path in ["/v1/query", "/v1/search"] {
            let reply = server.send(&Call::json("POST", path, &asked("http")).token(&admin));
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
            wanted += 1;
        }
        for tool in ["query", "search"] {
            let params = json!({ "name": tool, "arguments": asked("mcp") });
            let reply = server.send(&Call::mcp("tools/call", &params).token(&admin));
            assert_eq!(reply.message()["result"]["isError"], false, "{tool}: {}", reply.text());
            wanted += 1;
        }
        server.stop();
        let exported = home.ok(&["eval", "export"]);
        assert_eq!(exported.lines().count(), wanted, "{exported}");
        assert_eq!(leak(&exported), None, "{exported}");
        let server = Server::start(&home, &[]);
        let streamed = server.send(&Call::get("/v1/captures").token(&admin)).text();
        server.stop();
        assert!(streamed.contains("harbour"), "what is not personal stays: {streamed}");
        assert_eq!(leak(&streamed), None, "{streamed}");
        for row in home.rows() {
            assert_eq!(leak(&row), None, "{row}");
        }
        for name in ["brain.db", "brain.db-wal"] {
            let bytes = std::fs::read(home.path().join(name)).unwrap_or_default();
            assert_eq!(leak(&String::from_utf8_lossy(&bytes)), None, "{name}");
        }
    }
}
