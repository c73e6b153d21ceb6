//! `gbrain eval`: is retrieval as good as it was, and as good as it should be?

pub(crate) mod score;

use clap::{Args, Subcommand};

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: EvalCommand,
}

/// Everything `eval` does.
#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Score a saved run against judgements. Opens no brain.
    Score(score::ScoreArgs),
}

/// Runs the one that was typed.
pub(crate) fn run(context: &Context<'_>, args: &EvalArgs) -> Result<Exit, CliError> {
    match &args.command {
        EvalCommand::Score(args) => score::run(args, context.terminal),
    }
}
