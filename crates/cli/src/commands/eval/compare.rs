//! `gbrain eval compare`: two results or more, query by query. Opens no brain.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::compare::{Incomparable, Measured, compare};
use gbrain_core::format::compare::CompareReport;
use gbrain_core::format::result::{Judge, ResultError, read};
use gbrain_core::measure::{Measure, defaults};
use gbrain_core::report::{Queries, html, markdown, text};
use gbrain_eval::{read_document, write_atomically};

use super::qrels::read_qrels;
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval compare main.replay.json branch.replay.json\n  \
    gbrain eval compare main.gate.json branch.gate.json --fail-on-regression --markdown diff.md\n  \
    gbrain eval compare bm25.run hybrid.run rerank.run --qrels qrels.txt --measures \"nDCG@10 R@100\"\n\n\
    Takes replays (`eval replay --json --verbose`), gates (`eval gate --json`), scores (`eval score \
    --json --per-query`), runs with --qrels (TREC lines or NDJSON rows), and rows of benchmarks. All \
    of one kind; the first is the reference.\n\n\
    Each measure gets its mean on both sides over the queries that both have, the paired difference \
    with its bootstrap interval, and a p-value (paired permutation; McNemar for yes or no) after \
    Holm's correction over all of them. Latency is shown and not tested.\n\n\
    Exit codes: 0 compared; 1 with --fail-on-regression, if a measure fell at alpha .05; 2 a file \
    can't be read, the results can't be compared, or, with --fail-on-regression, nothing fell but \
    queries of the reference are missing or failed.")]
pub(crate) struct CompareArgs {
    /// The results; the first is the reference.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// The judgements that runs are measured against.
    #[arg(long, value_name = "PATH")]
    qrels: Option<PathBuf>,
    /// What to measure of runs, separated by blanks [default: as in `eval score`].
    #[arg(long, value_name = "NAMES", requires = "qrels")]
    measures: Option<String>,
    /// Compare although k, the dataset or the judgements differ.
    #[arg(long)]
    force_incomparable: bool,
    /// Exit 1 if a measure surely fell.
    #[arg(long)]
    fail_on_regression: bool,
    /// How many queries that fell, and that rose, to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write a Markdown report.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show queries in Markdown; without it there are hashes only.
    #[arg(long)]
    show_queries: bool,
}

/// Compares.
pub(super) fn run(context: &Context<'_>, args: &CompareArgs) -> Result<Exit, CliError> {
    let results = results(args)?;
    let (reference, others) = results.split_first().expect("clap asks for two files");
    let comparison =
        compare(reference, others, args.force_incomparable).map_err(|reasons| refused(&reasons))?;
    if let Some(path) = &args.markdown {
        let queries = if args.show_queries { Queries::Shown } else { Queries::Hashed };
        write_atomically(path, markdown::compare(&comparison, queries).as_bytes())?;
    }
    if let Some(path) = &args.html {
        write_atomically(path, html::compare(&comparison).as_bytes())?;
    }
    if context.terminal.is_json() {
        context.terminal.json(&CompareReport::new(&comparison));
    } else {
        context.terminal.out(text::compare(&comparison, args.top));
    }
    Ok(match args.fail_on_regression {
        true if comparison.has_regression() => Exit::Fail,
        true if !comparison.is_whole() => Exit::NoVerdict,
        true | false => Exit::Pass,
    })
}

fn results(args: &CompareArgs) -> Result<Vec<Measured>, CliError> {
    let qrels = args.qrels.as_deref().map(read_qrels).transpose()?;
    let measures = match &args.measures {
        None => defaults(),
        Some(names) => {
            Measure::parse_list(names).map_err(|error| CliError::usage(error.to_string()))?
        }
    };
    let judge = qrels.as_ref().map(|qrels| Judge { qrels, measures: &measures });
    let read_one = |path: &PathBuf| {
        let bytes = read_document(path)?;
        read(&path.display().to_string(), &bytes, judge).map_err(unreadable)
    };
    args.files.iter().map(read_one).collect()
}

fn unreadable(error: ResultError) -> CliError {
    CliError::input("can't compare", &error)
}

/// Every reason; the remedy only where there is one.
fn refused(reasons: &[Incomparable]) -> CliError {
    let told: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    let error = CliError::usage(format!("not comparable: {}", told.join("; ")));
    if reasons.iter().all(Incomparable::can_be_forced) {
        return error.hint("--force-incomparable compares them nevertheless, and says so");
    }
    error
}
