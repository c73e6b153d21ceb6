//! Reading a body takes 1 MiB and ten times its bytes at most, whatever is in it, on every address that
//! takes one. The machine says how much it was: the peak of the server's resident memory.

use serde_json::{Value, json};

use super::client::{Call, Server};
use crate::support::Home;

const MIB: usize = 1 << 20;

/// What the project promises.
fn allowance(bytes: usize) -> usize {
    (MIB + 10 * bytes).min(256 * MIB)
}

/// Something small as often as it takes to fill 15 MiB.
fn filled(start: &str, piece: &str, end: &str) -> Vec<u8> {
    let pieces = (15 * MIB).saturating_sub(start.len() + end.len()) / piece.len();
    let whole = format!("{start}{}{end}", piece.repeat(pieces));
    whole.into_bytes()
}

/// A server, and the memory that it took before anybody sent it much.
struct Weighed {
    server: Server,
    before: usize,
    _home: Home,
}

/// A server that has opened its index and answered everything once, so that what a first time takes is
/// not counted. It does no jobs: what a job takes is not what reading its body takes.
fn weighed() -> Weighed {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    let server = Server::start(&home, &["--jobs", "0"]);
    let question = json!({ "query": "who paints boats?" });
    for call in [
        Call::json("POST", "/v1/query", &question),
        Call::json("PUT", "/v1/pages/a", &json!({ "content": "a" })),
        Call::mcp("tools/call", &json!({ "name": "query", "arguments": question })),
    ] {
        assert_eq!(server.send(&call).status, 200);
    }
    let (before, ()) = server.peak_memory(|| ());
    Weighed { server, before, _home: home }
}

/// The allocator gives memory back when it likes, so what it still has of earlier bodies does not count; what the
/// server had before any body does not count either.
#[track_caller]
fn check(weighed: &Weighed, name: &str, call: &Call, length: usize) -> u16 {
    let (before, ()) = weighed.server.peak_memory(|| ());
    let (peak, reply) = weighed.server.peak_memory(|| weighed.server.send(call));
    let memory = peak.saturating_sub(before.max(weighed.before));
    assert!(
        memory <= allowance(length),
        "{name}: {} MiB for a body of {} MiB, answered {}",
        memory / MIB,
        length / MIB,
        reply.status
    );
    assert!(reply.status < 500, "{name}: {}", reply.whole());
    reply.status
}

/// Every address of the document that takes a body, with its method.
fn addresses(server: &Server) -> Vec<(&'static str, String)> {
    let document = server.send(&Call::get("/v1/openapi.json")).json();
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, name) in [("post", "POST"), ("put", "PUT")] {
            if methods[method]["requestBody"].is_object() {
                found.push((name, path.replace("{page}", "a").replace("{name}", "a")));
            }
        }
    }
    assert!(found.len() >= 11, "{found:?}");
    found.push(("POST", "/mcp".to_owned()));
    found
}

/// Small values without end, wherever a body is taken: all are refused, and none takes much.
#[test]
fn no_address_reads_a_dense_body() {
    let weighed = weighed();
    let bodies = [
        filled("[", "{\"\":0},", "0]"),
        filled("{\"results\":[{\"body\":[", "{\"\":0},", "0]}]}"),
        filled(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[",
            "0,",
            "0]}}",
        ),
    ];
    for (method, path) in addresses(&weighed.server) {
        for body in &bodies {
            let call = Call::new(method, path.clone())
                .header("accept", "application/json, text/event-stream")
                .body("application/json", body.clone());
            let status = check(&weighed, &path, &call, body.len());
            assert!((400..500).contains(&status), "{path}: {status}");
        }
    }
    weighed.server.stop();
}

/// Bodies that are what an address takes, but for how many small things they hold.
#[test]
fn no_list_takes_more_memory_than_its_body_may() {
    let weighed = weighed();
    let call = |method, path: &str, body: &Vec<u8>| {
        Call::new(method, path).body("application/json", body.clone())
    };
    let names = filled("{\"query\":\"a\",\"sources\":[", "\"\",", "\"\"]}");
    let numbers = filled("{\"query\":\"a\",\"limit\":1.0,\"sources\":[", "\"\",", "\"\"]}");
    let pages = filled(
        "{\"kind\":\"import\",\"pages\":[",
        "{\"slug\":\"a\",\"content\":\"\"},",
        "{\"slug\":\"a\",\"content\":\"\"}]}",
    );
    let label = "{\"query\":\"a\",\"page\":\"a\",\"grade\":1}";
    let labels = filled("{\"labels\":[", &format!("{label},"), &format!("{label}]}}"));
    let rows = filled("{\"results\":[{\"body\":[", "{\"id\":1,\"a\":0.5},", "{}]},{\"body\":[]}]}");
    let chat = |format: &str, content: &str| {
        json!({ "content": content, "format": format }).to_string().into_bytes()
    };
    let turns = String::from_utf8(filled("[", "{\"a\":0},", "0]")).unwrap();
    let text = json!({ "results": [{ "body": turns }, { "body": "x" }] }).to_string().into_bytes();
    for (name, call, length) in [
        ("sources", call("POST", "/v1/query", &names), names.len()),
        ("a whole number", call("POST", "/v1/query", &numbers), numbers.len()),
        ("pages", call("POST", "/v1/jobs", &pages), pages.len()),
        ("labels", call("POST", "/v1/labels", &labels), labels.len()),
        ("rows", call("POST", "/v1/compare", &rows), rows.len()),
        ("a result as text", call("POST", "/v1/compare", &text), text.len()),
        ("a chat", call("PUT", "/v1/pages/a", &chat("chat-json", &turns)), turns.len()),
        (
            "lines",
            call("PUT", "/v1/pages/a", &chat("chat-jsonl", &"0\n".repeat(7 * MIB))),
            14 * MIB,
        ),
    ] {
        let status = check(&weighed, name, &call, length);
        assert!((400..500).contains(&status), "{name}: {status}");
    }
    weighed.server.stop();
}

/// Judgements are text, and small ones become large too.
#[test]
fn judgements_take_bounded_memory() {
    let weighed = weighed();
    let put = |body: &Vec<u8>| Call::new("PUT", "/v1/qrels/a").body("text/plain", body.clone());
    let entry = "{\"query\":\"a\",\"relevant\":[\"b\"]}";
    let entries = filled("[", &format!("{entry},"), &format!("{entry}]"));
    let distinct: String = (0..MIB).map(|n| format!("{n} 0 a 1\n")).collect();
    let one: Vec<u8> = (0..MIB / 2).flat_map(|n| format!("q 0 doc-{n} 1\n").into_bytes()).collect();
    for (name, body, expected) in [
        ("entries", entries, 413),
        ("queries", distinct.into_bytes(), 413),
        ("judgements of one query", one, 200),
    ] {
        assert_eq!(check(&weighed, name, &put(&body), body.len()), expected, "{name}");
    }
    // As many queries as a well-known collection, each judged once, are taken.
    let usual: String =
        (0..6980).map(|n| format!("{} 0 {} 1\n", 1_048_585 + n, 7_187_158 + n)).collect();
    assert_eq!(weighed.server.send(&put(&usual.into_bytes())).status, 200);
    weighed.server.stop();
}

/// What people send is read: as many rows and pages as there may be, and a large page.
#[test]
fn decent_bodies_are_read() {
    let weighed = weighed();
    let row = |n: usize| {
        json!({ "line": n, "tool_name": "query", "query": format!("who owns number {n}?"),
                "query_hash": format!("{n:016x}"), "jaccard": 1.0, "top1Match": true, "rbo": 1.0,
                "current_latency_ms": 1.5, "captured_slugs": ["default::people/ada-quill"],
                "current_slugs": ["default::people/ada-quill"] })
    };
    let replay = |rows: usize| {
        let results: Vec<Value> = (0..rows).map(row).collect();
        json!({ "schema_version": 1, "summary": { "rows_replayed": rows }, "results": results })
    };
    let result = replay(12_000);
    let compare = json!({ "results": [{ "body": result }, { "body": result }] });
    let length = compare.to_string().len();
    let status = check(&weighed, "replays", &Call::json("POST", "/v1/compare", &compare), length);
    assert_eq!(status, 200);
    let pages: Vec<Value> =
        (0..10_000).map(|n| json!({ "slug": format!("n/{n}"), "content": "One line." })).collect();
    let import = json!({ "kind": "import", "pages": pages });
    // The job is stored, which fills caches of the database and of its file once.
    let length = import.to_string().len() + MIB;
    assert_eq!(check(&weighed, "pages", &Call::json("POST", "/v1/jobs", &import), length), 202);
    let long = "word ".repeat(4 * MIB / 5);
    let put = json!({ "name": "put_page", "arguments": { "page": "long", "content": long } });
    assert_eq!(weighed.server.send(&Call::mcp("tools/call", &put)).status, 200);
    weighed.server.stop();
}
