//! The brains behind one server: one store, and one query service per workspace, opened on first
//! use.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gbrain_brain::capture::{
    CaptureObserver, CaptureOptions, CaptureOutcome, DRAIN, DrainReport, QueryService,
};
use gbrain_brain::{Assistants, Brain, BrainError, IndexKind, WorkspaceOptions};
use gbrain_core::baseline::BaselineKey;
use gbrain_core::fault::{Fault, chain};
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::job::JobState;
use gbrain_core::scrub::Scrubber;
use gbrain_eval::probe::KIND;
use gbrain_eval::suite::TargetRegistry;
use gbrain_index::Models;
use gbrain_llm::ModelCatalog;
use gbrain_store::{JobFilter, Store};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::alerts::AlertTools;
use crate::jobs::{RUNS, SUITES};
use crate::operations::benchmarks::BenchmarkFolder;
use crate::rankings::RankingCache;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::traces::Tracer;

/// Most responses that are streamed at once.
const MAX_STREAMS: usize = 2;

/// Loads the models of a workspace; calls to remote models are charged to that workspace.
pub type ModelLoader =
    Arc<dyn Fn(&Arc<Store>, &WorkspaceId) -> Result<Models, BrainError> + Send + Sync>;

/// Options shared by all query services.
pub struct RegistryOptions {
    pub index_dir: PathBuf,
    pub models: ModelLoader,
    /// How requests are captured; `None` when capture is off.
    pub capture: Option<CaptureOptions>,
    pub metrics: Metrics,
    pub tracer: Tracer,
    pub suites: SuiteTools,
    pub baseline_key: Option<BaselineKey>,
    /// The folder of benchmark results, which need not exist.
    pub benchmarks: PathBuf,
    /// Lists the prompts of the folder that the server was started with.
    pub prompts: Option<PromptLister>,
}

/// Lists prompts as JSON objects.
pub type PromptLister = Arc<dyn Fn() -> Result<Vec<serde_json::Value>, Fault> + Send + Sync>;

/// Dependencies for running the suites of all workspaces.
#[derive(Clone)]
pub struct SuiteTools {
    pub targets: TargetRegistry,
    /// Scrubs texts before they are stored.
    pub scrubber: Scrubber,
    /// Root key of the identity hashes that distinguish scrubbed texts; each workspace derives its
    /// own key from it.
    pub identity: Option<IdentityKey>,
    /// Models that can score results.
    pub catalog: ModelCatalog,
    pub alerts: AlertTools,
}

pub struct WorkspaceRegistry {
    store: Arc<Store>,
    options: RegistryOptions,
    services: Mutex<HashMap<WorkspaceId, WorkspaceEntry>>,
    /// Assistant models, with the settings they were created from.
    assistants: Mutex<HashMap<WorkspaceId, CachedAssistants>>,
    closed: Mutex<DrainReport>,
    /// Permits for streamed responses.
    streams: Arc<Semaphore>,
    rankings: RankingCache,
    benchmarks: BenchmarkFolder,
}

type CachedAssistants = (BTreeMap<String, String>, Option<Arc<Assistants>>);

struct WorkspaceEntry {
    slot: Arc<WorkspaceSlot>,
    used: Instant,
}

/// The query service of a workspace, once it was opened.
#[derive(Default)]
struct WorkspaceSlot {
    service: OnceLock<Arc<QueryService>>,
    /// Locked while the service is opened: the error of the last attempt to open the index.
    opening: Mutex<Option<String>>,
}

impl WorkspaceEntry {
    fn open(&self) -> Option<Arc<QueryService>> {
        self.slot.service.get().cloned()
    }

    fn is_empty(&self) -> bool {
        self.slot.service.get().is_none_or(|service| Arc::strong_count(service) == 1)
    }
}

impl WorkspaceRegistry {
    pub fn new(store: Arc<Store>, mut options: RegistryOptions) -> Self {
        if let Some(capture) = &mut options.capture {
            capture.observer = Some(watch(options.metrics.clone()));
        }
        let benchmarks = BenchmarkFolder::new(options.benchmarks.clone());
        Self {
            store,
            options,
            benchmarks,
            services: Mutex::default(),
            assistants: Mutex::default(),
            closed: Mutex::default(),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            rankings: RankingCache::default(),
        }
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref()
    }

    pub fn share_store(&self) -> Arc<Store> {
        self.store.clone()
    }

    pub(crate) fn suites(&self) -> &SuiteTools {
        &self.options.suites
    }

    pub(crate) fn benchmarks(&self) -> &BenchmarkFolder {
        &self.benchmarks
    }

    pub(crate) fn prompts(&self) -> Option<&PromptLister> {
        self.options.prompts.as_ref()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.options.metrics
    }

    pub(crate) fn baseline_key(&self) -> Option<&BaselineKey> {
        self.options.baseline_key.as_ref()
    }

    pub(crate) fn tracer(&self) -> &Tracer {
        &self.options.tracer
    }

    /// A permit for a streamed response, which occupies a thread.
    pub(crate) fn try_acquire_stream(&self) -> Option<OwnedSemaphorePermit> {
        self.streams.clone().try_acquire_owned().ok()
    }

    /// Rankings of the labelling queue.
    pub(crate) fn rankings(&self) -> &RankingCache {
        &self.rankings
    }

    pub(crate) fn is_capturing(&self) -> bool {
        self.options.capture.is_some()
    }

    /// Reports the last runs from before this process started to the metrics, so that a missing run
    /// is noticed across restarts.
    pub fn restore_run_metrics(&self) {
        for workspace in self.store.workspaces().unwrap_or_default() {
            for kind in RUNS.iter().chain(SUITES).chain([&KIND]) {
                let kinds = vec![(*kind).to_owned()];
                let done = JobFilter { state: Some(JobState::Done), kinds, before: None };
                let last = self.store.jobs(&workspace.id, &done, 1).unwrap_or_default();
                let ended = last.first().and_then(|job| Some((job.total, job.finished_at?)));
                if let Some((rows, at)) = ended {
                    let metrics = self.options.metrics.workspace(&workspace.id);
                    metrics.run_finished(kind, rows.unwrap_or(0), at.into());
                }
            }
        }
    }

    /// The assistant models of a workspace. They are cached with their connections until its
    /// settings name others.
    pub(crate) fn assistants(
        &self,
        ws: &WorkspaceId,
        config: &BTreeMap<String, String>,
    ) -> Option<Arc<Assistants>> {
        let is_of_models = |key: &str| !key.starts_with("search.");
        let config: BTreeMap<String, String> = config
            .iter()
            .filter(|(key, _)| is_of_models(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let mut cache = self.assistants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((settings, assistants)) = cache.get(ws)
            && *settings == config
        {
            return assistants.clone();
        }
        let catalog = &self.options.suites.catalog;
        let assistants =
            Assistants::choose_for_callers(catalog, &self.store, ws, &config).map(Arc::new);
        cache.insert(ws.clone(), (config, assistants.clone()));
        assistants
    }

    /// The query service of a workspace, opened if necessary.
    pub fn query_service(&self, ws: &WorkspaceId) -> Result<Arc<QueryService>, BrainError> {
        // Opening is slow: only callers of the same workspace wait for it.
        let slot = self.slot(ws);
        let mut problem = slot.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = slot.service.get() {
            log_notice(service.brain());
            return Ok(service.clone());
        }
        let opened = self.open(ws);
        let is_of_index =
            |error: &&BrainError| matches!(error, BrainError::Index(_) | BrainError::Io { .. });
        *problem = opened.as_ref().err().filter(is_of_index).map(|error| chain(error));
        let service = opened?;
        Ok(slot.service.get_or_init(|| service).clone())
    }

    fn open(&self, ws: &WorkspaceId) -> Result<Arc<QueryService>, BrainError> {
        let options = WorkspaceOptions {
            index: IndexKind::Disk,
            index_dir: self.options.index_dir.clone(),
            workspace: ws.clone(),
            models: (self.options.models)(&self.store, ws)?,
        };
        let brain = Brain::with_store(self.store.clone(), options)?;
        log_notice(&brain);
        Ok(Arc::new(QueryService::new(Arc::new(brain), self.options.capture.clone())))
    }

    fn slot(&self, ws: &WorkspaceId) -> Arc<WorkspaceSlot> {
        let mut services = self.services();
        let used = Instant::now();
        let entry = services
            .entry(ws.clone())
            .or_insert_with(|| WorkspaceEntry { slot: Arc::default(), used });
        entry.used = used;
        entry.slot.clone()
    }

    /// Whether the index of any requested workspace cannot be opened, read, rebuilt or brought up
    /// to date. The problem is logged.
    pub(crate) fn has_index_problem(&self) -> bool {
        let entries = self.services();
        let slots: Vec<_> =
            entries.iter().map(|(ws, entry)| (ws.clone(), entry.slot.clone())).collect();
        drop(entries);
        let problems = slots.iter().filter_map(|(workspace, slot)| {
            let problem = match slot.service.get() {
                Some(service) => service.brain().index_problem(),
                None => self.opening_problem(workspace, slot),
            };
            problem.inspect(|problem| {
                tracing::warn!(%workspace, %problem, "not ready: index problem");
            })
        });
        problems.count() > 0
    }

    /// Retries to open a workspace whose index could not be opened; returns the problem that
    /// remains.
    fn opening_problem(&self, ws: &WorkspaceId, slot: &WorkspaceSlot) -> Option<String> {
        let problem = || slot.opening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        problem()?;
        match self.query_service(ws) {
            Ok(_) => None,
            Err(_) => problem(),
        }
    }

    /// Closes idle services that no caller holds, and stores their captures.
    pub fn close_idle(&self, idle: Duration) {
        let now = Instant::now();
        let old = |entry: &WorkspaceEntry| now.saturating_duration_since(entry.used) > idle;
        let idle_entries: Vec<WorkspaceEntry> = self
            .services()
            .extract_if(|_, entry| old(entry) && entry.is_empty())
            .map(|(_, entry)| entry)
            .collect();
        let services = idle_entries.iter().filter_map(WorkspaceEntry::open);
        self.count(&services.map(|service| service.close()).collect::<Vec<_>>());
    }

    /// Stops capturing and stores queued captures; callers are still answered.
    pub fn store_captures(&self) {
        self.end_captures(&self.open_services());
    }

    /// Closes all services, stores the remaining captures and reports what became of all captures.
    pub fn close(&self) -> DrainReport {
        let services = self.open_services();
        self.services().clear();
        self.count(&self.end_captures(&services));
        self.options.tracer.shutdown();
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all captures first, so that no service waits for another.
    fn end_captures(&self, services: &[Arc<QueryService>]) -> Vec<DrainReport> {
        for service in services {
            service.end_capture();
        }
        let until = Instant::now() + DRAIN;
        services.iter().map(|service| service.close_until(until)).collect()
    }

    fn open_services(&self) -> Vec<Arc<QueryService>> {
        self.services().values().filter_map(WorkspaceEntry::open).collect()
    }

    fn count(&self, drained: &[DrainReport]) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        for DrainReport { stored, failed, unfinished } in drained {
            closed.stored += stored;
            closed.failed += failed;
            closed.unfinished += unfinished;
        }
    }

    fn services(&self) -> MutexGuard<'_, HashMap<WorkspaceId, WorkspaceEntry>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An observer that counts capture outcomes.
fn watch(metrics: Metrics) -> CaptureObserver {
    CaptureObserver(Arc::new(move |ws, became| {
        let metrics = metrics.workspace(ws);
        match became {
            CaptureOutcome::Stored(rows) => metrics.captured(rows),
            CaptureOutcome::Failed(reason, times) => metrics.capture_failed(reason, times),
        }
    }))
}

/// Logs why an index was replaced.
fn log_notice(brain: &Brain) {
    if let Some(notice) = brain.take_index_notice() {
        tracing::warn!(workspace = %brain.workspace(), %notice, "a damaged index was replaced");
    }
}

#[cfg(test)]
impl WorkspaceRegistry {
    /// A registry on SQLite that captures nothing.
    pub(crate) fn in_dir(dir: &std::path::Path) -> Self {
        let location = gbrain_store::Location::Sqlite(dir.join("brain.db"));
        let mode = gbrain_store::OpenMode::Init;
        let store = gbrain_store::Store::open(&location, mode, jiff::Timestamp::now())
            .expect("a new database");
        let software = gbrain_brain::capture::software();
        let options = RegistryOptions {
            index_dir: dir.join("index"),
            models: Arc::new(|_, _| Ok(gbrain_brain::built_in_models())),
            capture: None,
            metrics: Metrics::new(software, std::time::SystemTime::now()),
            tracer: Tracer::off(),
            suites: crate::jobs::tests::tools(dir),
            baseline_key: None,
            benchmarks: dir.join("benchmarks"),
            prompts: None,
        };
        Self::new(store.into(), options)
    }
}
