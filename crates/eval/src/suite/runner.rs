//! A run of a suite, from its order to its report: open the target, wait for the index, ask, judge, add up.
//!
//! [`SuiteRunner`] is told which target a suite names and opens it; [`run`] asks a target that is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_brain::{Assistants, Brain, BrainError};
use gbrain_core::fault::{Fault, chain};
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::case::{AskedWhy, CaseResult, judge};
use gbrain_core::suite::graph::Facts;
use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::suite::report::{Ended, Reason, Report, report};
use gbrain_core::suite::run::RunTrigger;
use gbrain_core::suite::sample::draw;
use gbrain_core::suite::size::{SampleSize, sample_size};
use gbrain_core::suite::{Kind, Sample, Suite, SuiteRun};
use gbrain_core::target::{LOCAL, RationaleEdge};
use gbrain_llm::Desk;
use gbrain_store::{Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::batch::{QueryAnswer, QueryBatch};
use super::facts::{Checked, unverifiable};
use super::history;
use super::log::RunLog;
use super::queries::{AllQueries, all_queries};
use super::relevance::{Relevance, Reranker, Scorer, rescore};
use super::scheduler::SuiteJob;
use super::targets::TargetRegistry;
use crate::retriever::Retriever;

/// How long a run waits for the index at most, and how often it looks.
const INDEX_WAIT: Duration = Duration::from_secs(600);
const INDEX_POLL: Duration = Duration::from_millis(100);

/// What every run needs: the effects, as arguments.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Where queries are read and logs are written.
    pub store: &'a Store,
    /// The workspace of the suite.
    pub workspace: &'a WorkspaceId,
    /// Scrubs the texts that are logged.
    pub scrubber: &'a Scrubber,
    /// Set to stop the run.
    pub stop: &'a Arc<AtomicBool>,
    /// Called with the number of questions that are done, and of all.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub clock: fn() -> Timestamp,
}

/// A target that is open, and what is known of it.
pub struct RunTarget<'a> {
    pub retriever: &'a dyn Retriever,
    /// Whether it is another than the suite's own target.
    pub elsewhere: bool,
    /// Checks the edges that it gives as reasons.
    pub facts: &'a Facts<'a>,
    /// Scores borderline pairs; none where no reranker is set.
    pub scorer: Option<Scorer<'a>>,
}

/// Runs suites by the targets that they name.
pub struct SuiteRunner<'a> {
    /// What every run needs.
    pub context: RunContext<'a>,
    /// The brain of the workspace.
    pub brain: &'a Brain,
    /// Opens targets by name.
    pub targets: &'a TargetRegistry,
    /// A target to ask instead of the suite's own.
    pub instead: Option<&'a str>,
    /// Models that help the local brain, where the owner named some.
    pub assistants: Option<&'a Assistants>,
    /// Scores borderline pairs; none where no reranker is set.
    pub reranker: Option<Reranker>,
}

impl<'a> SuiteRunner<'a> {
    /// Runs suites of the workspace of a brain, with the reranker that its settings name.
    pub fn new(
        brain: &'a Brain,
        desk: &Desk,
        targets: &'a TargetRegistry,
        scrubber: &'a Scrubber,
        stop: &'a Arc<AtomicBool>,
        progress: &'a (dyn Fn(usize, usize) + Sync),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Fault> {
        let (store, workspace) = (brain.store(), brain.workspace());
        let reranker = Reranker::of(desk, &brain.share_store(), workspace, &brain.config()?, stop)?;
        let context = RunContext { store, workspace, scrubber, stop, progress, clock };
        Ok(Self { context, brain, targets, instead: None, assistants: None, reranker })
    }
}

impl SuiteRunner<'_> {
    /// Runs a suite as a job orders it. A suite that can't begin gives a run with the reason.
    pub fn run(&self, suite: &Suite, order: &SuiteJob) -> Result<SuiteRun, StoreError> {
        let RunContext { store, workspace, stop, clock, .. } = self.context;
        let elsewhere = self.instead.is_some_and(|target| target != suite.target);
        let target = self.instead.unwrap_or(&suite.target).to_owned();
        let suite = &Suite { target, ..suite.clone() };
        let trigger = order.trigger();
        let not_begun = |reason: Reason, why: &str| {
            // A run that was stopped did not begin because of that.
            let is_stopped = stop.load(Ordering::Acquire);
            let reason = if is_stopped { Reason::Cancelled } else { reason };
            let run = not_run(suite, workspace, trigger, (reason, why), clock());
            Ok(SuiteRun { elsewhere, ..run })
        };
        let is_local = suite.target == LOCAL;
        if is_local {
            match self.await_index(suite, order) {
                Ok(0) => (),
                Ok(changes) => {
                    let why =
                        format!("the index is {changes} changes behind what was to be measured");
                    return not_begun(Reason::IndexBehind, &why);
                }
                Err(why) => return not_begun(Reason::Broken, &why),
            }
        }
        let target = match self.targets.open(&suite.target, self.brain, self.assistants, stop) {
            Ok(target) => target,
            Err(error) => return not_begun(Reason::Broken, &error.to_string()),
        };
        let today = clock().to_zoned(TimeZone::UTC).date();
        let checked = Checked { store, workspace, today };
        let known = |edge: &RationaleEdge| checked.fact(edge);
        let score = |query: &str, texts: &[&str]| match &self.reranker {
            Some(reranker) => reranker.score(query, texts),
            None => Err("no reranker is set".to_owned()),
        };
        let target = RunTarget {
            retriever: target.as_ref(),
            elsewhere,
            facts: if is_local { &known } else { &unverifiable },
            scorer: self.reranker.as_ref().map(|one| Scorer { model: one.name(), score: &score }),
        };
        run(&self.context, &target, suite, trigger)
    }

    /// Brings the index up to what the order names and what is stored when the run begins, or waits for the process
    /// that does, but not for ever; how many changes it is behind then.
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

/// The answers of a run, before they are added up.
struct RunAnswers<'q> {
    answers: Vec<QueryAnswer<'q>>,
    cases: Vec<CaseResult>,
    ended: Ended,
    relevance: Option<Relevance>,
    /// Queries that were to be asked.
    planned: usize,
    sample: SampleSize,
    /// Numbers of queries that can't be read.
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
        Kind::RerankCalibration => {
            let (Sample::Total(pairs) | Sample::PerSource { count: pairs, .. }) = &suite.sample;
            let is_over = || Instant::now() >= until || stop.load(Ordering::Acquire);
            Some(rescore(store, workspace, target.scorer.as_ref(), *pairs, &is_over)?)
        }
        _ => None,
    };
    // Pairs may be all that there is to ask.
    let was_stopped = relevance.is_some() && stop.load(Ordering::Acquire);
    let batch = QueryBatch { suite, target: target.retriever, until, stop, progress, clock };
    let (answers, ended) = batch.ask(&drawn);
    let ended = if was_stopped { Ended::Cancelled } else { ended };
    let cases = answers.iter().map(|one| case(suite, target, one)).collect();
    let pairs = relevance.as_ref().map_or(0, |one| one.scores.len());
    let sample = sample_size(suite, &fit, &drawn, pairs);
    let planned = drawn.len();
    let answers = RunAnswers { answers, cases, ended, relevance, planned, sample, unreadable };
    // A run that was cancelled begins again, and has logs of its own.
    if answers.ended != Ended::Cancelled {
        log_answers(context, target, suite, trigger, &answers, started)?;
    }
    add_up(context, target, suite, trigger, answers, started)
}

/// Whether a suite may ask a query: graph QA those about links, the others all of their own.
fn is_asked(suite: &Suite, query: &CanonicalQuery) -> bool {
    query.is_for(&suite.name) && (suite.kind != Kind::GraphQa || query.family.is_some())
}

fn case(suite: &Suite, target: &RunTarget<'_>, one: &QueryAnswer<'_>) -> CaseResult {
    let why = if suite.kind == Kind::GraphQa { AskedWhy::Yes } else { AskedWhy::No };
    let mut case = judge(one.query, why, &one.answer, target.facts);
    let is_told = one.answer.as_ref().is_ok_and(|answer| answer.timings.total_ms.is_some());
    // A saved answer took no time now.
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
    log.keep(store, workspace, &logs, clock())
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
        doubts.into_iter().for_each(|reason| report.doubt(reason));
        notes.extend(said);
    }
    if !unreadable.is_empty() {
        report.doubt(Reason::Broken);
        let numbers: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        notes.push(format!("queries can't be read: {}", numbers.join(", ")));
    }
    for source in unasked {
        report.doubt(Reason::NoQueries);
        notes.push(format!("there are no queries about {source}"));
    }
    let mut thresholds = answers.iter().filter_map(|one| one.answer.as_ref().ok()?.threshold);
    let mut run = SuiteRun {
        elsewhere: target.elsewhere,
        rerank_threshold: thresholds.next_back(),
        notes,
        ..SuiteRun::new(suite, workspace.as_str(), trigger, (started, clock()), &report)
    };
    if suite.kind == Kind::WeeklyBenchmark {
        run.recalibrate = history::falls(store, workspace, suite, &run)?;
    }
    Ok(run)
}

/// Sources that a suite names and that nothing is asked about.
fn without_queries<'s>(suite: &'s Suite, sample: &SampleSize) -> Vec<&'s str> {
    let Sample::PerSource { sources, .. } = &suite.sample else { return Vec::new() };
    let is_empty = |source: &&String| {
        sample.short.iter().any(|one| one.drawn == 0 && one.source.as_ref() == Some(*source))
    };
    sources.iter().filter(is_empty).map(String::as_str).collect()
}

/// The run of a suite that could not begin, with the reason.
pub fn not_run(
    suite: &Suite,
    workspace: &WorkspaceId,
    trigger: RunTrigger<'_>,
    (reason, why): (Reason, &str),
    now: Timestamp,
) -> SuiteRun {
    let report = Report::unmade(reason);
    let run = SuiteRun::new(suite, workspace.as_str(), trigger, (now, now), &report);
    SuiteRun { notes: vec![why.to_owned()], ..run }
}
