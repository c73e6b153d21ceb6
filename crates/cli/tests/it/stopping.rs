//! Servers and workers that are told to end while they have something to do.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Home, wait_until};

/// A process that does not outlive its test.
struct Process(Child);

impl Process {
    fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Its exit code, if it ends in time.
    fn ended(&mut self) -> Option<i32> {
        wait_until("the process has ended", || self.0.try_wait().unwrap().is_some());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let home = Home::sqlite();
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut server = Process(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on http://").unwrap();
    // A request whose body never comes keeps an orderly end waiting.
    let mut slow = TcpStream::connect(address).unwrap();
    let head = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        content-length: 100\r\n\r\n{";
    slow.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    server.terminate();
    wait_until("nobody is let in any more", || TcpStream::connect(address).is_err());
    server.terminate();
    assert_eq!(server.ended(), Some(130));
}

#[test]
fn a_worker_that_waits_for_the_index_lets_its_job_go() {
    let home = Home::sqlite();
    let notes = home.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("a.md"), "ferries").unwrap();
    home.ok(&["import", notes.to_str().unwrap()]);
    std::fs::write(notes.join("b.md"), "trains").unwrap();
    let lock = index_lock(&home);
    lock.lock().unwrap();
    home.ok(&["import", "--background", notes.to_str().unwrap()]);
    let mut command = home.command(&["worker"]);
    let mut worker = Process(command.stderr(Stdio::null()).spawn().unwrap());
    let job = || home.json(&["jobs", "show", "1"]);
    wait_until("the pages are written", || job()["done"] == 2);
    worker.terminate();
    assert_eq!(worker.ended(), Some(0));
    assert_eq!(job()["state"], "queued", "{}", job());

    lock.unlock().unwrap();
    let mut command = home.command(&["worker"]);
    let mut worker = Process(command.stderr(Stdio::null()).spawn().unwrap());
    wait_until("another worker has ended it", || job()["state"] == "done");
    worker.terminate();
    assert_eq!(worker.ended(), Some(0));
    let summary: Value =
        serde_json::from_str(&home.ok(&["jobs", "show", "1", "--result"])).unwrap();
    assert_eq!((&summary["added"], &summary["unchanged"]), (&1.into(), &1.into()), "once");
}

/// A target that interrupts the process that asks it once, and answers all the same.
const INTERRUPTS: &str = r#"
while read -r line; do
  test -n "$sent" || kill -SIGNAL "$PPID"
  sent=1
  sleep 0.1
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  printf '{"id":%s,"results":[{"document":"default::notes/a","score":1}]}\n' "$id"
done
"#;

#[test]
fn an_interrupted_measurement_gives_no_verdict() {
    let home = Home::sqlite();
    let path = |name: &str| home.file(name);
    let row = |n: usize| {
        json!({
            "schema_version": 1, "tool_name": "query", "query": format!("question {n}"),
            "retrieved_slugs": ["notes/a"], "source_ids": ["default"], "latency_ms": 1,
        })
    };
    let rows: String = (0..20).map(|n| format!("{}\n", row(n))).collect();
    std::fs::write(path("c.ndjson"), rows).unwrap();
    let query =
        |n: usize| json!({ "query": format!("question {n}"), "relevant_slugs": ["notes/a"] });
    let queries: Vec<Value> = (0..20).map(query).collect();
    let qrels = json!({ "schema_version": 1, "queries": queries });
    std::fs::write(path("q.json"), qrels.to_string()).unwrap();
    let (captured, baseline, judged) = (path("c.ndjson"), path("b.ndjson"), path("q.json"));
    home.ok(&["bench", "publish", "--from", &captured, "--to", &baseline]);
    for signal in ["INT", "TERM"] {
        std::fs::write(path("ask.sh"), INTERRUPTS.replace("SIGNAL", signal)).unwrap();
        let target = json!({ "kind": "command", "command": ["sh", path("ask.sh")] });
        let config = json!({ "format": "gbrain/1", "targets": { "mine": target } });
        std::fs::write(path("config.json"), config.to_string()).unwrap();
        for args in [
            &["eval", "gate", "--baseline", &baseline, "--repeats", "1"][..],
            &["eval", "gate", "--qrels", &judged],
            &["eval", "gate", "--baseline", &baseline, "--selftest"],
            &["eval", "replay", "--against", &captured, "--repeats", "1"],
            &["eval", "--qrels", &judged],
        ] {
            let ran = home.run(&[args, &["--target", "mine", "--json"]].concat());
            assert_eq!(ran.code, Some(2), "{signal} {args:?}\n{}\n{}", ran.stdout, ran.stderr);
            let body = ran.json();
            assert_eq!(body["error"]["kind"], "cancelled", "{body}");
            assert!(body.get("verdict").is_none() && body.get("summary").is_none(), "{body}");
        }
        assert!(!home.path().join("runs/gates.jsonl").exists(), "no verdict is remembered");
    }
}

/// A signal that comes while files are still being read is an interruption too: the baseline is a pipe
/// that is written to after the signal.
#[test]
fn a_signal_before_the_first_question_gives_no_verdict() {
    let home = Home::sqlite();
    home.ok(&["init"]);
    let pipe = home.path().join("rows");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let path = pipe.to_str().unwrap();
    for args in [["gate", "--baseline", path], ["replay", "--against", path]] {
        let mut command = home.command(&[&["eval"], &args[..], &["--json"]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process(command.spawn().unwrap());
        // Opening waits until the other end reads.
        let mut writer = File::options().write(true).open(&pipe).unwrap();
        process.terminate();
        let row = json!({
            "schema_version": 1, "tool_name": "query", "query": "ferries",
            "retrieved_slugs": ["notes/a"], "source_ids": ["default"], "latency_ms": 1,
        });
        wait_until("the signal has arrived", || !is_signal_pending(process.0.id()));
        writeln!(writer, "{row}").unwrap();
        drop(writer);
        assert_eq!(process.ended(), Some(2), "{args:?}");
    }
}

/// Whether a SIGTERM still waits to be taken by the process.
fn is_signal_pending(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let pending = status.lines().filter_map(|line| line.strip_prefix("ShdPnd:"));
    pending
        .map(|mask| u64::from_str_radix(mask.trim(), 16).unwrap())
        .any(|mask| mask >> 14 & 1 == 1)
}

/// The file that writers of the one index lock.
fn index_lock(home: &Home) -> File {
    let entries = walkdir(&home.path().join("index"));
    let path = entries.into_iter().find(|path| path.ends_with("writer.lock"));
    File::options().write(true).open(path.expect("there is an index")).unwrap()
}

fn walkdir(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walkdir(&path) } else { vec![path] }).collect()
}
