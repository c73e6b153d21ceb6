//! The protocol as a client sees it, over streams and over HTTP. What an official client makes of it
//! is tested with the binary.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gbrain_core::access::Scope;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::PageFormat;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;

use super::transport::serve;
use super::{McpContext, http_service};
use crate::audit::Audit;
use crate::http::MemoryBudget;
use crate::principal::Principal;
use crate::work_queue::{QueueLimits, WorkQueues};
use crate::workspace_registry::WorkspaceRegistry;

/// A server with two pages, one of them private.
struct Server {
    dir: TempDir,
    context: McpContext,
}

impl Server {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = Arc::new(WorkspaceRegistry::in_dir(dir.path()));
        let timeout = Duration::from_secs(30);
        let queues = WorkQueues::new(QueueLimits { readers: 2, writers: 1, waiting: 16, timeout });
        let audit = Audit { dir: dir.path().join("audit") };
        let (max_message, memory) = (1 << 20, MemoryBudget::new());
        let context = McpContext { registry, queues, audit, timeout, max_message, memory };
        let server = Self { dir, context };
        server.put("people/ada", "---\ntitle: Ada\ntype: person\n---\nAda paints boats.");
        server.put("people/ghost", "---\nvisibility: private\n---\nNobody knows the ghost.");
        server
    }

    /// Writes a page as its owner does.
    fn put(&self, slug: &str, text: &str) {
        let service = self.context.registry.query_service(&WorkspaceId::default()).unwrap();
        let key = PageKey::parse(slug, &SourceId::default()).unwrap();
        service.brain().put(&key, text, PageFormat::Markdown, Timestamp::now()).unwrap();
    }

    /// The lines of the audit log.
    fn audited(&self) -> Vec<Value> {
        let Ok(files) = std::fs::read_dir(self.dir.path().join("audit")) else { return Vec::new() };
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let lines: Vec<String> =
            texts.flat_map(|t| t.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn principal(scope: Scope) -> Principal {
    Principal::local(WorkspaceId::default(), scope, "test")
}

/// The responses to `requests` of a client with this scope, in order.
async fn talk(server: &Server, scope: Scope, requests: &[Value]) -> Vec<Value> {
    let (client, other) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(other);
    let (mut answers, mut asks) = tokio::io::split(client);
    let begin = json!({ "jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } } });
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let numbered = requests.iter().enumerate().map(|(id, request)| numbered(id, request));
    let lines: Vec<String> =
        [begin, begun].into_iter().chain(numbered).map(|line| format!("{line}\n")).collect();
    asks.write_all(lines.concat().as_bytes()).await.unwrap();
    asks.shutdown().await.unwrap();
    let context = server.context.clone();
    serve(context, principal(scope), input, output, std::future::pending()).await.unwrap();
    let mut text = String::new();
    answers.read_to_string(&mut text).await.unwrap();
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = |id: usize| answers.iter().find(|answer| answer["id"] == id).cloned();
    (0..requests.len()).map(|id| answer(id).unwrap_or(Value::Null)).collect()
}

fn numbered(id: usize, request: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": request["method"], "params": request["params"] })
}

fn call(tool: &str, arguments: Value, meta: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "method": "tools/call", "params": params })
}

/// A tool's structured content, and whether it is an error.
fn told(answer: &Value) -> (&Value, bool) {
    let result = &answer["result"];
    (&result["structuredContent"], result["isError"] == true)
}

#[tokio::test]
async fn a_call_answers_with_the_body_as_text_and_as_structure() {
    let server = Server::new();
    let get = call("get_page", json!({ "page": "people/ada" }), json!({ "job_id": 7 }));
    let answers = talk(&server, Scope::Read, &[get]).await;
    let (page, failed) = told(&answers[0]);
    assert!(!failed);
    assert_eq!(page["title"], "Ada");
    let text = answers[0]["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), page);
    assert!(server.audited().is_empty(), "looking is not a change");
}

#[tokio::test]
async fn arguments_are_read_strictly_and_faults_say_what_is_wrong() {
    let server = Server::new();
    let check = async |tool: &str, arguments: Value, kind: &str, part: &str| {
        let answers = talk(&server, Scope::Read, &[call(tool, arguments, json!({}))]).await;
        let (fault, failed) = told(&answers[0]);
        assert!(failed, "{tool}: {fault}");
        assert_eq!(fault["error"]["kind"], kind, "{fault}");
        let message = fault["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    };
    check("get_page", json!({}), "usage", "missing field `page`").await;
    check("get_page", json!({ "page": 1 }), "usage", "expected a string").await;
    check("get_page", json!({ "page": "a", "x": 1 }), "usage", "unknown field `x`").await;
    check("get_page", json!({ "page": "people/eve" }), "not_found", "people/eve").await;
    check("get_page", json!({ "page": "people/ghost" }), "not_found", "people/ghost").await;
    check("links", json!({ "page": "people/ghost" }), "not_found", "people/ghost").await;
    check("query", json!({ "query": " " }), "usage", "blank").await;
    check("search", json!({ "query": "a", "limit": 0 }), "usage", "limit").await;
    check("list_pages", json!({ "limit": 501 }), "usage", "500").await;
    check("sources", json!({ "x": 1 }), "usage", "unknown field `x`").await;
}

#[tokio::test]
async fn a_reader_can_not_write() {
    let server = Server::new();
    let put = call("put_page", json!({ "page": "a", "content": "b" }), json!({}));
    let list = json!({ "method": "tools/list", "params": {} });
    let answers = talk(&server, Scope::Read, &[put.clone(), list.clone()]).await;
    let (fault, failed) = told(&answers[0]);
    assert!(failed);
    assert_eq!(fault["error"]["kind"], "forbidden");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 8);
    let answers = talk(&server, Scope::Write, &[put, list]).await;
    assert_eq!(told(&answers[0]).0["outcome"], "added");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 10);
    let audited = server.audited();
    let told: Vec<_> = audited.iter().map(|line| (&line["action"], &line["outcome"])).collect();
    let (put, forbidden, done) = (json!("put_page"), json!("forbidden"), json!("done"));
    assert_eq!(told, [(&put, &forbidden), (&put, &done)]);
    assert_eq!(audited[1]["target"], "a");
    assert_eq!(audited[1]["by"], "test");
}

#[tokio::test]
async fn protocol_errors_are_for_requests_that_are_none() {
    let read = |uri: &str| json!({ "method": "resources/read", "params": { "uri": uri } });
    let requests = [
        call("drop_table", json!({}), json!({})),
        call("sources", json!({}), json!({ "job_id": "seven" })),
        read("file:///etc/passwd"),
        read("gbrain://page/default/people/eve"),
        read("gbrain://page/default/people/ghost"),
        json!({ "method": "resources/list", "params": { "cursor": "\u{0}" } }),
        json!({ "method": "prompts/get", "params": { "name": "none" } }),
        json!({ "method": "nothing/at-all", "params": {} }),
    ];
    let answers = talk(&Server::new(), Scope::Admin, &requests).await;
    let codes: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
    assert_eq!(codes, [-32602, -32602, -32002, -32002, -32002, -32602, -32602, -32601]);
}

#[tokio::test]
async fn pages_are_listed_in_pieces_and_read() {
    let server = Server::new();
    for n in 0..u32::from(super::resources::PAGE_SIZE) {
        server.put(&format!("notes/{n:03}"), "A note.");
    }
    let list = |cursor: Option<&str>| json!({ "method": "resources/list", "params": { "cursor": cursor } });
    let read = json!({ "method": "resources/read",
                       "params": { "uri": "gbrain://page/default/people/ada" } });
    let requests = [list(None), list(Some("default::notes/099")), read];
    let answers = talk(&server, Scope::Read, &requests).await;
    let uris = |answer: &Value| -> Vec<String> {
        let resources = answer["result"]["resources"].as_array().unwrap();
        resources.iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(uris(&answers[0]).len(), 100);
    assert_eq!(answers[0]["result"]["nextCursor"], "default::notes/099");
    assert_eq!(uris(&answers[1]), ["gbrain://page/default/people/ada"], "and no ghost");
    assert_eq!(answers[1]["result"]["nextCursor"], Value::Null);
    let text = answers[2]["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("Ada paints boats."), "{text}");
}

#[tokio::test]
async fn a_client_that_says_nothing_is_no_error() {
    let (client, other) = tokio::io::duplex(1 << 10);
    drop(client);
    let (input, output) = tokio::io::split(other);
    let context = Server::new().context;
    let ended = serve(context, principal(Scope::Read), input, output, std::future::pending()).await;
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn a_stop_ends_a_client_that_waits() {
    let (client, other) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(other);
    let stop = tokio::time::sleep(Duration::from_millis(10));
    let ended = serve(Server::new().context, principal(Scope::Read), input, output, stop).await;
    assert!(ended.is_ok(), "{ended:?}");
    drop(client);
}

/// The status and the body of one HTTP request.
async fn post(server: &Server, principal: Option<Principal>, body: String) -> (StatusCode, Value) {
    let mut request = Request::post("/mcp")
        .header("host", "brain.example")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-06-18");
    if let Some(principal) = principal {
        request = request.extension(principal);
    }
    let request = request.body(Body::from(body)).unwrap();
    let response = http_service(server.context.clone()).oneshot(request).await.unwrap();
    let status = response.status();
    assert!(!response.headers().contains_key("mcp-session-id"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

#[tokio::test]
async fn each_http_request_stands_for_itself() {
    let server = Server::new();
    let body = numbered(1, &call("sources", json!({}), json!({}))).to_string();
    let (status, answer) = post(&server, Some(principal(Scope::Read)), body.clone()).await;
    assert_eq!(status, StatusCode::OK);
    let sources = &told(&answer).0["sources"];
    assert_eq!(sources[0]["pages"], 1, "a private page is not counted: {sources}");
    let (_, refused) = post(&server, None, body).await;
    assert_eq!(refused["error"]["code"], -32603, "nobody gets in unchecked: {refused}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let arguments = json!({ "page": "a", "content": "x".repeat(2 << 20) });
    let body = numbered(1, &call("put_page", arguments, json!({}))).to_string();
    let (status, _) = post(&Server::new(), Some(principal(Scope::Write)), body).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}
