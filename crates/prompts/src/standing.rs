//! How a prompt stands: everything that its logs say of it as it is now, each read once.

use std::path::PathBuf;

use gbrain_core::prompt::{
    Evidence, Gate, Green, Requirement, Settings, Stale, eval_rows, evidence_lines, last_whole,
    progress,
};
use gbrain_core::usage::Summary;

use crate::prompt::{eval_hash, optional};
use crate::{Prompt, PromptError, log};

/// What the logs of a prompt say.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Its runs.
    pub usage: Summary,
    /// Its evaluations.
    pub eval: Green,
    /// The way to its next step; none for one that is ready.
    pub gate: Option<Gate>,
    /// What its status rests on.
    pub evidence: Option<Evidence>,
    /// A status that was given to another text.
    pub stale: Option<Stale>,
    /// Lines that are not rows, by file.
    pub malformed: [(&'static str, u64); 3],
}

impl Standing {
    /// Reads the logs of a prompt.
    pub fn read(prompt: &Prompt, settings: &Settings) -> Result<Self, PromptError> {
        let usage = log::summarise(&prompt.usage_log(), prompt.meta.promotion.since)?;
        let text = |path: PathBuf| Ok::<_, PromptError>(optional(&path)?.unwrap_or_default());
        let (evals, bad_evals) = eval_rows(&text(prompt.eval_log())?);
        let (evidence, bad_evidence) = evidence_lines(&text(prompt.evidence_log())?);
        let cases = prompt.eval_text()?.map(|text| eval_hash(&text));
        let (status, hash) = (prompt.meta.status, prompt.hash());
        let eval = last_whole(&evals, &hash, cases.as_deref());
        let requirement = Requirement::of(&prompt.meta, settings);
        Ok(Self {
            eval,
            gate: requirement.map(|requirement| progress(requirement, &usage.counted, eval)),
            stale: Stale::of(&evidence, status, &hash),
            evidence: evidence.last().filter(|last| last.to == status).cloned(),
            malformed: [
                (".usage.jsonl", usage.malformed),
                (".eval.jsonl", bad_evals),
                (".promotions.jsonl", bad_evidence),
            ],
            usage,
        })
    }
}
