//! `gbrain eval probe`: the nightly quality probe, by hand.

mod history;
mod run;

use clap::{Args, Subcommand};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain config set autopilot.nightly_quality_probe.enabled true\n  \
    gbrain eval probe run\n  gbrain eval probe history --days 30\n\n\
    `gbrain serve`, `gbrain worker` and `gbrain autopilot` run it automatically, once in 24 hours, where \
    it is on.")]
pub(super) struct ProbeArgs {
    #[command(subcommand)]
    command: ProbeCommand,
}

#[derive(Debug, Subcommand)]
enum ProbeCommand {
    /// Run the probe now, if it is due.
    Run(run::ProbeRunArgs),
    /// Show past runs: outcomes, counts, cost, recall.
    History(history::ProbeHistoryArgs),
}

/// The probe, by hand.
pub(super) fn run(context: &CommandContext<'_>, args: &ProbeArgs) -> Result<Exit, CliError> {
    match &args.command {
        ProbeCommand::Run(args) => run::run(context, args),
        ProbeCommand::History(args) => history::run(context, args),
    }
}
