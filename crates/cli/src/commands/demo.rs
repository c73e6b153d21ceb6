//! `gbrain demo`: the main job, on the embedded default, with no key, no server and no download.
//!
//! Every step is a command that the reader can repeat: it is printed, parsed and run like any
//! other, in a temporary home that stays for them to play with.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Parser as _};

use crate::args::Args;
use crate::error::{CliError, Exit};
use crate::terminal::{Terminal, bold, dim};

/// The bundled corpus: names below `demo/` and texts.
const CORPUS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// "Today" in the world of the corpus, so that the demo tells the same story every day.
const NOW: &str = "2026-05-14T12:00:00Z";

/// Arguments of `demo`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  gbrain demo\n  gbrain demo --dir /tmp/my-demo")]
pub(crate) struct DemoArgs {
    /// Where to put the corpus and the brain [default: a new temporary directory].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What a step shows, the command, and how it must end.
struct Step {
    title: &'static str,
    words: &'static [&'static str],
    exit: Exit,
}

const fn step(title: &'static str, words: &'static [&'static str]) -> Step {
    Step { title, words, exit: Exit::Pass }
}

/// A step that shows how gbrain says no.
const fn refused(title: &'static str, words: &'static [&'static str]) -> Step {
    Step { title, words, exit: Exit::Fail }
}

/// The home of the demo: captures are on, and marked as made up, so that they may be shared.
const CONFIG: &str = r#"{
  "format": "gbrain/1",
  "engine": "sqlite",
  "eval": { "capture": true, "synthetic": true }
}
"#;

const STEPS: &[Step] = &[
    step("Take in a wiki of markdown pages", &["import", "CORPUS/wiki", "--source", "wiki"]),
    step(
        "Take in a journal: daily notes, and chats as JSON, JSONL and markdown",
        &["import", "CORPUS/journal", "--source", "journal"],
    ),
    step(
        "Again: nothing changed, nothing is written",
        &["import", "CORPUS/wiki", "--source", "wiki"],
    ),
    step("What is in it now", &["stats"]),
    step("Find by words", &["search", "three plugs did not unlock at Wrenmouth", "--limit", "3"]),
    step(
        "A name finds its page first, by an alias too",
        &["search", "Captain Pell", "--limit", "2"],
    ),
    step("So does an identifier", &["search", "HRB-131", "--limit", "2"]),
    step(
        "Ask who: the edges that answer it are shown with their evidence",
        &["query", "Who invested in Quayspark?", "--limit", "4"],
    ),
    step(
        "Ask what depends on what; the direction matters",
        &["query", "What depends on Plug Gateway?", "--mode", "graph", "--limit", "4"],
    ),
    step(
        "Knowledge mode: words and names only",
        &["query", "what to do when a quay loses power", "--mode", "knowledge", "--limit", "2"],
    ),
    step(
        "Meaning finds what other words say: the page says skipper and app",
        &["query", "mobile phone program for captains", "--limit", "2"],
    ),
    step(
        "What is recent is measured against --now",
        &["query", "latest board meeting", "--limit", "2", "--now", NOW],
    ),
    step(
        "Chats are pages too",
        &["query", "Who cannot eat walnuts at the offsite?", "--source", "journal", "--limit", "2"],
    ),
    step(
        "Every stage explained",
        &["query", "How does Second Plug align with our goals?", "--limit", "1", "--explain"],
    ),
    step(
        "And where a page fell out",
        &["query", "charge floor", "--limit", "1", "--why-not", "services/lookout"],
    ),
    step("The owner finds a private page", &["search", "brambleknot", "--limit", "1"]),
    step("Nobody else does", &["search", "brambleknot", "--limit", "1", "--untrusted"]),
    step("The edges of one page", &["links", "tickets/hrb-147"]),
    step("Store and index agree, page by page", &["reindex", "--verify"]),
    step(
        "Every question was captured, personal data taken out. Export what was asked",
        &["eval", "export", "--output", "DIR/captured.ndjson"],
    ),
    step(
        "Freeze it as a baseline",
        &[
            "bench",
            "publish",
            "--from",
            "DIR/captured.ndjson",
            "--to",
            "HOME/baselines/demo.baseline.ndjson",
            "--why",
            "before the change",
        ],
    ),
    step(
        "Ask everything again: an unchanged brain gives exactly the same",
        &["eval", "replay", "--against", "DIR/captured.ndjson"],
    ),
    step(
        "Now break the ranking on purpose: a cut that is far too eager",
        &["config", "set", "search.cut_ratio", "0.9"],
    ),
    refused(
        "The gate is red, and says what moved, why, and at which stage each page was lost",
        &[
            "eval",
            "gate",
            "--baseline",
            "HOME/baselines/demo.baseline.ndjson",
            "--html",
            "DIR/gate.html",
        ],
    ),
    step("Put it back", &["config", "unset", "search.cut_ratio"]),
    step(
        "Green again; and known-right answers are gated beside it",
        &[
            "eval",
            "gate",
            "--baseline",
            "HOME/baselines/demo.baseline.ndjson",
            "--qrels",
            "CORPUS/qrels.json",
        ],
    ),
    step(
        "Would the gate notice? Break the retriever in ten ways and see",
        &[
            "eval",
            "gate",
            "--baseline",
            "HOME/baselines/demo.baseline.ndjson",
            "--qrels",
            "CORPUS/qrels.json",
            "--selftest",
        ],
    ),
    step(
        "What people really ask, with what must be found: the canonical queries of a suite",
        &["queries", "import", "CORPUS/queries.jsonl", "--quiet"],
    ),
    step(
        "A suite, from a file: what is measured, when, and what is good enough",
        &["suites", "enable", "smoke", "--file", "CORPUS/suites.yaml"],
    ),
    step("Measure it, here or against any retrieval API", &["suites", "run", "smoke"]),
    step(
        "Lose a page, as a broken import would",
        &["delete", "concepts/charge-floor", "--source", "wiki"],
    ),
    refused("The suite alerts, and names the case", &["suites", "run", "smoke"]),
    refused("Triage says why, and what to do about it", &["triage", "2"]),
    step("Do it", &["restore", "concepts/charge-floor", "--source", "wiki"]),
    step("Well again", &["suites", "run", "smoke"]),
    step("Is everything well?", &["doctor"]),
];

/// Runs the steps. The first that fails fails the demo.
pub(crate) fn run(args: &DemoArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    if terminal.is_json() {
        return Err(CliError::usage("the demo is for people")
            .hint("add --json to any of the commands it shows"));
    }
    let dir = place(args)?;
    let corpus = dir.join("corpus");
    write_corpus(&corpus)?;
    let home = dir.join("home");
    write_config(&home)?;
    terminal.line(format!("A fictional brain of {} files, in {}", CORPUS.len(), dir.display()));
    terminal.line("");
    terminal.line(bold(&format!("$ export GBRAIN_HOME={}", home.display())));
    terminal.line("");
    for (at, Step { title, words, exit }) in STEPS.iter().enumerate() {
        let words: Vec<String> = words.iter().map(|word| resolve(word, &dir)).collect();
        terminal.line(dim(&format!("# {}. {title}", at + 1)));
        terminal.line(bold(&format!("$ gbrain {}", shell(&words))));
        take(&words, *exit, &home, terminal)?;
        terminal.line("");
    }
    terminal.line(format!("The report of the red gate: {}", dir.join("gate.html").display()));
    terminal.line(format!("Try your own: GBRAIN_HOME={} gbrain query \"...\"", home.display()));
    terminal.line(format!("When you are done: rm -r {}", dir.display()));
    Ok(Exit::Pass)
}

fn take(
    words: &[String],
    expected: Exit,
    home: &Path,
    terminal: &Terminal,
) -> Result<(), CliError> {
    let given = ["gbrain", "--home"].map(str::to_owned).into_iter();
    let given = given.chain([home.to_string_lossy().into_owned()]).chain(words.iter().cloned());
    let args = Args::try_parse_from(given).map_err(|error| CliError::usage(error.to_string()))?;
    let exit = crate::run_in(args, terminal, &crate::home::Environment::default())?;
    if exit == expected {
        return Ok(());
    }
    let words = shell(words);
    Err(CliError::usage(format!("`gbrain {words}` ended with {exit:?}, expected {expected:?}")))
}

fn resolve(word: &str, dir: &Path) -> String {
    let below = |name: &str, rest: &str| format!("{}{rest}", dir.join(name).display());
    match word.split_once('/') {
        Some(("CORPUS", rest)) => below("corpus", &format!("/{rest}")),
        Some(("HOME", rest)) => below("home", &format!("/{rest}")),
        Some(("DIR", rest)) => below(rest, ""),
        _ => word.to_owned(),
    }
}

fn write_config(home: &Path) -> Result<(), CliError> {
    let path = home.join("config.json");
    crate::home::create_private(home).map_err(|error| CliError::io(home.display(), &error))?;
    crate::home::write_private(&path, CONFIG).map_err(|error| CliError::io(path.display(), &error))
}

/// The words as a shell would take them.
fn shell(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let plain = |c: char| c.is_alphanumeric() || "-_./:=".contains(c);
        if word.chars().all(plain) { word.clone() } else { format!("\"{word}\"") }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn place(args: &DemoArgs) -> Result<PathBuf, CliError> {
    if let Some(dir) = &args.dir {
        std::fs::create_dir_all(dir).map_err(|error| CliError::io(dir.display(), &error))?;
        return std::path::absolute(dir).map_err(|error| CliError::io(dir.display(), &error));
    }
    let dir = tempfile::Builder::new().prefix("gbrain-demo-").tempdir();
    let dir = dir.map_err(|error| CliError::io("a temporary directory", &error))?;
    Ok(dir.keep())
}

fn write_corpus(dir: &Path) -> Result<(), CliError> {
    for (name, text) in CORPUS {
        let path = dir.join(name);
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent).map_err(|error| CliError::io(parent.display(), &error))?;
        std::fs::write(&path, text).map_err(|error| CliError::io(path.display(), &error))?;
    }
    Ok(())
}
