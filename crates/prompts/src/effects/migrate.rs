//! `eva migrate`: converts prompts of the old layout into directories.

use std::path::PathBuf;

use jiff::Timestamp;

use super::library::is_id;
use super::new::replace;
use super::prompt::{day, optional};
use super::{Library, PromptError};
use crate::domain;

/// The migration of one file of the old layout.
#[derive(Debug)]
pub struct MigratedFile {
    pub from: PathBuf,
    /// The new path, or the planned one.
    pub to: PathBuf,
    /// The reason that it was not migrated.
    pub left: Option<PromptError>,
}

/// Converts every `prompts/{ready,tested,draft}/NAME.md`. An old file is deleted once its prompt
/// exists; a file whose name is taken stays. With `is_check` nothing is written.
pub fn migrate(
    library: &Library,
    is_check: bool,
    now: Timestamp,
) -> Result<Vec<MigratedFile>, PromptError> {
    let today = day(now);
    let mut migrated: Vec<MigratedFile> = Vec::new();
    // The highest status first: it wins if two files have the same name.
    for status in library.old_layouts().into_iter().rev() {
        let dir = library.prompts().join(status.name());
        for path in files(&dir)? {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = optional(&path)?.unwrap_or_default();
            let legacy = domain::migrate(&stem, status, &text, &today);
            let to = library.prompts().join(&legacy.id);
            let is_taken = to.exists() || migrated.iter().any(|other| other.to == to);
            let left = match (is_id(&legacy.id), is_taken) {
                (false, _) => Some(PromptError::Id(legacy.id.clone())),
                (true, true) => Some(PromptError::Exists(legacy.id.clone())),
                (true, false) => None,
            };
            if left.is_none() && !is_check {
                std::fs::create_dir_all(&to).map_err(PromptError::io(&to))?;
                replace(&to.join("prompt.md"), &legacy.template)?;
                replace(&to.join("meta.yml"), &legacy.meta)?;
                std::fs::remove_file(&path).map_err(PromptError::io(&path))?;
            }
            migrated.push(MigratedFile { from: path, to, left });
        }
        if !is_check {
            // Succeeds only if the directory is empty.
            let _ = std::fs::remove_dir(&dir);
        }
    }
    Ok(migrated)
}

fn files(dir: &PathBuf) -> Result<Vec<PathBuf>, PromptError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(PromptError::io(dir))? {
        let path = entry.map_err(PromptError::io(dir))?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}
