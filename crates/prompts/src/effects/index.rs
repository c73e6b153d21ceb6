//! `eva index`: regenerates the lists of all prompts.

use std::path::PathBuf;

use super::new::replace;
use super::prompt::optional;
use super::{Library, PromptAssessment, PromptError};
use crate::domain::{IndexRow, MissingEvidence, rewrite_aliases, rewrite_readme};

/// The result of updating the lists.
#[derive(Debug)]
pub struct IndexReport {
    /// The number of listed prompts.
    pub prompts: usize,
    /// Files whose lists changed.
    pub changed: Vec<PathBuf>,
    /// Errors for files that were not changed.
    pub left: Vec<PromptError>,
    /// Listed prompts whose status has no evidence.
    pub missing_evidence: Vec<(String, MissingEvidence)>,
    /// Unreadable prompts, which are not listed.
    pub unreadable: Vec<(String, PromptError)>,
}

/// Regenerates the lists; with `is_check` nothing is written.
pub fn index(library: &Library, is_check: bool) -> Result<IndexReport, PromptError> {
    let (mut rows, mut unreadable, mut missing_evidence) = (Vec::new(), Vec::new(), Vec::new());
    for listed in library.list()? {
        match listed.prompt {
            Ok(prompt) => {
                let why = PromptAssessment::read(library, &prompt)?.missing_evidence;
                missing_evidence.extend(why.map(|why| (prompt.id.clone(), why)));
                rows.push(IndexRow {
                    aliases: prompt.aliases()?,
                    id: prompt.id,
                    status: prompt.meta.status,
                    version: prompt.meta.version,
                    summary: prompt.meta.summary,
                });
            }
            Err(error) => unreadable.push((listed.id, error)),
        }
    }
    let prompts = rows.len();
    let mut indexed = IndexReport {
        prompts,
        changed: Vec::new(),
        left: Vec::new(),
        missing_evidence,
        unreadable,
    };
    let readme = library.root.join("README.md");
    if let Some(text) = optional(&readme)? {
        let new = rewrite_readme(&text, &rows);
        put(&mut indexed, readme, Some(&text), new, is_check)?;
    }
    let aliases = library.root.join("bin/kick-aliases.sh");
    let text = optional(&aliases)?;
    if text.is_some() || rows.iter().any(|row| !row.aliases.is_empty()) {
        let new = rewrite_aliases(text.as_deref(), &rows);
        put(&mut indexed, aliases, text.as_deref(), new, is_check)?;
    }
    Ok(indexed)
}

fn put(
    indexed: &mut IndexReport,
    path: PathBuf,
    old: Option<&str>,
    new: Result<String, crate::domain::IndexError>,
    is_check: bool,
) -> Result<(), PromptError> {
    let new = match new {
        Ok(new) => new,
        Err(source) => {
            indexed.left.push(PromptError::Index { path, source });
            return Ok(());
        }
    };
    if old == Some(new.as_str()) {
        return Ok(());
    }
    if !is_check {
        let dir = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(dir).map_err(PromptError::io(dir))?;
        replace(&path, &new)?;
    }
    indexed.changed.push(path);
    Ok(())
}
