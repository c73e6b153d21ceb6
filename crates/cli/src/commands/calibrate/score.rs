//! `gbrain calibrate score`.

use std::time::SystemTime;

use clap::Args;
use gbrain_core::calibrate::CalibrationStatus;
use gbrain_core::clock::moment;
use gbrain_core::money::Usd;
use gbrain_core::report::text;
use gbrain_eval::calibrate::{CalibrateError, Scoring, info};
use gbrain_eval::suite::{Reranker, Scorer};

use super::{Bench, reason};
use crate::asking::{AskingArgs, Paid, interrupted, usd};
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// What scores are charged for.
const PURPOSE: &str = "calibrate";
/// Calls under way at once.
const CALLS: usize = 4;

/// Arguments of `calibrate score`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain calibrate score\n  \
    gbrain calibrate score --force 'a new product, and only 22 pairs yet'\n\n\
    Scores the newest 50 borderline pairs and as many relevant and irrelevant ones. A run that breaks off \
    goes on where it was for a day. Nothing is sent if all of it may cost more than --max-usd.\n\n\
    Exit codes: 0 a candidate was made, 1 it was refused, 2 no verdict.")]
pub(super) struct ScoreArgs {
    /// Make a candidate although the calibration is refused, and say why. What is no score makes none.
    #[arg(long, value_name = "REASON", value_parser = reason)]
    force: Option<String>,
    /// The most that scoring may cost, in dollars.
    #[arg(long, value_name = "USD", value_parser = usd, default_value = "1.00")]
    max_usd: Usd,
    #[command(flatten)]
    asking: AskingArgs,
}

/// Scores.
pub(super) fn run(context: &Context<'_>, args: &ScoreArgs) -> Result<Exit, CliError> {
    let bench = Bench::new(context)?;
    let model = bench.model.clone().ok_or(CalibrateError::NoReranker)?;
    let paid =
        Paid { max_usd: args.max_usd, purpose: PURPOSE, args: &args.asking, concurrency: None };
    let asker = paid.asker(context, &bench.store)?;
    asker.ready(&model)?;
    let reranker = Reranker::new(asker, model);
    let score = |query: &str, texts: &[&str]| reranker.score(query, texts);
    let cost = |query: &str, texts: &[&str]| reranker.cost(query, texts);
    let stop = interrupted();
    let bar = context.terminal.progress("scoring");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let scoring = Scoring {
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
    let made = info(&made?);
    if context.terminal.is_json() {
        context.terminal.json(&made);
    } else {
        context.terminal.out(text::calibrated(&made).trim_start());
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
