//! `gbrain eval beir` and `gbrain eval trec`: any test collection, in a brain of its own.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::Granularity;
use gbrain_eval::benchmark::Kind;

use super::benchmark::{BenchmarkArgs, Particular, run as run_benchmark};
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval beir`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval beir scifact/ --output scifact.jsonl --json > scifact.json
  gbrain eval beir nfcorpus/ --keyword-only --top-k 100

A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv. All of it goes into a brain in
memory. Against a brain that is there already: `gbrain eval --qrels FOLDER`.

Exit codes: 0 ran; 2 the collection can't be read or a question failed.")]
pub(crate) struct BeirArgs {
    /// The folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
}

/// Arguments of `eval trec`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  gbrain eval trec --corpus corpus.jsonl --queries queries.jsonl --qrels qrels.txt --result run.json

Documents and queries are JSON lines with `_id`, `title` and `text`; judgements may have any shape that
`gbrain eval score` reads.

Exit codes: 0 ran; 2 the collection can't be read or a question failed.")]
pub(crate) struct TrecArgs {
    /// The documents, as JSON lines.
    #[arg(long, value_name = "FILE")]
    corpus: PathBuf,
    /// The queries, as JSON lines.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The judgements.
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
}

/// Runs a BEIR folder.
pub(super) fn run(context: &Context<'_>, args: &BeirArgs) -> Result<Exit, CliError> {
    collection(context, &args.shared, Kind::Beir, vec![args.folder.clone()])
}

/// Runs a collection in files.
pub(super) fn run_trec(context: &Context<'_>, args: &TrecArgs) -> Result<Exit, CliError> {
    let files = vec![args.corpus.clone(), args.queries.clone(), args.qrels.clone()];
    collection(context, &args.shared, Kind::Trec, files)
}

fn collection(
    context: &Context<'_>,
    shared: &BenchmarkArgs,
    kind: Kind,
    files: Vec<PathBuf>,
) -> Result<Exit, CliError> {
    let particular = Particular {
        kind,
        files,
        granularity: Granularity::Session,
        retrieval_log: None,
        by_type: false,
        floor: None,
        reader: None,
        expander: None,
    };
    run_benchmark(context, shared, &particular)
}
