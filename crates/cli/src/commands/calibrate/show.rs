//! `gbrain calibrate show` and `history`.

use clap::Args;
use gbrain_core::format::calibration::ThresholdInfo;
use gbrain_core::report::text;
use gbrain_eval::calibrate::{calibration_status, history as past};

use super::CalibrationContext;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{local_time_of, table};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain calibrate show\n  gbrain calibrate show 3 --json")]
pub(super) struct CalibrationShowArgs {
    /// The threshold [default: the newest].
    id: Option<i64>,
}

#[derive(Debug, Args)]
pub(super) struct CalibrationHistoryArgs {
    /// At most so many.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

/// Shows how it stands.
pub(super) fn show(
    context: &CommandContext<'_>,
    args: &CalibrationShowArgs,
) -> Result<Exit, CliError> {
    let bench = CalibrationContext::new(context)?;
    let (store, workspace) = (bench.store.as_ref(), &context.home.workspace);
    let reranker = bench.reranker();
    let body = calibration_status(
        store,
        workspace,
        &bench.config,
        reranker.as_deref(),
        args.id,
        context.now,
    )?;
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        context.terminal.report(text::calibration(&body));
        if reranker.is_none() {
            context.terminal.remark(
                "no reranker is set: `gbrain config set models.rerank voyage:rerank-2.5`, for example",
            );
        }
    }
    Ok(Exit::Pass)
}

pub(super) fn history(
    context: &CommandContext<'_>,
    args: &CalibrationHistoryArgs,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let body = past(&store, &context.home.workspace, usize::from(args.limit))?;
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else if body.thresholds.is_empty() {
        context.terminal.remark("there are no thresholds: `gbrain calibrate score`");
    } else {
        let head = ["ID", "STATUS", "MODEL", "THRESHOLD", "N", "MEAN", "SIGMA", "VERIFIED", "WHEN"];
        context.terminal.out_paged(table(&head, body.thresholds.iter().map(row)));
    }
    Ok(Exit::Pass)
}

fn row(one: &ThresholdInfo) -> Vec<String> {
    let verified = match &one.body.verification {
        None => "-".to_owned(),
        Some(trial) if trial.passed => "passed".to_owned(),
        Some(trial) => trial.failures.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "),
    };
    vec![
        one.id.to_string(),
        one.status.to_string(),
        one.model.clone(),
        format!("{:.4}", one.threshold),
        one.n.to_string(),
        format!("{:.4}", one.mean),
        format!("{:.4}", one.sigma),
        verified,
        local_time_of(&one.created_at),
    ]
}
