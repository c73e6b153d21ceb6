//! Every example of the documentation works when it is pasted into a shell.
//!
//! A fenced block marked `sh` is run as it stands, with `bash -euo pipefail`, at the root of the repository and in an
//! empty home. A block marked `sh no-run` needs something that a test does not have (another machine, a model's
//! key, an installation) and is only checked for commands that exist.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{pages, root, shown};

/// A block of commands with the page and the line it stands at.
struct Example {
    place: String,
    text: String,
}

/// The blocks of all pages that are marked in this way.
fn examples(mark: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(found) = line.strip_prefix("```") else { continue };
            let block = lines.by_ref().take_while(|(_, line)| !line.starts_with("```"));
            let block: Vec<&str> = block.map(|(_, line)| line).collect();
            if found == mark {
                let place = format!("{}:{}", shown(&page), number + 1);
                examples.push(Example { place, text: block.join("\n") });
            }
        }
    }
    examples
}

#[test]
fn every_example_runs_when_pasted() {
    let examples = examples("sh");
    assert!(examples.len() >= 20, "{} examples", examples.len());
    // A build in a foreign home would download the registry, and campaigns take hours.
    let builds = |example: &&Example| example.text.lines().any(|line| line.starts_with("cargo "));
    let built: Vec<&str> =
        examples.iter().filter(builds).map(|example| example.place.as_str()).collect();
    assert!(built.is_empty(), "mark blocks that call cargo with `sh no-run`: {built:?}");
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(example) = examples.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(output) = run(example) {
                        failures.lock().unwrap().push(format!("{}\n{output}", example.place));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "examples that fail:\n\n{}", failures.join("\n\n"));
}

/// Runs an example; an error is what it printed.
fn run(example: &Example) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_gbrain")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let file = |name: &str| fs::File::create(dir.path().join(name)).unwrap();
    let mut command = Command::new("timeout");
    command.args(["300", "bash", "-euo", "pipefail", "-c", &example.text]).current_dir(root());
    command.env_clear().env("PATH", path).env("LANG", "C.UTF-8");
    // `mktemp -d` of an example makes its home below the directory that is removed afterwards.
    command.env("HOME", dir.path()).env("TMPDIR", dir.path());
    command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr")).process_group(0);
    let mut child = command.spawn().unwrap();
    let status = child.wait().unwrap();
    // A server that a failed example left behind.
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let text = |name: &str| {
        String::from_utf8_lossy(&fs::read(dir.path().join(name)).unwrap()).into_owned()
    };
    match status.success() {
        true => Ok(()),
        false => Err(format!("{status}\n{}\n{}", end(&text("stdout")), end(&text("stderr")))),
    }
}

/// The last 2,000 characters of a text.
fn end(text: &str) -> &str {
    text.char_indices().rev().nth(2000).map_or(text, |(at, _)| &text[at..])
}

/// Commands of examples that are not run exist with their options: `--help` after them succeeds.
#[test]
fn examples_that_are_not_run_name_commands_that_exist() {
    for example in examples("sh no-run") {
        for line in example.text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["gbrain", rest @ ..] = words.as_slice() else { continue };
            let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let command: Vec<&&str> =
                rest.iter().take_while(is_name).take_while(|word| !word.starts_with('-')).collect();
            let known = command.first().is_some_and(|name| help_lists(name));
            assert!(known, "{}: {line}", example.place);
        }
    }
}

fn help_lists(name: &str) -> bool {
    let help = Command::new(env!("CARGO_BIN_EXE_gbrain")).args([name, "--help"]).output().unwrap();
    help.status.success()
}
