//! `eva export-skill`: a ready prompt as a skill.

use std::path::PathBuf;

use gbrain_core::prompt::{Status, skill};

use crate::new::replace;
use crate::{Library, Prompt, PromptError};

/// A skill that was written.
#[derive(Debug)]
pub struct Exported {
    /// The file.
    pub path: PathBuf,
    /// Whether the prompt was not ready.
    pub was_forced: bool,
}

/// Writes `dist/skills/<id>/SKILL.md`; what else was in that directory goes.
pub fn export_skill(
    library: &Library,
    prompt: &Prompt,
    is_forced: bool,
) -> Result<Exported, PromptError> {
    let is_ready = prompt.meta.status == Status::Ready && prompt.stale()?.is_none();
    if !is_ready && !is_forced {
        return Err(PromptError::NotReady(prompt.id.clone()));
    }
    let text = skill(&prompt.meta, &prompt.template.text, prompt.template.is_xml)?;
    let dir = library.root.join("dist/skills").join(&prompt.id);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(PromptError::io(&dir))?;
    }
    std::fs::create_dir_all(&dir).map_err(PromptError::io(&dir))?;
    let path = dir.join("SKILL.md");
    replace(&path, &text)?;
    Ok(Exported { path, was_forced: !is_ready })
}
