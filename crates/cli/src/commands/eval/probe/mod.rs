//! `gbrain eval probe`: the nightly quality probe, by hand.

mod history;
mod run;

use clap::{Args, Subcommand};

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval probe`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain config set autopilot.nightly_quality_probe.enabled true\n  \
    gbrain eval probe run\n  gbrain eval probe history --days 30\n\n\
    `gbrain serve`, `gbrain worker` and `gbrain autopilot` run it by themselves, once in 24 hours, where \
    it is on.")]
pub(super) struct ProbeArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Ask, answer and judge the probe's questions now, if it is time.
    Run(run::RunArgs),
    /// Show past runs: outcomes, counts, cost, recall.
    History(history::HistoryArgs),
}

/// The probe, by hand.
pub(super) fn run(context: &Context<'_>, args: &ProbeArgs) -> Result<Exit, CliError> {
    match &args.verb {
        Verb::Run(args) => run::run(context, args),
        Verb::History(args) => history::run(context, args),
    }
}
