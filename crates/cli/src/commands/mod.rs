//! One file per command: an args struct, then one function.

pub(crate) mod alerts;
pub(crate) mod autopilot;
pub(crate) mod baseline_key;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod config;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod events;
pub(crate) mod feedback;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod incident;
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod links;
pub(crate) mod list;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod purge;
pub(crate) mod put;
pub(crate) mod queries;
pub(crate) mod query;
pub(crate) mod reembed;
pub(crate) mod reindex;
pub(crate) mod restore;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sources;
pub(crate) mod spend;
pub(crate) mod stats;
pub(crate) mod suites;
pub(crate) mod targets;
mod thresholds;
pub(crate) mod tokens;
pub(crate) mod triage;
pub(crate) mod worker;
pub(crate) mod workspaces;

use std::sync::Arc;

use gbrain_brain::{Brain, IndexKind, WorkspaceOptions};
use gbrain_core::fault::FaultKind;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_store::{Location, OpenMode, Store, private};
use jiff::Timestamp;

use crate::error::CliError;
use crate::home::Home;
use crate::models::models;
use crate::terminal::Terminal;

/// What every command works with: the effects, as arguments.
pub(crate) struct Context<'a> {
    pub(crate) home: Home,
    pub(crate) terminal: &'a Terminal,
    pub(crate) now: Timestamp,
}

impl Context<'_> {
    /// Makes the home. A brain that did not exist is told: a path with a mistake in it would answer like an empty one.
    pub(crate) fn make_home(&self) -> Result<(), CliError> {
        if let Location::Sqlite(path) = &self.home.location
            && !path.exists()
        {
            self.terminal.warn(format!(
                "there was no brain at {}: a new and empty one is made",
                path.display()
            ));
        }
        self.home.create()
    }

    /// Opens the store alone, for what is not about one workspace.
    pub(crate) fn store(&self) -> Result<Store, CliError> {
        self.make_home()?;
        Ok(gbrain_store::Store::open(&self.home.location, OpenMode::Use, self.now)?)
    }

    /// Keeps what a gate said, for `doctor`. Not being able to is no reason to fail a gate.
    pub(crate) fn remember_gate(&self, record: &serde_json::Value) {
        let dir = self.home.runs_dir();
        let _ = private::create_dir(&dir);
        let path = dir.join("gates.jsonl");
        if let Ok(mut file) = private::file().create(true).append(true).open(path) {
            use std::io::Write as _;
            let _ = file.write_all(format!("{record}\n").as_bytes());
        }
    }

    /// Opens the brain.
    pub(crate) fn brain(&self) -> Result<Brain, CliError> {
        self.brain_with(OpenMode::Use, IndexKind::Disk)
    }

    /// Opens the brain for a command that brings pages: a brain that does not exist is made without a word.
    pub(crate) fn brain_to_fill(&self) -> Result<Brain, CliError> {
        self.home.create()?;
        let store = gbrain_store::Store::open(&self.home.location, OpenMode::Use, self.now)?;
        self.brain_in(store.into(), IndexKind::Disk)
    }

    /// Opens the brain with a choice of index, or making the schema.
    pub(crate) fn brain_with(&self, mode: OpenMode, index: IndexKind) -> Result<Brain, CliError> {
        match mode {
            OpenMode::Init => self.home.create()?,
            OpenMode::Use => self.make_home()?,
        }
        let store = gbrain_store::Store::open(&self.home.location, mode, self.now)?;
        self.brain_in(store.into(), index)
    }

    /// The brain in a store that is open.
    pub(crate) fn brain_in(&self, store: Arc<Store>, index: IndexKind) -> Result<Brain, CliError> {
        self.brain_of(store, index, &self.home.workspace)
    }

    /// The brain of a workspace in a store that is open.
    pub(crate) fn brain_of(
        &self,
        store: Arc<Store>,
        index: IndexKind,
        workspace: &WorkspaceId,
    ) -> Result<Brain, CliError> {
        let options = WorkspaceOptions {
            index,
            index_dir: self.home.index_dir(),
            workspace: workspace.clone(),
            models: models(&self.home)?.of(&store, workspace)?,
        };
        let brain = Brain::with_store(store, options)?;
        if let Some(notice) = brain.take_index_notice() {
            self.terminal.warn(notice);
        }
        Ok(brain)
    }
}

/// Refuses sources that do not exist: a filter with a mistake in it would find nothing.
pub(crate) fn refuse_unknown_sources<'a>(
    brain: &Brain,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), CliError> {
    let known = brain.store().sources(brain.workspace())?;
    for name in names {
        let id = SourceId::new(name)?;
        if !known.iter().any(|source| source.id == id) {
            let names: Vec<&str> = known.iter().map(|source| source.id.as_str()).collect();
            let hint = match names.is_empty() {
                true => "there are no sources yet: `gbrain import PATH --source ID` makes one"
                    .to_owned(),
                false => format!("the sources are {}", names.join(", ")),
            };
            return Err(CliError::new(
                FaultKind::UnknownSource,
                format!("there is no source `{id}`"),
            )
            .hint(hint));
        }
    }
    Ok(())
}

/// The page that was typed: `source::slug`, or a slug in `--source`, or in the one source that has it.
pub(crate) fn page_key(
    brain: &Brain,
    text: &str,
    source: Option<&str>,
) -> Result<PageKey, CliError> {
    if let Some(source) = source {
        return Ok(PageKey::parse(text, &SourceId::new(source)?)?);
    }
    if text.contains("::") {
        return Ok(PageKey::parse(text, &SourceId::default())?);
    }
    let slug = PageKey::parse(text, &SourceId::default())?.slug;
    let keys = brain.keys_of_slug(&slug)?;
    match keys.as_slice() {
        [] => Ok(PageKey::new(SourceId::default(), slug)),
        [key] => Ok(key.clone()),
        several => {
            let names: Vec<String> = several.iter().map(|key| format!("`{key}`")).collect();
            Err(CliError::usage(format!("`{slug}` is in several sources: {}", names.join(", ")))
                .hint("say which with `source::slug` or --source"))
        }
    }
}
