//! Past runs of the probe.

use clap::Args;
use gbrain_core::report::text;
use gbrain_eval::probe::history;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval probe history --days 30\n  \
    gbrain eval probe history --json | jq '.runs[] | [.event.ts, .recall.rate]'\n\n\
    Runs of the store, whichever machine made them, and those that only the audit files here know of.")]
pub(super) struct ProbeHistoryArgs {
    /// Of how many days.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

pub(super) fn run(context: &CommandContext<'_>, args: &ProbeHistoryArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let (workspace, audit) = (&context.home.workspace, context.home.audit_dir());
    let history = history(&store, workspace, Some(&audit), args.days, context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&history);
    } else {
        context.terminal.report(text::probe_history(&history));
    }
    Ok(Exit::Pass)
}
