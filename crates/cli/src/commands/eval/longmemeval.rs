//! `gbrain eval longmemeval`: LongMemEval, each question in its own brain. Opens no brain of the
//! user's.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use gbrain_core::benchmark::Benchmark;
use gbrain_core::money::Usd;
use gbrain_eval::benchmark::{AnswerReader, Expander, LongMemEval};
use gbrain_llm::{Expansion, ModelRef, ModelTask, ask_variants};
use gbrain_store::Store;

use super::benchmark::{BenchmarkArgs, BenchmarkSpec, ChatArgs, run as run_benchmark};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{
    BudgetedRun, ModelCallArgs, catalog, parse_usd, refuse_over_budget, settings,
};

/// The purpose under which answers are charged.
const PURPOSE: &str = "longmemeval";
/// Answers that are waited for at once.
const ANSWERS_AT_ONCE: usize = 16;

/// Variants of a question that are asked for.
const VARIANTS: usize = 3;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval longmemeval longmemeval_oracle.json --retrieval-only --limit 50 > rows.jsonl
  gbrain eval longmemeval longmemeval_s_cleaned.json --retrieval-only --by-type --output run.jsonl \\
      --result run.json.gz
  gbrain eval longmemeval s.json --retrieval-only --output run.jsonl --resume-from run.jsonl
  gbrain eval longmemeval s.json --limit 20 --model anthropic:claude-haiku-4-5 --max-usd 1 --output run.jsonl

Reads the published JSON arrays, JSON lines, and both compressed with gzip; `gbrain eval datasets`
says where they are. Every question gets a brain in memory with its own sessions and nothing else;
session ids are compared as they are and never indexed. Abstention questions (`_abs`) are asked and
count in no mean, as in the official scripts.

Rows are what evaluate_qa.py reads. recall_hit and recall_any@k: any session that holds the answer is
among the first k; recall_all@k: all of them are. Neither says that a question was answered.

Exit codes: 0 ran; 1 a type is below --by-type-floor; 2 the dataset can't be read, a question failed,
there is no model to answer with, or the budget ran out.")]
pub(crate) struct LongMemEvalArgs {
    /// The file of the dataset.
    #[arg(value_name = "DATASET")]
    dataset: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
    /// Measure retrieval and ask no model: a row's hypothesis is the retrieved text.
    #[arg(long)]
    retrieval_only: bool,
    /// Ask a model for other wordings of each question.
    #[arg(long)]
    expansion: bool,
    /// The model that answers.
    #[arg(long, value_name = "M", conflicts_with = "retrieval_only")]
    model: Option<String>,
    /// The most that answers and wordings may cost, in dollars.
    #[arg(long, value_name = "USD", default_value = "5", value_parser = parse_usd)]
    max_usd: Usd,
    #[command(flatten)]
    model_calls: ModelCallArgs,
    #[command(flatten)]
    chat: ChatArgs,
    /// Write the retrieval log of LongMemEval's own scripts, with its figures.
    #[arg(long, value_name = "FILE")]
    retrieval_log: Option<PathBuf>,
}

pub(super) fn run(context: &CommandContext<'_>, args: &LongMemEvalArgs) -> Result<Exit, CliError> {
    if args.retrieval_only && !args.expansion {
        return run_benchmark(context, &args.shared, &benchmark_spec(args, None, None));
    }
    let store: Arc<Store> = context.store()?.into();
    let concurrency = Some(ANSWERS_AT_ONCE);
    let paid = BudgetedRun {
        max_usd: args.max_usd,
        purpose: PURPOSE,
        args: &args.model_calls,
        concurrency,
    };
    let client = paid.client(context, &store)?;
    let settings = settings(store.as_ref(), &context.home.workspace)?;
    let catalog = catalog(&context.home)?;
    let ready = |task, flag: Option<&str>| {
        let chosen = catalog.choose(task, flag, &settings);
        let chosen = chosen.map_err(|error| CliError::usage(error.to_string()))?;
        let (model, _) = chosen.ok_or_else(|| CliError::usage("there is no model to ask"))?;
        client.ready(&model).map_err(|error| {
            CliError::from(error).hint("measure retrieval, which needs no model: --retrieval-only")
        })?;
        Ok::<ModelRef, CliError>(model)
    };
    let reader = match args.retrieval_only {
        true => None,
        false => {
            Some(AnswerReader::new(&client, ready(ModelTask::LongMemEval, args.model.as_deref())?))
        }
    };
    let estimate = match &reader {
        None => Usd::ZERO,
        Some(reader) => {
            let most = args.shared.limit.unwrap_or(u64::MAX);
            reader.estimate(LongMemEval::count(&args.dataset, most)?)
        }
    };
    refuse_over_budget(&client, estimate, "--max-usd", args.model_calls.yes)?;
    if !args.expansion {
        return run_benchmark(context, &args.shared, &benchmark_spec(args, reader.as_ref(), None));
    }
    let model = ready(ModelTask::Expansion, None)?;
    let name = model.to_string();
    let expansion = Expansion { variants: VARIANTS };
    let variants = |query: &str| ask_variants(&client, &model, query, expansion);
    let expander: Option<(Expander<'_>, &str)> = Some((&variants, &name));
    run_benchmark(context, &args.shared, &benchmark_spec(args, reader.as_ref(), expander))
}

fn benchmark_spec<'a>(
    args: &'a LongMemEvalArgs,
    reader: Option<&'a AnswerReader<'a>>,
    expander: Option<(Expander<'a>, &'a str)>,
) -> BenchmarkSpec<'a> {
    BenchmarkSpec {
        kind: Benchmark::LongMemEval,
        files: vec![args.dataset.clone()],
        granularity: args.chat.granularity,
        retrieval_log: args.retrieval_log.as_deref(),
        by_type: args.chat.by_type,
        floor: args.chat.by_type_floor,
        reader,
        expander,
    }
}
