//! `gbrain alerts close`: closes an alert by hand.

use clap::Args;
use gbrain_eval::alert::AlertEvaluator;
use serde_json::json;

use crate::channels::alert_tools;
use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    gbrain alerts close gbrain/default/old-suite/recall@5/all --reason \"the suite is gone\"\n\n\
    For alerts that no run will resolve: of a suite that was removed or renamed. If the breach \
    persists, the next run that measures it fires the alert again; use `gbrain alerts silence` to hold \
    messages back.")]
pub(super) struct CloseArgs {
    /// Its key, as `gbrain alerts list` shows it.
    key: String,
    /// The reason, recorded with the alert.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Takes an alert back.
pub(super) fn close(
    context: &CommandContext<'_>,
    args: &CloseArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let CloseArgs { key, reason } = args;
    let reason = super::reason(reason)?;
    let store = context.store()?;
    let workspace = &context.home.workspace;
    let tools = alert_tools(&context.home, source.clone())?;
    let evaluator =
        AlertEvaluator { store: &store, registry: &tools.registry, settings: &tools.settings };
    let closed = evaluator.close(workspace, key, reason, store.clock()?)?.ok_or_else(|| {
        CliError::usage(format!("there is no alert `{key}` in workspace {workspace} that fires"))
            .hint("`gbrain alerts list` shows those that do")
    })?;
    closed.problems.iter().for_each(|problem| context.terminal.warn(problem));
    let notified = closed.queued;
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "key": key, "state": "resolved", "notified": notified }));
    } else {
        let outcome = match notified.is_empty() {
            true => "no channel was notified".to_owned(),
            false => format!("queued for {}", notified.join(", ")),
        };
        context.terminal.line(format!("{key} is closed; {outcome}"));
    }
    Ok(Exit::Pass)
}
