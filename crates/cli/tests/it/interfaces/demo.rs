//! `--json` of every command that `gbrain demo` shows.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::{mask, snapshot};
use crate::support::{Home, Ran};

/// The demo's own "today", for every command that takes one: otherwise what is recent depends on the clock.
const NOW: &str = "2026-05-14T12:00:00Z";

const VOLATILE: &[&str] = &[
    "timings_us",
    "served.request_id",
    "provenance.code",
    // The index is written by several threads.
    "index.bytes",
    "details.bytes",
    "free_bytes",
    // Durations, and what is computed from them.
    "baseline_mean_latency_ms",
    "captured_latency_ms",
    "captured_ms",
    "current_latency_ms",
    "current_ms",
    "duration_ms",
    "elapsed_ms",
    "health.latency",
    "latency.interval",
    "latency.observed",
    "latency.ratio",
    "latency.status",
    "latency_ms.dense",
    "latency_ms.hydration",
    "latency_ms.total",
    "like_with_like.interval",
    "like_with_like.ratio",
    "mean_latency_delta_ms",
    "rows_over_2x_latency",
    // It covers the durations of captures.
    "rows_hash",
];

/// The demo's directory, and the same before any command ran.
struct Tour {
    demo: TempDir,
    fresh: TempDir,
    /// The commands as they were shown, without the name of the program.
    commands: Vec<Vec<String>>,
}

impl Tour {
    fn new() -> Self {
        let (demo, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let shown = Home::sqlite().ok(&["demo", "--full", "--dir", demo.path().to_str().unwrap()]);
        let commands = shown.lines().filter_map(|line| line.strip_prefix("$ gbrain "));
        let commands = commands.map(words).collect();
        copy(&demo.path().join("corpus"), &fresh.path().join("corpus"));
        fs::create_dir(fresh.path().join("home")).unwrap();
        let config = "home/config.json";
        fs::copy(demo.path().join(config), fresh.path().join(config)).unwrap();
        Self { demo, fresh, commands }
    }

    /// Runs a command of the demo with `--json` in the fresh directory.
    fn run(&self, words: &[String]) -> Ran {
        let own = |word: &String| word.replace(path(&self.demo), path(&self.fresh));
        let mut words: Vec<String> = words.iter().map(own).collect();
        let takes_time = matches!(words[0].as_str(), "query" | "search");
        if takes_time && !words.contains(&"--now".to_owned()) {
            words.extend(["--now".to_owned(), NOW.to_owned()]);
        }
        words.push("--json".to_owned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = Home::sqlite().command(&words);
        Ran::of(command.env("GBRAIN_HOME", self.fresh.path().join("home")).output().unwrap())
    }
}

#[test]
fn json_of_every_step() {
    let mut mask = mask::Mask::new(VOLATILE);
    let tour = Tour::new();
    mask.replace(path(&tour.demo), "DIR");
    mask.replace(path(&tour.fresh), "DIR");
    let mut names = Vec::new();
    for (at, words) in tour.commands.iter().enumerate() {
        let ran = tour.run(words);
        if at == 0 {
            mask.replace(&store_id(&tour.fresh.path().join("home/brain.db")), "<store id>");
        }
        let name = format!("{:02}-{}.txt", at + 1, name_of(words));
        let json = match ran.stdout.is_empty() {
            true => String::new(),
            false => {
                let body = ran.json();
                learn_checks(&mut mask, &body);
                format!("{:#}\n", mask.json(&body))
            }
        };
        let command = mask.text(&words.join(" "));
        let code = ran.code.unwrap();
        snapshot::check(
            &format!("demo/{name}"),
            &format!("$ gbrain {command} --json\nexit {code}\n{json}"),
        );
        names.push(name);
    }
    assert!(names.len() > 30, "the demo is shorter than expected: {names:?}");
    snapshot::check_names("demo", &names);
}

/// The lines of `doctor` about this machine and the home's key.
fn learn_checks(mask: &mut mask::Mask, body: &Value) {
    for check in body["checks"].as_array().into_iter().flatten() {
        let message = check["message"].as_str().unwrap();
        match check["name"].as_str() {
            Some("disk") => mask.replace(message, "<free>"),
            // How long ago the last capture was stored.
            Some("capture") => {
                let age = message.split("; ").find(|part| part.ends_with(" min old")).unwrap();
                let age = age.split(", ").last().unwrap();
                mask.replace(age, "the newest <minutes> min old");
            }
            Some("identity_key") => {
                mask.replace(check["details"]["id"].as_str().unwrap(), "<key id>");
            }
            _ => (),
        }
    }
}

/// The command and its verb, such as `eval-gate`.
fn name_of(words: &[String]) -> String {
    let groups = ["eval", "baseline", "config", "queries", "suites"];
    let count = if groups.contains(&words[0].as_str()) { 2 } else { 1 };
    words[..count].join("-")
}

/// The words of a line in which a word may stand in double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            1 => words.push(part.to_owned()),
            _ => words.extend(part.split_whitespace().map(str::to_owned)),
        }
    }
    words
}

/// The random number of a store.
pub(super) fn store_id(file: &Path) -> String {
    let db = rusqlite::Connection::open(file).unwrap();
    db.query_row("SELECT value FROM meta WHERE key = 'store_id'", [], |row| row.get(0)).unwrap()
}

fn path(dir: &TempDir) -> &str {
    dir.path().to_str().unwrap()
}

fn copy(from: &Path, to: &PathBuf) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}
