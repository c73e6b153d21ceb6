//! Hostile text wherever the document takes text: parameters of addresses, and every text of a body.

use std::time::{Duration, Instant};

use gbrain_core::defect::DEFECT;
use serde_json::{Value, json};

use super::Besieged;
use crate::serve::client::{Call, Reply};
use crate::support::Home;

/// The texts sent to every endpoint.
const HOSTILE: &[&str] = &[
    "' OR '1'='1' --",
    "'; DROP TABLE pages; --",
    "x'); SELECT pg_sleep(40); --",
    "\" UNION SELECT token, digest FROM api_tokens --",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "../../../../../../etc/passwd",
    "..\\..\\token.key",
    "a/../../token.key",
    "nul\0byte",
    "line\r\nSet-Cookie: stolen=1\r\n\r\n<html>",
    "%s%n%x{{7*7}}${7*7}",
    "\u{202e}\u{feff}\u{1f}\u{fffe}\u{10ffff}",
    "-1",
    "99999999999999999999999999",
    "NaN",
    "",
];

/// A statement that sleeps would take this long.
const ASLEEP: Duration = Duration::from_secs(40);

/// A body for each operation that takes one: text in it is replaced, one at a time.
fn bodies(operation: &str) -> Vec<Value> {
    let question = json!({
        "query": "boats", "detail": "low", "retrieval_mode": "graph", "sources": ["default"],
        "types": ["note"], "tags": ["a"], "since": "2026-01-01", "until": "2026-12-31",
        "now": "2026-03-01T12:00:00Z", "why_not": "people/ada",
    });
    match operation {
        "search" | "query" => vec![question],
        "explain" => vec![json!({ "ask": question, "operation": "query", "settings": {} })],
        "try_settings" => vec![json!({ "settings": { "title_boost": 1.5 } })],
        "put_page" => vec![json!({ "content": "text", "format": "markdown" })],
        "add_source" => vec![json!({ "id": "web", "name": "The web" })],
        "publish_baseline" => vec![
            json!({ "label": "main", "why": "because", "since": "2026-01-01T00:00:00Z", "limit": 5 }),
        ],
        "add_labels" => vec![
            json!({ "labels": [{ "query": "boats", "page": "people/ada", "grade": 1, "note": "n" }] }),
        ],
        "start_run" => vec![
            json!({ "kind": "replay", "against": { "baseline": "main", "since": "2026-01-01T00:00:00Z" } }),
            json!({ "kind": "gate", "baseline": "main", "qrels": "main", "settings": "live" }),
        ],
        "start_job" => vec![json!({
            "kind": "import", "source": "default",
            "pages": [{ "slug": "made/up", "content": "text", "format": "markdown" }],
        })],
        "compare" => vec![json!({
            "results": [{ "name": "a", "body": "q Q0 d 1 1.0 t" }, { "body": "q Q0 d 1 1.0 t" }],
            "qrels": "main", "measures": "nDCG@10",
        })],
        _ => Vec::new(),
    }
}

impl Besieged {
    /// Sends a request that must not do any harm.
    fn attack(&self, call: &Call) {
        let begun = Instant::now();
        let reply = self.server.send(&call.clone().token(&self.token));
        assert!(begun.elapsed() < ASLEEP, "{call:?}");
        harmless(call, &reply);
    }

    /// Everything that the document has to ask for, with a hostile text in one place.
    fn calls(&self, hostile: &str) -> Vec<Call> {
        let document = self.server.send(&Call::get("/v1/openapi.json")).json();
        let mut calls = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let method =
                    METHODS.iter().find(|known| known.eq_ignore_ascii_case(method)).unwrap();
                calls.extend(calls_of(method, path, operation, hostile));
            }
        }
        calls
    }
}

const METHODS: &[&str] = &["GET", "PUT", "POST", "DELETE"];

fn calls_of(method: &'static str, path: &str, operation: &Value, hostile: &str) -> Vec<Call> {
    let id = operation["operationId"].as_str().unwrap();
    let bodies = bodies(id);
    let with_body = |path: String, body: Option<&Value>| match body {
        Some(body) => Call::json(method, path, body),
        None if id == "put_qrels" => Call::new(method, path).body("text/plain", hostile),
        None => Call::new(method, path),
    };
    let mut calls = Vec::new();
    for parameter in operation["parameters"].as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        let filled = if parameter["in"] == "path" {
            path.replace(&format!("{{{name}}}"), &escaped(hostile))
        } else {
            format!("{}?{name}={}", plain(path), escaped(hostile))
        };
        calls.push(with_body(filled, bodies.first()));
    }
    for body in &bodies {
        for at in 0..texts(body) {
            calls.push(with_body(plain(path), Some(&replaced(body, at, hostile))));
        }
    }
    calls
}

/// The address with decent parameters.
fn plain(path: &str) -> String {
    path.replace("{page}", "made%2Fup").replace("{name}", "main").replace("{id}", "1")
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// How many texts a document holds.
fn texts(value: &Value) -> usize {
    match value {
        Value::String(_) => 1,
        Value::Array(items) => items.iter().map(texts).sum(),
        Value::Object(fields) => fields.values().map(texts).sum(),
        _ => 0,
    }
}

/// The document with another text in one place.
fn replaced(value: &Value, at: usize, text: &str) -> Value {
    fn walk(value: &mut Value, left: &mut Option<usize>, text: &str) {
        match (value, &left) {
            (_, None) => {}
            (value @ Value::String(_), Some(0)) => {
                *value = text.into();
                *left = None;
            }
            (Value::String(_), Some(n)) => *left = Some(n - 1),
            (Value::Array(items), _) => items.iter_mut().for_each(|item| walk(item, left, text)),
            (Value::Object(fields), _) => {
                fields.values_mut().for_each(|field| walk(field, left, text));
            }
            _ => {}
        }
    }
    let mut value = value.clone();
    walk(&mut value, &mut Some(at), text);
    value
}

/// No failure, nothing that a browser would run, nothing of the machine.
#[track_caller]
fn harmless(call: &Call, reply: &Reply) {
    let whole = reply.whole();
    assert!(reply.status < 500, "{call:?}\n{whole}");
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{call:?}\n{whole}");
    assert!(reply.header("set-cookie").is_none(), "{call:?}\n{whole}");
    let kind = reply.header("content-type").unwrap_or_default();
    assert!(!kind.contains("html") && !kind.contains("xml"), "{call:?}\n{whole}");
    for secret in ["root:x:0", "near \"", "syntax error", "SQLITE_", "42601", "panicked", DEFECT] {
        assert!(!whole.contains(secret), "{call:?}\n{whole}");
    }
}

fn hostile_text_does_no_harm(home: Home) {
    let besieged = Besieged::new(home, &[]);
    let mut count = 0;
    for hostile in HOSTILE {
        for call in besieged.calls(hostile) {
            besieged.attack(&call);
            count += 1;
        }
        for tool in ["query", "search", "get_page", "links", "put_page", "delete_page"] {
            let arguments = json!({ "query": hostile, "page": hostile, "content": hostile });
            let params = json!({ "name": tool, "arguments": arguments });
            besieged.attack(&Call::mcp("tools/call", &params));
        }
        let uri = json!({ "uri": format!("gbrain://page/default/{hostile}") });
        besieged.attack(&Call::mcp("resources/read", &uri));
        besieged.attack(&Call::mcp("prompts/get", &json!({ "name": hostile })));
    }
    assert!(count > 500, "{count}");
    besieged.relieve();
}

#[test]
fn hostile_text_does_no_harm_on_sqlite() {
    hostile_text_does_no_harm(Home::sqlite());
}

#[test]
fn hostile_text_does_no_harm_on_postgres() {
    hostile_text_does_no_harm(Home::postgres());
}

/// Files of the home can't be reached, by any spelling of the way to them.
#[test]
fn there_is_no_way_to_files() {
    let besieged = Besieged::new(Home::sqlite(), &[]);
    let key = std::fs::read_to_string(besieged.home.path().join("token.key")).unwrap();
    let climbs = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%252f", "..%c0%af", "..;/", "..%5c"];
    for start in
        ["/", "/v1/", "/v1/pages/", "/v1/qrels/", "/v1/baselines/", "//", "/v1/openapi.json/"]
    {
        for climb in climbs {
            for file in ["token.key", "brain.db", "config.json", "etc/passwd"] {
                let path = format!("{start}{}{file}", climb.repeat(6));
                let call = Call::get(path).token(&besieged.token);
                let reply = besieged.server.send(&call);
                assert!((400..500).contains(&reply.status), "{call:?}\n{}", reply.whole());
                assert!(!reply.whole().contains(key.trim()), "{call:?}");
                harmless(&call, &reply);
            }
        }
    }
    besieged.relieve();
}

/// Documents that are no documents, or more than one can take.
#[test]
fn strange_documents_are_refused() {
    let besieged = Besieged::new(Home::sqlite(), &[]);
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let bodies: Vec<Vec<u8>> = vec![
        deep("[", "]").into(),
        deep("{\"query\":", "}").into(),
        format!("{{\"query\":{}}}", deep("[", "]")).into(),
        "[".repeat(1 << 20).into(),
        b"{\"query\":\"\xff\xfe\"}".to_vec(),
        b"{\"query\":\"\\ud800\"}".to_vec(),
        b"\xef\xbb\xbf{\"query\":\"boats\"}".to_vec(),
        b"\xff\xfe{\0\"\0".to_vec(),
        b"{\"query\":\"a\"}{\"query\":\"b\"}".to_vec(),
        b"{\"query\":\"a\",\"query\":\"b\"}".to_vec(),
        b"{\"query\":\"a\",\"limit\":1e400}".to_vec(),
        b"{\"query\":\"a\",\"limit\":-9223372036854775809}".to_vec(),
        b"{\"query\":\"a\",\"__proto__\":{\"scope\":\"admin\"}}".to_vec(),
        b"null".to_vec(),
        b"\0".to_vec(),
    ];
    for body in bodies {
        for path in ["/v1/query", "/v1/jobs", "/v1/labels", "/mcp"] {
            let call = Call::new("POST", path)
                .header("accept", "application/json, text/event-stream")
                .body("application/json", body.clone());
            let reply = besieged.server.send(&call.token(&besieged.token));
            let start = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            assert!((400..500).contains(&reply.status), "{path} {start}: {}", reply.whole());
        }
    }
    besieged.relieve();
}

/// Pages whose text is made to be hard to take apart.
#[test]
fn strange_pages_are_taken_or_refused() {
    let besieged = Besieged::new(Home::sqlite(), &[]);
    let contents = [
        format!("---\na: {}\n---\ntext", "[".repeat(50_000)),
        format!(
            "---\na: &a [x]\nb: &b [{}]\nc: &c [{}]\n---\ntext",
            "*a,".repeat(500),
            "*b,".repeat(500)
        ),
        "> ".repeat(50_000) + "deep",
        "[".repeat(50_000) + &"](x)".repeat(50_000),
        "[[".repeat(100_000),
        "*".repeat(200_000),
        format!("---\ntitle: \"{}\"\n---\ntext", "\u{202e}\u{0}".repeat(1000)),
        "\u{0}".repeat(10_000),
        "a".repeat(1 << 20),
    ];
    for (at, content) in contents.iter().enumerate() {
        for format in ["markdown", "text", "chat-json", "chat-jsonl"] {
            let body = json!({ "content": content, "format": format });
            let call = Call::json("PUT", format!("/v1/pages/strange%2F{at}"), &body);
            let reply = besieged.server.send(&call.token(&besieged.token));
            assert!(reply.status < 500, "{at} {format}: {}", reply.whole());
        }
    }
    besieged.relieve();
}
