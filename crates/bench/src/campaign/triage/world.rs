//! A brain whose answers are known: notes about three things each, and questions that ask for the same
//! three, in the words of the note, in other words, or in some of each.
//!
//! Questions in other words share none with their note, so that only meaning finds it: what loses its
//! vectors is lost. Which of them the brain finds while it is well is measured, and only those are asked.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fastrand::Rng;
use gbrain_core::suite::SuiteRun;
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::{Gbrain, Output, Running};
use serde_json::{Value, json};

use super::models::{KEY, Models, Trouble};
use super::vocabulary::{FILLER, THINGS};

/// Where the notes come from.
pub const SOURCE: &str = "world";
/// The suite that is run.
pub const SUITE: &str = "checks";
/// Times are not measured here: other work may be going on.
pub const PATIENT: &str =
    "thresholds: { all: { latency_p95_ms: { target: 60000, alert: 60000 } } }\n";

/// Notes of a world.
const NOTES: usize = 240;
/// More questions than there are: all of them are asked.
const EVERY: usize = 1000;
/// Questions that are tried, and kept, of each style.
const STYLES: [(Style, usize, usize); 4] = [
    (Style::Other, 60, 13),
    (Style::Same, 10, 4),
    (Style::Mixed(2), 20, 4),
    (Style::Mixed(1), 20, 4),
];
/// A question that is found this far up while all is well is worth asking.
const SURE: usize = 3;

/// In whose words a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// In others than the note's.
    Other,
    /// In the note's.
    Same,
    /// So many in the note's, the rest in others.
    Mixed(usize),
}

/// The words that a question omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filtered {
    /// Nothing.
    No,
    /// Notes of another type.
    Type,
    /// Notes without a tag.
    Tag,
    /// Notes of other days.
    Date,
}

#[derive(Debug, Clone)]
pub struct Note {
    pub slug: String,
    /// The subject of the note.
    pub things: [usize; 3],
    pub kind: &'static str,
    pub tag: &'static str,
    /// Its month of 2026.
    pub month: u8,
    /// Whether it has a long part before what it is about.
    pub is_long: bool,
}

#[derive(Debug, Clone)]
pub struct Asked {
    /// The name of the note.
    pub id: String,
    pub text: String,
    pub style: Style,
    /// The note that must be found.
    pub note: usize,
    /// The words it omits.
    pub filtered: Filtered,
}

/// A world, and a home that holds it.
pub struct TriageBrain {
    /// Its home, with the suite passing.
    pub home: Gbrain,
    pub notes: Vec<Note>,
    pub asked: Vec<Asked>,
    program: PathBuf,
}

const KINDS: [&str; 3] = ["memo", "report", "ticket"];
const TAGS: [&str; 4] = ["amber", "cobalt", "olive", "violet"];

impl Note {
    /// The note as a file.
    pub fn text(&self) -> String {
        let words = self.things.map(|thing| THINGS[thing].0);
        self.text_about(&words)
    }

    /// A file like it, about something else.
    pub fn text_about(&self, words: &[&str; 3]) -> String {
        let Self { slug, kind, tag, month, is_long, .. } = self;
        let number = slug.rsplit('/').next().unwrap_or(slug);
        let long = if *is_long {
            format!("## Before\n\n{}\n\n## Matter\n\n", filler(number))
        } else {
            String::new()
        };
        let [a, b, c] = words;
        // The subject of a long note has its own passage.
        let times = if *is_long { 20 } else { 1 };
        let matter =
            format!("It was about the {a} and the {b}, and then about the {c}. ").repeat(times);
        format!(
            "---\ntitle: Entry {number}\ntype: {kind}\ntags: [{tag}]\ndate: 2026-{month:02}-10\n---\n\n\
             {long}{matter}\n"
        )
    }
}

/// A long text that says nothing.
fn filler(seed: &str) -> String {
    let start = seed.bytes().map(usize::from).sum::<usize>();
    (0..70).map(|at| FILLER[(start + at * 7) % FILLER.len()]).collect::<Vec<_>>().join(" ")
}

impl Asked {
    /// The question as a line of a file.
    pub fn entry(&self, notes: &[Note]) -> Value {
        let note = &notes[self.note];
        let filter = match self.filtered {
            Filtered::No => json!({}),
            Filtered::Type => json!({ "types": [note.kind] }),
            Filtered::Tag => json!({ "labels": [note.tag] }),
            Filtered::Date => {
                let (after, before) = (note.month - 1, note.month + 1);
                json!({ "after": format!("2026-{after:02}-01"), "before": format!("2026-{before:02}-28") })
            }
        };
        json!({
            "id": self.id, "query": self.text, "source": SOURCE, "filter": filter,
            "expected": [format!("{SOURCE}::{}", note.slug)],
        })
    }
}

/// The words of a question about things, so many of them as the note says them.
pub fn words(things: &[usize; 3], same: usize) -> [&'static str; 3] {
    std::array::from_fn(|at| {
        let (own, other) = THINGS[things[at]];
        if at < same { own } else { other }
    })
}

impl TriageBrain {
    /// Makes a world by a seed, and measures what it finds.
    pub fn new(program: &Path, seed: u64) -> Result<Self> {
        let mut rng = Rng::with_seed(seed);
        let notes: Vec<Note> = (0..NOTES).map(|at| note(at, &mut rng)).collect();
        let asked = candidates(&notes, &mut rng);
        let home = Gbrain::new(program, Engine::Sqlite)?;
        ok(&home, &["init"])?;
        let dir = tempfile::tempdir()?;
        for note in &notes {
            write_page(dir.path(), &note.slug, &note.text())?;
        }
        // What a question in mixed words also finds: a note that says all of them.
        for one in asked.iter().filter(|one| matches!(one.style, Style::Mixed(_))) {
            let Style::Mixed(same) = one.style else { continue };
            let rival = Note { slug: format!("rivals/{}", one.id), ..notes[one.note].clone() };
            let text = rival.text_about(&words(&notes[one.note].things, same));
            write_page(dir.path(), &rival.slug, &text)?;
        }
        ok(&home, &["import", text_of(dir.path())?, "--source", SOURCE, "--quiet"])?;
        write_suite(&home, EVERY)?;
        let mut world = Self { home, notes, asked, program: program.to_owned() };
        world.keep_what_is_found()?;
        Ok(world)
    }

    /// Asks all, keeps those that are found, and asks these again.
    fn keep_what_is_found(&mut self) -> Result<()> {
        let lines: Vec<Value> = self.asked.iter().map(|one| one.entry(&self.notes)).collect();
        import_queries(&self.home, &lines)?;
        // With a reranker that keeps all, too.
        let judged = self.copy()?;
        let _models = Models::start(judged.home(), Trouble::None)?;
        ok(&judged, &["config", "set", "models.rerank", "jina:m"])?;
        let runs = [run_suite(&self.home)?, run_suite(&judged)?];
        let is_sure = |id: &str| {
            let is_found = |run: &SuiteRun| {
                let case = run.cases().iter().find(|case| case.query_id == id);
                case.is_some_and(|case| case.rank.is_some_and(|rank| rank <= SURE))
            };
            runs.iter().all(is_found)
        };
        let mut kept: Vec<Asked> = Vec::new();
        for (style, _, count) in STYLES {
            let sure = self.asked.iter().filter(|one| one.style == style && is_sure(&one.id));
            let own: Vec<Asked> = sure.take(count).cloned().collect();
            ensure!(
                own.len() == count,
                "{} of {count} questions in {style:?} words are found",
                own.len()
            );
            kept.extend(own);
        }
        let left: Vec<&str> = self
            .asked
            .iter()
            .map(|one| one.id.as_str())
            .filter(|id| kept.iter().all(|one| one.id != *id))
            .collect();
        ok(&self.home, &[&["queries", "retire"], &left[..]].concat())?;
        self.asked = kept;
        write_suite(&self.home, self.asked.len())?;
        let run = run_suite(&self.home)?;
        ensure!(
            run.verdict == gbrain_core::gate::Verdict::Pass,
            "a world that is well does not pass"
        );
        Ok(())
    }

    pub fn copy(&self) -> Result<Gbrain> {
        copy(&self.home, &self.program)
    }
}

/// A home with the same files as another, on SQLite.
pub fn copy(from: &Gbrain, program: &Path) -> Result<Gbrain> {
    let to = Gbrain::new(program, Engine::Sqlite)?;
    for entry in walkdir::WalkDir::new(from.home()).min_depth(1) {
        let entry = entry?;
        let path = to.home().join(entry.path().strip_prefix(from.home())?);
        if entry.file_type().is_dir() {
            std::fs::create_dir(&path)?;
        } else {
            std::fs::copy(entry.path(), &path)?;
        }
    }
    Ok(to)
}

pub fn run_suite(home: &Gbrain) -> Result<SuiteRun> {
    let ran = with_key(home, &["suites", "run", SUITE, "--json"])?;
    Ok(serde_json::from_value(ran.json()?)?)
}

/// Runs a command that may ask models.
pub fn with_key(home: &Gbrain, args: &[&str]) -> Result<Output> {
    let mut command = home.command(args);
    command.env(KEY.0, KEY.1);
    Running::start(command, "")?.wait()
}

/// Writes the file of a suite that asks so many questions.
pub fn write_suite(home: &Gbrain, count: usize) -> Result<()> {
    let text = format!(
        "{PATIENT}suites: [{{ name: {SUITE}, type: regression, owners: ['@a'], sample: {{ total: {count} }} }}]\n"
    );
    Ok(std::fs::write(home.home().join("suites.yaml"), text)?)
}

fn note(at: usize, rng: &mut Rng) -> Note {
    let mut things: Vec<usize> = (0..THINGS.len()).collect();
    rng.shuffle(&mut things);
    Note {
        slug: format!("notes/n{at:03}"),
        things: [things[0], things[1], things[2]],
        kind: KINDS[rng.usize(..KINDS.len())],
        tag: TAGS[rng.usize(..TAGS.len())],
        month: rng.u8(2..=11),
        is_long: at.is_multiple_of(3),
    }
}

fn candidates(notes: &[Note], rng: &mut Rng) -> Vec<Asked> {
    let mut free: Vec<usize> = (0..notes.len()).collect();
    rng.shuffle(&mut free);
    let mut asked = Vec::new();
    for (style, count, _) in STYLES {
        for _ in 0..count {
            let at = asked.len();
            let note = free[at];
            let same = match style {
                Style::Other => 0,
                Style::Same => 3,
                Style::Mixed(same) => same,
            };
            let text = words(&notes[note].things, same).join(" ");
            let filtered =
                [Filtered::No, Filtered::Type, Filtered::Tag, Filtered::Date][rng.usize(..4)];
            asked.push(Asked { id: format!("q{at:03}"), text, style, note, filtered });
        }
    }
    asked
}

pub fn import_queries(home: &Gbrain, lines: &[Value]) -> Result<()> {
    let path = home.home().join("queries.jsonl");
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    ok(home, &["queries", "import", text_of(&path)?])
}

pub fn write_page(dir: &Path, slug: &str, text: &str) -> Result<()> {
    let path = dir.join(format!("{slug}.md"));
    std::fs::create_dir_all(path.parent().unwrap_or(dir))?;
    Ok(std::fs::write(path, text)?)
}

pub fn text_of(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| anyhow::anyhow!("{} is no text", path.display()))
}

/// Runs a command that must do its work.
pub fn ok(home: &Gbrain, args: &[&str]) -> Result<()> {
    match with_key(home, args)?.complaint() {
        None => Ok(()),
        Some(complaint) => anyhow::bail!("{args:?} {complaint}"),
    }
}
