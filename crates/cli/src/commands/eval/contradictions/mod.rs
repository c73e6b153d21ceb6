//! `gbrain eval suspected-contradictions`: pairs of answers that can't both be so. Changes no page.

mod past;
mod run;

use clap::{Args, Subcommand};

use crate::commands::Context;
use crate::error::{CliError, Exit};

pub(in crate::commands) use past::{last_report, still_standing};

/// Arguments of `eval suspected-contradictions`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = run::HELP)]
pub(crate) struct ContradictionsArgs {
    #[command(flatten)]
    run: run::RunArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Ask queries and judge what they bring together (the default).
    Run(run::RunArgs),
    /// Show the runs of some days as bars.
    Trend(past::TrendArgs),
    /// List what the last run found and what to do about it.
    Review(past::ReviewArgs),
}

/// Probes for contradictions.
pub(super) fn run(context: &Context<'_>, args: &ContradictionsArgs) -> Result<Exit, CliError> {
    match &args.verb {
        None => run::run(context, &args.run),
        Some(Verb::Run(args)) => run::run(context, args),
        Some(Verb::Trend(args)) => past::trend(context, args),
        Some(Verb::Review(args)) => past::review(context, args),
    }
}
