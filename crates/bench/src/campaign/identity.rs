//! Whether a ranking is a function of corpus, request and settings, and of nothing else.
//!
//! One corpus is brought into many brains: on both engines, with different numbers of threads, whole
//! or in pieces of random order, directly or through a history of edits and deletions, and indexed
//! as it came, again from nothing, or in memory. Every brain is asked the same questions; apart from
//! `served`, every answer must be the same bytes.

mod corpus;
mod questions;
mod route;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};
use gbrain_brain::{Brain, BrainOptions, IndexKind, QueryOptions};
use gbrain_core::format::Answer;
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Request;
use gbrain_store::{Location, OpenMode};
use gbrain_testkit::engine::{Database, Engine};
use gbrain_testkit::process::{Gbrain, Output};
use jiff::Timestamp;
use tempfile::TempDir;

pub use corpus::{Corpus, File, demo, markdown};
pub use questions::{Question, questions};
pub(crate) use route::{CorpusFolder, earlier_version};
pub use route::{Importer, Route};

use super::scaffold::say;

/// How a brain came to hold the corpus.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    pub engine: Engine,
    /// Threads that read files.
    pub threads: usize,
    pub route: Route,
}

#[derive(Debug)]
pub struct Comparison<'a> {
    /// What every brain holds at the end.
    pub corpus: &'a Corpus,
    /// What every brain is asked.
    pub questions: &'a [Question],
    /// How the brains come about; the first is what the others are compared with.
    pub ways: &'a [Way],
    /// The binary, for brains that are made and asked from outside, and how many questions these
    /// get.
    pub binary: Option<(PathBuf, usize)>,
    /// The seed of pieces and histories.
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct Report {
    /// Brains, times the indexes each was asked through.
    pub configurations: usize,
    /// Answers compared with the first brain's.
    pub compared: usize,
    /// Hits in the first brain's answers: identity of empty answers would prove nothing.
    pub hits: usize,
    pub differences: Vec<String>,
}

/// Makes the brains one after the other and compares their answers.
pub fn compare(comparison: &Comparison<'_>, progress: &dyn Fn(&str)) -> Result<Report> {
    let mut report = Report::default();
    let mut reference: Vec<String> = Vec::new();
    for way in comparison.ways {
        let start = Instant::now();
        let place = Place::new(way.engine)?;
        comparison.corpus.bring(way, comparison.seed, &place)?;
        for view in [View::AsItCame, View::Rebuilt, View::Memory] {
            let answers = place.answers(view, comparison.questions)?;
            report.compare(&format!("{way}, {}", view.name()), &mut reference, answers);
        }
        progress(&format!("{way}: {:.1} s", start.elapsed().as_secs_f64()));
    }
    report.hits = reference.iter().map(|answer| answer.matches("\"source_id\": ").count()).sum();
    if let Some((program, sample)) = &comparison.binary {
        for engine in [Engine::Sqlite, Engine::Postgres] {
            from_outside(comparison, program, *sample, engine, &reference, &mut report)?;
            progress(&format!("{}, the binary: {sample} questions", engine.name()));
        }
    }
    Ok(report)
}

/// Imports with the binary and asks it.
fn from_outside(
    comparison: &Comparison<'_>,
    program: &std::path::Path,
    sample: usize,
    engine: Engine,
    reference: &[String],
    report: &mut Report,
) -> Result<()> {
    let brain = Gbrain::new(program, engine)?;
    succeed(&brain.run(&["init"])?)?;
    let way = Way { engine, threads: 2, route: Route::Whole };
    comparison.corpus.bring(&way, comparison.seed, &brain)?;
    let step = (comparison.questions.len() / sample.max(1)).max(1);
    for index in ["disk", "memory"] {
        let asked = comparison.questions.iter().zip(reference).step_by(step);
        report.configurations += 1;
        for (question, expected) in asked {
            let args = question.args(index);
            let output = brain.run(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
            succeed(&output)?;
            report.compare_one(
                &format!("{}, binary, {index}", engine.name()),
                expected,
                &lasting(&output.stdout)?,
            );
        }
    }
    Ok(())
}

fn succeed(output: &Output) -> Result<()> {
    output.complaint().map_or(Ok(()), |complaint| anyhow::bail!("gbrain {complaint}"))
}

/// Which index answers.
#[derive(Debug, Clone, Copy)]
enum View {
    AsItCame,
    Rebuilt,
    Memory,
}

impl View {
    fn name(self) -> &'static str {
        match self {
            Self::AsItCame => "index as it came",
            Self::Rebuilt => "index made again",
            Self::Memory => "index in memory",
        }
    }
}

/// A brain's store and index directory, for as long as it lives.
#[derive(Debug)]
pub struct Place {
    location: Location,
    home: TempDir,
    _database: Option<Database>,
}

impl Place {
    pub fn new(engine: Engine) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("gbrain-home-").tempdir()?;
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Database::create()?),
        };
        let location = match &database {
            None => Location::Sqlite(home.path().join("brain.db")),
            Some(database) => Location::Postgres(database.url().to_owned()),
        };
        Ok(Self { location, home, _database: database })
    }

    pub fn open(&self, index: IndexKind) -> Result<Brain> {
        let options = BrainOptions {
            location: self.location.clone(),
            mode: OpenMode::Init,
            index,
            index_dir: self.home.path().join("index"),
            workspace: WorkspaceId::default(),
            models: gbrain_brain::built_in_models(),
        };
        Ok(Brain::open(options, Timestamp::now())?)
    }

    /// Brings files into it.
    pub fn bring(&self, files: &[File]) -> Result<()> {
        let mut folder = CorpusFolder::new()?;
        folder.lay_out(files.to_vec())?;
        folder.bring(2, self)
    }

    fn answers(&self, view: View, questions: &[Question]) -> Result<Vec<String>> {
        let kind = if matches!(view, View::Memory) { IndexKind::Memory } else { IndexKind::Disk };
        let brain = self.open(kind)?;
        if matches!(view, View::Rebuilt) {
            brain.reindex(&|_, _| ())?;
        }
        questions.iter().map(|question| ask(&brain, question)).collect()
    }
}

/// A brain's answer as the binary prints it, without what may differ.
pub fn ask(brain: &Brain, question: &Question) -> Result<String> {
    let options = QueryOptions {
        explain: question.explain,
        why_not: question.why_not.clone(),
        ..QueryOptions::default()
    };
    let request: &Request = &question.request;
    let answered = brain.answer(request, &options)?;
    let answer = Answer::new(request, &answered.ranking, &answered.served);
    lasting(&serde_json::to_string_pretty(&answer)?)
}

/// The part of an answer that must not depend on who serves it, and when: all but `served`, which
/// comes last. Cut from the bytes, since reading a number and writing it may change it.
fn lasting(answer: &str) -> Result<String> {
    let (lasting, _) =
        answer.split_once("\n  \"served\": {").context("an answer says how it was served")?;
    Ok(lasting.to_owned())
}

impl Report {
    fn compare(&mut self, name: &str, reference: &mut Vec<String>, answers: Vec<String>) {
        self.configurations += 1;
        if reference.is_empty() {
            *reference = answers;
            return;
        }
        for (expected, found) in reference.iter().zip(&answers) {
            self.compare_one(name, expected, found);
        }
    }

    fn compare_one(&mut self, name: &str, expected: &str, found: &str) {
        self.compared += 1;
        if expected != found {
            self.differences.push(format!("{name}: {}", difference(expected, found)));
        }
    }

    pub fn print(&self) {
        say(format!(
            "{} answers compared in {} configurations, {} hits in the reference, {} differences",
            self.compared,
            self.configurations,
            self.hits,
            self.differences.len()
        ));
        for difference in self.differences.iter().take(20) {
            say(format!("  differs: {difference}"));
        }
    }
}

/// Where two answers part, with some of what surrounds it.
fn difference(expected: &str, found: &str) -> String {
    let at = expected.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let from = text.floor_char_boundary(at.saturating_sub(120));
        let to = text.ceil_char_boundary((at + 120).min(text.len()));
        text[from..to].to_owned()
    };
    let query: String = expected.chars().take(160).collect();
    format!("{query} ... expected {} found {}", part(expected), part(found))
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} threads, {}", self.engine.name(), self.threads, self.route.name())
    }
}
