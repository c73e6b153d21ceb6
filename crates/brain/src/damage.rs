//! An index that can't be read, followed or found: it is named and made again from the store.
//!
//! A process that has a corpus open answers from it meanwhile, and a thread makes the index again. A process that has
//! none open makes the index first. Where no index can be written, one is made in memory, if none is there, and answers
//! say what they lack. A check of readiness has the index tried again, so that recovery needs no question.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gbrain_core::fault::chain;
use gbrain_embed::EmbedError;
use gbrain_index::{DiskIndex, Index, IndexError, MemoryIndex, Models, Urgency, View};

use crate::freshness::{ANSWER_WAIT, Fresh, OnProgress, WORK_WAIT};
use crate::{Brain, BrainError, IndexKind, OPEN_WAIT, WorkspaceOptions};

/// The reason of an answer from an older corpus while the index is made again.
pub(crate) const REBUILDING: &str = "rebuilding";
/// The reason of an answer from an older corpus because the index can't be written.
pub(crate) const NOT_WRITABLE: &str = "not_writable";

/// How many times as long as a failed attempt took the next one waits, within bounds.
const RETRY_PAUSE: u32 = 4;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How the index is doing, beside what it holds.
#[derive(Default)]
pub(crate) struct IndexState {
    /// The last corpus that was read.
    last: Option<Arc<dyn View>>,
    /// What brings the index up to the store, or makes it again.
    repair: Option<JoinHandle<()>>,
    /// When it may be tried again.
    retry_at: Option<Instant>,
    /// What keeps the index from being written or read.
    problem: Option<String>,
}

/// How an index is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    /// It is brought up to the store.
    CatchUp,
    /// It is made again.
    Rebuild,
}

/// Whether an index is to be replaced: it is damaged, gone, or of another version or store.
pub(crate) fn is_replaceable(error: &IndexError) -> bool {
    matches!(error, IndexError::Stale { .. } | IndexError::Corrupt { .. })
}

/// What the owner should know of an index that was replaced. One of another version or store is routine.
pub(crate) fn notice(error: &IndexError) -> Option<String> {
    let is_damaged = matches!(error, IndexError::Corrupt { .. })
        || matches!(error, IndexError::Stale { what: "its commit", .. });
    is_damaged.then(|| format!("{}; it is made again from the store", chain(error)))
}

/// An index that was opened, and what is wrong with it.
pub(crate) struct OpenedIndex {
    pub(crate) index: Arc<dyn Index>,
    pub(crate) notice: Option<String>,
    /// What keeps it from being written.
    pub(crate) problem: Option<String>,
}

/// Opens an index, or an empty one in place of one that can't be read: on disk, or in memory where no file can be
/// written.
pub(crate) fn open_or_replace(
    path: &Path,
    identity: &str,
    models: &Models,
) -> Result<OpenedIndex, BrainError> {
    let (error, opened) = match DiskIndex::open(path, identity, models.clone(), OPEN_WAIT) {
        Err(error) if is_replaceable(&error) => {
            let made = DiskIndex::replace(path, identity, models.clone(), OPEN_WAIT);
            (Some(error), made)
        }
        opened => (None, opened),
    };
    let damage = error.as_ref().and_then(notice);
    match opened {
        Ok(index) => Ok(OpenedIndex { index: Arc::new(index), notice: damage, problem: None }),
        Err(error @ IndexError::Io { .. }) if is_read_only(&error) => {
            let why = chain(&error);
            let what = "an index is made in memory for this process alone";
            let notice = match error_of(damage) {
                Some(damage) => format!("{damage}; {why}: {what}"),
                None => format!("{why}: {what}"),
            };
            let index = Arc::new(MemoryIndex::new(models.clone()));
            Ok(OpenedIndex { index, notice: Some(notice), problem: Some(why) })
        }
        Err(error) => Err(error.into()),
    }
}

fn error_of(damage: Option<String>) -> Option<String> {
    damage.map(|damage| damage.split(';').next().unwrap_or_default().to_owned())
}

/// Whether the files of an index are the reason of an error, and not another writer or an embedder that does not answer.
fn is_of_files(error: &IndexError) -> bool {
    !matches!(error, IndexError::Busy { .. } | IndexError::Embed(EmbedError::Remote { .. }))
}

fn is_read_only(error: &IndexError) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error, IndexError::Io { source, .. }
        if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
}

impl Brain {
    /// The index. It is another one after a damaged one was replaced.
    pub(crate) fn index(&self) -> Arc<dyn Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was wrong with the index, if it was damaged and replaced. Told once.
    pub fn take_index_notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What keeps this brain from answering, or its index from following the store. In the background, an index that is
    /// gone is made again, and one that could not be written is tried again.
    pub fn index_problem(&self) -> Option<String> {
        let problem = self.state().problem.clone();
        match self.index().view() {
            Ok(_) if problem.is_some() => drop(self.start_repair(Repair::CatchUp)),
            Ok(_) => {}
            Err(error) if is_replaceable(&error) && self.last_view().is_some() => {
                self.start_rebuild(&error);
            }
            Err(error) => return Some(chain(&error)),
        }
        problem
    }

    /// What to do when the newest corpus can't be had: answers from the last one while the index is made again, or makes
    /// it first.
    pub(crate) fn recover(
        &self,
        error: IndexError,
        progress: OnProgress<'_>,
    ) -> Result<Fresh, BrainError> {
        let is_lost = is_replaceable(&error);
        if !is_lost && !matches!(error, IndexError::Io { .. }) || self.index_path.is_none() {
            return Err(error.into());
        }
        if !is_lost {
            self.state().problem = Some(chain(&error));
            let head = self.store.head(&self.workspace)?;
            return match self.held_view() {
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

    /// Puts an empty index in place of one that can't be read.
    fn replace_index(&self, error: &IndexError) -> Result<(), BrainError> {
        let Some(path) = &self.index_path else { return Ok(()) };
        let made = open_or_replace(path, self.store.identity(), &self.models)?;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = made.index;
        let notice = made.notice.or_else(|| notice(error));
        *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = notice;
        self.state().problem = made.problem;
        Ok(())
    }

    /// Makes the index again in the background. Its owner is told once.
    fn start_rebuild(&self, error: &IndexError) {
        let is_known = self.state().problem.is_some();
        if self.start_repair(Repair::Rebuild) && !is_known {
            *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = notice(error);
        }
    }

    /// Repairs the index in a thread, unless one is at it or has just failed. Returns whether one was started.
    fn start_repair(&self, repair: Repair) -> bool {
        let mut state = self.state();
        let is_running = state.repair.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_running || state.retry_at.is_some_and(|at| Instant::now() < at) {
            return false;
        }
        let brain = self.on_the_same_index();
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
                state.problem = Some(format!("no thread can be started: {error}"));
                false
            }
        }
    }

    /// Repairs the index, and says what still keeps it from being written.
    fn repair(&self, repair: Repair) -> Result<Option<String>, BrainError> {
        if repair == Repair::CatchUp {
            return match self.catch_up(ANSWER_WAIT, Urgency::Work, &|_, _| Ok(())) {
                Err(BrainError::Index(error)) if is_replaceable(&error) => self.rebuild(),
                Err(BrainError::Index(error)) if !is_of_files(&error) => Ok(None),
                caught_up => caught_up.map(|_| None),
            };
        }
        self.rebuild()
    }

    /// Opens the index anew, or makes it again from the store, and puts it in place when it has caught up.
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
        let made = Self::with_store(self.store.clone(), options)?;
        made.catch_up(WORK_WAIT, Urgency::Work, &|_, _| Ok(()))?;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = made.index();
        let problem = made.state().problem.clone();
        Ok(problem)
    }

    /// A brain for a thread of its own: it has this one's store, index and state.
    fn on_the_same_index(&self) -> Self {
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

    /// The newest corpus that can be read: what the index holds, or what it held.
    pub(crate) fn held_view(&self) -> Result<Arc<dyn View>, IndexError> {
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

    /// The last corpus that was read, if it still can be.
    fn last_view(&self) -> Option<Arc<dyn View>> {
        self.state().last.clone().filter(|view| !view.is_damaged())
    }

    /// Keeps a corpus that the index held at the store's head: whatever happens to the index, it answers.
    pub(crate) fn keep_view(&self, view: &Arc<dyn View>) {
        let mut state = self.state();
        if !state.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, view)) {
            state.last = Some(view.clone());
        }
        state.problem = None;
    }

    /// Lets go of the corpus that was kept: a purged page may be in it.
    pub(crate) fn forget_view(&self) {
        self.state().last = None;
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of an index that was just opened.
pub(crate) fn state_of(problem: Option<String>) -> Arc<Mutex<IndexState>> {
    Arc::new(Mutex::new(IndexState { problem, ..IndexState::default() }))
}
