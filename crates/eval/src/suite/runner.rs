//! Runs a suite job: opens the target, waits for the index, asks, judges and reports.
//!
//! [`SuiteRunner`] opens the target that a suite names; [`run`] uses an open target.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_brain::{Assistants, Brain, BrainError};
use gbrain_core::fault::{Fault, chain};
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::case::{CaseResult, RationaleRequirement, judge};
use gbrain_core::suite::graph::EdgeChecker;
use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::suite::report::{InconclusiveReason, RunEnd, SuiteReport, report};
use gbrain_core::suite::run::RunTrigger;
use gbrain_core::suite::sample::draw;
use gbrain_core::suite::size::{SampleSize, sample_size};
use gbrain_core::suite::{Sample, Suite, SuiteKind, SuiteRun};
use gbrain_core::target::{LOCAL, RationaleEdge};
use gbrain_llm::ModelCatalog;
use gbrain_store::{Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::batch::{QueryAnswer, QueryBatch};
use super::facts::{LocalEdgeChecker, unverifiable};
use super::history;
use super::log::RunLog;
use super::queries::{AllQueries, all_queries};
use super::relevance::{Relevance, Reranker, Scorer, rescore};
use super::scheduler::SuiteJob;
use super::targets::TargetRegistry;
use crate::retriever::Retriever;

/// The longest wait for the index, and the polling interval.
const INDEX_WAIT: Duration = Duration::from_secs(600);
const INDEX_POLL: Duration = Duration::from_millis(100);

/// The dependencies of a run.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Where queries are read and logs are written.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// Scrubs the texts that are logged.
    pub scrubber: &'a Scrubber,
    pub stop: &'a Arc<AtomicBool>,
    /// Progress callback: questions done and total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub clock: fn() -> Timestamp,
}

/// An open target with its checks.
pub struct RunTarget<'a> {
    pub retriever: &'a dyn Retriever,
    /// Whether it is not the suite's own target.
    pub ad_hoc: bool,
    /// Checks the edges in its rationales.
    pub facts: &'a EdgeChecker<'a>,
    /// Scores borderline pairs; `None` if no reranker is configured.
    pub scorer: Option<Scorer<'a>>,
}

/// Runs suites against the targets that they name.
pub struct SuiteRunner<'a> {
    pub context: RunContext<'a>,
    pub brain: &'a Brain,
    pub targets: &'a TargetRegistry,
    /// A target to ask instead of the suite's own.
    pub instead: Option<&'a str>,
    /// The owner's assisting models, if configured.
    pub assistants: Option<&'a Assistants>,
    /// Scores borderline pairs; `None` if no reranker is configured.
    pub reranker: Option<Reranker>,
}

impl<'a> SuiteRunner<'a> {
    /// A runner for the workspace of a brain, with the reranker in its settings.
    pub fn new(
        brain: &'a Brain,
        catalog: &ModelCatalog,
        targets: &'a TargetRegistry,
        scrubber: &'a Scrubber,
        stop: &'a Arc<AtomicBool>,
        progress: &'a (dyn Fn(usize, usize) + Sync),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Fault> {
        let (store, workspace) = (brain.store(), brain.workspace());
        let reranker =
            Reranker::of(catalog, &brain.share_store(), workspace, &brain.config()?, stop)?;
        let context = RunContext { store, workspace, scrubber, stop, progress, clock };
        Ok(Self { context, brain, targets, instead: None, assistants: None, reranker })
    }
}

impl SuiteRunner<'_> {
    /// Runs a suite as a job requests. A suite that cannot start gives a run with the reason.
    pub fn run(&self, suite: &Suite, order: &SuiteJob) -> Result<SuiteRun, StoreError> {
        let RunContext { store, workspace, stop, clock, .. } = self.context;
        let ad_hoc = self.instead.is_some_and(|target| target != suite.target);
        let target = self.instead.unwrap_or(&suite.target).to_owned();
        let suite = &Suite { target, ..suite.clone() };
        let trigger = order.trigger();
        let not_begun = |reason: InconclusiveReason, why: &str| {
            // A stopped run is reported as cancelled, even if something else failed too.
            let is_stopped = stop.load(Ordering::Acquire);
            let reason = if is_stopped { InconclusiveReason::Cancelled } else { reason };
            let run = not_run(suite, workspace, trigger, (reason, why), clock());
            Ok(SuiteRun { ad_hoc, ..run })
        };
        let is_local = suite.target == LOCAL;
        if is_local {
            match self.await_index(suite, order) {
                Ok(0) => (),
                Ok(changes) => {
                    let why =
                        format!("the index is {changes} changes behind what was to be measured");
                    return not_begun(InconclusiveReason::IndexBehind, &why);
                }
                Err(why) => return not_begun(InconclusiveReason::Broken, &why),
            }
        }
        let target = match self.targets.open(&suite.target, self.brain, self.assistants, stop) {
            Ok(target) => target,
            Err(error) => return not_begun(InconclusiveReason::Broken, &error.to_string()),
        };
        let today = clock().to_zoned(TimeZone::UTC).date();
        let checked = LocalEdgeChecker { store, workspace, today };
        let known = |edge: &RationaleEdge| checked.fact(edge);
        let score = |query: &str, texts: &[&str]| match &self.reranker {
            Some(reranker) => reranker.score(query, texts),
            None => Err("no reranker is set".to_owned()),
        };
        let target = RunTarget {
            retriever: target.as_ref(),
            ad_hoc,
            facts: if is_local { &known } else { &unverifiable },
            scorer: self.reranker.as_ref().map(|one| Scorer { model: one.name(), score: &score }),
        };
        run(&self.context, &target, suite, trigger)
    }

    /// Brings the index up to the generation of the job and of the store, or waits for the process
    /// that does, up to a limit. Returns the number of changes that are still missing.
    fn await_index(&self, suite: &Suite, order: &SuiteJob) -> Result<i64, String> {
        let RunContext { store, workspace, stop, .. } = self.context;
        let head = store.head(workspace).map_err(|error| chain(&error))?;
        let wanted = order.generation.unwrap_or_default().max(head.generation.0);
        let longest = Duration::try_from(suite.max_duration).unwrap_or_default();
        let until = Instant::now() + longest.min(INDEX_WAIT);
        let is_stopped = || stop.load(Ordering::Acquire);
        loop {
            let going =
                |_: i64, _: i64| if is_stopped() { Err(BrainError::Halted) } else { Ok(()) };
            let snapshot = self.brain.snapshot(&going).map_err(|error| chain(&error))?;
            let behind = (wanted - snapshot.corpus().generation).max(0);
            if behind == 0 || Instant::now() + INDEX_POLL >= until || is_stopped() {
                return Ok(behind);
            }
            std::thread::sleep(INDEX_POLL);
        }
    }
}

/// The answers of a run, before aggregation.
struct RunAnswers<'q> {
    answers: Vec<QueryAnswer<'q>>,
    cases: Vec<CaseResult>,
    ended: RunEnd,
    relevance: Option<Relevance>,
    /// The number of planned queries.
    planned: usize,
    sample: SampleSize,
    /// The numbers of unreadable queries.
    unreadable: Vec<i64>,
}

/// Runs a suite against an open target. The answers are logged; the caller records the run (`recorder`).
pub fn run(
    context: &RunContext<'_>,
    target: &RunTarget<'_>,
    suite: &Suite,
    trigger: RunTrigger<'_>,
) -> Result<SuiteRun, StoreError> {
    let RunContext { store, workspace, stop, progress, clock, .. } = *context;
    let started = clock();
    let until = Instant::now() + Duration::try_from(suite.max_duration).unwrap_or_default();
    let AllQueries { read, unreadable } = all_queries(store, workspace)?;
    let all = read.iter().map(|one| &one.query);
    let fit: Vec<&CanonicalQuery> = all.filter(|query| is_asked(suite, query)).collect();
    let drawn = draw(&fit, &suite.sample, suite.seed);
    let relevance = match suite.kind {
        SuiteKind::RerankCalibration => {
            let (Sample::Total(pairs) | Sample::PerSource { count: pairs, .. }) = &suite.sample;
            let is_over = || Instant::now() >= until || stop.load(Ordering::Acquire);
            Some(rescore(store, workspace, target.scorer.as_ref(), *pairs, &is_over)?)
        }
        _ => None,
    };
    // A suite may consist of pairs only.
    let was_stopped = relevance.is_some() && stop.load(Ordering::Acquire);
    let batch = QueryBatch { suite, target: target.retriever, until, stop, progress, clock };
    let (answers, ended) = batch.ask(&drawn);
    let ended = if was_stopped { RunEnd::Cancelled } else { ended };
    let cases = answers.iter().map(|one| case(suite, target, one)).collect();
    let pairs = relevance.as_ref().map_or(0, |one| one.scores.len());
    let sample = sample_size(suite, &fit, &drawn, pairs);
    let planned = drawn.len();
    let answers = RunAnswers { answers, cases, ended, relevance, planned, sample, unreadable };
    // A cancelled run is repeated and logs its own answers.
    if answers.ended != RunEnd::Cancelled {
        log_answers(context, target, suite, trigger, &answers, started)?;
    }
    add_up(context, target, suite, trigger, answers, started)
}

/// Whether a suite may ask a query: graph QA only those about links, other suites all of their own.
fn is_asked(suite: &Suite, query: &CanonicalQuery) -> bool {
    query.is_for(&suite.name) && (suite.kind != SuiteKind::GraphQa || query.family.is_some())
}

fn case(suite: &Suite, target: &RunTarget<'_>, one: &QueryAnswer<'_>) -> CaseResult {
    let why = if suite.kind == SuiteKind::GraphQa {
        RationaleRequirement::Yes
    } else {
        RationaleRequirement::No
    };
    let mut case = judge(one.query, why, &one.answer, target.facts);
    let is_told = one.answer.as_ref().is_ok_and(|answer| answer.timings.total_ms.is_some());
    // A saved answer has no latency.
    case.total_ms =
        case.total_ms.filter(|_| !target.retriever.info().capabilities.is_saved || is_told);
    case
}

fn log_answers(
    context: &RunContext<'_>,
    target: &RunTarget<'_>,
    suite: &Suite,
    trigger: RunTrigger<'_>,
    found: &RunAnswers<'_>,
    started: Timestamp,
) -> Result<(), StoreError> {
    let RunContext { store, workspace, scrubber, clock, .. } = *context;
    let log =
        RunLog { suite, key: trigger.key, target: target.retriever.info().name.as_str(), scrubber };
    let asked = found.answers.iter().zip(&found.cases).map(|(one, case)| log.of_case(one, case));
    let pairs = found.relevance.iter().flat_map(|one| &one.scores);
    let scored = pairs.map(|(pair, score)| log.of_pair(&pair.query, pair.id, *score, started));
    let logs: Vec<_> = asked.chain(scored).collect();
    log.store_once(store, workspace, &logs, clock())
}

fn add_up(
    context: &RunContext<'_>,
    target: &RunTarget<'_>,
    suite: &Suite,
    trigger: RunTrigger<'_>,
    found: RunAnswers<'_>,
    started: Timestamp,
) -> Result<SuiteRun, StoreError> {
    let RunContext { store, workspace, clock, .. } = *context;
    let RunAnswers { answers, cases, ended, relevance, planned, sample, unreadable } = found;
    let value = relevance.as_ref().and_then(|one| one.value);
    let unasked = without_queries(suite, &sample);
    let mut report = report(cases, (planned, sample), ended, &suite.thresholds, value);
    let mut notes = Vec::new();
    if let Some(Relevance { doubts, notes: said, .. }) = relevance {
        doubts.into_iter().for_each(|reason| report.add_inconclusive_reason(reason));
        notes.extend(said);
    }
    if !unreadable.is_empty() {
        report.add_inconclusive_reason(InconclusiveReason::Broken);
        let numbers: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        notes.push(format!("queries can't be read: {}", numbers.join(", ")));
    }
    for source in unasked {
        report.add_inconclusive_reason(InconclusiveReason::NoQueries);
        notes.push(format!("there are no queries about {source}"));
    }
    let mut thresholds = answers.iter().filter_map(|one| one.answer.as_ref().ok()?.threshold);
    let mut run = SuiteRun {
        ad_hoc: target.ad_hoc,
        rerank_threshold: thresholds.next_back(),
        notes,
        ..SuiteRun::new(suite, workspace.as_str(), trigger, (started, clock()), &report)
    };
    if suite.kind == SuiteKind::WeeklyBenchmark {
        run.recalibrate = history::falls(store, workspace, suite, &run)?;
    }
    Ok(run)
}

/// The sources of a suite without any query.
fn without_queries<'s>(suite: &'s Suite, sample: &SampleSize) -> Vec<&'s str> {
    let Sample::PerSource { sources, .. } = &suite.sample else { return Vec::new() };
    let is_empty = |source: &&String| {
        sample.short.iter().any(|one| one.drawn == 0 && one.source.as_ref() == Some(*source))
    };
    sources.iter().filter(is_empty).map(String::as_str).collect()
}

/// The run of a suite that could not start, with the reason.
pub fn not_run(
    suite: &Suite,
    workspace: &WorkspaceId,
    trigger: RunTrigger<'_>,
    (reason, why): (InconclusiveReason, &str),
    now: Timestamp,
) -> SuiteRun {
    let report = SuiteReport::not_started(reason);
    let run = SuiteRun::new(suite, workspace.as_str(), trigger, (now, now), &report);
    SuiteRun { notes: vec![why.to_owned()], ..run }
}
