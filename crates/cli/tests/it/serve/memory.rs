//! Reading a body takes 1 MiB and ten times its bytes at most, whatever is in it, on every address that
//! takes one. The machine says how much it was: the peak of the server's resident memory.

use serde_json::{Value, json};

use super::client::{Call, Server};
use crate::support::Home;

const MIB: usize = 1 << 20;

/// The documented limits.
fn allowance(bytes: usize) -> usize {
    (MIB + 10 * bytes).min(256 * MIB)
}

/// Something small as often as it takes to fill 15 MiB.
fn filled(start: &str, piece: &str, end: &str) -> Vec<u8> {
    let pieces = (15 * MIB).saturating_sub(start.len() + end.len()) / piece.len();
    let whole = format!("{start}{}{end}", piece.repeat(pieces));
    whole.into_bytes()
}

/// A server, and its memory use before the first large request.
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
    let rows = json!([{ "id": 1, "a": 1 }]);
    let compare = json!({ "results": [{ "body": rows }, { "body": rows.to_string() }] });
    let chat = json!({ "format": "chat-json", "content": "[{\"text\":\"a\"}]" });
    for call in [
        Call::json("POST", "/v1/compare", &compare),
        Call::json("PUT", "/v1/pages/chat", &chat),
        Call::new("PUT", "/v1/qrels/small").body("text/plain", "q1 0 a 1\nq2 0 b 1\n"),
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

/// As many lines or values as fit into 14 MiB, each made from its number.
fn numbered(start: &str, piece: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = start.to_owned();
    for at in 0.. {
        let piece = piece(at);
        if text.len() + piece.len() + end.len() > 14 * MIB {
            break;
        }
        text += &piece;
    }
    text + end
}

/// A body, and how densely its values lie: about as densely as is allowed.
struct Dense {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    body: Vec<u8>,
}

/// Sends a body to a server of its own, because one that has answered keeps memory. It is read, whatever is
/// made of it.
#[track_caller]
fn check_read(dense: &Dense) {
    let weighed = weighed();
    let Dense { name, method, path, body } = dense;
    let call = Call::new(method, *path).body("application/json", body.clone());
    let status = check(&weighed, name, &call, body.len());
    assert!(matches!(status, 200 | 400 | 422), "{name}: {status}");
    weighed.server.stop();
}

/// The same result twice, and a result beside one that is nothing.
fn twice(result: &str) -> Vec<u8> {
    format!("{{\"results\":[{{\"body\":{result}}},{{\"body\":{result}}}]}}").into_bytes()
}

fn alone(result: &str) -> Vec<u8> {
    format!("{{\"results\":[{{\"body\":{result}}},{{\"body\":{{}}}}],\"qrels\":\"small\"}}")
        .into_bytes()
}

fn half(start: &str, piece: impl Fn(usize) -> String, end: &str) -> String {
    let whole = numbered(start, piece, "");
    let cut = whole[..whole.len() / 2].rfind('\n').unwrap_or_default() + 1;
    format!("{}{end}", &whole[..cut])
}

/// Results at about the density that is allowed: rows of each kind, and lists that mean nothing.
#[test]
fn results_near_the_limit_take_bounded_memory() {
    let blanks = |count: usize| " ".repeat(count);
    let post = |name, body| Dense { name, method: "POST", path: "/v1/compare", body };
    let row = |at: usize| format!("{{\"id\":{at},\"a\":0.{}}}{},\n", at % 10, blanks(20));
    let score = |at: usize| format!("{{\"query_id\":\"{at}\"}}{},\n", blanks(20));
    let replayed = |at: usize| format!("{{\"query\":\"{at}\"}}{},\n", blanks(31));
    let scores = "{\"schema_version\":1,\"summary\":{\"P@1\":null},\"counts\":{\"judged_queries\":1},\
                  \"per_query\":[";
    let replay = "{\"schema_version\":1,\"summary\":{\"rows_replayed\":1},\"results\":[";
    let nothing = |_| format!("{{\"\":0}}{},", blanks(8));
    let hit = |at: usize| format!("{{\"slug\":\"{at}\"}}{},", blanks(22));
    let query = |at: usize| format!("{{\"query_id\":\"{at}\",\"retrieved\":[]}}{}\n", blanks(35));
    let text = |text: &str| alone(&Value::from(text).to_string());
    for dense in [
        post("rows", twice(&half("[", row, "{\"id\":\"z\"}]"))),
        post("scores", twice(&half(scores, score, "{\"query_id\":\"z\"}]}"))),
        post("replays", twice(&half(replay, replayed, "{\"query\":\"z\"}]}"))),
        post("a list in a row", alone(&numbered("[{\"id\":1,\"a\":1,\"x\":[", nothing, "0]}]"))),
        post(
            "a list in a run",
            alone(&numbered("{\"query_id\":\"q\",\"retrieved\":[],\"x\":[", nothing, "0]}")),
        ),
        post(
            "hits of a run",
            alone(&numbered("{\"query_id\":\"q\",\"retrieved\":[", hit, "{\"slug\":\"z\"}]}")),
        ),
        post("queries of a run", text(&numbered("", query, ""))),
        post("lines", text(&numbered("", |at| format!("q1 0 {at} 1 1 t\n"), ""))),
        post(
            "queries of lines",
            text(&numbered("", |at| format!("{at} 0 d 1 1 t{}\n", blanks(36)), "")),
        ),
    ] {
        check_read(&dense);
    }
}

/// The same of judgements, chats and documents of fields.
#[test]
fn documents_near_the_limit_take_bounded_memory() {
    let blanks = |count: usize| " ".repeat(count);
    let qrels = |name, text: String| Dense {
        name,
        method: "PUT",
        path: "/v1/qrels/x",
        body: text.into_bytes(),
    };
    let chat = |name, format: &str, text: String| Dense {
        name,
        method: "PUT",
        path: "/v1/pages/x",
        body: json!({ "format": format, "content": text }).to_string().into_bytes(),
    };
    let legacy = |at| format!("{{\"query\":\"{at}\",\"relevant\":[\"b\"]}}{},", blanks(33));
    let gate = |at| {
        let page = "{\"source_id\":\"s\",\"slug\":\"b\"}";
        format!("{{\"query\":\"{at}\",\"relevant\":[{page}]}}{},", blanks(8))
    };
    let one = "[{\"query\":\"a\",\"relevant\":[\"q\"],";
    let name = |at| format!("\"{at}\"{},", blanks(33));
    let nothing = |_| format!("{{\"\":0}}{},", blanks(10));
    let turn = |_| format!("{{\"text\":\"a\"}}{},", blanks(22));
    for dense in [
        qrels("legacy", numbered("[", legacy, "{\"query\":\"z\",\"relevant\":[\"b\"]}]")),
        qrels(
            "gate",
            numbered(
                "{\"schema_version\":1,\"queries\":[",
                gate,
                "{\"query\":\"z\",\"relevant_slugs\":[\"b\"]}]}",
            ),
        ),
        qrels("pages", numbered("[{\"query\":\"a\",\"relevant\":[", name, "\"z\"]}]")),
        qrels(
            "grades",
            numbered(
                &format!("{one}\"grades\":{{"),
                |at| format!("\"{at}\":1{},", blanks(84)),
                "\"z\":1}}]",
            ),
        ),
        qrels("a list", numbered(&format!("{one}\"x\":["), nothing, "0]}]")),
        qrels("keys", numbered(one, |at| format!("\"{at}\":0{},", blanks(26)), "\"z\":0}]")),
        qrels("one query", numbered("", |at| format!("q 0 {at} 1       \n"), "")),
        qrels("a quote", numbered("q 0 \"d 1\n", |at| format!("q 0 {at} 1       \n"), "")),
        qrels("a line twice", numbered("", |_| format!("q 0 d 1{}\n", blanks(48)), "")),
        qrels("queries", numbered("", |at| format!("{at} 0 d 1{}\n", blanks(39)), "")),
        chat("turns", "chat-json", numbered("[", turn, "{\"text\":\"b\"}]")),
        chat(
            "a head",
            "chat-json",
            numbered(
                "{",
                |at| format!("\"{at}\":0{},", blanks(5)),
                "\"turns\":[{\"text\":\"b\"}]}",
            ),
        ),
        chat(
            "parts of a turn",
            "chat-json",
            numbered("[{\"text\":[", |_| format!("\"a\"{},", blanks(12)), "\"b\"]}]"),
        ),
        Dense {
            name: "sources",
            method: "POST",
            path: "/v1/query",
            body: numbered(
                "{\"query\":\"a\",\"sources\":[",
                |_| format!("\"{}\",", "a".repeat(17)),
                "\"a\"]}",
            )
            .into_bytes(),
        },
        Dense {
            name: "imported pages",
            method: "POST",
            path: "/v1/jobs",
            body: numbered(
                "{\"kind\":\"import\",\"pages\":[",
                |_| format!("{{\"slug\":\"a\",\"content\":\"{}\"}},", "a".repeat(31)),
                "{\"slug\":\"a\",\"content\":\"b\"}]}",
            )
            .into_bytes(),
        },
    ] {
        check_read(&dense);
    }
}

/// A table of many rows and many columns is not made: neither of rows that each have a measure of their own, nor
/// of a summary of many measures over rows that have none.
#[test]
fn a_table_takes_bounded_memory() {
    let rows = |count: usize, measures: usize| {
        let rows: Vec<Value> =
            (0..count).map(|at| json!({ "id": at, format!("k{}", at % measures): 1 })).collect();
        Value::from(rows)
    };
    let scores = |count: usize, measures: usize| {
        let summary: serde_json::Map<String, Value> =
            (0..measures).map(|at| (format!("m{at}"), Value::Null)).collect();
        json!({ "schema_version": 1, "summary": summary, "per_query": vec![json!({}); count] })
    };
    for (name, result, told) in [
        ("rows", rows(10_000, 10_000), "10000 measures, at most 1000 are read"),
        ("rows of the most measures", rows(10_000, 1_000), "10000 rows and 1000 measures"),
        ("scores", scores(5_000, 5_000), "5000 measures, at most 1000 are read"),
        ("scores of the most measures", scores(5_000, 1_000), "5000 rows and 1000 measures"),
    ] {
        let weighed = weighed();
        let body = json!({ "results": [{ "body": result }, { "body": result }] });
        let call = Call::json("POST", "/v1/compare", &body);
        // Of small bodies most is what the kernel and the allocator take at once, 2 MiB each time.
        let status = check(&weighed, name, &call, body.to_string().len() + 3 * MIB);
        let told_by_it = weighed.server.send(&call).text();
        assert!(matches!(status, 413 | 422) && told_by_it.contains(told), "{name}: {told_by_it}");
        weighed.server.stop();
    }
}

/// The fields of a row are read once, not once for each other field.
#[test]
fn a_comparison_reads_a_wide_row_once() {
    let home = Home::sqlite();
    let server = Server::start(&home, &["--jobs", "0", "--readers", "1", "--timeout", "600"]);
    let fields =
        |value: &str| -> String { (0..150_000).map(|at| format!("\"k{at}\":{value},")).collect() };
    let wide = format!("[{{{}\"id\":1,\"a\":1}}]", fields("\"\""));
    let (texts, numbers) = (fields("\"\""), fields("0"));
    let scores = format!(
        "{{\"schema_version\":1,\"summary\":{{\"z\":0}},\"counts\":{{\"judged_queries\":1,{numbers}\"z\":0}},\
         \"per_query\":[{{\"query_id\":\"1\",{texts}\"scores\":{{{numbers}\"z\":0}}}}]}}"
    );
    let compare = |body: Vec<u8>| {
        server.send(&Call::new("POST", "/v1/compare").body("application/json", body))
    };
    let reply = compare(twice(&wide));
    assert!(reply.text().contains("different keys, at most 10000 are read"), "{}", reply.whole());
    let reply = compare(twice(&scores));
    assert_eq!(reply.status, 200, "{}", reply.whole());
    server.stop();
}

/// A comparison that takes longer than the timeout is stopped and frees its reader.
#[test]
fn a_comparison_that_takes_too_long_frees_its_reader() {
    let home = Home::sqlite();
    let server = Server::start(&home, &["--jobs", "0", "--readers", "1", "--timeout", "3"]);
    let rows = |shift: usize| {
        let value = |at: usize, m: usize| (at * 31 + m * 7 + shift * (at % 13)) % 97;
        let row = |at: usize| {
            let values: String =
                (0..40).map(|m| format!(",\"m{m}\":0.{:02}", value(at, m))).collect();
            format!("{{\"id\":{at}{values}}}")
        };
        format!("[{}]", (0..5_000).map(row).collect::<Vec<_>>().join(","))
    };
    let long = format!("{{\"results\":[{{\"body\":{}}},{{\"body\":{}}}]}}", rows(0), rows(5));
    let comparison = Call::new("POST", "/v1/compare").body("application/json", long.into_bytes());
    let status = server.send(&comparison).status;
    assert!(matches!(status, 200 | 503), "{status}");
    let question = Call::json("POST", "/v1/query", &json!({ "query": "boats" }));
    while server.send(&question).status != 200 {}
    server.stop();
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
