//! Servers and workers that are told to end while they have something to do.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Home;

const PATIENCE: Duration = Duration::from_secs(60);

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

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
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
