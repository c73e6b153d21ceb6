//! `bench longmemeval`: one question in a brain of its own, made, asked and dropped, beside tantivy
//! only indexing the same text.
//!
//! First the whole file on all cores, in turn: with words alone, with vectors, and tantivy. Each side
//! reads it: the same threads, the same reader. Then every question by itself on one thread; what is
//! timed there begins with a question that has been read from JSON and ends with its row.
//!
//! tantivy gets the text of each session ready made as one document, analyses it with its own English
//! stemmer, keeps frequencies and no positions, stores nothing, and answers nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::benchmark::{Granularity, Haystack, measures};
use gbrain_core::search::Settings;
use gbrain_embed::StaticTable;
use gbrain_eval::EvalError;
use gbrain_eval::benchmark::{
    BenchmarkOptions, LongMemEval, NextHaystack, Retrieval, ask_all, read_entry, run as ask,
};
use gbrain_index::Models;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexWriter, TantivyDocument, doc};

use super::data_dir;
use super::machine::{cpu_seconds, status_kib};
use super::percentile::{median, percentile, sorted};
use super::report::{Cell, Report};

/// The time of a question with words alone, beside tantivy's indexing.
const WORDS_TARGET: f64 = 0.5;
/// The same with vectors.
const HYBRID_TARGET: f64 = 1.0;
/// The memory after all questions, beside that after the first ten.
const MEMORY_TARGET: f64 = 1.1;
/// After how many questions memory is looked at.
const LOOKS: [usize; 3] = [10, 100, 500];
/// What tantivy may hold before it writes: its least, and more than a haystack needs.
const HEAP: usize = 15_000_000;
/// How often the whole file is asked by each.
const ROUNDS: usize = 3;
/// Questions in a row: processor time is told in hundredths of a second.
const FEW: usize = 10;
const K: usize = 5;
const DEPTH: usize = 50;
const HEADERS: [&str; 8] =
    ["what", "n", "p50 ms", "p99 ms", "CPU ms", "CPU / tantivy", "whole run s", "whole run CPU s"];

/// Questions in brains of their own, beside tantivy's indexing.
#[derive(Debug, clap::Args)]
pub(crate) struct LongMemEvalArgs {
    /// How many questions.
    #[arg(long, default_value_t = 500)]
    questions: usize,
    /// How many sessions a haystack has.
    #[arg(long, default_value_t = 50)]
    sessions: usize,
    /// How many turns a session has, more or less.
    #[arg(long, default_value_t = 28)]
    turns: usize,
}

/// The index that a haystack is loaded into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Words,
    Hybrid,
    Tantivy,
}

impl Who {
    const ALL: [Self; 3] = [Self::Words, Self::Hybrid, Self::Tantivy];

    fn name(self) -> &'static str {
        match self {
            Self::Words => "words: reset, import, search",
            Self::Hybrid => "hybrid: reset, import, search",
            Self::Tantivy => "tantivy: index alone",
        }
    }
}

#[derive(Default)]
struct Times {
    /// Milliseconds by question.
    each: Vec<f64>,
    /// Processor time of all of these over all threads, in seconds.
    cpu: f64,
    /// Seconds of the whole file on all cores, by round.
    wholes: Vec<f64>,
    /// Seconds of processor time of all rounds: what the rest of the machine does is not in it.
    whole_cpu: f64,
}

pub(crate) fn run(args: &LongMemEvalArgs) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    let file = generate(args, dir.path())?;
    let cores = std::thread::available_parallelism()?.get();
    let mut times = Who::ALL.map(|_| Times::default());
    progress("all questions on all cores");
    let memory = whole_file(&file, &mut times, cores)?;
    progress("every question by itself");
    let size = one_by_one(&file, &mut times)?;
    let mut report = report(&times, read_all(&file)?, cores);
    report.fact("turns a question", Cell::number(size.turns as f64 / args.questions as f64, 0));
    report.fact("words a question", Cell::number(size.words as f64 / args.questions as f64, 0));
    add_memory(&mut report, &memory);
    Ok(report)
}

/// The whole file by all of them in turn; the memory of the first that asks it, with vectors.
fn whole_file(file: &Path, times: &mut [Times; 3], cores: usize) -> Result<Vec<(usize, f64)>> {
    let mut memory = Vec::new();
    for round in 0..ROUNDS {
        for turn in 0..Who::ALL.len() {
            let at = (1 + round + turn) % Who::ALL.len();
            let before = cpu_seconds();
            let seconds = match Who::ALL[at] {
                Who::Tantivy => whole_index(file, cores)?,
                who => {
                    let (seconds, looks) = whole_run(file, who, cores)?;
                    if memory.is_empty() {
                        memory = looks;
                    }
                    seconds
                }
            };
            times[at].whole_cpu += cpu_seconds() - before;
            times[at].wholes.push(seconds);
        }
    }
    Ok(memory)
}

/// Makes the dataset: the same arguments give the same bytes.
fn generate(args: &LongMemEvalArgs, dir: &Path) -> Result<PathBuf> {
    let script = data_dir()?.join("longmemeval/synthetic.py");
    ensure!(script.exists(), "there is no {}: nothing can be measured", script.display());
    let file = dir.join("longmemeval.json");
    progress("writing questions");
    let mut python = Command::new("python3");
    python.arg(script).arg(&file).args(["--questions", &args.questions.to_string()]);
    python.args(["--sessions", &args.sessions.to_string(), "--turns", &args.turns.to_string()]);
    let output = python.output().context("python3 can't be started")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(file)
}

/// How much all haystacks hold.
#[derive(Default)]
struct Size {
    turns: usize,
    words: usize,
}

/// Every question on this thread, a few by one of them, then the same by the next. Whoever comes first
/// finds the caches colder, so that is never the same one for long.
fn one_by_one(file: &Path, times: &mut [Times; 3]) -> Result<Size> {
    let askings = [asking(Who::Words, 1), asking(Who::Hybrid, 1)];
    let mut size = Size::default();
    let mut entries = LongMemEval::open(file)?;
    for round in 0.. {
        let haystacks = next_few(&mut entries, file)?;
        if haystacks.is_empty() {
            break;
        }
        let texts: Vec<Vec<String>> = haystacks.iter().map(texts).collect();
        size.add(&haystacks, &texts);
        for turn in 0..Who::ALL.len() {
            let at = (round + turn) % Who::ALL.len();
            match Who::ALL[at] {
                Who::Words | Who::Hybrid => {
                    times[at].measure(haystacks.clone(), |haystack| ask_one(&askings[at], haystack))
                }
                Who::Tantivy => times[at].measure(texts.iter().collect(), |texts| index(texts)),
            }?;
        }
    }
    Ok(size)
}

fn next_few(entries: &mut LongMemEval, file: &Path) -> Result<Vec<Haystack>> {
    let mut haystacks = Vec::with_capacity(FEW);
    while haystacks.len() < FEW
        && let Some((number, entry)) = entries.next_entry()?
    {
        haystacks.push(read_entry(file, number, &entry)?);
    }
    Ok(haystacks)
}

impl Size {
    fn add(&mut self, haystacks: &[Haystack], texts: &[Vec<String>]) {
        let documents = haystacks.iter().flat_map(|haystack| &haystack.documents);
        self.turns += documents.map(|document| document.turns().len()).sum::<usize>();
        let texts = texts.iter().flatten();
        self.words += texts.map(|text| text.split_whitespace().count()).sum::<usize>();
    }
}

impl Times {
    fn measure<T>(&mut self, of: Vec<T>, mut work: impl FnMut(T) -> Result<()>) -> Result<()> {
        let before = cpu_seconds();
        for one in of {
            let started = Instant::now();
            work(one)?;
            self.each.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        self.cpu += cpu_seconds() - before;
        Ok(())
    }

    /// Milliseconds that a share `p` of questions does not exceed.
    fn percentile(&self, p: f64) -> f64 {
        percentile(&sorted(&self.each), p)
    }

    /// Seconds of the whole file.
    fn whole(&self) -> f64 {
        median(&self.wholes)
    }

    /// Milliseconds of processor time that a question takes.
    fn cpu_ms(&self) -> f64 {
        self.cpu * 1000.0 / self.each.len().max(1) as f64
    }
}

fn ask_one(asking: &BenchmarkOptions<'_>, haystack: Haystack) -> Result<()> {
    let done = ask_all(asking, haystack)?;
    ensure!(done.iter().all(|done| done.outcome.error.is_none()), "a question failed");
    Ok(())
}

/// Seconds of the whole file on all cores, and the most memory after [`LOOKS`] questions.
fn whole_run(file: &Path, who: Who, cores: usize) -> Result<(f64, Vec<(usize, f64)>)> {
    let mut entries = LongMemEval::open(file)?;
    let next = || {
        let Some((number, entry)) = entries.next_entry()? else { return Ok(None) };
        Ok(Some(NextHaystack::Ask(Box::new(read_entry(file, number, &entry)?))))
    };
    let (mut count, mut most, mut memory) = (0, 0.0_f64, Vec::new());
    let take = |done: Vec<gbrain_eval::benchmark::QuestionResult>| -> Result<(), EvalError> {
        count += done.len();
        most = most.max(status_kib("RssAnon") as f64 / 1024.0);
        if LOOKS.contains(&count) {
            memory.push((count, most));
        }
        Ok(())
    };
    let started = Instant::now();
    ask(&asking(who, cores), next, take)?;
    Ok((started.elapsed().as_secs_f64(), memory))
}

/// Seconds that reading takes, which is part of every whole run.
fn read_all(file: &Path) -> Result<f64> {
    let started = Instant::now();
    let mut entries = LongMemEval::open(file)?;
    while let Some((number, entry)) = entries.next_entry()? {
        std::hint::black_box(read_entry(file, number, &entry)?);
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Seconds until tantivy has indexed the whole file on all cores.
fn whole_index(file: &Path, cores: usize) -> Result<f64> {
    let entries = Mutex::new(LongMemEval::open(file)?);
    let work = || -> Result<()> {
        loop {
            let haystack = {
                let mut entries = entries.lock().expect("no thread panics");
                let Some((number, entry)) = entries.next_entry()? else { return Ok(()) };
                read_entry(file, number, &entry)?
            };
            index(&texts(&haystack))?;
        }
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(started.elapsed().as_secs_f64())
}

fn asking(who: Who, concurrency: usize) -> BenchmarkOptions<'static> {
    let (retrieval, models) = match who {
        Who::Hybrid => (Retrieval::Hybrid, Models::new(Arc::new(StaticTable::built_in()))),
        Who::Words | Who::Tantivy => (Retrieval::Words, Models::none()),
    };
    BenchmarkOptions {
        k: K,
        depth: DEPTH,
        measures: measures(K, DEPTH),
        retrieval,
        granularity: Granularity::Session,
        settings: Settings::default(),
        models,
        seed: 0,
        concurrency,
        baselines: Vec::new(),
        has_official: false,
        has_log: false,
        expander: None,
        assistants: None,
        answerer: None,
        run: String::new(),
    }
}

fn texts(haystack: &Haystack) -> Vec<String> {
    let sessions = haystack.documents.iter().map(|document| {
        let turns = document.turns().iter();
        turns.map(|turn| format!("{}: {}", turn.speaker, turn.text)).collect::<Vec<_>>().join("\n")
    });
    sessions.collect()
}

fn index(texts: &[String]) -> Result<()> {
    let (schema, field) = schema();
    let index = Index::create_in_ram(schema);
    let mut writer: IndexWriter<TantivyDocument> = index.writer_with_num_threads(1, HEAP)?;
    for text in texts {
        writer.add_document(doc!(field => text.as_str()))?;
    }
    writer.commit()?;
    Ok(())
}

fn schema() -> (Schema, Field) {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("en_stem")
        .set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    let field =
        schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    (schema.build(), field)
}

fn report(times: &[Times; 3], reading: f64, cores: usize) -> Report {
    let mut report = Report::new("longmemeval", &HEADERS);
    let tantivy = &times[2];
    for (who, times) in Who::ALL.iter().zip(times) {
        report.row(vec![
            Cell::text(who.name()),
            Cell::Count(times.each.len() as u64),
            Cell::number(times.percentile(0.5), 2),
            Cell::number(times.percentile(0.99), 2),
            Cell::number(times.cpu_ms(), 2),
            Cell::number(times.cpu / tantivy.cpu, 2),
            Cell::number(times.whole(), 2),
            Cell::number(times.whole_cpu / ROUNDS as f64, 2),
        ]);
    }
    report.fact("cores of the whole run", Cell::Count(cores as u64));
    report.fact("reading the file alone on one of them, s", Cell::number(reading, 2));
    let targets = [("words", &times[0], WORDS_TARGET), ("hybrid", &times[1], HYBRID_TARGET)];
    for (name, times, target) in targets {
        for (what, ratio) in [
            ("median time", times.percentile(0.5) / tantivy.percentile(0.5)),
            ("processor time", times.cpu / tantivy.cpu),
            ("time of the whole run", times.whole() / tantivy.whole()),
            ("processor time of the whole run", times.whole_cpu / tantivy.whole_cpu),
        ] {
            report.target(
                format!("{name}: {ratio:.2} of tantivy's {what}, at most {target}"),
                ratio <= target,
            );
        }
    }
    report
}

fn add_memory(report: &mut Report, memory: &[(usize, f64)]) {
    let shown: Vec<String> =
        memory.iter().map(|(count, mib)| format!("{mib:.1} after {count}")).collect();
    report.fact("most memory of its own, MiB", Cell::text(shown.join(", ")));
    if let [(_, first), .., (_, last)] = memory {
        let growth = last / first;
        report.target(
            format!("{growth:.2} times the memory of the first questions, at most {MEMORY_TARGET}"),
            growth <= MEMORY_TARGET,
        );
    }
}
