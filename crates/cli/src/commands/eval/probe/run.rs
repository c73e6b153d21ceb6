//! One run of the probe.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use gbrain_core::money::Usd;
use gbrain_core::probe::ProbeOutcome;
use gbrain_core::report::text;
use gbrain_eval::probe::{By, Kept, Probed, Window, Wish};
use gbrain_store::Store;
use indicatif::ProgressBar;

use crate::asking::{TapeArgs, interrupted, usd};
use crate::commands::Context;
use crate::error::{CliError, Exit};
use crate::models::models;
use crate::serving::probes;

/// How long a run that was killed keeps others off.
const LEASE: Duration = Duration::from_secs(60);

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval probe run
  gbrain eval probe run --force --max-usd 1 --json
  gbrain eval probe run --cassette probe.cassette.ndjson --replay-only

Ten questions with known answers are asked of brains in memory, with the search settings, the
embedder and the reranker that are set; your pages are not touched. The model of
models.eval.longmemeval answers, the panel of models.eval.cross_modal.slot_a to slot_c judges.
What it can cost at most is worked out first: if that is more than
autopilot.nightly_quality_probe.max_usd nothing is asked, and there is no flag to start all the
same. The budget holds for everything that is asked.

It runs only if it is on, and once in 24 hours; a run that failed is tried again after an hour,
then two, and so on. --force runs it anyway, also if it is off. A run is kept in the store and in
audit/, unless it asked a cassette alone.

Exit codes: 0 pass; 1 a question fails; 2 no verdict: inconclusive, error, budget_exceeded,
rate_limited, no_embedding_key, disabled.")]
pub(super) struct RunArgs {
    /// Run it although it is off, or ran not long ago.
    #[arg(long)]
    force: bool,
    /// The most that it may cost, in dollars [default: autopilot.nightly_quality_probe.max_usd].
    #[arg(long, value_name = "USD", value_parser = usd)]
    max_usd: Option<Usd>,
    #[command(flatten)]
    tape: TapeArgs,
}

/// Runs the probe.
pub(super) fn run(context: &Context<'_>, args: &RunArgs) -> Result<Exit, CliError> {
    let store: Arc<Store> = context.store()?.into();
    let probes = probes(context, store, models(&context.home)?, LEASE)?;
    let bars = Bars { context, now: Mutex::new(None) };
    let probed = probes.run(Wish {
        workspace: &context.home.workspace,
        by: By::Hand,
        window: if args.force { Window::Ignored } else { Window::Kept },
        max_usd: args.max_usd,
        tape: args.tape.open()?,
        stop: interrupted(),
        progress: &|what, done, total| bars.show(what, done, total),
    });
    bars.clear();
    match probed {
        Some(probed) => Ok(tell(context, &probed)),
        None => Err(CliError::cancelled("it was stopped before its end; nothing is kept")),
    }
}

fn tell(context: &Context<'_>, probed: &Probed) -> Exit {
    let Probed { event, report, kept } = probed;
    if context.terminal.is_json() {
        context.terminal.json(report);
    } else {
        context.terminal.out(text::probe(report));
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
    match kept {
        Kept::Yes | Kept::No => exit,
        Kept::Failed(why) => {
            context.terminal.warn(format!("it could not be kept: {why}"));
            // Nothing is left that shows how a pass came about.
            if exit == Exit::Pass { Exit::NoVerdict } else { exit }
        }
    }
}

/// A bar for each stage, one after another.
struct Bars<'a> {
    context: &'a Context<'a>,
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
            bar.set_position(done);
        }
    }

    fn clear(&self) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bar)) = now.take() {
            bar.finish_and_clear();
        }
    }
}
