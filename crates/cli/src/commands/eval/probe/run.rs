//! One run of the probe.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use gbrain_core::money::Usd;
use gbrain_core::probe::ProbeOutcome;
use gbrain_core::report::text;
use gbrain_eval::probe::{ProbeInitiator, ProbeRequest, ProbeResult, ProbeStorage, ScheduleCheck};
use gbrain_store::Store;
use indicatif::ProgressBar;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{CassetteArgs, interrupted, parse_usd};
use crate::models::configured_embedder;
use crate::serving::probes;
use crate::terminal::advance;

/// How long a run that was killed keeps others off.
const LEASE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval probe run
  gbrain eval probe run --force --max-usd 1 --json
  gbrain eval probe run --cassette probe.cassette.ndjson --replay-only

Ten questions with known answers are asked of brains in memory, with the search settings, the
embedder and the reranker that are set; your pages are not touched. The model of
models.eval.longmemeval answers, the panel of models.eval.cross_modal.slot_a to slot_c judges.
Its highest possible cost is computed first: if it exceeds autopilot.nightly_quality_probe.max_usd,
nothing is sent, and no flag overrides this. The budget covers every call of the run.

It runs only if it is on, and once in 24 hours; a run that failed is tried again after an hour,
then two, and so on. --force runs it anyway, also if it is off. A run is recorded in the store and in
audit/, unless it asked a cassette alone.

Exit codes: 0 pass; 1 a question fails; 2 no verdict: inconclusive, error, budget_exceeded,
rate_limited, no_embedding_key, disabled.")]
pub(super) struct ProbeRunArgs {
    /// Run it although it is off, or ran not long ago.
    #[arg(long)]
    force: bool,
    /// The most that it may cost, in dollars [default: autopilot.nightly_quality_probe.max_usd].
    #[arg(long, value_name = "USD", value_parser = parse_usd)]
    max_usd: Option<Usd>,
    #[command(flatten)]
    recording: CassetteArgs,
}

pub(super) fn run(context: &CommandContext<'_>, args: &ProbeRunArgs) -> Result<Exit, CliError> {
    let store: Arc<Store> = context.store()?.into();
    let probes = probes(context, store, configured_embedder(&context.home)?, LEASE)?;
    let bars = Bars { context, now: Mutex::new(None) };
    let result = probes.run(ProbeRequest {
        workspace: &context.home.workspace,
        initiator: ProbeInitiator::CommandLine,
        schedule: if args.force { ScheduleCheck::Ignored } else { ScheduleCheck::Enforced },
        max_usd: args.max_usd,
        cassette: args.recording.open()?,
        stop: interrupted(),
        progress: &|what, done, total| bars.show(what, done, total),
    });
    bars.clear();
    match result {
        Some(result) => Ok(tell(context, &result)),
        None => Err(CliError::cancelled("the probe was interrupted; nothing was stored")),
    }
}

fn tell(context: &CommandContext<'_>, result: &ProbeResult) -> Exit {
    let ProbeResult { event, report, storage } = result;
    if context.terminal.is_json() {
        context.terminal.json(report);
    } else {
        context.terminal.report(text::probe(report));
    }
    let is_under_way = event.outcome == ProbeOutcome::RateLimited && report.next_run.is_none();
    if let Some(remedy) = event.outcome.remedy().filter(|_| !is_under_way) {
        context.terminal.remark(remedy);
    }
    let exit = match event.outcome.exit_code() {
        0 => Exit::Pass,
        1 => Exit::Fail,
        _ => Exit::NoVerdict,
    };
    match storage {
        ProbeStorage::Stored | ProbeStorage::NotStored => exit,
        ProbeStorage::Failed(why) => {
            context.terminal.warn(format!("the result could not be stored: {why}"));
            // Nothing is left that shows how a pass came about.
            if exit == Exit::Pass { Exit::NoVerdict } else { exit }
        }
    }
}

/// A bar for each stage, one after another.
struct Bars<'a> {
    context: &'a CommandContext<'a>,
    now: Mutex<Option<(&'static str, ProgressBar)>>,
}

impl Bars<'_> {
    fn show(&self, what: &'static str, done: u64, total: u64) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.as_ref().is_none_or(|(stage, _)| *stage != what) {
            if let Some((_, bar)) = now.take() {
                bar.finish_and_clear();
            }
            *now = Some((what, self.context.terminal.progress(what)));
        }
        if let Some((_, bar)) = now.as_ref() {
            bar.set_length(total);
            advance(bar, done);
        }
    }

    fn clear(&self) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bar)) = now.take() {
            bar.finish_and_clear();
        }
    }
}
