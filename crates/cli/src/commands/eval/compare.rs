//! `gbrain eval compare`: two results or more, query by query. Opens no brain.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::compare::{CompareOptions, Comparison, IncomparableReason, ResultTable, compare};
use gbrain_core::format::result::{Judge, ResultError, read};
use gbrain_core::gate::Verdict;
use gbrain_core::measure::{Measure, defaults};
use gbrain_core::report::json::{CompareReport, NO_JUDGED_HIT};
use gbrain_core::report::{Queries, markdown, text};
use gbrain_eval::{check_outputs, read_document, write_atomically};

use super::qrels::read_qrels;
use crate::commands::CommandContext;
use crate::commands::html::HtmlArgs;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval compare main.replay.json branch.replay.json\n  \
    gbrain eval compare main.gate.json branch.gate.json --fail-on-regression --markdown diff.md\n  \
    gbrain eval compare bm25.run hybrid.run rerank.run --qrels qrels.txt --measures \"nDCG@10 R@100\"\n\n\
    Takes replays (`eval replay --json --verbose`), gates (`eval gate --json`), scores (`eval score \
    --json --per-query`), runs with --qrels (TREC lines or NDJSON rows), and rows of benchmarks. All \
    of one kind; the first is the reference.\n\n\
    Each measure gets its mean on both sides over the queries that both have, the paired difference \
    with its interval, and a two-sided p-value (paired permutation, exact up to 24 queries that changed; \
    McNemar for yes or no). One primary measure decides, by default nDCG@10, else another nDCG, recall, \
    or the first measure (jaccard of a replay; jaccard and recall_at_k of a gate); --primary names \
    others, and Holm's correction covers only these. Judged@k and latency never decide.\n\n\
    Exit codes: 0 compared; 1 with --fail-on-regression, if a primary measure fell at alpha .05; 2 a \
    file can't be read, the results can't be compared, or, with --fail-on-regression, there is no \
    verdict: queries of the reference are missing or failed, there are too few queries for the test to \
    reach alpha .05 (6 for one primary measure), or a primary measure fell in too few queries.")]
pub(crate) struct CompareArgs {
    /// The results; the first is the reference.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// The judgements that runs are measured against.
    #[arg(long, value_name = "PATH")]
    qrels: Option<PathBuf>,
    /// The measures of runs, separated by blanks [default: as in `eval score`].
    #[arg(long, value_name = "NAMES", requires = "qrels")]
    measures: Option<String>,
    /// Compare although k, the dataset or the judgements differ.
    #[arg(long)]
    force_incomparable: bool,
    /// The measures that decide, separated by blanks [default: one, by the kind of result].
    #[arg(long, value_name = "NAMES")]
    primary: Option<String>,
    /// Exit 1 if a primary measure fell, 2 if the queries cannot show whether one did.
    #[arg(long)]
    fail_on_regression: bool,
    /// How many queries that fell, and that rose, to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write a Markdown report.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    html: HtmlArgs,
    /// Show queries in Markdown; without it there are hashes only.
    #[arg(long)]
    show_queries: bool,
}

pub(super) fn run(context: &CommandContext<'_>, args: &CompareArgs) -> Result<Exit, CliError> {
    check_outputs([&args.markdown, &args.html.html])?;
    let results = results(args)?;
    let (reference, others) = results.split_first().expect("clap asks for two files");
    let comparison =
        compare(reference, others, &options(args)).map_err(|reasons| refused(&reasons))?;
    if let Some(path) = &args.markdown {
        let queries = if args.show_queries { Queries::Shown } else { Queries::Hashed };
        write_atomically(path, markdown::compare(&comparison, queries).as_bytes())?;
    }
    args.html.write(&CompareReport::new(&comparison))?;
    if context.terminal.is_json() {
        context.terminal.json(&CompareReport::new(&comparison));
    } else {
        context.terminal.report(text::compare(&comparison, args.top));
    }
    Ok(if args.fail_on_regression { decided(context, &comparison) } else { Exit::Pass })
}

fn options(args: &CompareArgs) -> CompareOptions {
    let names = args.primary.as_deref().unwrap_or_default().split_whitespace();
    let primary = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    CompareOptions { is_forced: args.force_incomparable, primary }
}

fn decided(context: &CommandContext<'_>, comparison: &Comparison) -> Exit {
    match comparison.verdict() {
        Verdict::Pass => Exit::Pass,
        Verdict::Fail => Exit::Fail,
        Verdict::Inconclusive => {
            for doubt in comparison.doubts() {
                context.terminal.warn(format!("no verdict: {doubt}"));
            }
            Exit::NoVerdict
        }
    }
}

fn results(args: &CompareArgs) -> Result<Vec<ResultTable>, CliError> {
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
    let results: Vec<ResultTable> = args.files.iter().map(read_one).collect::<Result<_, _>>()?;
    if let Some(reference) = results.first().filter(|one| has_no_judged_hit(one)) {
        return Err(CliError::usage(format!("{}: {NO_JUDGED_HIT}", reference.name))
            .hint("nothing can be compared with a reference that finds nothing judged"));
    }
    Ok(results)
}

/// Whether a run retrieves no judged document at all: its zeros are of the names, not of the ranking.
fn has_no_judged_hit(result: &ResultTable) -> bool {
    result.notes.iter().any(|note| note == NO_JUDGED_HIT)
}

fn unreadable(error: ResultError) -> CliError {
    CliError::input("can't compare", &error)
}

/// Every reason; the remedy only where there is one.
fn refused(reasons: &[IncomparableReason]) -> CliError {
    let told: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    let error = CliError::usage(format!("not comparable: {}", told.join("; ")));
    if reasons.iter().all(IncomparableReason::can_be_forced) {
        return error.hint("--force-incomparable compares them nevertheless, and says so");
    }
    error
}
