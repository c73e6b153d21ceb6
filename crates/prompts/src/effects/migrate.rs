//! `eva migrate`: prompts of the old layout into directories of their own.

use std::path::PathBuf;

use jiff::Timestamp;

use super::library::is_id;
use super::new::replace;
use super::prompt::{day, optional};
use super::{Library, PromptError};
use crate::domain;

/// One file of the old layout.
#[derive(Debug)]
pub struct Migrated {
    pub from: PathBuf,
    /// Where it is now, or would be.
    pub to: PathBuf,
    /// Why it was left where it is.
    pub left: Option<PromptError>,
}

/// Converts every `prompts/{ready,tested,draft}/NAME.md`. An old file goes when its prompt is there; one
/// whose name is taken stays. With `is_check` nothing is written.
pub fn migrate(
    library: &Library,
    is_check: bool,
    now: Timestamp,
) -> Result<Vec<Migrated>, PromptError> {
    let today = day(now);
    let mut migrated: Vec<Migrated> = Vec::new();
    // The furthest first: of two files with one name, it is the one that counts.
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
            migrated.push(Migrated { from: path, to, left });
        }
        if !is_check {
            // Only if nothing is left in it.
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
