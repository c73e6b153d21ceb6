//! Numbers: what was asked, how long it took, what failed, what waits.
//!
//! Every workspace has a set of its own, so a scrape that may see one workspace is made from that
//! set and the process's and from nothing else. Label values are words of the program
//! (`&'static str`) and every family has a bound, so neither slugs nor queries nor tokens can
//! become series; suites and their segments, which owners name, are read from the store for a scrape, and
//! are bounded there. Observing takes no lock that a scrape holds for long and allocates nothing
//! after the first time a series is seen.
//!
//! Deliberately absent: the clock. Durations and times are arguments.

mod process;
mod scrape;
mod series;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use gbrain_core::alert::metrics::Reading;
use gbrain_core::capture::FailureReason;
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::named;
use gbrain_core::provenance::Software;
use gbrain_core::ranking::Degraded;
use gbrain_core::ranking::StageTime;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use series::Series;

/// The content type of what [`Metrics::render`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many workspaces have series. Those beyond are counted nowhere: they would cost memory in
/// the server and in whoever scrapes it.
pub const MAX_WORKSPACES: usize = 1_024;

/// Upper bounds of requests, in seconds.
const REQUEST_BOUNDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];
/// Upper bounds of stages, in seconds.
const STAGE_BOUNDS: [f64; 13] = [
    0.000_01, 0.000_025, 0.000_05, 0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05,
    0.25, 1.0,
];

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    Ok,
    /// Not done, for a reason of the caller: bad input, no access, too much at once.
    Refused,
    /// Not done, for a reason of ours.
    Fault,
}

named! { Outcome { Ok = "ok", Refused = "refused", Fault = "fault" } }

/// What a scrape may see besides the process's own series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visible<'a> {
    One(&'a WorkspaceId),
    All,
}

impl Visible<'_> {
    /// Whether a workspace may be seen.
    pub fn includes(self, workspace: &WorkspaceId) -> bool {
        match self {
            Self::One(one) => one == workspace,
            Self::All => true,
        }
    }
}

/// How many jobs of a workspace are in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    pub workspace: WorkspaceId,
    pub state: &'static str,
    pub count: u64,
}

/// What is looked up when somebody scrapes, because nobody counts it on the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    pub connections: u64,
    /// How many requests wait in each lane.
    pub queue_depth: Vec<(&'static str, u64)>,
    /// Jobs by state. Those of a workspace that may not be seen are left out of the scrape.
    pub jobs: Vec<JobCount>,
    /// Spans that were dropped since the start.
    pub spans_dropped: u64,
    /// Suites and alerts. Those of a workspace that may not be seen are left out of the scrape.
    pub suites: Vec<Reading>,
}

type Reader = Box<dyn Fn(Visible<'_>) -> Readings + Send + Sync>;

/// The numbers of a process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    process: Arc<ProcessMetrics>,
    workspaces: RwLock<BTreeMap<WorkspaceId, Arc<WorkspaceMetrics>>>,
    /// Where workspaces beyond the bound count, unseen.
    beyond: Arc<WorkspaceMetrics>,
    reader: OnceLock<Reader>,
}

/// What is true of the process and of no workspace.
#[derive(Debug)]
struct ProcessMetrics {
    software: Software,
    started: SystemTime,
    refused: Series<Counter, 1>,
}

/// The numbers of one workspace.
#[derive(Debug)]
pub struct WorkspaceMetrics {
    requests: Series<Histogram, 2>,
    stages: Series<Histogram, 1>,
    degraded: Series<Counter, 2>,
    captures: Series<Counter, 0>,
    capture_failures: Series<Counter, 1>,
    verdicts: Series<Counter, 2>,
    jobs: Series<Counter, 2>,
    run_last: Series<Gauge<i64>, 1>,
    run_rows: Series<Gauge<i64>, 1>,
}

impl Metrics {
    /// Nothing counted yet, by a program that started then.
    pub fn new(software: Software, started: SystemTime) -> Self {
        let process = ProcessMetrics { software, started, refused: Series::new(32) };
        Self {
            inner: Arc::new(Inner {
                process: Arc::new(process),
                workspaces: RwLock::default(),
                beyond: Arc::new(WorkspaceMetrics::new()),
                reader: OnceLock::new(),
            }),
        }
    }

    /// The numbers of a workspace. Who counts often keeps them instead of asking again.
    pub fn workspace(&self, workspace: &WorkspaceId) -> Arc<WorkspaceMetrics> {
        let held = self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = held.get(workspace) {
            return metrics.clone();
        }
        drop(held);
        let mut held = self.inner.workspaces.write().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= MAX_WORKSPACES && !held.contains_key(workspace) {
            return self.inner.beyond.clone();
        }
        let new = || Arc::new(WorkspaceMetrics::new());
        held.entry(workspace.clone()).or_insert_with(new).clone()
    }

    /// Counts a request that was turned away before anybody knew whose it is.
    pub fn refused(&self, reason: &'static str) {
        self.inner.process.refused.at([reason]).inc();
    }

    /// Says how to look up what is only looked up. The first that is given stays.
    pub fn read_with(&self, read: impl Fn(Visible<'_>) -> Readings + Send + Sync + 'static) {
        // A second reader is a mistake of the program that costs nothing but its readings.
        let _ = self.inner.reader.set(Box::new(read));
    }

    /// Everything that may be seen, as OpenMetrics text.
    pub fn render(&self, visible: Visible<'_>) -> String {
        let mut readings = self.inner.reader.get().map_or_else(Readings::default, |r| r(visible));
        readings.jobs.retain(|job| visible.includes(&job.workspace));
        readings.suites.retain(|one| match visible {
            Visible::One(own) => own.as_str() == one.workspace,
            Visible::All => true,
        });
        scrape::render(self.visible(visible), self.inner.process.clone(), readings)
    }

    fn visible(&self, visible: Visible<'_>) -> Vec<(WorkspaceId, Arc<WorkspaceMetrics>)> {
        let held = self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        let seen = held.iter().filter(|(workspace, _)| visible.includes(workspace));
        seen.map(|(workspace, metrics)| (workspace.clone(), metrics.clone())).collect()
    }
}

impl WorkspaceMetrics {
    fn new() -> Self {
        let metrics = Self {
            requests: Series::with(128, || Histogram::new(REQUEST_BOUNDS)),
            stages: Series::with(32, || Histogram::new(STAGE_BOUNDS)),
            degraded: Series::new(64),
            captures: Series::new(1),
            capture_failures: Series::new(16),
            verdicts: Series::new(64),
            jobs: Series::new(64),
            run_last: Series::new(32),
            run_rows: Series::new(32),
        };
        // Series that are there at zero make the first failure a rise that an alert can see.
        metrics.captured(0);
        for reason in FailureReason::ALL {
            metrics.capture_failed(*reason, 0);
        }
        metrics
    }

    /// Counts a request that was carried out or turned away.
    pub fn request(&self, operation: &'static str, outcome: Outcome, took: Duration) {
        self.requests.at([operation, outcome.name()]).observe(took.as_secs_f64());
    }

    /// Counts the stages of an answer, and those that could not do their work.
    pub fn served(&self, timings: &[StageTime], degraded: &[Degraded]) {
        for StageTime { stage, micros } in timings {
            self.stages.at([stage]).observe(*micros as f64 / 1e6);
        }
        for Degraded { stage, reason } in degraded {
            self.degraded.at([stage, reason]).inc();
        }
    }

    /// Counts captures that were stored.
    pub fn captured(&self, rows: u64) {
        self.captures.at([]).inc_by(rows);
    }

    /// Counts captures that were not.
    pub fn capture_failed(&self, reason: FailureReason, times: u64) {
        self.capture_failures.at([reason.name()]).inc_by(times);
    }

    /// Counts the verdict of a run.
    pub fn verdict(&self, kind: &'static str, verdict: Verdict) {
        self.verdicts.at([kind, verdict.name()]).inc();
    }

    /// Counts a job that came to a state.
    pub fn job(&self, kind: &'static str, state: &'static str) {
        self.jobs.at([kind, state]).inc();
    }

    /// Notes the last run of a kind: when it ended and how many rows it had, so that a run that
    /// no longer comes, or comes empty, can be seen. An older one than is known changes nothing.
    pub fn run_finished(&self, kind: &'static str, rows: u64, at: SystemTime) {
        let at = scrape::unix_seconds(at);
        let last = self.run_last.at([kind]);
        if at >= last.get() {
            last.set(at);
            self.run_rows.at([kind]).set(i64::try_from(rows).unwrap_or(i64::MAX));
        }
    }
}
