//! `gbrain calibrate verify`: tests a candidate threshold on held-out pairs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use clap::Args;
use gbrain_brain::{Assistants, Brain, BuiltInModels, IndexKind};
use gbrain_core::calibrate::{FEWEST_QUERIES, VerifyFailure};
use gbrain_core::clock::moment;
use gbrain_core::format::calibration::Verification;
use gbrain_core::report::text;
use gbrain_core::target::LOCAL;
use gbrain_eval::calibrate::{
    CalibrateError, ThresholdTrial, record, threshold_info, trial_settings,
};
use gbrain_eval::retriever::Retriever;
use gbrain_eval::suite::local;
use gbrain_store::RerankThreshold;

use super::CalibrationContext;
use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};
use crate::model_access::interrupted;
use crate::targets::target_registry;
use crate::terminal::advance;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain calibrate verify\n  gbrain calibrate verify 3 --target prod\n\n\
    The local brain is queried with the threshold in the request's settings, and nothing is changed. A \
    remote target has its own threshold: set this one there first.\n\n\
    Exit codes: 0 it passed, 1 recall fell below 95 % or what scores low is shown, 2 no verdict."
)]
pub(super) struct VerifyArgs {
    /// The threshold [default: the newest of the reranker that is set].
    id: Option<i64>,
    /// Ask this target instead of the local brain.
    #[arg(long, value_name = "NAME", default_value = LOCAL, hide_default_value = true)]
    target: String,
}

pub(super) fn run(context: &CommandContext<'_>, args: &VerifyArgs) -> Result<Exit, CliError> {
    let bench = CalibrationContext::new(context)?;
    let (store, workspace) = (bench.store.clone(), &context.home.workspace);
    let id = bench.threshold(context, args.id)?;
    let found = store.threshold(workspace, id)?.ok_or(CalibrateError::NoSuch(id))?;
    let stop = interrupted();
    let brain = context.brain_in(store.clone(), IndexKind::Disk)?;
    let trial = if args.target == LOCAL {
        at_home(context, &bench, &brain, &found, &stop)?
    } else {
        let registry = target_registry(&context.home, SuiteSource::new(&context.home, None));
        let target = registry.open(&args.target, &brain, None, &stop)?;
        tried(context, &bench, target.as_ref(), &found, None, &stop)?
    };
    let kept =
        threshold_info(&record(store.as_ref(), workspace, id, &trial, moment(SystemTime::now()))?);
    if context.terminal.is_json() {
        context.terminal.json(&kept);
    } else {
        context.terminal.report(text::calibrated(&kept).trim_start());
    }
    Ok(exit(context, id, &trial))
}

/// Asks the local brain as callers over a wire do, with the threshold in its settings.
fn at_home(
    context: &CommandContext<'_>,
    bench: &CalibrationContext,
    brain: &Brain,
    found: &RerankThreshold,
    stop: &Arc<AtomicBool>,
) -> Result<Verification, CliError> {
    let set = bench.reranker().ok_or(CalibrateError::NoReranker)?;
    let (id, model) = (found.id, found.model.clone());
    if set != model {
        return Err(CalibrateError::OtherModel { id, model, set }.into());
    }
    let CalibrationContext { store, config, catalog, .. } = bench;
    let assistants = Assistants::choose(
        catalog,
        store,
        &context.home.workspace,
        config,
        BuiltInModels::Refused,
    )?;
    let settings = trial_settings(brain.settings()?, found)
        .ok_or_else(|| CliError::conflict(format!("threshold {id} is no score")))?;
    let target = local(brain, settings, assistants.as_ref(), stop)?;
    let generation = target.snapshot().corpus().generation;
    tried(context, bench, &target, found, Some(generation), stop)
}

fn tried(
    context: &CommandContext<'_>,
    bench: &CalibrationContext,
    target: &dyn Retriever,
    threshold: &RerankThreshold,
    generation: Option<i64>,
    stop: &AtomicBool,
) -> Result<Verification, CliError> {
    let bar = context.terminal.progress("asking");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        advance(&bar, done as u64);
    };
    let trial = ThresholdTrial {
        store: bench.store.as_ref(),
        workspace: &context.home.workspace,
        target,
        threshold,
        generation,
        stop,
        progress: &progress,
        clock: || moment(SystemTime::now()),
    };
    let found = trial.run();
    bar.finish_and_clear();
    Ok(found?)
}

fn exit(context: &CommandContext<'_>, id: i64, trial: &Verification) -> Exit {
    if trial.passed {
        context.terminal.remark(format!("put it in force with `gbrain calibrate deploy {id}`"));
        return Exit::Pass;
    }
    if trial.failures.contains(&VerifyFailure::NoCases) {
        context
            .terminal
            .remark("there are no canonical queries with keys: `gbrain queries import`");
    }
    if trial.failures.contains(&VerifyFailure::TooFewQueries) {
        context.terminal.remark(format!(
            "a trial takes at least {FEWEST_QUERIES} canonical queries with keys: `gbrain queries import`"
        ));
    }
    match trial.failures.iter().all(|one| one.is_measured()) {
        true => Exit::Fail,
        false => Exit::NoVerdict,
    }
}
