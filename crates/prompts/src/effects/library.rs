//! A directory of prompts with shared settings.

use std::path::{Path, PathBuf};

use super::{LibraryPrompt, PromptError};
use crate::domain::{PromptStatus, Settings, is_alias};

/// A library: a root directory that contains `prompts`.
#[derive(Debug, Clone)]
pub struct Library {
    /// The directory that contains `prompts`.
    pub root: PathBuf,
    /// Settings shared by all prompts.
    pub settings: Settings,
}

/// A prompt in a list, or the error of reading it.
#[derive(Debug)]
pub struct PromptEntry {
    pub id: String,
    pub prompt: Result<LibraryPrompt, PromptError>,
}

impl Library {
    /// The library at a given root, or the nearest one at or above a directory.
    pub fn find(named: Option<&Path>, start: &Path) -> Result<Self, PromptError> {
        let root = match named {
            Some(root) => Some(root).filter(|root| root.join("prompts").is_dir()),
            None => start.ancestors().find(|dir| dir.join("prompts").is_dir()),
        };
        let root = root.ok_or_else(|| PromptError::NoLibrary(named.unwrap_or(start).to_owned()))?;
        Self::at(root)
    }

    /// The library at a root, which may have no prompts yet.
    pub fn at(root: &Path) -> Result<Self, PromptError> {
        let path = root.join("eva.yml");
        let settings = match std::fs::read_to_string(&path) {
            Ok(text) => Settings::parse(&text)
                .map_err(|source| PromptError::Yaml { path: path.clone(), source })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Settings::default(),
            Err(error) => return Err(PromptError::io(path)(error)),
        };
        Ok(Self { root: root.to_owned(), settings })
    }

    /// The directory of the prompts.
    pub fn prompts(&self) -> PathBuf {
        self.root.join("prompts")
    }

    /// Reads the prompt with a name or an alias.
    pub fn prompt(&self, name: &str) -> Result<LibraryPrompt, PromptError> {
        LibraryPrompt::read(self.prompts().join(self.id_of(name)?))
    }

    /// The id for a name or an alias; the prompt may be unreadable.
    pub(crate) fn id_of(&self, name: &str) -> Result<String, PromptError> {
        if is_id(name) && self.prompts().join(name).is_dir() {
            return Ok(name.to_owned());
        }
        if !is_id(name) && !is_alias(name) {
            return Err(PromptError::Id(name.to_owned()));
        }
        let has_alias = |id: &String| {
            let own = super::prompt::aliases(&self.prompts().join(id));
            own.is_ok_and(|own| own.iter().any(|alias| alias == name))
        };
        let owner = self.ids()?.into_iter().find(has_alias);
        owner.ok_or_else(|| PromptError::NoPrompt(name.to_owned()))
    }

    /// The remaining directories of the old layout.
    pub(crate) fn old_layouts(&self) -> Vec<PromptStatus> {
        let is_there = |status: &&PromptStatus| {
            let dir = self.prompts().join(status.name());
            dir.is_dir() && is_of_old_layout(&dir, status.name())
        };
        PromptStatus::ALL.iter().filter(is_there).copied().collect()
    }

    /// All prompts, by name.
    pub fn list(&self) -> Result<Vec<PromptEntry>, PromptError> {
        let ids = self.ids()?.into_iter();
        Ok(ids
            .map(|id| PromptEntry { prompt: LibraryPrompt::read(self.prompts().join(&id)), id })
            .collect())
    }

    /// The names of all directories that may be prompts, without those of the old layout.
    fn ids(&self) -> Result<Vec<String>, PromptError> {
        let dir = self.prompts();
        let entries = std::fs::read_dir(&dir).map_err(PromptError::io(&dir))?;
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(PromptError::io(&dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() && is_id(&name) && !is_of_old_layout(&entry.path(), &name) {
                ids.push(name);
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }
}

/// Whether a directory is `ready`, `tested` or `draft` of the old layout, and not a prompt of that
/// name.
pub(crate) fn is_of_old_layout(dir: &Path, name: &str) -> bool {
    PromptStatus::from_name(name).is_some() && !dir.join("meta.yml").exists()
}

/// Whether a text is a valid name for a prompt's directory.
pub(crate) fn is_id(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}
