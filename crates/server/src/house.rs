//! The brains behind one server: one store, one door per workspace, opened when somebody comes.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gbrain_brain::capture::{Became, CaptureOptions, DRAIN, Door, Drained, Watch};
use gbrain_brain::{Assistants, Brain, BrainError, IndexKind, WorkspaceOptions};
use gbrain_core::baseline::BaselineKey;
use gbrain_core::fault::chain;
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::job::JobState;
use gbrain_core::scrub::Scrubber;
use gbrain_eval::probe::KIND;
use gbrain_eval::suite::TargetRegistry;
use gbrain_index::Models;
use gbrain_llm::Desk;
use gbrain_store::{JobFilter, Store};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::alerts::AlertTools;
use crate::jobs::{RUNS, SUITES};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::traces::Tracer;

/// How many answers are read as they are sent, at most.
const STREAMS: usize = 2;

/// The models of a workspace of a store: one behind an address is paid by whom it works for.
pub type ModelsOf =
    Arc<dyn Fn(&Arc<Store>, &WorkspaceId) -> Result<Models, BrainError> + Send + Sync>;

/// What the doors of a house have in common.
pub struct HouseOptions {
    /// The directory that holds the indexes of all workspaces.
    pub index_dir: PathBuf,
    /// The models there are for vectors.
    pub models: ModelsOf,
    /// How requests are captured; none when capture is off.
    pub capture: Option<CaptureOptions>,
    /// Where things are counted.
    pub metrics: Metrics,
    pub tracer: Tracer,
    /// What suites are run with.
    pub suites: SuiteTools,
    /// The key that signs baselines, if there is one.
    pub baseline_key: Option<BaselineKey>,
}

/// What suites of all workspaces are run with.
#[derive(Clone)]
pub struct SuiteTools {
    /// Where targets are looked up.
    pub targets: TargetRegistry,
    /// What is taken out of texts that are kept.
    pub scrubber: Scrubber,
    /// Keeps apart what scrubbing makes the same; each workspace has a key of its own made from it.
    pub identity: Option<IdentityKey>,
    /// Who can be asked for scores.
    pub desk: Desk,
    /// What alerts are raised with.
    pub alerts: AlertTools,
}

/// All brains of one store.
pub struct House {
    store: Arc<Store>,
    options: HouseOptions,
    doors: Mutex<HashMap<WorkspaceId, Entry>>,
    /// Models that help, with the settings that they were made for.
    assistants: Mutex<HashMap<WorkspaceId, Helped>>,
    closed: Mutex<Drained>,
    /// Places for those whose answer is read as it is sent.
    streams: Arc<Semaphore>,
}

/// Settings that name models, and the models.
type Helped = (BTreeMap<String, String>, Option<Arc<Assistants>>);

struct Entry {
    place: Arc<Place>,
    used: Instant,
}

/// Where a door is, once it was opened.
#[derive(Default)]
struct Place {
    door: OnceLock<Arc<Door>>,
    /// Held by whoever opens it: why the index could not be opened the last time.
    opening: Mutex<Option<String>>,
}

impl Entry {
    fn open(&self) -> Option<Arc<Door>> {
        self.place.door.get().cloned()
    }

    fn is_empty(&self) -> bool {
        self.place.door.get().is_none_or(|door| Arc::strong_count(door) == 1)
    }
}

impl House {
    /// A house whose doors are all closed.
    pub fn new(store: Arc<Store>, mut options: HouseOptions) -> Self {
        if let Some(capture) = &mut options.capture {
            capture.watch = Some(watch(options.metrics.clone()));
        }
        Self {
            store,
            options,
            doors: Mutex::default(),
            assistants: Mutex::default(),
            closed: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }

    /// The store of all workspaces.
    pub fn store(&self) -> &Store {
        self.store.as_ref()
    }

    /// The store, to keep.
    pub fn share_store(&self) -> Arc<Store> {
        self.store.clone()
    }

    /// What suites are run with.
    pub(crate) fn suites(&self) -> &SuiteTools {
        &self.options.suites
    }

    /// Where things are counted.
    pub fn metrics(&self) -> &Metrics {
        &self.options.metrics
    }

    /// The key that signs baselines, if there is one.
    pub(crate) fn baseline_key(&self) -> Option<&BaselineKey> {
        self.options.baseline_key.as_ref()
    }

    pub(crate) fn tracer(&self) -> &Tracer {
        &self.options.tracer
    }

    /// A place for an answer that is read as it is sent: each has a thread of its own.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        self.streams.clone().try_acquire_owned().ok()
    }

    /// Whether requests are captured.
    pub(crate) fn is_capturing(&self) -> bool {
        self.options.capture.is_some()
    }

    /// Counts the last runs that ended before this process began, so that one that no longer comes
    /// is missed across restarts too.
    pub fn recall_runs(&self) {
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

    /// The models that help with a workspace's queries. They are kept, with their connections, for as long
    /// as its settings name the same ones.
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
        let mut kept = self.assistants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((settings, assistants)) = kept.get(ws)
            && *settings == config
        {
            return assistants.clone();
        }
        let desk = &self.options.suites.desk;
        let made = Assistants::choose_for_callers(desk, &self.store, ws, &config).map(Arc::new);
        kept.insert(ws.clone(), (config, made.clone()));
        made
    }

    /// The door of a workspace, opened if it is not.
    pub fn door(&self, ws: &WorkspaceId) -> Result<Arc<Door>, BrainError> {
        // Opening takes its time: only those who want the same workspace wait for it.
        let place = self.place(ws);
        let mut problem = place.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(door) = place.door.get() {
            log_notice(door.brain());
            return Ok(door.clone());
        }
        let opened = self.open(ws);
        let is_of_index =
            |error: &&BrainError| matches!(error, BrainError::Index(_) | BrainError::Io { .. });
        *problem = opened.as_ref().err().filter(is_of_index).map(|error| chain(error));
        let door = opened?;
        Ok(place.door.get_or_init(|| door).clone())
    }

    fn open(&self, ws: &WorkspaceId) -> Result<Arc<Door>, BrainError> {
        let options = WorkspaceOptions {
            index: IndexKind::Disk,
            index_dir: self.options.index_dir.clone(),
            workspace: ws.clone(),
            models: (self.options.models)(&self.store, ws)?,
        };
        let brain = Brain::with_store(self.store.clone(), options)?;
        log_notice(&brain);
        Ok(Arc::new(Door::new(Arc::new(brain), self.options.capture.clone())))
    }

    fn place(&self, ws: &WorkspaceId) -> Arc<Place> {
        let mut doors = self.doors();
        let used = Instant::now();
        let entry =
            doors.entry(ws.clone()).or_insert_with(|| Entry { place: Arc::default(), used });
        entry.used = used;
        entry.place.clone()
    }

    /// Whether the index of a workspace that was asked for can't be opened, read, made again or brought up to the store.
    /// What is wrong is logged.
    pub(crate) fn has_index_problem(&self) -> bool {
        let entries = self.doors();
        let places: Vec<_> =
            entries.iter().map(|(ws, entry)| (ws.clone(), entry.place.clone())).collect();
        drop(entries);
        let problems = places.iter().filter_map(|(workspace, place)| {
            let problem = match place.door.get() {
                Some(door) => door.brain().index_problem(),
                None => self.opening_problem(workspace, place),
            };
            problem.inspect(|problem| {
                tracing::warn!(%workspace, %problem, "not ready: its index");
            })
        });
        problems.count() > 0
    }

    /// Tries again to open a door whose index could not be opened, and says what still keeps it closed.
    fn opening_problem(&self, ws: &WorkspaceId, place: &Place) -> Option<String> {
        let problem = || place.opening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        problem()?;
        match self.door(ws) {
            Ok(_) => None,
            Err(_) => problem(),
        }
    }

    /// Closes doors that nobody used for a while and nobody is inside of, and stores their captures.
    pub fn close_idle(&self, idle: Duration) {
        let now = Instant::now();
        let old = |entry: &Entry| now.saturating_duration_since(entry.used) > idle;
        let gone: Vec<Entry> = self
            .doors()
            .extract_if(|_, entry| old(entry) && entry.is_empty())
            .map(|(_, entry)| entry)
            .collect();
        let doors = gone.iter().filter_map(Entry::open);
        self.count(&doors.map(|door| door.close()).collect::<Vec<_>>());
    }

    /// Captures no more, and stores what waits; whoever is inside is still answered.
    pub fn store_captures(&self) {
        self.end_captures(&self.open_doors());
    }

    /// Closes every door, stores what is not stored yet, and says what became of all captures.
    pub fn close(&self) -> Drained {
        let doors = self.open_doors();
        self.doors().clear();
        self.count(&self.end_captures(&doors));
        self.options.tracer.shutdown();
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All doors at once: none waits for the captures of another.
    fn end_captures(&self, doors: &[Arc<Door>]) -> Vec<Drained> {
        for door in doors {
            door.end_capture();
        }
        let until = Instant::now() + DRAIN;
        doors.iter().map(|door| door.close_until(until)).collect()
    }

    fn open_doors(&self) -> Vec<Arc<Door>> {
        self.doors().values().filter_map(Entry::open).collect()
    }

    fn count(&self, drained: &[Drained]) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        for Drained { stored, failed, unfinished } in drained {
            closed.stored += stored;
            closed.failed += failed;
            closed.unfinished += unfinished;
        }
    }

    fn doors(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Entry>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts what became of captures.
fn watch(metrics: Metrics) -> Watch {
    Watch(Arc::new(move |ws, became| {
        let metrics = metrics.workspace(ws);
        match became {
            Became::Stored(rows) => metrics.captured(rows),
            Became::Failed(reason, times) => metrics.capture_failed(reason, times),
        }
    }))
}

/// Logs what was wrong with an index that was replaced.
fn log_notice(brain: &Brain) {
    if let Some(notice) = brain.take_index_notice() {
        tracing::warn!(workspace = %brain.workspace(), %notice, "a damaged index was replaced");
    }
}

#[cfg(test)]
impl House {
    /// A house on SQLite, for tests, that captures nothing.
    pub(crate) fn in_dir(dir: &std::path::Path) -> Self {
        let location = gbrain_store::Location::Sqlite(dir.join("brain.db"));
        let mode = gbrain_store::OpenMode::Init;
        let store = gbrain_store::Store::open(&location, mode, jiff::Timestamp::now())
            .expect("a new database");
        let software = gbrain_brain::capture::software();
        let options = HouseOptions {
            index_dir: dir.join("index"),
            models: Arc::new(|_, _| Ok(gbrain_brain::built_in_models())),
            capture: None,
            metrics: Metrics::new(software, std::time::SystemTime::now()),
            tracer: Tracer::off(),
            suites: crate::jobs::tests::tools(dir),
            baseline_key: None,
        };
        Self::new(store.into(), options)
    }
}
