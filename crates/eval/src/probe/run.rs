//! Runs the probe once: decides, claims, measures, stores the result and appends it to the audit
//! file.

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
    Embedder, Event, ProbeDecision, ProbeOutcome, ProbeSwitch, decide, due, is_recorded,
};
use gbrain_llm::{Cassette, CassetteMode, ModelCallErrorKind, usd_setting};
use gbrain_store::{Budget, StoreError};
use jiff::Timestamp;

use super::attempt::ProbeAttempt;
use super::claim::{Claim, StopCause};
use super::measure::ProbeContext;
use super::{EmbeddingSource, Probes, audit, history};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeInitiator {
    /// A person at a terminal; an interrupt cancels the run.
    CommandLine,
    /// A scheduler. When it shuts down, another process continues the run.
    Autopilot,
}

named! { ProbeInitiator { CommandLine = "command line", Autopilot = "autopilot" } }

/// Whether the switch and the 24-hour window are respected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleCheck {
    /// A run starts only if the probe is enabled and due.
    Enforced,
    /// A run starts in any case. The budget still holds.
    Ignored,
}

pub struct ProbeRequest<'a> {
    pub workspace: &'a WorkspaceId,
    pub initiator: ProbeInitiator,
    /// Whether the switch and the 24-hour window are respected.
    pub schedule: ScheduleCheck,
    /// The cost cap; `None` for the one in the settings.
    pub max_usd: Option<Usd>,
    /// The cassette to record to or replay. A run that only replays needs no claim and is not
    /// stored.
    pub cassette: Option<Cassette>,
    pub stop: Arc<AtomicBool>,
    /// Progress callback: stage, done and total.
    pub progress: &'a (dyn Fn(&'static str, u64, u64) + Sync),
}

#[derive(Debug)]
pub struct ProbeResult {
    pub event: Event,
    pub report: ProbeReport,
    pub storage: ProbeStorage,
}

/// Whether a run is in the store and in the audit file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeStorage {
    /// It is in both.
    Stored,
    NotStored,
    Failed(String),
}

/// The settings, history and decision before a run starts.
struct ProbePlan {
    config: BTreeMap<String, String>,
    past: Vec<Event>,
    decision: ProbeDecision,
    cap: Usd,
}

impl Probes {
    /// Runs the probe if it is allowed to; `None` if it was stopped early.
    pub fn run(&self, request: ProbeRequest<'_>) -> Option<ProbeResult> {
        let now = (self.clock)();
        let replays = |tape: &Cassette| tape.mode() == CassetteMode::ReplayOnly;
        let done = if request.cassette.as_ref().is_some_and(replays) {
            self.replay(request, now)
        } else {
            self.attempt_run(request, now)
        };
        done.unwrap_or_else(|error| {
            // The error is not stored: a stored one would delay the next attempt.
            let event = Event::bare(now, ProbeOutcome::Error, Some(chain(&error)));
            Some(ProbeResult::not_stored(event, Usd::ZERO, None))
        })
    }

    fn attempt_run(
        &self,
        mut request: ProbeRequest<'_>,
        now: Timestamp,
    ) -> Result<Option<ProbeResult>, StoreError> {
        let plan = self.plan(&request, now)?;
        if let Some(refused) = plan.refused(now) {
            return Ok(Some(refused));
        }
        let (store, worker) = (self.store.as_ref(), &self.worker);
        let claim =
            Claim::take(store, request.workspace, worker, request.initiator.name(), self.lease)?;
        let Some(claim) = claim else { return Ok(Some(plan.busy(now))) };
        // Another process may have finished a run in the meantime.
        let plan = self.plan(&request, now)?;
        if let Some(refused) = plan.refused(now) {
            claim.cancel()?;
            return Ok(Some(refused));
        }
        let halt = Arc::new(AtomicBool::new(false));
        let tape = request.cassette.take();
        let (attempt, halted) = claim.hold(&request.stop, &halt, || match plan.decision {
            ProbeDecision::Not(outcome) => ProbeAttempt::bare(outcome, no_key(&self.embedding)),
            ProbeDecision::Go => match claim.is_given_up() {
                Some(times) => ProbeAttempt::given_up(times),
                None => {
                    let progress = |note: &'static str, done: u64, total: u64| {
                        claim.set_progress(note, done, total);
                        (request.progress)(note, done, total);
                    };
                    let budget = Some(Budget { name: claim.budget(), cap: plan.cap });
                    let (workspace, config, halt) = (request.workspace, &plan.config, halt.clone());
                    let progress = &progress;
                    let context =
                        ProbeContext { probes: self, workspace, config, budget, halt, progress };
                    ProbeAttempt::of(&context, plan.cap, tape, now)
                }
            },
        });
        match halted {
            // A run that completed anyway is stored below, if the lease still holds.
            Some(StopCause::Stopped | StopCause::Cancelled) if !attempt.is_whole() => {
                let is_wanted = halted == Some(StopCause::Stopped)
                    && request.initiator == ProbeInitiator::Autopilot;
                if is_wanted {
                    claim.release()?
                } else {
                    claim.cancel()?
                };
                Ok(None)
            }
            _ => self.finish_run(&request, &claim, &plan, attempt, now),
        }
    }

    /// Stores a run and appends it to the audit file; `None` if the lease was lost.
    fn finish_run(
        &self,
        request: &ProbeRequest<'_>,
        claim: &Claim<'_>,
        plan: &ProbePlan,
        mut attempt: ProbeAttempt,
        began: Timestamp,
    ) -> Result<Option<ProbeResult>, StoreError> {
        // An unreachable store must not discard the measurement.
        let costs = self.costs(request.workspace, &claim.budget()).unwrap_or_default();
        let cost = costs.iter().map(|(_, _, usd)| *usd).sum();
        if let Some(measured) = &mut attempt.measured {
            measured.costs = costs.into_iter().map(wire_cost).collect();
        }
        let event = attempt.event((self.clock)(), cost);
        if event.repeats(&plan.past) {
            claim.cancel()?;
            let report = attempt.report(&event, plan.cap);
            return Ok(Some(ProbeResult { event, report, storage: ProbeStorage::NotStored }));
        }
        let mut past = plan.past.clone();
        past.push(event.clone());
        let mut report = attempt.report(&event, plan.cap);
        report.run_id = Some(claim.run_id());
        report.next_run = next_run(&past, event.at);
        let (is_ours, storage) = match claim.finish(&report, began) {
            Ok(is_ours) => (is_ours, ProbeStorage::Stored),
            Err(error) => (true, ProbeStorage::Failed(chain(&error))),
        };
        if !is_ours {
            return Ok(None);
        }
        let written = audit::append(&self.audit_dir, request.workspace, &event);
        let storage = match (storage, written) {
            (ProbeStorage::Stored, Err(error)) => {
                ProbeStorage::Failed(format!("{}: {error}", self.audit_dir.display()))
            }
            (storage, _) => storage,
        };
        Ok(Some(ProbeResult { event, report, storage }))
    }

    /// Runs from a cassette alone, without claim or storage.
    fn replay(
        &self,
        request: ProbeRequest<'_>,
        now: Timestamp,
    ) -> Result<Option<ProbeResult>, StoreError> {
        let config = self.store.config_list(request.workspace)?.into_iter().collect();
        let cap = request.max_usd.unwrap_or_else(|| usd_setting(&config, PROBE_MAX_USD));
        let context = ProbeContext {
            probes: self,
            workspace: request.workspace,
            config: &config,
            budget: None,
            halt: request.stop.clone(),
            progress: request.progress,
        };
        let attempt = ProbeAttempt::of(&context, cap, request.cassette, now);
        if request.stop.load(std::sync::atomic::Ordering::Acquire) && !attempt.is_whole() {
            return Ok(None);
        }
        let event = attempt.event((self.clock)(), Usd::ZERO);
        let report = attempt.report(&event, cap);
        Ok(Some(ProbeResult { event, report, storage: ProbeStorage::NotStored }))
    }

    fn plan(&self, request: &ProbeRequest<'_>, now: Timestamp) -> Result<ProbePlan, StoreError> {
        let store = self.store.as_ref();
        let config: BTreeMap<String, String> =
            store.config_list(request.workspace)?.into_iter().collect();
        let past = history::recent(store, request.workspace, Some(&self.audit_dir), now)?;
        let decision = match request.schedule {
            ScheduleCheck::Enforced => {
                decide(history::probe_switch(&config), &past, now, self.embedder())
            }
            ScheduleCheck::Ignored => decide(ProbeSwitch::On, &[], now, self.embedder()),
        };
        let cap = request.max_usd.unwrap_or_else(|| usd_setting(&config, PROBE_MAX_USD));
        Ok(ProbePlan { config, past, decision, cap })
    }

    fn embedder(&self) -> Embedder {
        let EmbeddingSource::Remote { model, .. } = &self.embedding else { return Embedder::Local };
        match self.catalog.client().ready(model) {
            Err(error) if error.kind == ModelCallErrorKind::NoKey => Embedder::RemoteWithoutKey,
            _ => Embedder::Remote,
        }
    }

    /// The charges of each model in a budget, and its number of calls.
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

impl ProbePlan {
    /// The result of a run that is refused without being recorded.
    fn refused(&self, now: Timestamp) -> Option<ProbeResult> {
        let ProbeDecision::Not(outcome) = self.decision else { return None };
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
        Some(ProbeResult::not_stored(event, self.cap, next_run(&self.past, now)))
    }

    /// The result if another process holds the claim.
    fn busy(&self, now: Timestamp) -> ProbeResult {
        let detail = Some("another process is running it now: gbrain jobs list".to_owned());
        ProbeResult::not_stored(Event::bare(now, ProbeOutcome::RateLimited, detail), self.cap, None)
    }
}

impl ProbeResult {
    fn not_stored(event: Event, cap: Usd, next_run: Option<String>) -> Self {
        let report = ProbeReport::bare(ProbeEvent::from(&event), cap.as_f64());
        Self { event, report: ProbeReport { next_run, ..report }, storage: ProbeStorage::NotStored }
    }
}

fn no_key(embedding: &EmbeddingSource) -> Option<String> {
    match embedding {
        EmbeddingSource::Own(_) => None,
        EmbeddingSource::Remote { model, .. } => {
            Some(format!("there is no key to embed with {model}"))
        }
    }
}

fn wire_cost((model, calls, usd): (String, u64, Usd)) -> ProbeCost {
    ProbeCost { model, calls, usd: usd.as_f64() }
}

fn next_run(past: &[Event], now: Timestamp) -> Option<String> {
    due(past, now).map(|at| format!("{at:.0}"))
}
