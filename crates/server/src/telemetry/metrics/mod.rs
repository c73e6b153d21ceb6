//! Metrics: requests, latencies, failures and queue lengths.
//!
//! Every workspace has its own set, so a scrape for one workspace is built only from that set and
//! the process's. Label values are constants of the program (`&'static str`) and every family is
//! bounded, so slugs, queries and tokens cannot become series. Suites and segments, which owners
//! name, are read from the store at scrape time and bounded there. Recording takes no lock that a
//! scrape holds for long, and allocates only when a series is first used.
//!
//! Non-goals: reading the clock. Durations and times are arguments.

mod process;
mod scrape;
mod series;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use gbrain_core::alert::metrics::SuiteAlertMetrics;
use gbrain_core::capture::FailureReason;
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::named;
use gbrain_core::provenance::Software;
use gbrain_core::ranking::DegradedStage;
use gbrain_core::ranking::StageTime;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use series::Series;

/// Content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Most workspaces with series. Further ones are not counted, to limit memory here and in the
/// scraper.
pub const MAX_WORKSPACES: usize = 1_024;

/// Histogram bounds of requests, in seconds.
const REQUEST_BOUNDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];
/// Histogram bounds of stages, in seconds.
const STAGE_BOUNDS: [f64; 13] = [
    0.000_01, 0.000_025, 0.000_05, 0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05,
    0.25, 1.0,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestOutcome {
    Ok,
    /// Refused because of the caller: invalid input, no access, too many requests.
    Refused,
    /// Failed because of the server.
    Fault,
}

named! { RequestOutcome { Ok = "ok", Refused = "refused", Fault = "fault" } }

/// The workspaces that a scrape may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrapeScope<'a> {
    One(&'a WorkspaceId),
    All,
}

impl ScrapeScope<'_> {
    pub fn includes(self, workspace: &WorkspaceId) -> bool {
        match self {
            Self::One(one) => one == workspace,
            Self::All => true,
        }
    }
}

/// The number of jobs of a workspace in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    pub workspace: WorkspaceId,
    pub state: &'static str,
    pub count: u64,
}

/// Values that are read at scrape time instead of being counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricReadings {
    pub connections: u64,
    /// Requests waiting in each queue.
    pub queue_depth: Vec<(&'static str, u64)>,
    /// Jobs by state, without workspaces that the scrape may not see.
    pub jobs: Vec<JobCount>,
    /// Spans dropped since the start.
    pub spans_dropped: u64,
    /// Suites and alerts, without workspaces that the scrape may not see.
    pub suites: Vec<SuiteAlertMetrics>,
}

type ReadingsFn = Box<dyn Fn(ScrapeScope<'_>) -> MetricReadings + Send + Sync>;

/// The metrics of a process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<MetricsState>,
}

struct MetricsState {
    process: Arc<ProcessMetrics>,
    workspaces: RwLock<BTreeMap<WorkspaceId, Arc<WorkspaceMetrics>>>,
    /// Receives the counts of workspaces beyond the limit; never exported.
    beyond: Arc<WorkspaceMetrics>,
    reader: OnceLock<ReadingsFn>,
}

/// Metrics of the process, independent of workspaces.
#[derive(Debug)]
struct ProcessMetrics {
    software: Software,
    started: SystemTime,
    refused: Series<Counter, 1>,
}

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
    pub fn new(software: Software, started: SystemTime) -> Self {
        let process = ProcessMetrics { software, started, refused: Series::new(32) };
        Self {
            inner: Arc::new(MetricsState {
                process: Arc::new(process),
                workspaces: RwLock::default(),
                beyond: Arc::new(WorkspaceMetrics::new()),
                reader: OnceLock::new(),
            }),
        }
    }

    /// The metrics of a workspace. Frequent callers should keep them.
    pub fn workspace(&self, workspace: &WorkspaceId) -> Arc<WorkspaceMetrics> {
        let metrics_by_workspace =
            self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = metrics_by_workspace.get(workspace) {
            return metrics.clone();
        }
        drop(metrics_by_workspace);
        let mut metrics_by_workspace =
            self.inner.workspaces.write().unwrap_or_else(PoisonError::into_inner);
        if metrics_by_workspace.len() >= MAX_WORKSPACES
            && !metrics_by_workspace.contains_key(workspace)
        {
            return self.inner.beyond.clone();
        }
        let new = || Arc::new(WorkspaceMetrics::new());
        metrics_by_workspace.entry(workspace.clone()).or_insert_with(new).clone()
    }

    /// Counts a request that was refused before its workspace was known.
    pub fn refused(&self, reason: &'static str) {
        self.inner.process.refused.at([reason]).inc();
    }

    /// Sets the function that reads values at scrape time; only the first call counts.
    pub fn read_with(
        &self,
        read: impl Fn(ScrapeScope<'_>) -> MetricReadings + Send + Sync + 'static,
    ) {
        // A second call is a programming error without further consequences.
        let _ = self.inner.reader.set(Box::new(read));
    }

    /// All visible metrics as OpenMetrics text.
    pub fn render(&self, visible: ScrapeScope<'_>) -> String {
        let mut readings =
            self.inner.reader.get().map_or_else(MetricReadings::default, |r| r(visible));
        readings.jobs.retain(|job| visible.includes(&job.workspace));
        readings.suites.retain(|one| match visible {
            ScrapeScope::One(own) => own.as_str() == one.workspace,
            ScrapeScope::All => true,
        });
        scrape::render(self.visible(visible), self.inner.process.clone(), readings)
    }

    fn visible(&self, visible: ScrapeScope<'_>) -> Vec<(WorkspaceId, Arc<WorkspaceMetrics>)> {
        let metrics_by_workspace =
            self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        let visible_metrics =
            metrics_by_workspace.iter().filter(|(workspace, _)| visible.includes(workspace));
        visible_metrics.map(|(workspace, metrics)| (workspace.clone(), metrics.clone())).collect()
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
        // Exporting zeros makes the first failure an increase that an alert can detect.
        metrics.captured(0);
        for reason in FailureReason::ALL {
            metrics.capture_failed(*reason, 0);
        }
        metrics
    }

    /// Records a request that was processed or refused.
    pub fn request(&self, operation: &'static str, outcome: RequestOutcome, took: Duration) {
        self.requests.at([operation, outcome.name()]).observe(took.as_secs_f64());
    }

    /// Records the stage timings of an answer and its degraded stages.
    pub fn served(&self, timings: &[StageTime], degraded: &[DegradedStage]) {
        for StageTime { stage, micros } in timings {
            self.stages.at([stage]).observe(*micros as f64 / 1e6);
        }
        for DegradedStage { stage, reason } in degraded {
            self.degraded.at([stage, reason]).inc();
        }
    }

    pub fn captured(&self, rows: u64) {
        self.captures.at([]).inc_by(rows);
    }

    pub fn capture_failed(&self, reason: FailureReason, times: u64) {
        self.capture_failures.at([reason.name()]).inc_by(times);
    }

    pub fn verdict(&self, kind: &'static str, verdict: Verdict) {
        self.verdicts.at([kind, verdict.name()]).inc();
    }

    pub fn job(&self, kind: &'static str, state: &'static str) {
        self.jobs.at([kind, state]).inc();
    }

    /// Records the end time and row count of the last run of a kind, so that missing and empty runs
    /// can be detected. Older runs are ignored.
    pub fn run_finished(&self, kind: &'static str, rows: u64, at: SystemTime) {
        let at = scrape::unix_seconds(at);
        let last = self.run_last.at([kind]);
        if at >= last.get() {
            last.set(at);
            self.run_rows.at([kind]).set(i64::try_from(rows).unwrap_or(i64::MAX));
        }
    }
}
