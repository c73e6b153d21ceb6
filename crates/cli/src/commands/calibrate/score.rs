//! `gbrain calibrate score`: computes a candidate threshold from labelled pairs.

use std::time::SystemTime;

use clap::Args;
use gbrain_core::calibrate::CalibrationStatus;
use gbrain_core::clock::moment;
use gbrain_core::money::Usd;
use gbrain_core::report::text;
use gbrain_eval::calibrate::{CalibrateError, PairScoring, threshold_info};
use gbrain_eval::suite::{Reranker, Scorer};

use super::{CalibrationContext, reason};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{BudgetedRun, ModelCallArgs, interrupted, parse_usd};
use crate::terminal::advance;

/// The purpose under which scoring calls are charged.
const PURPOSE: &str = "calibrate";
/// Calls under way at once.
const CALLS: usize = 4;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain calibrate score\n  \
    gbrain calibrate score --force 'a new product, and only 22 pairs yet'\n\n\
    Scores the newest 50 borderline pairs and as many relevant and irrelevant ones. An interrupted run \
    can be continued within a day. Nothing is sent if the highest possible cost exceeds --max-usd.\n\n\
    Exit codes: 0 a candidate was made, 1 it was refused, 2 no verdict.")]
pub(super) struct ScoreArgs {
    /// Store a candidate although the calibration is refused, and print why. A result without a score stores none.
    #[arg(long, value_name = "REASON", value_parser = reason)]
    force: Option<String>,
    /// The most that scoring may cost, in dollars.
    #[arg(long, value_name = "USD", value_parser = parse_usd, default_value = "1.00")]
    max_usd: Usd,
    #[command(flatten)]
    model_calls: ModelCallArgs,
}

pub(super) fn run(context: &CommandContext<'_>, args: &ScoreArgs) -> Result<Exit, CliError> {
    let bench = CalibrationContext::new(context)?;
    let model = bench.model.clone().ok_or(CalibrateError::NoReranker)?;
    let paid = BudgetedRun {
        max_usd: args.max_usd,
        purpose: PURPOSE,
        args: &args.model_calls,
        concurrency: None,
    };
    let client = paid.client(context, &bench.store)?;
    client.ready(&model)?;
    let reranker = Reranker::new(client, model);
    let score = |query: &str, texts: &[&str]| reranker.score(query, texts);
    let cost = |query: &str, texts: &[&str]| reranker.cost(query, texts);
    let stop = interrupted();
    let bar = context.terminal.progress("scoring");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        advance(&bar, done as u64);
    };
    let scoring = PairScoring {
        store: bench.store.as_ref(),
        workspace: &context.home.workspace,
        scorer: Scorer { model: reranker.name(), score: &score },
        cost: &cost,
        allowance: reranker.allowance()?,
        concurrency: CALLS,
        stop: &stop,
        progress: &progress,
        clock: || moment(SystemTime::now()),
    };
    let made = scoring.run(args.force.as_deref());
    bar.finish_and_clear();
    let made = threshold_info(&made?);
    if context.terminal.is_json() {
        context.terminal.json(&made);
    } else {
        context.terminal.report(text::calibrated(&made).trim_start());
    }
    if made.status == CalibrationStatus::Rejected {
        context
            .terminal
            .remark("rejected: collect better pairs, or decide otherwise with --force REASON");
        return Ok(Exit::Fail);
    }
    context.terminal.remark(format!("try it with `gbrain calibrate verify {}`", made.id));
    Ok(Exit::Pass)
}
