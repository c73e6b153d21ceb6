//! `gbrain eval locomo`: LoCoMo, each conversation in a brain of its own.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::Granularity;
use gbrain_eval::benchmark::Kind;

use super::benchmark::{BenchmarkArgs, Particular, run as run_benchmark};
use super::longmemeval::{granularity, share};
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval locomo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval locomo locomo10.json --output locomo.jsonl --result locomo.json.gz
  gbrain eval locomo locomo10.json --granularity turn --top-k 20

Questions are named by conversation and place (conv-26_q1). Evidence that names no turn is left out and
told; a question without any counts in no mean. Adversarial questions count: their evidence is what
they twist. The five categories are named as the benchmark's own code names them.

Exit codes: 0 ran; 1 a type is below --by-type-floor; 2 the dataset can't be read or a question failed.")]
pub(crate) struct LocomoArgs {
    /// The dataset.
    #[arg(value_name = "FILE")]
    dataset: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
    /// What counts as a document: a session, or one turn of it.
    #[arg(long, value_name = "WHAT", default_value = "session", value_parser = granularity)]
    granularity: Granularity,
    /// End the rows with recall by category.
    #[arg(long)]
    by_type: bool,
    /// Exit 1 if a category's recall is below this.
    #[arg(long, value_name = "F", value_parser = share)]
    by_type_floor: Option<f64>,
}

/// Runs LoCoMo.
pub(super) fn run(context: &Context<'_>, args: &LocomoArgs) -> Result<Exit, CliError> {
    let particular = Particular {
        kind: Kind::Locomo,
        files: vec![args.dataset.clone()],
        granularity: args.granularity,
        retrieval_log: None,
        by_type: args.by_type,
        floor: args.by_type_floor,
    };
    run_benchmark(context, &args.shared, &particular)
}
