//! The protocol as a client sees it, over streams and over HTTP, with a backend that answers with
//! what it was asked. What official clients make of it is tested with the binary.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Caller;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;

use super::{Backend, Context, Operation, http_service, serve};
use crate::lanes::{LaneSizes, Lanes};
use crate::visitor::Visitor;

/// Answers with what it was asked, and knows one page.
struct Echo;

impl Backend for Echo {
    fn call(&self, who: &Visitor, caller: Caller, operation: Operation) -> Result<Value, Fault> {
        let page = json!({ "source_id": "wiki", "slug": "ada", "title": "Ada", "type": "person",
                           "kind": "markdown", "content": "# Ada" });
        match operation {
            Operation::GetPage(get) if get.page == "wiki::ada" => Ok(page),
            Operation::GetPage(get) => Err(Fault::not_found(format!("no page {}", get.page))),
            Operation::ListPages(list) if list.after.is_none() => {
                Ok(json!({ "pages": [page], "next_after": "wiki::ada" }))
            }
            Operation::ListPages(_) => Ok(json!({ "pages": [], "next_after": null })),
            Operation::EvalStatus => panic!("on purpose"),
            operation => Ok(json!({
                "workspace": who.workspace.as_str(), "operation": format!("{operation:?}"),
                "remote": caller.remote, "job_id": caller.job_id,
                "subagent_id": caller.subagent_id,
            })),
        }
    }
}

fn context() -> Context {
    let patience = Duration::from_secs(5);
    let lanes = Lanes::new(LaneSizes { readers: 2, writers: 1, waiting: 8, patience });
    Context { backend: Arc::new(Echo), lanes, max_message: 1 << 20 }
}

fn visitor(scope: Scope) -> Visitor {
    Visitor::local(WorkspaceId::new("team").unwrap(), scope, "test")
}

/// What a client of this scope is answered to `requests`, in their order.
async fn talk(scope: Scope, requests: &[Value]) -> Vec<Value> {
    let (client, server) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(server);
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
    serve(context(), visitor(scope), input, output, std::future::pending()).await.unwrap();
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

#[tokio::test]
async fn a_call_carries_who_asks_and_for_whom() {
    let meta = json!({ "job_id": 7, "subagent_id": "8" });
    let answers = talk(Scope::Read, &[call("sources", json!({}), meta)]).await;
    let expected = json!({ "workspace": "team", "operation": "Sources", "remote": true,
                           "job_id": 7, "subagent_id": 8 });
    let result = &answers[0]["result"];
    assert_eq!(result["structuredContent"], expected);
    assert_eq!(result["isError"], false);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
}

#[tokio::test]
async fn a_reader_can_not_write() {
    let put = call("put_page", json!({ "page": "a", "content": "b" }), json!({}));
    let list = json!({ "method": "tools/list", "params": {} });
    let answers = talk(Scope::Read, &[put.clone(), list.clone()]).await;
    assert_eq!(answers[0]["result"]["isError"], true);
    assert_eq!(answers[0]["result"]["structuredContent"]["error"]["kind"], "forbidden");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 7);
    let answers = talk(Scope::Write, &[put, list]).await;
    assert_eq!(answers[0]["result"]["isError"], false);
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 9);
}

#[tokio::test]
async fn protocol_errors_are_for_requests_that_are_none() {
    let requests = [
        call("drop_table", json!({}), json!({})),
        call("sources", json!({}), json!({ "job_id": "seven" })),
        json!({ "method": "resources/read", "params": { "uri": "file:///etc/passwd" } }),
        json!({ "method": "resources/read", "params": { "uri": "gbrain://page/wiki/none" } }),
        json!({ "method": "prompts/get", "params": { "name": "none" } }),
        json!({ "method": "nothing/at-all", "params": {} }),
    ];
    let codes: Vec<Value> =
        talk(Scope::Admin, &requests).await.iter().map(|a| a["error"]["code"].clone()).collect();
    assert_eq!(codes, [-32602, -32602, -32002, -32002, -32602, -32601]);
}

#[tokio::test]
async fn a_panic_is_one_failed_call_and_not_the_end() {
    let answers = talk(
        Scope::Read,
        &[call("eval_status", json!({}), json!({})), call("sources", json!({}), json!({}))],
    )
    .await;
    assert_eq!(answers[0]["result"]["structuredContent"]["error"]["kind"], "internal");
    assert_eq!(answers[1]["result"]["isError"], false);
}

#[tokio::test]
async fn pages_are_listed_in_pieces_and_read() {
    let list =
        |cursor: Value| json!({ "method": "resources/list", "params": { "cursor": cursor } });
    let read = json!({ "method": "resources/read",
                       "params": { "uri": "gbrain://page/wiki/ada" } });
    let answers = talk(Scope::Read, &[list(Value::Null), list(json!("wiki::ada")), read]).await;
    assert_eq!(answers[0]["result"]["resources"][0]["uri"], "gbrain://page/wiki/ada");
    assert_eq!(answers[0]["result"]["nextCursor"], "wiki::ada");
    assert_eq!(answers[1]["result"]["resources"], json!([]));
    assert_eq!(answers[2]["result"]["contents"][0]["text"], "# Ada");
}

#[tokio::test]
async fn a_client_that_says_nothing_is_no_error() {
    let (client, server) = tokio::io::duplex(1 << 10);
    drop(client);
    let (input, output) = tokio::io::split(server);
    let ended = serve(context(), visitor(Scope::Read), input, output, std::future::pending()).await;
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn a_stop_ends_a_client_that_waits() {
    let (client, server) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(server);
    let stop = tokio::time::sleep(Duration::from_millis(10));
    let ended = serve(context(), visitor(Scope::Read), input, output, stop).await;
    assert!(ended.is_ok(), "{ended:?}");
    drop(client);
}

/// The status and the body of one HTTP request.
async fn post(visitor: Option<Visitor>, body: String) -> (StatusCode, Value) {
    let mut request = Request::post("/mcp")
        .header("host", "brain.example")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-06-18");
    if let Some(visitor) = visitor {
        request = request.extension(visitor);
    }
    let request = request.body(Body::from(body)).unwrap();
    let response = http_service(context()).oneshot(request).await.unwrap();
    let status = response.status();
    assert!(!response.headers().contains_key("mcp-session-id"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

#[tokio::test]
async fn each_http_request_stands_for_itself() {
    let body = numbered(1, &call("sources", json!({}), json!({ "job_id": 3 }))).to_string();
    let (status, answer) = post(Some(visitor(Scope::Read)), body.clone()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["result"]["structuredContent"]["workspace"], "team");
    assert_eq!(answer["result"]["structuredContent"]["job_id"], 3);
    let (_, refused) = post(None, body).await;
    assert_eq!(refused["error"]["code"], -32603, "nobody gets in unchecked: {refused}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let arguments = json!({ "page": "a", "content": "x".repeat(2 << 20) });
    let body = numbered(1, &call("put_page", arguments, json!({}))).to_string();
    let (status, _) = post(Some(visitor(Scope::Write)), body).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}
