//! `/mcp` as one of the addresses of the server: behind the same guard, with statuses that say what
//! is wrong, and a log that holds nothing of what was sent.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gbrain_core::defect::reports_panic;
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use super::peer::Role;
use crate::support::Home;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A word that only clients say.
const MARK: &str = "zanzibarish";

/// A request, good until something about it is changed.
#[derive(Clone)]
struct Request {
    method: &'static str,
    path: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Request {
    fn new(address: SocketAddr, token: &str) -> Self {
        let headers = vec![
            ("host", address.to_string()),
            ("authorization", format!("Bearer {token}")),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("mcp-protocol-version", "2025-06-18".to_owned()),
        ];
        let body = message(json!({ "id": 1, "method": "tools/list" }));
        Self { method: "POST", path: "/mcp", headers, body }
    }

    fn method(&self, method: &'static str) -> Self {
        Self { method, ..self.clone() }
    }

    fn path(&self, path: &'static str) -> Self {
        Self { path, ..self.clone() }
    }

    fn without(&self, name: &str) -> Self {
        let mut changed = self.clone();
        changed.headers.retain(|(held, _)| *held != name);
        changed
    }

    fn also(&self, name: &'static str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.headers.push((name, value.to_owned()));
        changed
    }

    fn with(&self, name: &'static str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    fn body(&self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self.clone() }
    }

    /// The status and the body of its answer.
    #[track_caller]
    fn send(&self, address: SocketAddr) -> (u16, Value) {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has read enough may close before it has read everything.
        let _ = stream.write_all(&self.body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }
}

fn message(mut rest: Value) -> Vec<u8> {
    rest["jsonrpc"] = "2.0".into();
    rest.to_string().into_bytes()
}

fn notification(reason: &str) -> Vec<u8> {
    let params = json!({ "requestId": 9, "reason": reason });
    message(json!({ "method": "notifications/cancelled", "params": params }))
}

fn tool(name: &str, arguments: Value) -> Vec<u8> {
    let params = json!({ "name": name, "arguments": arguments });
    message(json!({ "id": 1, "method": "tools/call", "params": params }))
}

/// A server that tells much, its address and a token.
fn serve(home: &Home) -> (Served, Request) {
    home.put("people/ada", "Ada paints boats.");
    let role = Role::new(home, "default", true);
    let mut command = home.command(&["serve", "--log", "debug"]);
    command.env_remove("GBRAIN_LOG");
    let served = Served::start(command).unwrap();
    let request = Request::new(served.address(), &role.token);
    (served, request)
}

#[test]
fn statuses_say_what_is_wrong() {
    let home = Home::sqlite();
    let (served, good) = serve(&home);
    let address = served.address();
    let check = |name: &str, request: &Request, expected: u16| {
        let (status, body) = request.send(address);
        assert_eq!(status, expected, "{name}: {body}");
        if (400..500).contains(&status) {
            assert!(!body.to_string().contains("tools"), "{name}: {body}");
        }
    };
    let (status, body) = good.send(address);
    assert_eq!((status, body["result"]["tools"].as_array().map(Vec::len)), (200, Some(10)));
    check("a notification", &good.body(notification("no more")), 202);
    check("its own origin", &good.also("origin", &format!("http://{address}")), 200);
    check("localhost", &good.with("host", "localhost:7727"), 200);

    check("accepts pages", &good.with("accept", "text/html"), 406);
    check("accepts JSON only", &good.with("accept", "application/json"), 406);
    check("text", &good.with("content-type", "text/plain"), 415);
    check("a form", &good.with("content-type", "application/x-www-form-urlencoded"), 415);
    check("no type", &good.without("content-type"), 415);
    check("a version to come", &good.with("mcp-protocol-version", "2099-01-01"), 400);

    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD"] {
        check(method, &good.method(method), 405);
    }
    check("another address", &good.path("/mcp/x"), 404);

    check("nothing", &good.body(""), 400);
    check("not JSON", &good.body("{\"jsonrpc\": "), 400);
    check("not UTF-8", &good.body(*b"{\"jsonrpc\":\"\xff\"}"), 400);
    check("nested", &good.body("[".repeat(100_000)), 400);
    check("no message", &good.body("{\"hello\": 1}"), 400);
    check("too much", &good.body("x".repeat(17 << 20)), 413);

    check("no token", &good.without("authorization"), 401);
    check(
        "another token",
        &good.with("authorization", &format!("Bearer gbt_{}", "a".repeat(56))),
        401,
    );
    check("two tokens", &good.also("authorization", "Bearer x"), 400);
    check("another host", &good.with("host", "evil.example"), 403);
    check("two hosts", &good.also("host", "evil.example"), 400);
    check("another origin", &good.also("origin", "https://evil.example"), 403);
    check("no origin at all", &good.also("origin", "null"), 403);

    let (status, body) = good.send(address);
    assert_eq!((status, body["result"]["tools"].as_array().map(Vec::len)), (200, Some(10)));
    let output = served.stop().unwrap();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!reports_panic(&output.stderr), "{}", output.stderr);
}

#[test]
fn the_log_holds_nothing_that_clients_sent() {
    let home = Home::sqlite();
    let (served, good) = serve(&home);
    let address = served.address();
    let long = MARK.repeat(100_000);
    for body in [
        tool("query", json!({ "query": MARK })),
        tool("query", json!({ "query": long })),
        tool("query", json!({ (MARK): long })),
        tool(MARK, json!({ "query": MARK })),
        tool(&long, json!({})),
        tool("get_page", json!({ "page": MARK })),
        tool("put_page", json!({ "page": "notes/mark", "content": MARK })),
        tool("put_page", json!({ "page": long, "content": long })),
        message(json!({ "id": 1, "method": MARK })),
        message(json!({ "id": 1, "method": long })),
        message(json!({ "id": long, "method": "tools/list" })),
        message(json!({ "id": 1, "method": "resources/read", "params": { "uri": long } })),
        message(json!({ "id": 1, "method": "prompts/get", "params": { "name": long } })),
        message(json!({ "id": 1, "method": "resources/list", "params": { "cursor": long } })),
        message(json!({ "id": 1, "result": { "a": long } })),
        notification(MARK),
        notification(&long),
        long.clone().into_bytes(),
    ] {
        let (status, answer) = good.body(body).send(address);
        assert!(status < 500, "{status}: {answer}");
    }
    good.with("mcp-protocol-version", MARK).send(address);
    good.also("mcp-session-id", MARK).send(address);
    good.also("last-event-id", MARK).send(address);
    let output = served.stop().unwrap();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("action=mcp"), "there is a log: {}", output.stderr);
    assert!(!output.stderr.contains(MARK), "{}", output.stderr);
    assert!(output.stderr.len() < 256 << 10, "{} bytes of log", output.stderr.len());
    let audit = std::fs::read_dir(home.path().join("audit")).unwrap();
    let sizes = audit.map(|file| file.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 16 << 10, "a refused name fills no disk");
}
