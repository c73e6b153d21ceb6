//! The brain: takes pages in, keeps the index fresh and answers requests.
//!
//! Promises: what a write reports is durable; an answer is a function of corpus, request and
//! settings; a stage that could not do its work is named in the answer.
//!
//! Deliberately absent: printing, arguments, the clock (`now` is an argument), async.

mod assist;
pub mod atomic;
pub mod capture;
pub mod cpu;
mod damage;
mod error;
mod freshness;
pub mod import;
mod inspect;
mod pages;
mod purge;
mod query;
mod reembed;
mod retrieve;
mod snapshot;
mod stale;
mod verify;
pub mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use gbrain_core::config;
use gbrain_core::id::{Generation, SourceId, WorkspaceId};
use gbrain_core::search::{RERANK_THRESHOLD_OF, Settings};
use gbrain_embed::StaticTable;
use gbrain_index::{Corpus, DiskIndex, Index, MemoryIndex, Models};
use gbrain_store::{Head, Location, OpenMode, Source, SourceTrust, Store, StoreError};
use jiff::Timestamp;

use damage::{IndexState, OpenedIndex, open_or_replace};
use freshness::Outage;
use stale::Hidden;

pub use gbrain_index::is_reading_files;

pub use assist::{Assistants, BuiltInModels, read_by_judge};
pub use error::BrainError;
pub use freshness::{IndexReport, Onward};
pub use inspect::{Held, VectorCheck, excluded};
pub use pages::{PageLinks, Put};
pub use purge::{PurgeOutcome, PurgeScope};
pub use query::{Query, Requester};
pub use reembed::VectorReport;
pub use retrieve::{Answered, Ask, Expand, Judged, Look, Rerank, Reranker};
pub use snapshot::{Past, Snapshot};
pub use verify::{VerifyFinding, VerifyReport};

/// How long making an index waits for another process that is making it.
const OPEN_WAIT: Duration = Duration::from_secs(60);

/// Which index answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// tantivy, in the index directory.
    Disk,
    /// Built for this process, for hermetic runs and tiny brains.
    Memory,
}

/// Where a brain is.
#[derive(Debug, Clone)]
pub struct BrainOptions {
    pub location: Location,
    /// Whether opening may make a schema on PostgreSQL.
    pub mode: OpenMode,
    pub index: IndexKind,
    /// The directory that holds the indexes of all workspaces.
    pub index_dir: PathBuf,
    /// Whose brain it is.
    pub workspace: WorkspaceId,
    /// The models there are for vectors.
    pub models: Models,
}

/// A brain in a store that is already open.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    pub index: IndexKind,
    /// The directory that holds the indexes of all workspaces.
    pub index_dir: PathBuf,
    /// Whose brain it is.
    pub workspace: WorkspaceId,
    /// The models there are for vectors.
    pub models: Models,
}

/// The pages that a corpus must not show at a head of the store.
type HiddenPages = ((Corpus, Head), Arc<Hidden>);

/// An open brain: one workspace of one store, with its index.
pub struct Brain {
    store: Arc<Store>,
    index: Arc<RwLock<Arc<dyn Index>>>,
    /// How the index is doing.
    state: Arc<Mutex<IndexState>>,
    /// What was wrong with an index that was replaced.
    notice: Mutex<Option<String>>,
    index_path: Option<PathBuf>,
    workspace: WorkspaceId,
    models: Models,
    /// Whether opening it finished a purge that was interrupted.
    was_interrupted: bool,
    /// The sources as of a generation: every change of them is a change of the feed.
    sources: Mutex<Option<(Generation, Arc<Vec<Source>>)>>,
    /// The last time that the index could not catch up because its embedder did not answer.
    outage: Mutex<Option<Outage>>,
    /// The pages that an older corpus must not show, as of a head of the store.
    hidden: Mutex<Option<HiddenPages>>,
}

impl Brain {
    /// Opens a brain and its store.
    pub fn open(options: BrainOptions, now: Timestamp) -> Result<Self, BrainError> {
        let BrainOptions { location, mode, index, index_dir, workspace, models } = options;
        let store = gbrain_store::Store::open(&location, mode, now)?;
        Self::with_store(store.into(), WorkspaceOptions { index, index_dir, workspace, models })
    }

    /// A brain in a store that others use too: the brains of many workspaces share its
    /// connections. An index that does not fit or can't be read is thrown away: the store is the
    /// truth, and the next answer makes it again.
    pub fn with_store(store: Arc<Store>, options: WorkspaceOptions) -> Result<Self, BrainError> {
        let WorkspaceOptions { index, index_dir, workspace, models } = options;
        // A workspace that does not exist is refused before an index is made for it.
        store.head(&workspace)?;
        let mut was_interrupted = false;
        let (opened, index_path) = match index {
            IndexKind::Memory => {
                let index = Arc::new(MemoryIndex::new(models.clone()));
                (OpenedIndex { index, notice: None, problem: None }, None)
            }
            IndexKind::Disk => {
                let path = index_path(&index_dir, store.identity(), &workspace);
                let identity = store.identity();
                let replaced = purge::finish_interrupted(&path, || {
                    remove_dir(&past_path(&path))?;
                    Ok(DiskIndex::replace(&path, identity, models.clone(), OPEN_WAIT)?)
                })?;
                was_interrupted = replaced.is_some();
                let opened = match replaced {
                    Some(index) => {
                        OpenedIndex { index: Arc::new(index), notice: None, problem: None }
                    }
                    None => open_or_replace(&path, identity, &models)?,
                };
                (opened, Some(path))
            }
        };
        Ok(Self {
            store,
            index: Arc::new(RwLock::new(opened.index)),
            state: damage::state_of(opened.problem),
            notice: Mutex::new(opened.notice),
            index_path,
            workspace,
            models,
            was_interrupted,
            sources: Mutex::default(),
            outage: Mutex::default(),
            hidden: Mutex::default(),
        })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.store.as_ref()
    }

    /// The store, to keep.
    pub fn share_store(&self) -> Arc<Store> {
        self.store.clone()
    }

    /// Whose brain it is.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The sources as they are at `head`, read once per generation.
    pub(crate) fn sources_at(&self, head: Generation) -> Result<Arc<Vec<Source>>, BrainError> {
        let mut kept = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((generation, sources)) = &*kept
            && *generation == head
        {
            return Ok(sources.clone());
        }
        let sources = Arc::new(self.store.sources(&self.workspace)?);
        *kept = Some((head, sources.clone()));
        Ok(sources)
    }

    /// The database plane: every setting that was set.
    pub fn config(&self) -> Result<BTreeMap<String, String>, BrainError> {
        Ok(self.store.config_list(&self.workspace)?.into_iter().collect())
    }

    /// The settings of the database plane on top of the defaults.
    pub fn settings(&self) -> Result<Settings, BrainError> {
        search_settings(&self.config()?)
    }

    /// Stored settings that nothing reads.
    pub fn unknown_settings(&self) -> Result<Vec<String>, BrainError> {
        let stored = self.store.config_list(&self.workspace)?;
        Ok(stored
            .into_iter()
            .map(|(key, _)| key)
            .filter(|key| !key.starts_with("search.") && config::find(key).is_none())
            .collect())
    }

    /// Makes a trusted source if it is not there.
    pub fn ensure_source(&self, id: &SourceId, now: Timestamp) -> Result<(), BrainError> {
        if self.store.sources(&self.workspace)?.iter().any(|source| source.id == *id) {
            return Ok(());
        }
        match self.store.add_source(&self.workspace, id, id.as_str(), SourceTrust::Trusted, now) {
            // Another process was quicker.
            Ok(()) | Err(StoreError::Constraint { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The numbers of the pipeline that a database plane holds, on top of the defaults. A stored value that no
/// longer fits its range is an error: ignoring it would change rankings without a word. The threshold of
/// the reranker is under its own name, which is stronger than the one it had.
pub fn search_settings(config: &BTreeMap<String, String>) -> Result<Settings, BrainError> {
    let mut settings = Settings::default();
    for (key, value) in config {
        if let Some(name) = key.strip_prefix("search.") {
            let set = settings.set(name, value);
            set.map_err(|source| BrainError::Setting { key: key.clone(), source })?;
        }
    }
    if let Some(value) = config.get(config::RERANK_THRESHOLD) {
        let name = match config.get(config::RERANK_THRESHOLD_MODEL) {
            Some(model) => format!("{RERANK_THRESHOLD_OF}{model}"),
            None => "rerank_threshold".to_owned(),
        };
        let key = || config::RERANK_THRESHOLD.to_owned();
        let set = settings.set(&name, value);
        set.map_err(|source| BrainError::Setting { key: key(), source })?;
    }
    Ok(settings)
}

/// The model that is compiled into the binary, as the one wanted.
pub fn built_in_models() -> Models {
    Models::new(Arc::new(StaticTable::built_in()))
}

/// Removes the index of a workspace that is gone.
pub fn forget_index(dir: &Path, identity: &str, workspace: &WorkspaceId) -> Result<(), BrainError> {
    let path = index_path(dir, identity, workspace);
    remove_dir(&past_path(&path))?;
    purge::remove_mark(&path)?;
    remove_dir(&path)
}

/// One directory per store and workspace, so that switching databases never mixes corpora.
fn index_path(dir: &Path, identity: &str, workspace: &WorkspaceId) -> PathBuf {
    let short = identity.get(..12).unwrap_or(identity);
    dir.join(format!("{workspace}-{short}"))
}

/// The index of past corpora, beside that of the present.
fn past_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".past");
    PathBuf::from(name)
}

fn remove_dir(path: &Path) -> Result<(), BrainError> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(BrainError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
