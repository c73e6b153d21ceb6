//! Browsers: pages of others can't reach a server on this machine, and make nothing of its answers.

use serde_json::json;

use super::client::{Call, Reply, Server};
use crate::support::Home;

fn answers() -> Vec<Call> {
    vec![
        Call::get("/v1/health"),
        Call::get("/v1/sources"),
        Call::get("/v1/pages/none"),
        Call::get("/nowhere"),
        Call::get("/metrics"),
        Call::new("PATCH", "/v1/sources"),
        Call::json("POST", "/v1/query", &json!({ "query": "boats" })),
        Call::mcp("tools/list", &json!({})),
    ]
}

fn has_no_cors(reply: &Reply) -> bool {
    !reply.headers.iter().any(|(name, _)| name.starts_with("access-control-"))
}

/// A name that resolves to this machine is not this machine's name.
#[test]
fn a_rebound_name_reaches_nothing() {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    let server = Server::start(&home, &["--allow-host", "brain.example"]);
    let hosts = [
        "evil.example",
        "evil.example:7727",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "0x7f.1",
    ];
    for call in answers() {
        for host in hosts {
            let reply = server.send(&call.clone().header("host", host));
            assert_eq!(reply.status, 403, "{host} {call:?}: {}", reply.whole());
            assert!(has_no_cors(&reply), "{}", reply.whole());
        }
        for origin in
            ["http://evil.example", "null", "https://localhost.evil.example", "http://localhost:9"]
        {
            let reply = server.send(&call.clone().header("origin", origin));
            assert_eq!(reply.status, 403, "{origin} {call:?}: {}", reply.whole());
            assert!(has_no_cors(&reply), "{}", reply.whole());
        }
        for host in
            ["localhost", "127.0.0.1:80", "[::1]:7727", "brain.example", "BRAIN.example:443"]
        {
            let reply = server.send(&call.clone().header("host", host));
            assert_ne!(reply.status, 403, "{host} {call:?}: {}", reply.whole());
        }
    }
    let own = Call::get("/v1/health").header("origin", "http://localhost");
    assert_eq!(server.send(&own).status, 200, "a page that we served");
    server.stop();
}

#[test]
fn every_answer_is_dressed() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    let mut calls = answers();
    calls.push(Call::get("/v1/sources").header("host", "evil.example"));
    for call in calls {
        let reply = server.send(&call);
        let has = |name: &str, value: &str| {
            assert_eq!(reply.header(name), Some(value), "{call:?}: {}", reply.whole());
        };
        has("x-content-type-options", "nosniff");
        has("x-frame-options", "DENY");
        has("referrer-policy", "no-referrer");
        has("cache-control", "no-store");
        has("cross-origin-resource-policy", "same-origin");
        has("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
        assert!(reply.header("x-request-id").is_some_and(|id| !id.is_empty()));
        assert!(reply.header("server").is_none() && has_no_cors(&reply), "{}", reply.whole());
    }
    let named = Call::get("/v1/health").header("x-request-id", "mine-7.a:b_c");
    assert_eq!(server.send(&named).header("x-request-id"), Some("mine-7.a:b_c"));
    server.stop();
}

#[test]
fn pages_of_an_origin_may_call_if_it_was_named() {
    let home = Home::sqlite();
    let origin = "https://app.example";
    let server = Server::start(&home, &["--allow-origin", origin]);
    let preflight = |origin: &str| {
        Call::new("OPTIONS", "/v1/query")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization, content-type")
    };
    let reply = server.send(&preflight(origin));
    assert_eq!(reply.status, 200, "{}", reply.whole());
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
    assert!(reply.header("access-control-allow-credentials").is_none());
    let evil = server.send(&preflight("https://evil.example"));
    assert!(evil.header("access-control-allow-origin").is_none(), "{}", evil.whole());
    let evil = server.send(&Call::get("/v1/sources").header("origin", "https://evil.example"));
    assert_eq!(evil.status, 403, "{}", evil.whole());
    assert!(evil.header("access-control-allow-origin").is_none(), "{}", evil.whole());
    let reply = server.send(&Call::get("/v1/sources").header("origin", origin));
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some(origin)));
    server.stop();
    for wrong in ["*", "app.example", "https://app.example/path", "https://*.example"] {
        let ran = home.run(&["serve", "--allow-origin", wrong, "--listen", "127.0.0.1:0"]);
        assert_eq!(ran.code, Some(2), "{wrong}");
    }
}

#[test]
fn changes_and_refusals_are_written_down_without_content() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    let put =
        Call::json("PUT", "/v1/pages/people%2Fada", &json!({ "content": "Ada paints secretly." }));
    assert_eq!(server.send(&put.header("x-request-id", "first")).status, 200);
    server.send(&Call::json("POST", "/v1/query", &json!({ "query": "secretly" })));
    server.send(&Call::get("/v1/sources").token("gbt_wrong"));
    server.send(&Call::get("/v1/sources").header("host", "evil.example"));
    let tool = json!({ "name": "delete_page", "arguments": { "page": "people/ada" } });
    assert_eq!(server.send(&Call::mcp("tools/call", &tool)).status, 200);
    server.stop();
    let dir = std::fs::read_dir(home.path().join("audit")).unwrap();
    let text: String = dir
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("access-"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<[&str; 2]> = lines
        .iter()
        .map(|line| [line["action"].as_str().unwrap(), line["outcome"].as_str().unwrap()])
        .collect();
    assert!(told.contains(&["put_page", "200"]), "{text}");
    assert!(told.contains(&["delete_page", "done"]), "{text}");
    assert_eq!(told.iter().filter(|line| ["401", "403"].contains(&line[1])).count(), 2, "{text}");
    assert!(!told.iter().any(|line| line[0] == "query"), "questions are no changes: {text}");
    let put = lines.iter().find(|line| line["action"] == "put_page").unwrap();
    assert_eq!(put["target"], "people/ada");
    assert_eq!(put["request_id"], "first");
    assert_eq!(put["by"], "loopback");
    assert!(!text.contains("secretly") && !text.contains("gbt_wrong"), "{text}");
}
