//! `gbrain mcp` with clients that send anything and leave at any time.
//!
//! What is no message is passed over, or answered as an invalid request if it is JSON; the
//! conversation goes on. A message that is too long is dropped. Whatever came before, the end of the
//! input is the end, with code 0 and every capture stored. Stdout holds answers and nothing else, and
//! stderr nothing that a client sent.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gbrain_core::defect::reports_panic;
use serde_json::{Value, json};

use crate::capture::{capturing, exported};
use crate::serve::client::peak_memory;
use crate::support::{Home, Ran};

/// Longer than any of this takes on a busy machine: past it the process hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// A word that only clients say.
const MARK: &str = "zanzibarish";

fn home() -> Home {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    home
}

fn request(id: u32, method: &str, params: Value) -> Vec<u8> {
    line(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn line(message: Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

fn begin() -> Vec<u8> {
    begin_with("2025-06-18")
}

fn begin_with(version: &str) -> Vec<u8> {
    let params = json!({ "protocolVersion": version, "capabilities": {},
                         "clientInfo": { "name": "test", "version": "0" } });
    request(0, "initialize", params)
}

fn query(id: u32) -> Vec<u8> {
    let arguments = json!({ "query": format!("boats {id}") });
    request(id, "tools/call", json!({ "name": "query", "arguments": arguments }))
}

fn spawn(home: &Home) -> Child {
    let mut command = home.command(&["mcp", "--log", "debug"]);
    command.env_remove("GBRAIN_LOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs `gbrain mcp` with these bytes on stdin, and kills it if it hangs.
fn feed(home: &Home, bytes: &[u8]) -> Ran {
    let mut child = spawn(home);
    let mut input = child.stdin.take().unwrap();
    let mut streams: [Box<dyn std::io::Read + Send>; 2] =
        [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
    let [stdout, stderr] = std::thread::scope(|scope| {
        let texts = streams.each_mut().map(|stream| {
            scope.spawn(move || {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).unwrap();
                String::from_utf8(bytes).unwrap()
            })
        });
        scope.spawn(move || input.write_all(bytes).unwrap());
        wait(&mut child);
        texts.map(|text| text.join().unwrap())
    });
    Ran { code: wait(&mut child), stdout, stderr }
}

/// Waits for a process; the code of one that had to be killed is none.
fn wait(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait().unwrap().code()
}

/// The answers, of a process that ended well and kept what it heard to itself.
#[track_caller]
fn answers(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!reports_panic(&ran.stderr), "{}", ran.stderr);
    assert!(!ran.stderr.contains(MARK), "{}", ran.stderr);
    assert!(ran.stderr.len() < 64 << 10, "{} bytes of log", ran.stderr.len());
    let answers: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for answer in &answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        assert_ne!(answer["result"].is_null(), answer["error"].is_null(), "{answer}");
    }
    answers
}

/// Which of the numbered requests were answered with a result.
fn answered(answers: &[Value]) -> Vec<u64> {
    let results = answers.iter().filter(|answer| answer["result"].is_object());
    let mut ids: Vec<u64> = results.map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Everything that is no message, or a request that can only be refused; the numbers of requests
/// start at `first`.
fn garbage(first: u32) -> Vec<u8> {
    let notify = |method: &str, params: Value| {
        line(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    };
    let progress = json!({ "progressToken": MARK, "progress": 1, "message": MARK });
    let unknown = json!({ "name": MARK, "arguments": {} });
    let wrong = json!({ "name": "sources", "arguments": { MARK: 1 } });
    [
        format!("{MARK}\n").into_bytes(),
        b"\n\r\n\0\n".to_vec(),
        b"\xff\xfe\x80 \xc3\x28\n".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\"}\n".to_vec(),
        format!("{{\"{MARK}\": \n").into_bytes(),
        [vec![b'['; 100_000], b"\n".to_vec()].concat(),
        line(json!([])),
        line(json!(MARK)),
        line(json!({ "hello": MARK })),
        line(json!({ "jsonrpc": "1.0", "id": first, "method": MARK })),
        line(json!({ "jsonrpc": "2.0", "id": { "a": MARK }, "method": "ping" })),
        line(json!({ "jsonrpc": "2.0", "id": first, "result": { "a": MARK } })),
        line(json!({ "jsonrpc": "2.0", "id": first, "error": { "code": 1, "message": MARK } })),
        notify(MARK, json!({})),
        notify("notifications/cancelled", json!({ "requestId": first, "reason": MARK })),
        notify("notifications/progress", progress),
        request(first, MARK, json!({})),
        request(first + 1, "tools/call", unknown),
        request(first + 2, "tools/call", wrong),
        request(first + 3, "resources/read", json!({ "uri": format!("gbrain://page/{MARK}") })),
        request(first + 4, "prompts/get", json!({ "name": MARK })),
    ]
    .concat()
}

#[test]
fn lines_that_are_not_messages_are_ignored() {
    let home = home();
    let input = [garbage(10), begin(), garbage(20), query(1), garbage(30), query(2)].concat();
    let answers = answers(&feed(&home, &input));
    // A fault of a tool is a result, once a client has begun.
    assert_eq!(answered(&answers), [0, 1, 2, 22, 32]);
    for refused in [10, 11, 12, 13, 14, 20, 21, 23, 24, 30, 31, 33, 34] {
        let answer = answers.iter().find(|answer| answer["id"] == refused);
        assert!(answer.is_some_and(|answer| answer["error"].is_object()), "{refused}");
    }
    assert_eq!(exported(&home).len(), 2);
}

#[test]
fn a_message_that_is_too_long_is_dropped() {
    let home = home();
    let long = |bytes: usize| MARK.repeat(bytes / MARK.len() + 1);
    let page = json!({ "page": "a", "content": long(16 << 20) });
    let put = request(1, "tools/call", json!({ "name": "put_page", "arguments": page }));
    let reason = json!({ "requestId": 9, "reason": long(1 << 20) });
    let noise = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason });
    let name = json!({ "page": long(1 << 20), "content": "" });
    let named = request(2, "tools/call", json!({ "name": "put_page", "arguments": name }));
    let unending = long(17 << 20).into_bytes();
    let input = [begin(), put, line(noise), named, query(3), unending].concat();
    assert_eq!(answered(&answers(&feed(&home, &input))), [0, 2, 3]);
    let audit = std::fs::read_dir(home.path().join("audit")).unwrap();
    let sizes = audit.map(|file| file.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 16 << 10, "a refused name fills no disk");
}

#[test]
fn the_end_of_the_input_is_the_end_wherever_it_is() {
    let home = home();
    let whole = query(1);
    let cut = &whole[..whole.len() / 2];
    for (input, expected) in [
        (Vec::new(), vec![]),
        (cut.to_vec(), vec![]),
        (begin()[..20].to_vec(), vec![]),
        (begin(), vec![0]),
        ([begin(), cut.to_vec()].concat(), vec![0]),
        ([begin(), whole.clone(), cut.to_vec()].concat(), vec![0, 1]),
    ] {
        assert_eq!(answered(&answers(&feed(&home, &input))), expected);
    }
    assert_eq!(exported(&home).len(), 1, "what was asked is captured, though the client is gone");
}

/// The next line that a client is told.
fn hear(output: &mut impl BufRead) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
}

/// Waits for a process that should end well, and of its own.
#[track_caller]
fn check_end(mut child: Child) {
    let code = wait(&mut child);
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(code, Some(0), "{log}");
    assert!(!reports_panic(&log), "{log}");
}

#[test]
fn a_client_that_does_not_wait_for_its_answer_is_captured() {
    let home = home();
    let mut child = spawn(&home);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(&begin()).unwrap();
    assert_eq!(hear(&mut output)["id"], 0);
    drop(output);
    input.write_all(&query(1)).unwrap();
    drop(input);
    check_end(child);
    assert_eq!(exported(&home).len(), 1);
}

#[test]
fn a_client_that_never_listens_is_no_fault() {
    let home = home();
    let mut child = spawn(&home);
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    // A server without listeners may stop reading.
    let _ = input.write_all(&[begin(), query(1)].concat());
    drop(input);
    check_end(child);
}

#[test]
fn a_terminated_process_stores_its_captures() {
    let home = home();
    let mut child = spawn(&home);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(&[begin(), query(1)].concat()).unwrap();
    assert_eq!(hear(&mut output)["id"], 0);
    assert_eq!(hear(&mut output)["id"], 1);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    check_end(child);
    assert_eq!(exported(&home).len(), 1);
}

#[test]
fn every_version_of_the_protocol_with_a_handshake_is_spoken() {
    let home = home();
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let answers = answers(&feed(&home, &[begin_with(asked), query(1)].concat()));
        assert_eq!(answers[0]["result"]["protocolVersion"], expected);
        assert_eq!(answered(&answers), [0, 1], "{asked}");
    }
}

/// A small message that would become large is passed over, and the conversation goes on.
#[test]
fn dense_messages_take_bounded_memory() {
    let home = home();
    let mut child = spawn(&home);
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(stdout);
    let mut answer = || {
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    stdin.write_all(&begin()).unwrap();
    assert_eq!(answer()["id"], 0);
    stdin
        .write_all(&line(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })))
        .unwrap();
    stdin.write_all(&query(1)).unwrap();
    assert_eq!(answer()["id"], 1);
    let dense = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{{\"a\":[{}0]}}}}\n",
        "{\"\":0},".repeat(2 << 20)
    );
    let (before, ()) = peak_memory(child.id(), || ());
    let (peak, answers) = peak_memory(child.id(), || {
        stdin.write_all(dense.as_bytes()).unwrap();
        stdin.write_all(&query(3)).unwrap();
        [answer(), answer()]
    });
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert!(of(2)["error"].is_object(), "{answers:?}");
    assert!(of(3)["result"].is_object(), "{answers:?}");
    let memory = peak.saturating_sub(before);
    assert!(memory <= (1 << 20) + 10 * dense.len(), "{} MiB", memory >> 20);
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
