//! `gbrain eval beir` and `gbrain eval trec`: any test collection, in its own brain.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::{Benchmark, Granularity};

use super::benchmark::{BenchmarkArgs, BenchmarkSpec, run as run_benchmark};
use super::qrels::{QrelsArgs, run as run_qrels};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::targets::TargetArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval beir scifact/ --output scifact.jsonl --json > scifact.json
  gbrain eval beir nfcorpus/ --keyword-only --top-k 100
  gbrain eval beir scifact/ --target prod

A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv. All of it is imported into a brain in
memory. To use an existing brain: `gbrain eval --qrels FOLDER`. With --target only the queries are run
and judged, as `gbrain eval --qrels` does; the corpus is the target's.

Exit codes: 0 ran; 2 the collection can't be read or a question failed.")]
pub(crate) struct BeirArgs {
    /// The folder of the collection.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gbrain eval trec --corpus corpus.jsonl --queries queries.jsonl --qrels qrels.txt --result run.json

Documents and queries are JSON lines with `_id`, `title` and `text`; judgements may have any shape that
`gbrain eval score` reads.

Exit codes: 0 ran; 2 the collection can't be read or a question failed.")]
pub(crate) struct TrecArgs {
    /// The documents, as JSON lines; a target has its own.
    #[arg(long, value_name = "FILE", required_unless_present = "target")]
    corpus: Option<PathBuf>,
    /// The queries, as JSON lines.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The file of judgements.
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
    #[command(flatten)]
    target: TargetArgs,
}

/// Runs a BEIR folder.
pub(super) fn run(context: &CommandContext<'_>, args: &BeirArgs) -> Result<Exit, CliError> {
    if !args.target.is_local() {
        return run_on_target(context, &args.shared, args.folder.clone(), None, &args.target);
    }
    collection(context, &args.shared, Benchmark::Beir, vec![args.folder.clone()])
}

/// Runs a collection in files.
pub(super) fn run_trec(context: &CommandContext<'_>, args: &TrecArgs) -> Result<Exit, CliError> {
    if !args.target.is_local() {
        let queries = Some(args.queries.clone());
        return run_on_target(context, &args.shared, args.qrels.clone(), queries, &args.target);
    }
    let corpus = args.corpus.clone().ok_or_else(|| {
        CliError::usage("there is no corpus to ask")
            .hint("give --corpus FILE, or a --target that has one")
    })?;
    let files = vec![corpus, args.queries.clone(), args.qrels.clone()];
    collection(context, &args.shared, Benchmark::Trec, files)
}

/// Asks a target the queries of a collection.
fn run_on_target(
    context: &CommandContext<'_>,
    shared: &BenchmarkArgs,
    qrels: PathBuf,
    queries: Option<PathBuf>,
    target: &TargetArgs,
) -> Result<Exit, CliError> {
    target.refuse(&shared.of_a_brain())?;
    run_qrels(context, &QrelsArgs::of_target(qrels, queries, shared.top_k, target.clone()))
}

fn collection(
    context: &CommandContext<'_>,
    shared: &BenchmarkArgs,
    kind: Benchmark,
    files: Vec<PathBuf>,
) -> Result<Exit, CliError> {
    let particular = BenchmarkSpec {
        kind,
        files,
        granularity: Granularity::Document,
        retrieval_log: None,
        by_type: false,
        floor: None,
        reader: None,
        expander: None,
    };
    run_benchmark(context, shared, &particular)
}
