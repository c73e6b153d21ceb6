//! A brain of its own in a directory, laid out as `gbrain --home DIR` lays it out.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use gbrain_brain::import::{ImportOptions, ImportSummary, StoredTexts, import};
use gbrain_brain::{Brain, BrainOptions, IndexKind, QueryOptions, QueryResponse};
use gbrain_core::id::{SourceId, WorkspaceId};
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_index::Models;
use gbrain_store::{Location, OpenMode};
use jiff::Timestamp;

/// An open brain on SQLite with an index on disk, asked as its owner asks.
pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) brain: Brain,
    settings: Settings,
}

impl Home {
    /// Opens the brain in `dir`, making it where there is none.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        Self::open_with(dir, gbrain_brain::built_in_models())
    }

    pub(crate) fn open_with(dir: &Path, models: Models) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        let options = BrainOptions {
            location: Location::Sqlite(dir.join("brain.db")),
            mode: OpenMode::Init,
            index: IndexKind::Disk,
            index_dir: dir.join("index"),
            workspace: WorkspaceId::default(),
            models,
        };
        let brain = Brain::open(options, now())?;
        let settings = brain.settings()?;
        Ok(Self { dir: dir.to_owned(), brain, settings })
    }

    /// Asks with another value of a setting: `name=value`.
    pub(crate) fn set(&mut self, setting: &str) -> Result<()> {
        let (name, value) =
            setting.split_once('=').with_context(|| format!("{setting}: name=value"))?;
        Ok(self.settings.set(name, value)?)
    }

    /// Imports directories as `gbrain import` does.
    pub(crate) fn import(&self, paths: &[PathBuf]) -> Result<ImportSummary> {
        let options = ImportOptions {
            source: SourceId::default(),
            threads: None,
            allow_empty: false,
            halt: None,
            stored: StoredTexts::Check,
        };
        self.brain.ensure_source(&options.source, now())?;
        Ok(import(&self.brain, paths, &options, now(), &|_| ())?)
    }

    /// Answers as `gbrain search` and `gbrain query` do by default.
    pub(crate) fn answer(
        &self,
        operation: Operation,
        query: &str,
        limit: usize,
    ) -> Result<QueryResponse> {
        self.run(&self.request(operation, query, limit))
    }

    /// The default options of `gbrain search` and `gbrain query`.
    pub(crate) fn request(&self, operation: Operation, query: &str, limit: usize) -> Request {
        let mode = match operation {
            Operation::Search => RetrievalMode::Knowledge,
            Operation::Query => RetrievalMode::Hybrid,
        };
        Request {
            operation,
            query: query.to_owned(),
            limit,
            detail: None,
            mode,
            filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
            vectors: operation == Operation::Query,
            expansion: Expansion::Off,
            now: now(),
            settings: self.settings.clone(),
        }
    }

    pub(crate) fn run(&self, request: &Request) -> Result<QueryResponse> {
        let ask = QueryOptions::default();
        Ok(self.brain.answer(request, &ask)?)
    }

    /// The directory of the index below, which any tantivy can open.
    pub(crate) fn tantivy_dir(&self) -> Result<PathBuf> {
        tantivy_dir(&self.dir)
    }
}

/// The one index in a home.
pub(crate) fn tantivy_dir(home: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(home.join("index")).context("the brain has no index")?;
    let mut dirs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    dirs.retain(|dir| dir.join("meta.json").exists());
    dirs.pop().filter(|_| dirs.is_empty()).context("the brain has not exactly one index")
}

/// One moment for every request: recency must not differ between runs.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_780_000_000).expect("a date in 2026")
}
