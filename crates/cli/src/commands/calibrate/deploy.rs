//! `gbrain calibrate deploy`: activates a verified threshold.

use clap::Args;
use gbrain_core::config::RERANK_THRESHOLD;
use gbrain_eval::calibrate::{deploy, threshold_info};

use super::{CalibrationContext, reason};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain calibrate deploy\n  gbrain calibrate deploy 3\n  \
    gbrain calibrate deploy 3 --force 'the canonical queries are being rewritten'\n\n\
    Sets rerank.threshold for this workspace and the reranker that it was made for, and tells suites \
    (rerank.changed). The trial must have passed in the last 7 days, with at least 20 queries, against the \
    reranker that is set and the pages that are there. An \
    earlier threshold is put in force again in the same way.")]
pub(super) struct DeployArgs {
    /// The threshold [default: the newest of the reranker that is set].
    id: Option<i64>,
    /// Put it in force although it was refused, not tried or did not pass, and say why.
    #[arg(long, value_name = "REASON", value_parser = reason)]
    force: Option<String>,
}

/// Puts a threshold in force.
pub(super) fn run(context: &CommandContext<'_>, args: &DeployArgs) -> Result<Exit, CliError> {
    let bench = CalibrationContext::new(context)?;
    let id = bench.threshold(context, args.id)?;
    let (store, workspace) = (bench.store.as_ref(), &context.home.workspace);
    let (reranker, force) = (bench.reranker(), args.force.as_deref());
    let deployed = deploy(store, workspace, id, reranker.as_deref(), force, context.now)?;
    let deployed = threshold_info(&deployed);
    if context.terminal.is_json() {
        context.terminal.json(&deployed);
    } else {
        let (least, model) = (deployed.threshold, &deployed.model);
        context.terminal.line(format!("{RERANK_THRESHOLD} = {least:.4} for {model}"));
    }
    Ok(Exit::Pass)
}
