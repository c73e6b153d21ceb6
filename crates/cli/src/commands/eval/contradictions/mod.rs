//! `gbrain eval suspected-contradictions`: pairs of answers that can't both be so. Changes no page.

mod history;
mod run;

use clap::{Args, Subcommand};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

pub(in crate::commands) use history::{last_report, still_standing};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = run::HELP)]
pub(crate) struct ContradictionsArgs {
    #[command(flatten)]
    run: run::ContradictionsRunArgs,
    #[command(subcommand)]
    command: Option<ContradictionsCommand>,
}

#[derive(Debug, Subcommand)]
enum ContradictionsCommand {
    /// Run queries and judge pairs of their results (the default).
    Run(run::ContradictionsRunArgs),
    /// Show the runs of some days as bars.
    Trend(history::TrendArgs),
    /// List what the last run found and what to do about it.
    Review(history::ReviewArgs),
}

pub(super) fn run(
    context: &CommandContext<'_>,
    args: &ContradictionsArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        None => run::run(context, &args.run),
        Some(ContradictionsCommand::Run(args)) => run::run(context, args),
        Some(ContradictionsCommand::Trend(args)) => history::trend(context, args),
        Some(ContradictionsCommand::Review(args)) => history::review(context, args),
    }
}
