//! `gbrain eval locomo`: LoCoMo, each conversation in its own brain.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::Benchmark;

use super::benchmark::{BenchmarkArgs, BenchmarkSpec, ChatArgs, run as run_benchmark};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval locomo locomo10.json --output locomo.jsonl --result locomo.json.gz
  gbrain eval locomo locomo10.json --granularity turn --top-k 20

Questions are named by conversation and place (conv-26_q1). Evidence that names no turn is left out and
told; a question without any counts in no mean. Adversarial questions count: their evidence is what
they twist. The five categories are named as the benchmark's own code names them.

Exit codes: 0 ran; 1 a type is below --by-type-floor; 2 the dataset can't be read or a question failed.")]
pub(crate) struct LocomoArgs {
    /// The file of the dataset.
    #[arg(value_name = "FILE")]
    dataset: PathBuf,
    #[command(flatten)]
    shared: BenchmarkArgs,
    #[command(flatten)]
    chat: ChatArgs,
}

pub(super) fn run(context: &CommandContext<'_>, args: &LocomoArgs) -> Result<Exit, CliError> {
    let particular = BenchmarkSpec {
        kind: Benchmark::Locomo,
        files: vec![args.dataset.clone()],
        granularity: args.chat.granularity,
        retrieval_log: None,
        by_type: args.chat.by_type,
        floor: args.chat.by_type_floor,
        reader: None,
        expander: None,
    };
    run_benchmark(context, &args.shared, &particular)
}
