//! `gbrain eval longmemeval`: LongMemEval, each question in a brain of its own. Opens no brain of the
//! user's.

use std::path::PathBuf;

use clap::Args;
use gbrain_eval::benchmark::Kind;

use super::benchmark::{BenchmarkArgs, ChatArgs, Particular, run as run_benchmark};
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval longmemeval`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval longmemeval longmemeval_oracle.json --retrieval-only --limit 50 > rows.jsonl
  gbrain eval longmemeval longmemeval_s_cleaned.json --retrieval-only --by-type --output run.jsonl \\
      --result run.json.gz
  gbrain eval longmemeval s.json --retrieval-only --output run.jsonl --resume-from run.jsonl

Reads the published JSON arrays, JSON lines, and both compressed with gzip; `gbrain eval datasets`
says where they are. Every question gets a brain in memory with its own sessions and nothing else;
session ids are compared as they are and never indexed. Abstention questions (`_abs`) are asked and
count in no mean, as in the official scripts.

Rows are what evaluate_qa.py reads. recall_hit and recall_any@k: any session that holds the answer is
among the first k; recall_all@k: all of them are. Neither says that a question was answered.

Exit codes: 0 ran; 1 a type is below --by-type-floor; 2 the dataset can't be read, a question failed,
or there is no model to answer with.")]
pub(crate) struct LongMemEvalArgs {
    /// The dataset.
    #[arg(value_name = "DATASET")]
    dataset: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
    /// Measure retrieval and ask no model: a row's hypothesis is what was retrieved.
    #[arg(long)]
    retrieval_only: bool,
    /// Ask a model for other wordings of each question.
    #[arg(long)]
    expansion: bool,
    /// The model that answers.
    #[arg(long, value_name = "M", conflicts_with = "retrieval_only")]
    model: Option<String>,
    #[command(flatten)]
    chat: ChatArgs,
    /// Write the retrieval log of LongMemEval's own scripts, with its figures.
    #[arg(long, value_name = "FILE")]
    retrieval_log: Option<PathBuf>,
}

/// Runs LongMemEval.
pub(super) fn run(context: &Context<'_>, args: &LongMemEvalArgs) -> Result<Exit, CliError> {
    if !args.retrieval_only {
        return Err(CliError::usage("there is no model to answer with")
            .hint("measure retrieval, which needs none: --retrieval-only"));
    }
    if args.expansion {
        return Err(CliError::usage("there is no model to expand questions with")
            .hint("leave --expansion out"));
    }
    let particular = Particular {
        kind: Kind::LongMemEval,
        files: vec![args.dataset.clone()],
        granularity: args.chat.granularity,
        retrieval_log: args.retrieval_log.as_deref(),
        by_type: args.chat.by_type,
        floor: args.chat.by_type_floor,
    };
    run_benchmark(context, &args.shared, &particular)
}
