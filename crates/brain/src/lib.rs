//! The brain: imports pages, keeps the index fresh and answers requests.
//!
//! Promises: reported writes are durable; an answer is a function of corpus, request and settings;
//! an answer names the stages that could not do their work.
//!
//! Deliberately absent: printing, arguments, the clock (`now` is an argument), async.

mod assist;
pub mod atomic;
pub mod capture;
pub mod cpu;
mod damage;
mod error;
mod evidence;
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
use gbrain_store::{CorpusHead, Location, OpenMode, Source, SourceTrust, Store, StoreError};
use jiff::Timestamp;

use damage::{IndexState, OpenedIndex, open_or_replace};
use freshness::EmbedderOutage;
use stale::HiddenPages;

pub use gbrain_index::is_reading_files;

pub use assist::{Assistants, BuiltInModels, rerank_text};
pub use error::BrainError;
pub use evidence::EvidenceTexts;
pub use freshness::{IndexReport, ProgressControl};
pub use inspect::{PageIndexState, VectorCheck, excluded};
pub use pages::{PageLinks, PutOutcome};
pub use purge::{PurgeOutcome, PurgeScope};
pub use query::{Query, Requester};
pub use reembed::VectorReport;
pub use retrieve::{
    CandidateObserver, Expand, QueryOptions, QueryResponse, Rerank, RerankPassage, Reranker,
};
pub use snapshot::{PastCorpora, Snapshot};
pub use verify::{VerifyFinding, VerifyReport};

/// How long opening waits for another process that is creating the index.
const OPEN_WAIT: Duration = Duration::from_secs(60);

/// Where the index is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// tantivy, in the index directory.
    Disk,
    /// In memory, for hermetic runs and tiny brains.
    Memory,
}

/// Location and settings of a brain.
#[derive(Debug, Clone)]
pub struct BrainOptions {
    pub location: Location,
    /// Whether opening may create the schema on PostgreSQL.
    pub mode: OpenMode,
    pub index: IndexKind,
    /// The directory that holds the indexes of all workspaces.
    pub index_dir: PathBuf,
    pub workspace: WorkspaceId,
    /// The available embedding models.
    pub models: Models,
}

/// Settings of a brain in an open store.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    pub index: IndexKind,
    /// The directory that holds the indexes of all workspaces.
    pub index_dir: PathBuf,
    pub workspace: WorkspaceId,
    /// The available embedding models.
    pub models: Models,
}

/// The pages that a stale corpus must hide at a head of the store.
type HiddenPagesAt = ((Corpus, CorpusHead), Arc<HiddenPages>);

/// An open brain: one workspace of one store, with its index.
pub struct Brain {
    store: Arc<Store>,
    index: Arc<RwLock<Arc<dyn Index>>>,
    /// The state of the index.
    state: Arc<Mutex<IndexState>>,
    /// Why a damaged index was replaced.
    notice: Mutex<Option<String>>,
    index_path: Option<PathBuf>,
    workspace: WorkspaceId,
    models: Models,
    /// Whether opening finished an interrupted purge.
    was_interrupted: bool,
    /// The sources at a generation; every change of a source has its own generation.
    sources: Mutex<Option<(Generation, Arc<Vec<Source>>)>>,
    /// The last embedder outage during catch-up.
    outage: Mutex<Option<EmbedderOutage>>,
    /// The pages that a stale corpus must hide, as of a head of the store.
    hidden: Mutex<Option<HiddenPagesAt>>,
}

impl Brain {
    /// Opens a brain and its store.
    pub fn open(options: BrainOptions, now: Timestamp) -> Result<Self, BrainError> {
        let BrainOptions { location, mode, index, index_dir, workspace, models } = options;
        let store = gbrain_store::Store::open(&location, mode, now)?;
        Self::with_store(store.into(), WorkspaceOptions { index, index_dir, workspace, models })
    }

    /// A brain in a shared store, so that many workspaces share its connections. An index that does
    /// not fit or cannot be read is discarded: the store is the source of truth, and the next
    /// answer rebuilds it.
    pub fn with_store(store: Arc<Store>, options: WorkspaceOptions) -> Result<Self, BrainError> {
        let WorkspaceOptions { index, index_dir, workspace, models } = options;
        // Reject an unknown workspace before an index is created for it.
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
            state: damage::new_state(opened.problem),
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

    pub fn store(&self) -> &Store {
        self.store.as_ref()
    }

    /// The store, for a caller that needs to own it.
    pub fn share_store(&self) -> Arc<Store> {
        self.store.clone()
    }

    pub fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The sources at `head`, cached per generation.
    pub(crate) fn sources_at(&self, head: Generation) -> Result<Arc<Vec<Source>>, BrainError> {
        let mut cached = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((generation, sources)) = &*cached
            && *generation == head
        {
            return Ok(sources.clone());
        }
        let sources = Arc::new(self.store.sources(&self.workspace)?);
        *cached = Some((head, sources.clone()));
        Ok(sources)
    }

    /// The settings stored in the database.
    pub fn config(&self) -> Result<BTreeMap<String, String>, BrainError> {
        Ok(self.store.config_list(&self.workspace)?.into_iter().collect())
    }

    /// The search settings: database settings over defaults.
    pub fn settings(&self) -> Result<Settings, BrainError> {
        search_settings(&self.config()?)
    }

    /// Stored settings that no code reads.
    pub fn unknown_settings(&self) -> Result<Vec<String>, BrainError> {
        let stored = self.store.config_list(&self.workspace)?;
        Ok(stored
            .into_iter()
            .map(|(key, _)| key)
            .filter(|key| !key.starts_with("search.") && config::find(key).is_none())
            .collect())
    }

    /// Creates a trusted source if it does not exist.
    pub fn ensure_source(&self, id: &SourceId, now: Timestamp) -> Result<(), BrainError> {
        if self.store.sources(&self.workspace)?.iter().any(|source| source.id == *id) {
            return Ok(());
        }
        match self.store.add_source(&self.workspace, id, id.as_str(), SourceTrust::Trusted, now) {
            // Another process created it first.
            Ok(()) | Err(StoreError::Constraint { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The search settings in a database configuration, over the defaults. A stored value outside its
/// range is an error: ignoring it would silently change rankings. The reranker's threshold has its
/// own key, which overrides its older `search.` key.
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

/// The model compiled into the binary, as the wanted one.
pub fn built_in_models() -> Models {
    Models::new(Arc::new(StaticTable::built_in()))
}

/// Removes the index of a removed workspace.
pub fn remove_index(dir: &Path, identity: &str, workspace: &WorkspaceId) -> Result<(), BrainError> {
    let path = index_path(dir, identity, workspace);
    remove_dir(&past_path(&path))?;
    purge::remove_marker(&path)?;
    remove_dir(&path)
}

/// One directory per store and workspace, so that switching databases never mixes corpora.
fn index_path(dir: &Path, identity: &str, workspace: &WorkspaceId) -> PathBuf {
    let short = identity.get(..12).unwrap_or(identity);
    dir.join(format!("{workspace}-{short}"))
}

/// The index of past corpora, beside the current one.
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
