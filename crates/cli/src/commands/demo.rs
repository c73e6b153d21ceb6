//! `gbrain demo`: gbrain on a bundled fictional company, with no key, no server and no download.
//!
//! Every step is a command that the reader can repeat: it is printed, parsed and run like any other, in a temporary home
//! that stays. The short tour shows the main loop in twelve steps; `--full` shows every part.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Parser as _};

use crate::args::Args;
use crate::error::{CliError, Exit};
use crate::terminal::{Terminal, bold, dim, wrap};

/// The bundled corpus: names below `demo/` and texts.
const CORPUS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// "Today" in the world of the corpus, so that the demo tells the same story every day.
const NOW: &str = "2026-05-14T12:00:00Z";

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  gbrain demo\n  gbrain demo --full\n  gbrain demo --dir /tmp/my-demo"
)]
pub(crate) struct DemoArgs {
    /// Show every part of gbrain: chats, explanations, private pages, suites, triage, doctor.
    #[arg(long)]
    full: bool,

    /// Where to put the corpus and the brain [default: a new temporary directory].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// One line of explanation, a command, and the exit code it must end with.
struct DemoStep {
    title: &'static str,
    command: DemoCommand,
    exit: Exit,
}

enum DemoCommand {
    /// The arguments of one call.
    Gbrain(&'static [&'static str]),
    /// Questions that are asked one after the other, without printing the answers.
    QueryEach(&'static [&'static str]),
}

const fn step(title: &'static str, words: &'static [&'static str]) -> DemoStep {
    DemoStep { title, command: DemoCommand::Gbrain(words), exit: Exit::Pass }
}

/// A step that ends with a failing verdict.
const fn failing(title: &'static str, words: &'static [&'static str]) -> DemoStep {
    DemoStep { title, command: DemoCommand::Gbrain(words), exit: Exit::Fail }
}

const fn query_each(title: &'static str, questions: &'static [&'static str]) -> DemoStep {
    DemoStep { title, command: DemoCommand::QueryEach(questions), exit: Exit::Pass }
}

/// The settings of the demo: captures are on and marked as synthetic, so that they may be shared.
const CONFIG: &str = r#"{
  "format": "gbrain/1",
  "engine": "sqlite",
  "eval": { "capture": true, "synthetic": true }
}
"#;

// Steps of both tours.
const FREEZE_CAPTURES: DemoStep = step(
    "Freeze them as a baseline",
    &[
        "baseline",
        "publish",
        "--from",
        "DIR/captured.ndjson",
        "--to",
        "HOME/baselines/demo.baseline.ndjson",
        "--why",
        "before the change",
    ],
);
const REPLAY_CAPTURES: DemoStep = step(
    "Replay them: nothing changed, so every answer is the same",
    &["eval", "replay", "--against", "DIR/captured.ndjson"],
);
const WORSEN_RANKING: DemoStep = step(
    "Change the ranking for the worse: cut off everything below 90 % of the best score",
    &["config", "set", "search.cut_ratio", "0.9"],
);
const FAILING_GATE: DemoStep = failing(
    "Run the gate: it fails, and names what moved and the stage at which each page was lost",
    &[
        "eval",
        "gate",
        "--baseline",
        "HOME/baselines/demo.baseline.ndjson",
        "--html",
        "DIR/gate.html",
    ],
);
const UNDO_CHANGE: DemoStep = step("Undo the change", &["config", "unset", "search.cut_ratio"]);

/// The short tour: memory, capture, baseline, replay, gate.
const SHORT_TOUR: &[DemoStep] = &[
    step(
        "Import a wiki of markdown pages",
        &["import", "CORPUS/wiki", "--source", "wiki", "--quiet"],
    ),
    step(
        "Search by keyword and name; an alias finds its page",
        &["search", "Captain Pell", "--limit", "2"],
    ),
    step(
        "Ask a relational question; each answer shows the sentence it was read from",
        &["query", "Who invested in Quayspark?", "--limit", "3"],
    ),
    step(
        "Ask in other words than the page uses; embeddings find it",
        &["query", "smartphone program for boat drivers", "--limit", "2"],
    ),
    query_each(
        "Ask more questions; each one is captured with its answer, without personal data",
        &[
            "HRB-131",
            "charge floor",
            "Who owns the berth planner?",
            "What depends on Plug Gateway?",
            "What does Tide Router depend on?",
            "two boats at the same pier",
            "Kittle Island blackout",
        ],
    ),
    step("Export the captures", &["eval", "export", "--output", "DIR/captured.ndjson"]),
    FREEZE_CAPTURES,
    REPLAY_CAPTURES,
    WORSEN_RANKING,
    FAILING_GATE,
    UNDO_CHANGE,
    step(
        "Run the gate again: it passes",
        &["eval", "gate", "--baseline", "HOME/baselines/demo.baseline.ndjson"],
    ),
];

/// The full tour: every part of gbrain.
const FULL_TOUR: &[DemoStep] = &[
    step("Import a wiki of markdown pages", &["import", "CORPUS/wiki", "--source", "wiki"]),
    step(
        "Import a journal: daily notes, and chats as JSON, JSONL and markdown",
        &["import", "CORPUS/journal", "--source", "journal"],
    ),
    step(
        "Import again: nothing changed, so nothing is written",
        &["import", "CORPUS/wiki", "--source", "wiki"],
    ),
    step("Count what the brain holds", &["stats"]),
    step(
        "Search by keyword",
        &["search", "three plugs did not unlock at Wrenmouth", "--limit", "3"],
    ),
    step(
        "A name finds its page first, by an alias too",
        &["search", "Captain Pell", "--limit", "2"],
    ),
    step("An identifier finds its page first too", &["search", "HRB-131", "--limit", "2"]),
    step(
        "Ask a relational question; each answer shows the sentence it was read from",
        &["query", "Who invested in Quayspark?", "--limit", "4"],
    ),
    step(
        "Ask what depends on a service; the direction of links matters",
        &["query", "What depends on Plug Gateway?", "--mode", "graph", "--limit", "4"],
    ),
    step(
        "Use keywords, embeddings and names, but no links",
        &["query", "what to do when a quay loses power", "--mode", "knowledge", "--limit", "2"],
    ),
    step(
        "Embeddings find what other words say: the page says skipper and app",
        &["query", "smartphone program for boat drivers", "--limit", "2"],
    ),
    step(
        "Recency is measured from --now",
        &["query", "latest board meeting", "--limit", "2", "--now", NOW],
    ),
    step(
        "Chats are pages too",
        &["query", "Who cannot eat walnuts at the offsite?", "--source", "journal", "--limit", "2"],
    ),
    step(
        "Explain what each stage did",
        &["query", "How does Second Plug align with our goals?", "--limit", "1", "--explain"],
    ),
    step(
        "Explain why a page is not in the answer",
        &["query", "charge floor", "--limit", "1", "--why-not", "services/lookout"],
    ),
    step("The owner finds a private page", &["search", "brambleknot", "--limit", "1"]),
    step(
        "An untrusted caller does not find it",
        &["search", "brambleknot", "--limit", "1", "--untrusted"],
    ),
    step("Show the links of one page", &["links", "tickets/hrb-147"]),
    step("Verify the index against the store, page by page", &["reindex", "--verify"]),
    step(
        "Every query was captured without personal data. Export the captures",
        &["eval", "export", "--output", "DIR/captured.ndjson"],
    ),
    FREEZE_CAPTURES,
    REPLAY_CAPTURES,
    WORSEN_RANKING,
    FAILING_GATE,
    UNDO_CHANGE,
    step(
        "Run the gate again: it passes; relevance judgements are gated too",
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
        "Test the gate itself: damage the retriever in known ways, and count what it catches",
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
        "Import canonical queries with the pages they must find",
        &["queries", "import", "CORPUS/queries.jsonl", "--quiet"],
    ),
    step(
        "Enable a suite from a file: measures, thresholds and schedule",
        &["suites", "enable", "smoke", "--file", "CORPUS/suites.yaml"],
    ),
    step(
        "Run the suite against the brain (--target: against any retrieval API)",
        &["suites", "run", "smoke"],
    ),
    step(
        "Delete a page, as a broken import would",
        &["delete", "concepts/charge-floor", "--source", "wiki"],
    ),
    failing("The suite fails, and names the case", &["suites", "run", "smoke"]),
    failing("Triage explains the failure and suggests commands", &["triage", "2"]),
    step("Run the suggested command", &["restore", "concepts/charge-floor", "--source", "wiki"]),
    step("The suite passes again", &["suites", "run", "smoke"]),
    step("Check the whole brain", &["doctor"]),
];

/// Runs the steps. The first that ends with another exit code than expected ends the demo.
pub(crate) fn run(args: &DemoArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    if terminal.is_json() {
        return Err(CliError::usage("`gbrain demo` has no --json output")
            .hint("add --json to any of the commands it shows"));
    }
    // Each step is one screen: nothing is paged.
    let terminal = &Terminal::new(false, false);
    let dir = place(args)?;
    let corpus = dir.join("corpus");
    write_corpus(&corpus)?;
    let home = dir.join("home");
    write_config(&home)?;
    let steps = if args.full { FULL_TOUR } else { SHORT_TOUR };
    terminal.line(format!(
        "gbrain on a fictional ferry company, {} files in {}",
        CORPUS.len(),
        dir.display()
    ));
    terminal.line("");
    terminal.line(bold(&format!("$ export GBRAIN_HOME={}", home.display())));
    terminal.line("");
    for (at, DemoStep { title, command, exit }) in steps.iter().enumerate() {
        let heading = format!("# {}/{}: {title}", at + 1, steps.len());
        terminal.out(wrap("", "#   ", &dim(&heading)) + "\n");
        match command {
            DemoCommand::Gbrain(words) => {
                let words: Vec<String> = words.iter().map(|word| resolve(word, &dir)).collect();
                terminal.line(bold(&format!("$ gbrain {}", shell(&words))));
                run_step(&words, *exit, &home, terminal)?;
            }
            DemoCommand::QueryEach(questions) => {
                let quoted: Vec<String> =
                    questions.iter().map(|one| format!("\"{one}\"")).collect();
                let shown = format!(
                    "$ for q in {}; do gbrain query \"$q\" > /dev/null; done",
                    quoted.join(" ")
                );
                terminal.line(bold(&shown));
                for question in *questions {
                    let words = ["query", question].map(str::to_owned);
                    run_step(&words, *exit, &home, &Terminal::discarding())?;
                }
            }
        }
        terminal.line("");
    }
    closing(args, &dir, &home, terminal);
    Ok(Exit::Pass)
}

/// Prints the report's path and what to try next.
fn closing(args: &DemoArgs, dir: &Path, home: &Path, terminal: &Terminal) {
    terminal.line(format!("The report of the failed gate: {}", dir.join("gate.html").display()));
    terminal.line("");
    terminal.line("Try next:");
    let home = home.display();
    terminal
        .line(format!("  GBRAIN_HOME={home} gbrain query \"who runs the night ferry?\" --explain"));
    terminal.line("  gbrain import ~/notes           your own notes, in ~/.gbrain");
    terminal.line("  gbrain mcp --help               connect an agent");
    if !args.full {
        terminal
            .line("  gbrain demo --full              chats, suites, triage, private pages, doctor");
    }
    terminal.line(format!("  rm -r {}    delete this demo", dir.display()));
}

fn run_step(
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
