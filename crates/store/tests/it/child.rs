//! Child processes: the test binary runs itself with a role.

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use gbrain_core::id::Generation;
use gbrain_store::{Location, OpenMode, Store};

use crate::delivering::send_all;
use crate::feed::Follower;
use crate::firing::run_suites;
use crate::fixture::*;
use crate::windows::capture_batches;

/// The task of a child process.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    /// Opens the store and reports its identity.
    Open,
    /// Writes `batches` of `pages` each under its own name, and alternately one shared page.
    Write { name: usize, batches: usize, pages: usize },
    /// Follows the feed to a generation, checking every root on the way.
    Follow { until: i64 },
    /// Writes batches of 50 until it is killed, reporting each acknowledged one.
    WriteForever { start: usize },
    /// Stores `batches` of captures and reports their number.
    Capture { batches: usize },
    /// Queues due runs of `suites`, `runs` of each, and executes them until all have ended.
    RunSuites { suites: usize, runs: usize },
    /// Sends messages until there are none, reporting each one before ending its delivery.
    Send,
}

/// How long a follower waits for writers that may have failed.
const PATIENCE: Duration = Duration::from_secs(120);

const ROLE: &str = "GBRAIN_STORE_TEST_ROLE";
const LOCATION: &str = "GBRAIN_STORE_TEST_LOCATION";

/// A child process. Killed when its test ends.
pub(crate) struct Player(Child);

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Player {
    /// Its output, line by line.
    pub(crate) fn lines(&mut self) -> Lines<BufReader<ChildStdout>> {
        BufReader::new(self.0.stdout.take().unwrap()).lines()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits for its success; returns its report.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Vec<String> {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let status = self.0.wait().unwrap();
        assert!(status.success(), "a child failed:\n{text}");
        text.lines().filter_map(report_line).map(str::to_owned).collect()
    }
}

/// Starts a child on a store. Output lines after `> ` are its report.
pub(crate) fn spawn(location: &Location, role: Role) -> Player {
    let location = match location {
        Location::Sqlite(path) => path.to_str().unwrap().to_owned(),
        Location::Postgres(url) => url.clone(),
    };
    let role = match role {
        Role::Open => "open 0 0 0".to_owned(),
        Role::Write { name, batches, pages } => format!("write {name} {batches} {pages}"),
        Role::Follow { until } => format!("follow {until} 0 0"),
        Role::WriteForever { start } => format!("forever {start} 0 0"),
        Role::Capture { batches } => format!("capture {batches} 0 0"),
        Role::RunSuites { suites, runs } => format!("suites {suites} {runs} 0"),
        Role::Send => "send 0 0 0".to_owned(),
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::plays_its_role", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(LOCATION, location)
        .stdout(Stdio::piped());
    Player(command.spawn().unwrap())
}

/// The report in an output line of a child. The test harness may have printed before it.
pub(crate) fn report_line(line: &str) -> Option<&str> {
    line.split_once("> ").map(|(_, report)| report)
}

fn report(text: &str) {
    println!("> {text}");
    std::io::stdout().flush().unwrap();
}

#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let location = Location::parse(&std::env::var(LOCATION).unwrap()).unwrap();
    let store = Store::open(&location, OpenMode::Init, at(0)).unwrap();
    let words: Vec<&str> = role.split(' ').collect();
    let number = |at: usize| words[at].parse::<usize>().unwrap();
    match words[0] {
        "open" => report(store.identity()),
        "write" => write_batches(&store, number(1), number(2), number(3)),
        "follow" => follow(&store, Generation(number(1) as i64)),
        "forever" => write_forever(&store, number(1)),
        "capture" => report(&capture_batches(&store, number(1)).to_string()),
        "suites" => run_suites(&store, number(1), number(2)),
        "send" => send_all(&store, &mut |line| report(line)),
        other => panic!("no role {other}"),
    }
}

fn write_batches(store: &Store, name: usize, batches: usize, pages: usize) {
    for batch in 0..batches {
        let own = |n| full(&format!("w{name}/{batch}-{n}"), &format!("page {n} of {batch}"));
        let mut written: Vec<_> = (0..pages).map(own).collect();
        written.push(plain("shared", &format!("turn {batch} of writer {name}")));
        write(store, &written.iter().collect::<Vec<_>>(), 1);
    }
}

fn follow(store: &Store, until: Generation) {
    let mut follower = Follower::default();
    let start = Instant::now();
    while follower.at < until {
        assert!(start.elapsed() < PATIENCE, "the feed stopped at {:?}", follower.at);
        follower.catch_up(store, 17);
        std::thread::sleep(Duration::from_millis(5));
    }
    report(&follower.pages.len().to_string());
}

fn write_forever(store: &Store, start: usize) {
    for batch in start.. {
        let page = |n| full(&format!("b{batch}/{n}"), &format!("{batch} {n} {}", "x".repeat(500)));
        let pages: Vec<_> = (0..50).map(page).collect();
        write(store, &pages.iter().collect::<Vec<_>>(), 1);
        report(&(batch + 1).to_string());
    }
}
