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

/// What a step shows, and the command.
type Step = (&'static str, &'static [&'static str]);

const STEPS: &[Step] = &[
    ("Take in a wiki of markdown pages", &["import", "CORPUS/wiki", "--source", "wiki"]),
    (
        "Take in a journal: daily notes, and chats as JSON, JSONL and markdown",
        &["import", "CORPUS/journal", "--source", "journal"],
    ),
    ("Again: nothing changed, nothing is written", &["import", "CORPUS/wiki", "--source", "wiki"]),
    ("What is in it now", &["stats"]),
    ("Find by words", &["search", "three plugs did not unlock at Wrenmouth", "--limit", "3"]),
    ("A name finds its page first, by an alias too", &["search", "Captain Pell", "--limit", "2"]),
    ("So does an identifier", &["search", "HRB-131", "--limit", "2"]),
    (
        "Ask who: the edges that answer it are shown with their evidence",
        &["query", "Who invested in Quayspark?", "--limit", "4"],
    ),
    (
        "Ask what depends on what; the direction matters",
        &["query", "What depends on Plug Gateway?", "--mode", "graph", "--limit", "4"],
    ),
    (
        "Knowledge mode: words and names only",
        &["query", "what to do when a quay loses power", "--mode", "knowledge", "--limit", "2"],
    ),
    (
        "Meaning finds what other words say: the page says skipper and app",
        &["query", "mobile phone program for captains", "--limit", "2"],
    ),
    (
        "What is recent is measured against --now",
        &["query", "latest board meeting", "--limit", "2", "--now", NOW],
    ),
    (
        "Chats are pages too",
        &["query", "Who cannot eat walnuts at the offsite?", "--source", "journal", "--limit", "2"],
    ),
    (
        "Every stage explained",
        &["query", "How does Second Plug align with our goals?", "--limit", "1", "--explain"],
    ),
    (
        "And where a page fell out",
        &["query", "charge floor", "--limit", "1", "--why-not", "services/lookout"],
    ),
    ("The owner finds a private page", &["search", "brambleknot", "--limit", "1"]),
    ("Nobody else does", &["search", "brambleknot", "--limit", "1", "--untrusted"]),
    ("The edges of one page", &["links", "tickets/hrb-147"]),
    ("Store and index agree, page by page", &["reindex", "--verify"]),
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
    terminal.line(format!("A fictional brain of {} files, in {}\n", CORPUS.len(), dir.display()));
    terminal.line(format!("{}\n", bold(&format!("$ export GBRAIN_HOME={}", home.display()))));
    for (at, (title, words)) in STEPS.iter().enumerate() {
        let words: Vec<String> = words.iter().map(|word| resolve(word, &corpus)).collect();
        terminal.line(dim(&format!("# {}. {title}", at + 1)));
        terminal.line(bold(&format!("$ gbrain {}", shell(&words))));
        step(&words, &home, terminal)?;
        terminal.line("");
    }
    terminal.line(format!("Try your own: GBRAIN_HOME={} gbrain query \"...\"", home.display()));
    terminal.line(format!("When you are done: rm -r {}", dir.display()));
    Ok(Exit::Pass)
}

fn step(words: &[String], home: &Path, terminal: &Terminal) -> Result<(), CliError> {
    let given = ["gbrain", "--home"].map(str::to_owned).into_iter();
    let given = given.chain([home.to_string_lossy().into_owned()]).chain(words.iter().cloned());
    let args = Args::try_parse_from(given).map_err(|error| CliError::usage(error.to_string()))?;
    match crate::run_in(args, terminal, &crate::home::Environment::default())? {
        Exit::Pass => Ok(()),
        Exit::Fail | Exit::NoVerdict => {
            Err(CliError::usage(format!("`gbrain {}` failed", shell(words))))
        }
    }
}

fn resolve(word: &str, corpus: &Path) -> String {
    match word.strip_prefix("CORPUS") {
        Some(rest) => format!("{}{rest}", corpus.display()),
        None => word.to_owned(),
    }
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
