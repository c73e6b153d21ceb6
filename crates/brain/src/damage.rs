//! Recovery from an index that cannot be read, updated or found: it is reported and rebuilt from
//! the store.
//!
//! A process that has a corpus open answers from it while a thread rebuilds the index. A process
//! without one rebuilds first. If no index can be written and none exists, an index is built in
//! memory, and answers say what they lack. A readiness check retries the index, so recovery needs
//! no query.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gbrain_core::fault::chain;
use gbrain_embed::EmbedError;
use gbrain_index::{DiskIndex, Index, IndexError, MemoryIndex, Models, Urgency, View};

use crate::freshness::{ANSWER_WAIT, FreshView, OnProgress, WORK_WAIT};
use crate::{Brain, BrainError, IndexKind, OPEN_WAIT, WorkspaceOptions};

/// Degradation reason of an answer from an older corpus while the index is rebuilt.
pub(crate) const REBUILDING: &str = "rebuilding";
/// Degradation reason of an answer from an older corpus because the index cannot be written.
pub(crate) const NOT_WRITABLE: &str = "not_writable";

/// The pause before a retry, as a multiple of the failed attempt's duration, within bounds.
const RETRY_PAUSE: u32 = 4;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The state of the index besides its content.
#[derive(Default)]
pub(crate) struct IndexState {
    /// The last corpus that was read.
    last: Option<Arc<dyn View>>,
    /// The thread that updates or rebuilds the index.
    repair: Option<JoinHandle<()>>,
    /// The earliest time of the next attempt.
    retry_at: Option<Instant>,
    /// Why the index cannot be written or read.
    problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepairAction {
    /// Apply the changes it lacks.
    CatchUp,
    /// Rebuild it from the store.
    Rebuild,
}

/// Whether to replace an index: it is damaged, missing, or of another version or store.
pub(crate) fn is_replaceable(error: &IndexError) -> bool {
    matches!(error, IndexError::Stale { .. } | IndexError::Corrupt { .. })
}

/// The notice for the owner about a replaced index; `None` if it was of another version or store,
/// which is routine.
pub(crate) fn notice(error: &IndexError) -> Option<String> {
    let is_damaged = matches!(error, IndexError::Corrupt { .. })
        || matches!(error, IndexError::Stale { what: "its commit", .. });
    is_damaged.then(|| format!("{}; it is rebuilt from the store", chain(error)))
}

/// An opened index and its problems.
pub(crate) struct OpenedIndex {
    pub(crate) index: Arc<dyn Index>,
    pub(crate) notice: Option<String>,
    /// Why it cannot be written.
    pub(crate) problem: Option<String>,
}

/// Opens an index, or replaces one that cannot be read with an empty one: on disk, or in memory if
/// no file can be written.
pub(crate) fn open_or_replace(
    path: &Path,
    identity: &str,
    models: &Models,
) -> Result<OpenedIndex, BrainError> {
    let (error, opened) = match DiskIndex::open(path, identity, models.clone(), OPEN_WAIT) {
        Err(error) if is_replaceable(&error) => {
            let rebuilt = DiskIndex::replace(path, identity, models.clone(), OPEN_WAIT);
            (Some(error), rebuilt)
        }
        opened => (None, opened),
    };
    let damage = error.as_ref().and_then(notice);
    match opened {
        Ok(index) => Ok(OpenedIndex { index: Arc::new(index), notice: damage, problem: None }),
        Err(error @ IndexError::Io { .. }) if is_read_only(&error) => {
            let why = chain(&error);
            let what = "using an in-memory index for this process only";
            let notice = match first_clause(damage) {
                Some(damage) => format!("{damage}; {why}: {what}"),
                None => format!("{why}: {what}"),
            };
            let index = Arc::new(MemoryIndex::new(models.clone()));
            Ok(OpenedIndex { index, notice: Some(notice), problem: Some(why) })
        }
        Err(error) => Err(error.into()),
    }
}

fn first_clause(damage: Option<String>) -> Option<String> {
    damage.map(|damage| damage.split(';').next().unwrap_or_default().to_owned())
}

/// Whether the index files caused an error, rather than another writer or an unavailable embedder.
fn is_file_error(error: &IndexError) -> bool {
    !matches!(error, IndexError::Busy { .. } | IndexError::Embed(EmbedError::Remote { .. }))
}

fn is_read_only(error: &IndexError) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error, IndexError::Io { source, .. }
        if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
}

impl Brain {
    /// The current index; a replaced index changes it.
    pub(crate) fn index(&self) -> Arc<dyn Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why the index was replaced, if it was damaged. Returned once.
    pub fn take_index_notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Why this brain cannot answer, or why its index cannot follow the store. In the background,
    /// starts to rebuild a missing index and retries one that could not be written.
    pub fn index_problem(&self) -> Option<String> {
        let problem = self.state().problem.clone();
        match self.index().view() {
            Ok(_) if problem.is_some() => drop(self.start_repair(RepairAction::CatchUp)),
            Ok(_) => {}
            Err(error) if is_replaceable(&error) && self.last_view().is_some() => {
                self.start_rebuild(&error);
            }
            Err(error) => return Some(chain(&error)),
        }
        problem
    }

    /// Recovers from an index error: answers from the last corpus while the index is rebuilt, or
    /// rebuilds it first.
    pub(crate) fn recover(
        &self,
        error: IndexError,
        progress: OnProgress<'_>,
    ) -> Result<FreshView, BrainError> {
        let is_lost = is_replaceable(&error);
        if !is_lost && !matches!(error, IndexError::Io { .. }) || self.index_path.is_none() {
            return Err(error.into());
        }
        if !is_lost {
            self.state().problem = Some(chain(&error));
            let head = self.store.head(&self.workspace)?;
            return match self.newest_readable_view() {
                Ok(view) => self.stale_view(view, head, Some(NOT_WRITABLE)),
                Err(_) => Err(error.into()),
            };
        }
        if let Some(view) = self.last_view() {
            self.start_rebuild(&error);
            let head = self.store.head(&self.workspace)?;
            return self.stale_view(view, head, Some(REBUILDING));
        }
        self.replace_index(&error)?;
        self.newest_view(progress)
    }

    /// Replaces an unreadable index with an empty one.
    fn replace_index(&self, error: &IndexError) -> Result<(), BrainError> {
        let Some(path) = &self.index_path else { return Ok(()) };
        let rebuilt = open_or_replace(path, self.store.identity(), &self.models)?;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = rebuilt.index;
        let notice = rebuilt.notice.or_else(|| notice(error));
        *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = notice;
        self.state().problem = rebuilt.problem;
        Ok(())
    }

    /// Starts a rebuild in the background; the owner is notified once.
    fn start_rebuild(&self, error: &IndexError) {
        let was_reported = self.state().problem.is_some();
        if self.start_repair(RepairAction::Rebuild) && !was_reported {
            *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = notice(error);
        }
    }

    /// Repairs the index in a thread, unless a repair is running or has just failed. Returns
    /// whether one was started.
    fn start_repair(&self, repair: RepairAction) -> bool {
        let mut state = self.state();
        let is_running = state.repair.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_running || state.retry_at.is_some_and(|at| Instant::now() < at) {
            return false;
        }
        let brain = self.share_index();
        let work = move || {
            let started = Instant::now();
            let problem = brain.repair(repair).unwrap_or_else(|error| Some(chain(&error)));
            let pause = started.elapsed().saturating_mul(RETRY_PAUSE);
            let pause = pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
            let mut state = brain.state();
            state.retry_at = problem.as_ref().map(|_| Instant::now() + pause);
            state.problem = problem;
        };
        match std::thread::Builder::new().name("index repair".to_owned()).spawn(work) {
            Ok(thread) => {
                state.repair = Some(thread);
                true
            }
            Err(error) => {
                state.problem = Some(format!("cannot start a repair thread: {error}"));
                false
            }
        }
    }

    /// Repairs the index; returns why it still cannot be written.
    fn repair(&self, repair: RepairAction) -> Result<Option<String>, BrainError> {
        if repair == RepairAction::CatchUp {
            return match self.catch_up(ANSWER_WAIT, Urgency::Work, &|_, _| Ok(())) {
                Err(BrainError::Index(error)) if is_replaceable(&error) => self.rebuild(),
                Err(BrainError::Index(error)) if !is_file_error(&error) => Ok(None),
                caught_up => caught_up.map(|_| None),
            };
        }
        self.rebuild()
    }

    /// Reopens the index or rebuilds it from the store, and installs it once it has caught up.
    fn rebuild(&self) -> Result<Option<String>, BrainError> {
        let Some(index_dir) = self.index_path.as_deref().and_then(Path::parent) else {
            return Ok(None);
        };
        let options = WorkspaceOptions {
            index: IndexKind::Disk,
            index_dir: PathBuf::from(index_dir),
            workspace: self.workspace.clone(),
            models: self.models.clone(),
        };
        let rebuilt = Self::with_store(self.store.clone(), options)?;
        rebuilt.catch_up(WORK_WAIT, Urgency::Work, &|_, _| Ok(()))?;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = rebuilt.index();
        let problem = rebuilt.state().problem.clone();
        Ok(problem)
    }

    /// A brain for another thread that shares store, index and state.
    fn share_index(&self) -> Self {
        Self {
            store: self.store.clone(),
            index: self.index.clone(),
            state: self.state.clone(),
            notice: Mutex::default(),
            index_path: self.index_path.clone(),
            workspace: self.workspace.clone(),
            models: self.models.clone(),
            was_interrupted: false,
            sources: Mutex::default(),
            outage: Mutex::default(),
            hidden: Mutex::default(),
        }
    }

    /// The newest readable corpus: the index's, or the last one read.
    pub(crate) fn newest_readable_view(&self) -> Result<Arc<dyn View>, IndexError> {
        match (self.index().view(), self.last_view()) {
            (Ok(view), Some(last)) => {
                let is_newer = last.corpus().generation > view.corpus().generation;
                Ok(if is_newer { last } else { view })
            }
            (Ok(view), None) => Ok(view),
            (Err(_), Some(last)) => Ok(last),
            (Err(error), None) => Err(error),
        }
    }

    /// The last corpus that was read, if it is still readable.
    fn last_view(&self) -> Option<Arc<dyn View>> {
        self.state().last.clone().filter(|view| !view.is_damaged())
    }

    /// Keeps a corpus that was at the store's head, to answer from if the index fails.
    pub(crate) fn remember_view(&self, view: &Arc<dyn View>) {
        let mut state = self.state();
        if !state.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, view)) {
            state.last = Some(view.clone());
        }
        state.problem = None;
    }

    /// Drops the kept corpus: a purged page may be in it.
    pub(crate) fn forget_view(&self) {
        self.state().last = None;
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a newly opened index.
pub(crate) fn new_state(problem: Option<String>) -> Arc<Mutex<IndexState>> {
    Arc::new(Mutex::new(IndexState { problem, ..IndexState::default() }))
}
