//! One run, from the queries to the record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::format::suite::{SuiteRunBody, SuiteRunParts, SuiteSummary};
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::case::{AskedWhy, CaseResult, judge};
use gbrain_core::suite::graph::Facts;
use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::suite::report::{Ended, Reason, Report, report};
use gbrain_core::suite::sample::draw;
use gbrain_core::suite::size::{SampleSize, sample_size};
use gbrain_core::suite::{Kind, Sample, Suite};
use gbrain_store::{Lease, NewSuiteRun, Store, StoreError};
use jiff::Timestamp;

use super::ask::{Asked, Asking};
use super::log::RunLog;
use super::past;
use super::queries::{AllQueries, all_queries};
use super::relevance::{Relevance, Scorer, rescore};
use crate::retriever::Retriever;

/// What a run is made with: the effects, as arguments.
pub struct SuiteMeans<'a> {
    /// Where queries are, and where the run is kept.
    pub store: &'a Store,
    /// Whose.
    pub workspace: &'a WorkspaceId,
    /// Who is asked.
    pub target: &'a dyn Retriever,
    /// Whether that is somebody else than the suite's own target.
    pub elsewhere: bool,
    /// What is known of edges.
    pub facts: &'a Facts<'a>,
    /// Who scores borderline pairs; none where no reranker is set.
    pub scorer: Option<Scorer<'a>>,
    /// What is taken out of texts that are kept.
    pub scrubber: &'a Scrubber,
    /// Set when it is to stop.
    pub stop: &'a AtomicBool,
    /// Told how many questions are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// The time.
    pub clock: fn() -> Timestamp,
}

/// Why a run takes place.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// What names the run, once in its suite.
    pub key: &'a str,
    /// What started it: `manual`, `ci`, `cron:...`, `event:...`.
    pub trigger: &'a str,
    /// A reason for doubt that is known before it begins, with a word about it.
    pub doubt: Option<(Reason, &'a str)>,
}

/// What was found out, before it is added up.
struct Found<'q> {
    asked: Vec<Asked<'q>>,
    cases: Vec<CaseResult>,
    ended: Ended,
    relevance: Option<Relevance>,
    /// Queries that were to be asked.
    planned: usize,
    /// How large the sample is.
    sample: SampleSize,
    /// Numbers of queries that can't be read.
    unreadable: Vec<i64>,
}

/// Runs a suite. What was asked is logged; the run itself is recorded by whoever asked for it
/// ([`record`], [`recorded`]).
pub fn run(
    means: &SuiteMeans<'_>,
    suite: &Suite,
    occasion: &Occasion<'_>,
) -> Result<SuiteRunBody, StoreError> {
    let started = (means.clock)();
    let until = Instant::now() + Duration::try_from(suite.max_duration).unwrap_or_default();
    let AllQueries { read, unreadable } = all_queries(means.store, means.workspace)?;
    let all = read.iter().map(|one| &one.query);
    let fit: Vec<&CanonicalQuery> = all.filter(|query| is_asked(suite, query)).collect();
    let drawn = draw(&fit, &suite.sample, suite.seed);
    let relevance = match suite.kind {
        Kind::RerankCalibration => {
            let (Sample::Total(pairs) | Sample::PerSource { count: pairs, .. }) = &suite.sample;
            let is_over = || Instant::now() >= until || means.stop.load(Ordering::Acquire);
            let scorer = means.scorer.as_ref();
            Some(rescore(means.store, means.workspace, scorer, *pairs, &is_over)?)
        }
        _ => None,
    };
    let asking = Asking {
        suite,
        target: means.target,
        until,
        stop: means.stop,
        progress: means.progress,
        clock: means.clock,
    };
    // Pairs may be all that there is to ask.
    let was_stopped = relevance.is_some() && means.stop.load(Ordering::Acquire);
    let (asked, ended) = asking.all(&drawn);
    let ended = if was_stopped { Ended::Cancelled } else { ended };
    let why = if suite.kind == Kind::GraphQa { AskedWhy::Yes } else { AskedWhy::No };
    let is_timed = !means.target.info().capabilities.is_saved;
    let judged = asked.iter().map(|one| {
        let mut case = judge(one.query, why, &one.answer, means.facts);
        let is_told = one.answer.as_ref().is_ok_and(|answer| answer.timings.total_ms.is_some());
        // What was saved long ago took no time now.
        case.total_ms = case.total_ms.filter(|_| is_timed || is_told);
        case
    });
    let cases = judged.collect();
    let pairs = relevance.as_ref().map_or(0, |one| one.scores.len());
    let sample = sample_size(suite, &fit, &drawn, pairs);
    let planned = drawn.len();
    let found = Found { asked, cases, ended, relevance, planned, sample, unreadable };
    // A run that was called off begins again, and has logs of its own.
    if found.ended != Ended::Cancelled {
        keep_logs(means, suite, occasion, &found, started)?;
    }
    told(means, suite, occasion, found, started)
}

/// Whether a suite may ask a query: graph QA those about links, the others all of their own.
fn is_asked(suite: &Suite, query: &CanonicalQuery) -> bool {
    query.is_for(&suite.name) && (suite.kind != Kind::GraphQa || query.family.is_some())
}

fn keep_logs(
    means: &SuiteMeans<'_>,
    suite: &Suite,
    occasion: &Occasion<'_>,
    found: &Found<'_>,
    started: Timestamp,
) -> Result<(), StoreError> {
    let (key, target, scrubber) = (occasion.key, means.target.info().name.as_str(), means.scrubber);
    let log = RunLog { suite, key, target, scrubber };
    let asked = found.asked.iter().zip(&found.cases).map(|(asked, case)| log.of_case(asked, case));
    let pairs = found.relevance.iter().flat_map(|one| &one.scores);
    let scored = pairs.map(|(pair, score)| log.of_pair(&pair.query, pair.id, *score, started));
    let logs: Vec<_> = asked.chain(scored).collect();
    log.keep(means.store, means.workspace, &logs, (means.clock)())
}

fn told(
    means: &SuiteMeans<'_>,
    suite: &Suite,
    occasion: &Occasion<'_>,
    found: Found<'_>,
    started: Timestamp,
) -> Result<SuiteRunBody, StoreError> {
    let Found { asked, cases, ended, relevance, planned, sample, unreadable } = found;
    let value = relevance.as_ref().and_then(|one| one.value);
    let unasked = without_queries(suite, &sample);
    let mut report = report(cases, (planned, sample), ended, &suite.thresholds, value);
    let mut notes = Vec::new();
    if let Some((reason, note)) = occasion.doubt {
        report.doubt(reason);
        notes.push(note.to_owned());
    }
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
    let threshold = asked.iter().filter_map(|one| one.answer.as_ref().ok()?.threshold).next_back();
    let mut parts = SuiteRunParts {
        suite,
        workspace: means.workspace.as_str(),
        key: occasion.key,
        trigger: occasion.trigger,
        started,
        finished: (means.clock)(),
        rerank_threshold: threshold,
        report: &report,
        notes: &notes,
        recalibrate: &[],
    };
    let elsewhere = means.elsewhere;
    let body = SuiteRunBody { elsewhere, ..SuiteRunBody::new(&parts) };
    if suite.kind != Kind::WeeklyBenchmark {
        return Ok(body);
    }
    let falls = past::falls(means.store, means.workspace, suite, &body)?;
    parts.recalibrate = &falls;
    Ok(SuiteRunBody { elsewhere, ..SuiteRunBody::new(&parts) })
}

/// Sources that a suite names and that nothing is asked about.
fn without_queries<'s>(suite: &'s Suite, sample: &SampleSize) -> Vec<&'s str> {
    let Sample::PerSource { sources, .. } = &suite.sample else { return Vec::new() };
    let is_empty = |source: &&String| {
        sample.short.iter().any(|one| one.drawn == 0 && one.source.as_ref() == Some(*source))
    };
    sources.iter().filter(is_empty).map(String::as_str).collect()
}

/// The run of a suite that could not even begin.
pub fn broken(
    suite: &Suite,
    workspace: &WorkspaceId,
    occasion: &Occasion<'_>,
    (reason, why): (Reason, &str),
    now: Timestamp,
) -> SuiteRunBody {
    let report = Report::unmade(reason);
    SuiteRunBody::new(&SuiteRunParts {
        suite,
        workspace: workspace.as_str(),
        key: occasion.key,
        trigger: occasion.trigger,
        started: now,
        finished: now,
        rerank_threshold: None,
        report: &report,
        notes: &[why.to_owned()],
        recalibrate: &[],
    })
}

/// Records a run that is no job; its number. None if its key is recorded already.
pub fn record(
    store: &Store,
    workspace: &WorkspaceId,
    body: &SuiteRunBody,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    store.add_suite_run(workspace, &kept(body, now), now)
}

/// Records the run that a job was, and ends the job, both or neither; none for a worker that lost it.
pub fn recorded(
    store: &Store,
    workspace: &WorkspaceId,
    job: i64,
    lease: &Lease,
    body: &SuiteRunBody,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let result = |id: i64| serde_json::json!({ "run_id": id, "verdict": body.verdict }).to_string();
    store.finish_suite_run(workspace, job, lease, &kept(body, now), &result, now)
}

fn kept(body: &SuiteRunBody, now: Timestamp) -> NewSuiteRun {
    NewSuiteRun {
        suite: body.suite.clone(),
        key: Some(body.key.clone()),
        trigger: body.trigger.clone(),
        started_at: body.started_at.parse().unwrap_or(now),
        verdict: body.verdict,
        summary: super::json(&SuiteSummary::from(body)),
        report: super::json(body),
    }
}
