//! `gbrain search`: by keyword, without embeddings.

use clap::Args;
use gbrain_core::request::{Operation, RetrievalMode};

use crate::args::AskArgs;
use crate::commands::CommandContext;
use crate::commands::query::{RetrievalCall, ask};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain search berth planner\n  gbrain search \"HRB-112\" --explain\n  \
    gbrain search pricing --type meeting --since 2026-01-01 --json"
)]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    ask: AskArgs,
}

/// Finds pages by words and names.
pub(crate) fn run(context: &CommandContext<'_>, args: &SearchArgs) -> Result<Exit, CliError> {
    let asked = RetrievalCall {
        operation: Operation::Search,
        args: &args.ask,
        mode: RetrievalMode::Knowledge,
        vectors: false,
        expand: None,
    };
    ask(context, &asked)
}
