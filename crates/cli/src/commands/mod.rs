//! One file per command: an args struct, then one function.

pub(crate) mod alerts;
pub(crate) mod autopilot;
pub(crate) mod baseline;
pub(crate) mod baseline_key;
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
pub(crate) mod html;
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
pub(crate) mod view;
pub(crate) mod worker;
pub(crate) mod workspaces;

use std::sync::Arc;

use gbrain_brain::{Brain, IndexKind, WorkspaceOptions};
use gbrain_core::fault::FaultKind;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::reading::suggest::nearest;
use gbrain_store::{Location, OpenMode, PageFilter, Store, private};
use jiff::Timestamp;

use crate::error::CliError;
use crate::home::Home;
use crate::models::configured_embedder;
use crate::terminal::Terminal;

/// The effects that every command gets as arguments: home, terminal, clock.
pub(crate) struct CommandContext<'a> {
    pub(crate) home: Home,
    pub(crate) terminal: &'a Terminal,
    pub(crate) now: Timestamp,
}

impl CommandContext<'_> {
    /// Creates the home. Warns if there was no brain: a mistyped path would answer like an empty brain.
    pub(crate) fn make_home(&self) -> Result<(), CliError> {
        if let Location::Sqlite(path) = &self.home.location
            && !path.exists()
        {
            self.terminal
                .warn(format!("there is no brain at {}: creating an empty one", path.display()));
        }
        self.home.create()
    }

    /// Opens the store without a workspace's index.
    pub(crate) fn store(&self) -> Result<Store, CliError> {
        self.make_home()?;
        Ok(gbrain_store::Store::open(&self.home.location, OpenMode::Use, self.now)?)
    }

    /// Records the verdict of a gate for `doctor`. A failure to record it does not fail the gate.
    pub(crate) fn remember_gate(&self, record: &serde_json::Value) {
        let dir = self.home.runs_dir();
        let _ = private::create_dir(&dir);
        let path = dir.join("gates.jsonl");
        if let Ok(mut file) = private::file().create(true).append(true).open(path) {
            use std::io::Write as _;
            let _ = file.write_all(format!("{record}\n").as_bytes());
        }
    }

    pub(crate) fn brain(&self) -> Result<Brain, CliError> {
        self.brain_with(OpenMode::Use, IndexKind::Disk)
    }

    /// Opens the brain for a command that writes pages: a missing brain is created without a warning.
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
            models: configured_embedder(&self.home)?.for_workspace(&store, workspace)?,
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

/// Pages that are searched for slugs similar to an unknown one.
const MAX_SUGGESTION_PAGES: usize = 10_000;

/// Adds similar slugs as a hint to the error that a page does not exist.
pub(crate) fn suggest_pages(brain: &Brain, key: &PageKey, error: CliError) -> CliError {
    if error.kind != FaultKind::NotFound {
        return error;
    }
    let filter = PageFilter::default();
    let Ok(pages) = brain.store().list(brain.workspace(), &filter, None, MAX_SUGGESTION_PAGES)
    else {
        return error;
    };
    let slug = key.slug.to_string();
    let last = |slug: &str| slug.rsplit('/').next().unwrap_or(slug).to_owned();
    let names: Vec<(String, String)> =
        pages.iter().map(|page| (page.key.to_string(), page.key.slug.to_string())).collect();
    let is_near = |(_, known): &&(String, String)| {
        nearest(&slug, [known.as_str()]).is_some() || last(known) == last(&slug)
    };
    let near: Vec<&str> =
        names.iter().filter(is_near).take(3).map(|(key, _)| key.as_str()).collect();
    let hint = format!("did you mean `{}`?", near.join("` or `"));
    match near.is_empty() || error.hints.contains(&hint) {
        true => error,
        false => error.hint(hint),
    }
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
