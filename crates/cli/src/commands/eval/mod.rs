//! `gbrain eval`: the loop that measures retrieval. One file per verb.

mod beir;
mod benchmark;
mod compare;
mod contradictions;
mod cross_modal;
mod datasets;
mod export;
mod gate;
mod locomo;
mod longmemeval;
mod probe;
mod prune;
mod qrels;
mod record;
mod replay;
mod reproduce;
pub(crate) mod score;
mod scrub;
mod window;

use clap::{Args, Subcommand};

pub(in crate::commands) use contradictions::{last_report, still_standing};
pub(in crate::commands) use gate::append;
pub(in crate::commands) use qrels::read_qrels;
pub(crate) use window::day;
pub(in crate::commands) use window::{duration, moment};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "The loop:\n  gbrain eval export --since 7d > captured.ndjson\n  \
    gbrain baseline publish --from captured.ndjson --to ~/.gbrain/baselines/mine.baseline.ndjson --label mine\n  \
    gbrain eval replay --against captured.ndjson\n  \
    gbrain eval gate --baseline ~/.gbrain/baselines/mine.baseline.ndjson\n\n\
    Measures against known-right answers:\n  gbrain eval --qrels qrels.json -k 10")]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    qrels: qrels::QrelsArgs,
    #[command(subcommand)]
    command: Option<EvalCommand>,
}

impl EvalArgs {
    /// The arguments of `score`, if that is the subcommand.
    pub(crate) fn score_args(&self) -> Option<&score::ScoreArgs> {
        match &self.command {
            Some(EvalCommand::Score(args)) => Some(args),
            _ => None,
        }
    }
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Print captured requests, one JSON object a line, newest first.
    Export(export::ExportArgs),
    /// Erase captures that are old.
    Prune(prune::PruneArgs),
    /// Run captured requests again and report what moved.
    Replay(replay::ReplayArgs),
    /// Send captured requests to a target and store its answers as captures.
    Record(record::RecordArgs),
    /// Pass or fail: against a baseline, judged queries, or both.
    Gate(gate::GateArgs),
    /// Score a saved run against judgements.
    Score(score::ScoreArgs),
    /// Compare result files with each other.
    Compare(compare::CompareArgs),
    /// Remove personal data from lines, as capture does.
    Scrub(scrub::ScrubArgs),
    /// Run LongMemEval, each question in its own brain.
    #[command(name = "longmemeval")]
    LongMemEval(longmemeval::LongMemEvalArgs),
    /// Run LoCoMo, each conversation in its own brain.
    Locomo(locomo::LocomoArgs),
    /// Run a BEIR folder in its own brain.
    Beir(beir::BeirArgs),
    /// Run any collection in its own brain.
    Trec(beir::TrecArgs),
    /// List where to download datasets, with hashes and licences.
    Datasets(datasets::DatasetsArgs),
    /// Judge outputs with a panel of three models.
    CrossModal(Box<cross_modal::CrossModalArgs>),
    /// Find pairs of answers that can't both be so.
    SuspectedContradictions(Box<contradictions::ContradictionsArgs>),
    /// The nightly quality probe: run it now, or look at past runs.
    Probe(probe::ProbeArgs),
    /// Repeat the run of a result file and compare it row by row.
    Reproduce(reproduce::ReproduceArgs),
}

pub(crate) fn run(context: &CommandContext<'_>, args: &EvalArgs) -> Result<Exit, CliError> {
    match &args.command {
        None => qrels::run(context, &args.qrels),
        Some(EvalCommand::Export(args)) => export::run(context, args),
        Some(EvalCommand::Prune(args)) => prune::run(context, args),
        Some(EvalCommand::Replay(args)) => replay::run(context, args),
        Some(EvalCommand::Record(args)) => record::run(context, args),
        Some(EvalCommand::Gate(args)) => gate::run(context, args),
        Some(EvalCommand::Score(args)) => score::run(args, context.terminal),
        Some(EvalCommand::Compare(args)) => compare::run(context, args),
        Some(EvalCommand::Scrub(args)) => scrub::run(context, args),
        Some(EvalCommand::LongMemEval(args)) => longmemeval::run(context, args),
        Some(EvalCommand::Locomo(args)) => locomo::run(context, args),
        Some(EvalCommand::Beir(args)) => beir::run(context, args),
        Some(EvalCommand::Trec(args)) => beir::run_trec(context, args),
        Some(EvalCommand::Datasets(args)) => datasets::run(context, args),
        Some(EvalCommand::CrossModal(args)) => cross_modal::run(context, args),
        Some(EvalCommand::SuspectedContradictions(args)) => contradictions::run(context, args),
        Some(EvalCommand::Probe(args)) => probe::run(context, args),
        Some(EvalCommand::Reproduce(args)) => reproduce::run(context, args),
    }
}
