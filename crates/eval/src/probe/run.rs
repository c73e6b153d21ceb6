//! One run, from the question whether it may to the line in the audit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::config::PROBE_MAX_USD;
use gbrain_core::fault::chain;
use gbrain_core::format::probe::{ProbeCost, ProbeEvent, ProbeReport};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::named;
use gbrain_core::probe::{
    Decision, Embedder, Event, ProbeOutcome, Switch, decide, due, is_recorded,
};
use gbrain_llm::{AskErrorKind, Cassette, CassetteMode, amount};
use gbrain_store::{Budget, StoreError};
use jiff::Timestamp;

use super::claim::{Claim, Halt};
use super::made::Made;
use super::measure::Means;
use super::{Embedding, Probes, audit, past};

/// Who wants a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Somebody at a keyboard, whose interruption ends it.
    Hand,
    /// A process that looks what is due. When it is told to end, another goes on.
    Autopilot,
}

named! { By { Hand = "command line", Autopilot = "autopilot" } }

/// Whether the switch and the window count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// A run starts only if the probe is on and it is time.
    Kept,
    /// It starts all the same. The budget holds.
    Ignored,
}

/// What is wanted.
pub struct Wish<'a> {
    pub workspace: &'a WorkspaceId,
    pub by: By,
    /// Whether the switch and the window count.
    pub window: Window,
    /// The most that it may cost; none for what the settings say.
    pub max_usd: Option<Usd>,
    /// Where answers are recorded, or come from. A run that asks a cassette alone says nothing about
    /// tonight: it needs no claim, and is not kept.
    pub tape: Option<Cassette>,
    /// Set when it is to stop.
    pub stop: Arc<AtomicBool>,
    /// Told what it is at, how much is done, and of how much.
    pub progress: &'a (dyn Fn(&'static str, u64, u64) + Sync),
}

/// What came of it.
#[derive(Debug)]
pub struct Probed {
    /// The outcome, in short.
    pub event: Event,
    pub report: ProbeReport,
    /// Whether it is kept.
    pub kept: Kept,
}

/// Whether a run is in the store and in the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is in both.
    Yes,
    /// There was nothing to keep.
    No,
    /// It could not be kept, and why.
    Failed(String),
}

/// What is known before anything is done.
struct Ground {
    config: BTreeMap<String, String>,
    past: Vec<Event>,
    decision: Decision,
    cap: Usd,
}

impl Probes {
    /// Runs the probe if it may; none if it was stopped before its end.
    pub fn run(&self, wish: Wish<'_>) -> Option<Probed> {
        let now = (self.clock)();
        let replays = |tape: &Cassette| tape.mode() == CassetteMode::ReplayOnly;
        let done = if wish.tape.as_ref().is_some_and(replays) {
            self.rehearsed(wish, now)
        } else {
            self.attempted(wish, now)
        };
        done.unwrap_or_else(|error| {
            // Nobody is left to keep it, or the next look would.
            let event = Event::bare(now, ProbeOutcome::Error, Some(chain(&error)));
            Some(Probed::unkept(event, Usd::ZERO, None))
        })
    }

    fn attempted(&self, mut wish: Wish<'_>, now: Timestamp) -> Result<Option<Probed>, StoreError> {
        let ground = self.ground(&wish, now)?;
        if let Some(refused) = ground.refused(now) {
            return Ok(Some(refused));
        }
        let (store, worker) = (self.store.as_ref(), &self.worker);
        let claim = Claim::take(store, wish.workspace, worker, wish.by.name(), self.lease)?;
        let Some(claim) = claim else { return Ok(Some(ground.busy(now))) };
        // Another process may have ended a run since.
        let ground = self.ground(&wish, now)?;
        if let Some(refused) = ground.refused(now) {
            claim.cancel()?;
            return Ok(Some(refused));
        }
        let halt = Arc::new(AtomicBool::new(false));
        let tape = wish.tape.take();
        let (made, halted) = claim.hold(&wish.stop, &halt, || match ground.decision {
            Decision::Not(outcome) => Made::bare(outcome, no_key(&self.embedding)),
            Decision::Go => match claim.is_given_up() {
                Some(times) => Made::given_up(times),
                None => {
                    let progress = |note: &'static str, done: u64, total: u64| {
                        claim.say(note, done, total);
                        (wish.progress)(note, done, total);
                    };
                    let budget = Some(Budget { name: claim.budget(), cap: ground.cap });
                    let (workspace, config, halt) = (wish.workspace, &ground.config, halt.clone());
                    let progress = &progress;
                    let means = Means { probes: self, workspace, config, budget, halt, progress };
                    Made::of(&means, ground.cap, tape, now)
                }
            },
        });
        match halted {
            // A run that ended all the same is told below, if it is still this process's to tell.
            Some(Halt::Stopped | Halt::Cancelled) if !made.is_whole() => {
                let is_wanted = halted == Some(Halt::Stopped) && wish.by == By::Autopilot;
                if is_wanted {
                    claim.release()?
                } else {
                    claim.cancel()?
                };
                Ok(None)
            }
            _ => self.told(&wish, &claim, &ground, made, now),
        }
    }

    /// Keeps a run in the store and in the audit file; none if it is another's by now.
    fn told(
        &self,
        wish: &Wish<'_>,
        claim: &Claim<'_>,
        ground: &Ground,
        mut made: Made,
        began: Timestamp,
    ) -> Result<Option<Probed>, StoreError> {
        // A store that does not answer any more is no reason to lose what was measured.
        let costs = self.costs(wish.workspace, &claim.budget()).unwrap_or_default();
        let cost = costs.iter().map(|(_, _, usd)| *usd).sum();
        if let Some(measured) = &mut made.measured {
            measured.costs = costs.into_iter().map(on_the_wire).collect();
        }
        let event = made.event((self.clock)(), cost);
        if event.repeats(&ground.past) {
            claim.cancel()?;
            let report = made.report(&event, ground.cap);
            return Ok(Some(Probed { event, report, kept: Kept::No }));
        }
        let mut past = ground.past.clone();
        past.push(event.clone());
        let mut report = made.report(&event, ground.cap);
        report.run_id = Some(claim.run_id());
        report.next_run = next_run(&past, event.at);
        let (was_heard, kept) = match claim.finish(&report, began) {
            Ok(was_heard) => (was_heard, Kept::Yes),
            Err(error) => (true, Kept::Failed(chain(&error))),
        };
        if !was_heard {
            return Ok(None);
        }
        let written = audit::append(&self.audit_dir, wish.workspace, &event);
        let kept = match (kept, written) {
            (Kept::Yes, Err(error)) => {
                Kept::Failed(format!("{}: {error}", self.audit_dir.display()))
            }
            (kept, _) => kept,
        };
        Ok(Some(Probed { event, report, kept }))
    }

    /// A run from a cassette alone.
    fn rehearsed(&self, wish: Wish<'_>, now: Timestamp) -> Result<Option<Probed>, StoreError> {
        let config = self.store.config_list(wish.workspace)?.into_iter().collect();
        let cap = wish.max_usd.unwrap_or_else(|| amount(&config, PROBE_MAX_USD));
        let means = Means {
            probes: self,
            workspace: wish.workspace,
            config: &config,
            budget: None,
            halt: wish.stop.clone(),
            progress: wish.progress,
        };
        let made = Made::of(&means, cap, wish.tape, now);
        if wish.stop.load(std::sync::atomic::Ordering::Acquire) && !made.is_whole() {
            return Ok(None);
        }
        let event = made.event((self.clock)(), Usd::ZERO);
        let report = made.report(&event, cap);
        Ok(Some(Probed { event, report, kept: Kept::No }))
    }

    fn ground(&self, wish: &Wish<'_>, now: Timestamp) -> Result<Ground, StoreError> {
        let store = self.store.as_ref();
        let config: BTreeMap<String, String> =
            store.config_list(wish.workspace)?.into_iter().collect();
        let past = past::recent(store, wish.workspace, Some(&self.audit_dir), now)?;
        let decision = match wish.window {
            Window::Kept => decide(past::switch(&config), &past, now, self.embedder()),
            Window::Ignored => decide(Switch::On, &[], now, self.embedder()),
        };
        let cap = wish.max_usd.unwrap_or_else(|| amount(&config, PROBE_MAX_USD));
        Ok(Ground { config, past, decision, cap })
    }

    fn embedder(&self) -> Embedder {
        let Embedding::Remote { model, .. } = &self.embedding else { return Embedder::Local };
        match self.desk.asker().ready(model) {
            Err(error) if error.kind == AskErrorKind::NoKey => Embedder::RemoteWithoutKey,
            _ => Embedder::Remote,
        }
    }

    /// What each model is charged at in a budget, and for how many calls.
    fn costs(&self, ws: &WorkspaceId, budget: &str) -> Result<Vec<(String, u64, Usd)>, StoreError> {
        let mut models: BTreeMap<String, (u64, Usd)> = BTreeMap::new();
        for charge in self.store.charges(ws, budget)? {
            let (calls, usd) = models.entry(charge.model).or_default();
            *calls += 1;
            *usd = *usd + charge.actual.unwrap_or(charge.worst);
        }
        Ok(models.into_iter().map(|(model, (calls, usd))| (model, calls, usd)).collect())
    }
}

impl Ground {
    /// Why there is no run, if that is nothing to keep.
    fn refused(&self, now: Timestamp) -> Option<Probed> {
        let Decision::Not(outcome) = self.decision else { return None };
        if is_recorded(outcome, &self.past, now) {
            return None;
        }
        let last = self.past.iter().max_by_key(|event| event.at);
        let detail = match (outcome, last) {
            (ProbeOutcome::Disabled, _) => Some("it is off".to_owned()),
            (ProbeOutcome::RateLimited, Some(last)) => {
                Some(format!("it ran at {:.0}: {}", last.at, last.outcome))
            }
            _ => None,
        };
        let event = Event::bare(now, outcome, detail);
        Some(Probed::unkept(event, self.cap, next_run(&self.past, now)))
    }

    /// Another process has the claim.
    fn busy(&self, now: Timestamp) -> Probed {
        let detail = Some("another process is running it now: gbrain jobs list".to_owned());
        Probed::unkept(Event::bare(now, ProbeOutcome::RateLimited, detail), self.cap, None)
    }
}

impl Probed {
    fn unkept(event: Event, cap: Usd, next_run: Option<String>) -> Self {
        let report = ProbeReport::bare(ProbeEvent::from(&event), cap.as_f64());
        Self { event, report: ProbeReport { next_run, ..report }, kept: Kept::No }
    }
}

fn no_key(embedding: &Embedding) -> Option<String> {
    match embedding {
        Embedding::Own(_) => None,
        Embedding::Remote { model, .. } => Some(format!("there is no key to embed with {model}")),
    }
}

fn on_the_wire((model, calls, usd): (String, u64, Usd)) -> ProbeCost {
    ProbeCost { model, calls, usd: usd.as_f64() }
}

fn next_run(past: &[Event], now: Timestamp) -> Option<String> {
    due(past, now).map(|at| format!("{at:.0}"))
}
