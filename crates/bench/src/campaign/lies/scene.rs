//! A small brain with files that are true, made once and copied for every case.
//!
//! The home holds the brain; below `lies/`, where commands run, are its pages, captures, baselines,
//! judgements, a benchmark and its results.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use fastrand::Rng;
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::{Gbrain, Output, Running};
use gbrain_testkit::retrieval::RetrievalServer;
use serde_json::{Value, json};

use super::dataset::{Difficulty, questions};
use super::edit::{read_rows, write_rows};
use crate::campaign::triage::world::{copy, write_page};

/// The source of the true pages.
pub const SOURCE: &str = "default";
/// A source that is not there.
pub const MIRROR: &str = "mirror";
/// The folder of the files.
pub const FILES: &str = "lies";

/// The results of the questions.
const ANSWERS: &str = "answers.json";

/// Ordinary notes.
const NOTES: usize = 24;
/// Pages of each kind of name that scrubbing may change.
const PER_KIND: usize = 9;

/// Kinds of names that scrubbing may make the same.
pub const KINDS: [&str; 5] = ["people", "tickets", "builds", "contacts", "docs"];

/// A page and the question that finds it.
#[derive(Debug, Clone)]
pub struct Page {
    pub slug: String,
    /// Its kind: `notes`, or one of [`KINDS`].
    pub kind: &'static str,
    pub question: String,
    text: String,
}

/// The state that all cases begin with.
pub struct BaseScene {
    pub home: Gbrain,
    pub pages: Vec<Page>,
    program: PathBuf,
}

/// A copy of the world, in which a case lies.
pub struct Scene {
    pub home: Gbrain,
    pub pages: Vec<Page>,
    /// A target on loopback, while the case goes on.
    pub server: Option<RetrievalServer>,
    /// Whether commands run with a stdout that takes nothing.
    pub is_stdout_full: bool,
}

impl BaseScene {
    /// Makes the brain and its files.
    pub fn new(program: &Path, seed: u64) -> Result<Self> {
        let mut rng = Rng::with_seed(seed);
        let pages = pages(&mut rng);
        let home = Gbrain::new(program, Engine::Sqlite)?;
        let scene = Scene { home, pages, server: None, is_stdout_full: false };
        scene.fill(&mut rng)?;
        Ok(Self { home: scene.home, pages: scene.pages, program: program.to_owned() })
    }

    pub fn copy(&self) -> Result<Scene> {
        let home = copy(&self.home, &self.program)?;
        Ok(Scene { home, pages: self.pages.clone(), server: None, is_stdout_full: false })
    }

    /// The rows of one of its files.
    pub fn rows(&self, name: &str) -> Result<Vec<Value>> {
        read_rows(&self.home.home().join(FILES).join(name))
    }

    /// One of its documents.
    pub fn document(&self, name: &str) -> Result<Value> {
        let text = std::fs::read_to_string(self.home.home().join(FILES).join(name))?;
        Ok(serde_json::from_str(&text)?)
    }
}

impl Scene {
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.home().join(FILES).join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<()> {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }

    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// The rows of a file of lines.
    pub fn rows(&self, name: &str) -> Result<Vec<Value>> {
        read_rows(&self.path(name))
    }

    pub fn write_rows(&self, name: &str, rows: &[Value]) -> Result<()> {
        write_rows(&self.path(name), rows)
    }

    /// Runs a command where the files are. The first word may be another program of the same build, or `sh`.
    pub fn run(&self, args: &[String]) -> Result<Output> {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = match args.split_first() {
            Some((program @ &("eva" | "kick" | "sh"), rest)) => self.home.beside(program, rest),
            _ => self.home.command(&args),
        };
        command.current_dir(self.home.home().join(FILES));
        command.env_remove("GITHUB_STEP_SUMMARY").env_remove("GBRAIN_CONTRIBUTOR_MODE");
        if self.is_stdout_full {
            return run_with_full_stdout(command);
        }
        Running::start(command, "")?.wait()
    }

    /// Runs a command that must do its work, and gives what it printed.
    pub fn ok(&self, args: &[&str]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let output = self.run(&args)?;
        match output.complaint() {
            None => Ok(output.stdout),
            Some(complaint) => bail!("{args:?} {complaint}"),
        }
    }

    /// Settings with targets.
    pub fn configure(&self, targets: &Value) -> Result<()> {
        let config = json!({
            "format": "gbrain/1", "eval": { "capture": true, "synthetic": true }, "targets": targets,
        });
        Ok(std::fs::write(self.home.home().join("config.json"), config.to_string())?)
    }

    /// The captured results of each question about a note, as (source, slug), unscrubbed.
    pub fn answers(&self) -> Result<BTreeMap<String, Vec<(String, String)>>> {
        Ok(serde_json::from_str(&self.read(ANSWERS)?)?)
    }

    /// Asks every page's question, which captures it, and saves the answers.
    fn ask(&self) -> Result<()> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut answers: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for page in &self.pages {
            let answer: Value =
                serde_json::from_str(&self.ok(&["query", &page.question, "--json"])?)?;
            let hits = answer["hits"].as_array().into_iter().flatten();
            let found = hits.map(|hit| (text(&hit["source_id"]), text(&hit["slug"]))).collect();
            if page.kind == "notes" {
                answers.insert(page.question.clone(), found);
            }
        }
        self.write(ANSWERS, serde_json::to_string(&answers)?)
    }

    /// Imports the pages again as they are in the folder now.
    pub fn import(&self) -> Result<()> {
        self.ok(&["import", "pages", "--source", SOURCE, "-q"]).map(|_| ())
    }

    /// Publishes captures as a baseline.
    pub fn publish(&self, from: &str, to: &str) -> Result<()> {
        self.ok(&["bench", "publish", "--from", from, "--to", to, "--label", "lies", "-q"])
            .map(|_| ())
    }

    fn fill(&self, rng: &mut Rng) -> Result<()> {
        std::fs::create_dir(self.home.home().join(FILES))?;
        self.ok(&["init", "-q"])?;
        self.configure(&json!({}))?;
        for page in &self.pages {
            write_page(&self.path("pages"), &page.slug, &page.text)?;
        }
        self.import()?;
        self.ask()?;
        self.export()?;
        self.judge()?;
        self.measure(rng)
    }

    /// Captures of each kind, and a baseline of them.
    fn export(&self) -> Result<()> {
        let text = self.ok(&["eval", "export", "-q"])?;
        self.write("all.ndjson", &text)?;
        let rows = self.rows("all.ndjson")?;
        ensure!(rows.len() == self.pages.len(), "{} captures", rows.len());
        for kind in ["notes"].iter().chain(&KINDS) {
            let asked: Vec<&str> = self.of_kind(kind).map(|page| page.question.as_str()).collect();
            let own =
                |row: &&Value| row["query"].as_str().is_some_and(|text| asked.contains(&text));
            let rows: Vec<Value> = rows.iter().filter(own).cloned().collect();
            ensure!(rows.len() == asked.len(), "{} captures of {kind}", rows.len());
            let (captured, baseline) = match *kind {
                "notes" => ("captured.ndjson".to_owned(), "base.baseline.ndjson".to_owned()),
                _ => (format!("{kind}.ndjson"), format!("{kind}.baseline.ndjson")),
            };
            self.write_rows(&captured, &rows)?;
            self.publish(&captured, &baseline)?;
        }
        Ok(())
    }

    /// Judgements of the notes, in two shapes.
    fn judge(&self) -> Result<()> {
        let notes: Vec<&Page> = self.of_kind("notes").collect();
        self.write("qrels.json", super::judgements::explicit(&notes, SOURCE).to_string())?;
        let named = |(at, page): (usize, &&Page)| format!("q{at:02} 0 {SOURCE}::{} 1\n", page.slug);
        self.write("qrels.trec", notes.iter().enumerate().map(named).collect::<String>())?;
        let text = |(at, page): (usize, &&Page)| {
            format!("{}\n", json!({ "_id": format!("q{at:02}"), "text": page.question }))
        };
        self.write("queries.jsonl", notes.iter().enumerate().map(text).collect::<String>())
    }

    /// A benchmark that is easy and one that is hard, with results.
    fn measure(&self, rng: &mut Rng) -> Result<()> {
        for (name, difficulty) in [("easy", Difficulty::Easy), ("hard", Difficulty::Hard)] {
            let dataset = format!("{name}.json");
            self.write(&dataset, questions(difficulty, rng).to_string())?;
            let (rows, result) = (format!("{name}.rows.jsonl"), format!("{name}.result.json"));
            let run = ["eval", "longmemeval", &dataset, "--retrieval-only", "--by-type", "-q"];
            let to = ["--top-k", "2", "--output", &rows, "--result", &result];
            self.ok(&[&run[..], &to].concat())?;
        }
        Ok(())
    }

    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Page> {
        self.pages.iter().filter(move |page| page.kind == kind)
    }
}

fn run_with_full_stdout(mut command: Command) -> Result<Output> {
    let started = Instant::now();
    let full = OpenOptions::new().write(true).open("/dev/full")?;
    let output = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).output()?;
    Ok(Output {
        code: output.status.code(),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        took: started.elapsed(),
    })
}

fn pages(rng: &mut Rng) -> Vec<Page> {
    let mut pages = Vec::new();
    for at in 0..NOTES {
        pages.push(page(format!("notes/n{at:02}"), "notes", rng));
    }
    for kind in KINDS {
        for at in 0..PER_KIND {
            let word = word(rng);
            let slug = match kind {
                "people" => format!("people/{word}-at-example-com"),
                "tickets" => format!("tickets/{}-{}-{:04}", 200 + at, 300 + at, rng.u16(..10_000)),
                "builds" => format!("builds/{}00-{}00-{}000", at + 1, at + 1, at + 1),
                "contacts" => format!("contacts/415-555-01{at:02}"),
                _ => format!("docs/what-is-at-stake-for-{word}-in-the-eu"),
            };
            pages.push(page(slug, kind, rng));
        }
    }
    pages
}

fn page(slug: String, kind: &'static str, rng: &mut Rng) -> Page {
    let (one, two) = (word(rng), word(rng));
    let text = format!(
        "---\ntitle: {one} {two}\n---\n\nThe {one} of the {two} was seen that week. It is about {one}.\n"
    );
    Page { slug, kind, question: format!("what about {one} {two}"), text }
}

/// A word that no other page has.
pub fn word(rng: &mut Rng) -> String {
    let syllable = |rng: &mut Rng| {
        let (one, two) = (b"bcdfghklmnprstvz", b"aeiou");
        [one[rng.usize(..one.len())], two[rng.usize(..two.len())]].map(char::from)
    };
    let letters: Vec<char> = (0..4).flat_map(|_| syllable(rng)).collect();
    letters.into_iter().chain(['x']).collect()
}
