//! `bench score`: `gbrain eval score` beside ir_measures, and beside a program that only reads the
//! same files and splits them into fields. All three are processes, run in turn, files in the page
//! cache.
//!
//! ir_measures gives the same means, which is checked in the same run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_bench::program::built_program;
use serde_json::Value;

use super::percentile::{median, percentile, sorted};
use super::process::{milliseconds, timed};
use super::python::programs_of;
use super::report::{Cell, Report};

const PEER: (&str, &str) = ("ir_measures", "0.4.3");
const MEASURES: [&str; 7] = ["nDCG@10", "nDCG", "AP", "RR@10", "P@10", "R@100", "Judged@10"];
/// How many times ours must be as fast as ir_measures.
const PEER_TARGET: f64 = 20.0;
/// How many times as long as reading and splitting ours may take.
const SPLIT_TARGET: f64 = 2.0;
/// A prime, so that every step through the pages comes by all of them.
const PAGES: usize = 100_003;
/// How far a mean may be from that of ir_measures.
const TOLERANCE: f64 = 1e-4;
const HEADERS: [&str; 5] = ["process", "n", "median ms", "p95 ms", "beside gbrain"];

/// Scoring beside ir_measures and beside reading.
#[derive(Debug, clap::Args)]
pub(crate) struct ScoreArgs {
    /// How many queries.
    #[arg(long, default_value_t = 10_000)]
    queries: usize,
    /// How many hits a query has.
    #[arg(long, default_value_t = 100)]
    hits: usize,
    /// How many times gbrain and the reader run.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// How many times ir_measures runs.
    #[arg(long, default_value_t = 3)]
    peer_rounds: usize,
}

struct Files {
    qrels: PathBuf,
    run: PathBuf,
    bytes: u64,
}

/// How long each process took, round by round.
#[derive(Default)]
struct Times {
    ours: Vec<f64>,
    split: Vec<f64>,
    peer: Vec<f64>,
}

pub(crate) fn run(args: &ScoreArgs) -> Result<Report> {
    let temporary = tempfile::tempdir()?;
    let files = write_files(args, temporary.path())?;
    let peer = programs_of(PEER.0, PEER.1)?.join("ir_measures");
    let (gbrain, own) = (built_program()?, std::env::current_exe()?);
    let ours = || {
        let mut command = Command::new(&gbrain);
        command.args(["eval", "score", "--json", "--quiet", "--measures", &MEASURES.join(" ")]);
        command.arg("--qrels").arg(&files.qrels).arg("--run").arg(&files.run);
        command
    };
    let split = || {
        let mut command = Command::new(&own);
        command.arg("split").arg(&files.qrels).arg(&files.run);
        command
    };
    let theirs = || {
        let mut command = Command::new(&peer);
        command.args(["--places", "8"]).arg(&files.qrels).arg(&files.run).args(MEASURES);
        command
    };
    progress("running in turn");
    let means = means_of_json(&timed(ours())?.1)?;
    milliseconds(split())?;
    let mut times = Times::default();
    let mut peer_means = BTreeMap::new();
    for round in 0..args.rounds.max(args.peer_rounds) {
        if round < args.peer_rounds {
            let (took, printed) = timed(theirs())?;
            times.peer.push(took);
            peer_means = means_of_lines(&printed)?;
        }
        // The second run finds warmer caches.
        if round % 2 == 0 {
            times.ours.push(milliseconds(ours())?);
            times.split.push(milliseconds(split())?);
        } else {
            times.split.push(milliseconds(split())?);
            times.ours.push(milliseconds(ours())?);
        }
    }
    Ok(report(args, &files, &times, &means, &peer_means))
}

/// Reads files and splits them into fields: what no reader of TREC lines can do without.
pub(crate) fn split(files: &[String]) -> Result<ExitCode> {
    let mut count = 0usize;
    for file in files {
        let bytes = std::fs::read(file).with_context(|| file.clone())?;
        for line in bytes.split(|byte| *byte == b'\n') {
            count += line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).count();
        }
    }
    writeln!(std::io::stdout(), "{count}")?;
    Ok(ExitCode::SUCCESS)
}

fn report(
    args: &ScoreArgs,
    files: &Files,
    times: &Times,
    means: &BTreeMap<String, f64>,
    peer_means: &BTreeMap<String, f64>,
) -> Report {
    let mut report = Report::new("score", &HEADERS);
    let ours = median(&times.ours);
    for (name, times) in [
        ("reading and splitting", &times.split),
        ("gbrain eval score", &times.ours),
        ("ir_measures", &times.peer),
    ] {
        report.row(vec![
            Cell::text(name),
            Cell::Count(times.len() as u64),
            Cell::number(median(times), 1),
            Cell::number(percentile(&sorted(times), 0.95), 1),
            Cell::text(format!("{:.2}x", median(times) / ours)),
        ]);
    }
    report.fact("queries", Cell::Count(args.queries as u64));
    report.fact("hits", Cell::Count((args.queries * args.hits) as u64));
    report.fact("bytes", Cell::Count(files.bytes));
    let (beside_split, beside_peer) = (ours / median(&times.split), median(&times.peer) / ours);
    report.target(
        format!("{beside_split:.2}x the time of reading and splitting, at most {SPLIT_TARGET}"),
        beside_split <= SPLIT_TARGET,
    );
    report.target(
        format!("{beside_peer:.1}x as fast as ir_measures {}, at least {PEER_TARGET}", PEER.1),
        beside_peer >= PEER_TARGET,
    );
    let difference = |name: &&str| match (means.get(*name), peer_means.get(*name)) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs(),
        _ => f64::INFINITY,
    };
    let largest = MEASURES.iter().map(difference).fold(0.0, f64::max);
    report.target(
        format!("{} means differ by {largest:.1e} at most, within {TOLERANCE:.0e}", MEASURES.len()),
        largest <= TOLERANCE,
    );
    report
}

fn means_of_json(text: &str) -> Result<BTreeMap<String, f64>> {
    let score: Value = serde_json::from_str(text)?;
    let summary = score["summary"].as_object().context("there is no summary")?;
    let means = summary.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
    Ok(means.collect())
}

fn means_of_lines(text: &str) -> Result<BTreeMap<String, f64>> {
    let mut means = BTreeMap::new();
    for line in text.lines() {
        let (name, value) = line.split_once('\t').with_context(|| format!("`{line}`"))?;
        means.insert(name.to_owned(), value.trim().parse()?);
    }
    Ok(means)
}

/// A run whose ids look like pages of a brain, and ten judgements a query, most of them retrieved.
fn write_files(args: &ScoreArgs, dir: &Path) -> Result<Files> {
    let mut rng = Rng::with_seed(20_261_116);
    let pages: Vec<String> = (0..PAGES).map(|at| page(at, &mut rng)).collect();
    ensure!(args.hits + 5 <= PAGES, "at most {} hits", PAGES - 5);
    let (mut run, mut qrels) = (String::new(), String::new());
    for query in 0..args.queries {
        let (start, step) = (rng.usize(..PAGES), rng.usize(1..PAGES));
        let chosen: Vec<&String> =
            (0..args.hits + 5).map(|at| &pages[(start + at * step) % PAGES]).collect();
        let mut score = 20.0;
        for (rank, page) in (1..=args.hits).zip(&chosen) {
            score -= rng.f64() / 5.0;
            writeln!(run, "q{query:05} Q0 {page} {rank} {score:.6} bench")?;
        }
        for page in rng.choose_multiple(chosen.iter(), 10) {
            writeln!(qrels, "q{query:05} 0 {page} {}", rng.u8(..4))?;
        }
    }
    let files = Files {
        qrels: dir.join("qrels.txt"),
        run: dir.join("run.trec"),
        bytes: (run.len() + qrels.len()) as u64,
    };
    std::fs::write(&files.qrels, qrels)?;
    std::fs::write(&files.run, run)?;
    Ok(files)
}

fn page(at: usize, rng: &mut Rng) -> String {
    let mut one = |of: &[&'static str]| of[rng.usize(..of.len())];
    let source = one(&["wiki", "journal", "default"]);
    let kind = one(&["people", "projects", "meetings", "companies", "notes"]);
    let words = ["harbor", "ledger", "invoice", "river", "mast", "anchor", "pilot", "survey"];
    format!("{source}::{kind}/{}-{}-{at}", one(&words), one(&words))
}
