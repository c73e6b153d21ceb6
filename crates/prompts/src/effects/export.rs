//! `eva export-skill`: exports a ready prompt as a skill.

use std::path::PathBuf;

use super::new::replace;
use super::{Library, LibraryPrompt, PromptAssessment, PromptError};
use crate::domain::{MissingEvidence, PromptStatus, skill};

/// An exported skill file.
#[derive(Debug)]
pub struct ExportedSkill {
    pub path: PathBuf,
    /// The refusal that was overridden by force.
    pub forced_past: Option<String>,
}

/// Writes `dist/skills/<id>/SKILL.md`; other files in that directory are deleted.
pub fn export_skill(
    library: &Library,
    prompt: &LibraryPrompt,
    is_forced: bool,
) -> Result<ExportedSkill, PromptError> {
    let refusal = refusal(library, prompt)?;
    if let (Some(refusal), false) = (&refusal, is_forced) {
        return Err(refusal.clone().into());
    }
    let text = skill(&prompt.meta, &prompt.template.text, prompt.template.is_xml)?;
    let dir = library.root.join("dist/skills").join(&prompt.id);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(PromptError::io(&dir))?;
    }
    std::fs::create_dir_all(&dir).map_err(PromptError::io(&dir))?;
    let path = dir.join("SKILL.md");
    replace(&path, &text)?;
    Ok(ExportedSkill {
        path,
        forced_past: refusal.map(|refusal| PromptError::from(refusal).to_string()),
    })
}

/// The reason that a prompt may not be exported.
#[derive(Debug, Clone)]
enum Refusal {
    NotReady(String),
    NoEvidence { id: String, why: MissingEvidence },
}

impl From<Refusal> for PromptError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotReady(id) => Self::NotReady(id),
            Refusal::NoEvidence { id, why } => Self::NoEvidence { id, why },
        }
    }
}

fn refusal(library: &Library, prompt: &LibraryPrompt) -> Result<Option<Refusal>, PromptError> {
    let id = prompt.id.clone();
    if prompt.meta.status != PromptStatus::Ready {
        return Ok(Some(Refusal::NotReady(id)));
    }
    let why = PromptAssessment::read(library, prompt)?.missing_evidence;
    Ok(why.map(|why| Refusal::NoEvidence { id, why }))
}
