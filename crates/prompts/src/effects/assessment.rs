//! Assesses a prompt: reads each of its logs once and derives its gate and evidence.

use std::path::PathBuf;

use super::prompt::optional;
use super::{Library, LibraryPrompt, PromptError, log};
use crate::domain::usage::Summary;
use crate::domain::{
    EvalState, Gate, MissingEvidence, Requirement, Stale, StatusEvidence, Transition, eval_rows,
    evidence_lines, last_whole, progress,
};

/// The number of malformed lines of each log.
pub type MalformedLines = [(&'static str, u64); 4];

/// The assessment of a prompt by its logs.
#[derive(Debug, Clone)]
pub struct PromptAssessment {
    pub usage: Summary,
    pub eval: EvalState,
    /// The gate to its next step; `None` for a ready prompt.
    pub gate: Option<Gate>,
    /// The evidence for its status.
    pub evidence: Option<StatusEvidence>,
    /// Set if the status was given to another text.
    pub stale: Option<Stale>,
    /// The reason that its status has no evidence.
    pub missing_evidence: Option<MissingEvidence>,
    /// The number of malformed lines, by file.
    pub malformed: MalformedLines,
}

impl PromptAssessment {
    /// Reads the logs of a prompt and assesses it.
    pub fn read(library: &Library, prompt: &LibraryPrompt) -> Result<Self, PromptError> {
        let hashes = prompt.hashes();
        let (runs, bad_runs) = log::run_index(&prompt.run_log(), &hashes.prompt)?;
        let usage = log::summarise(&prompt.usage_log(), prompt.meta.promotion.since, runs)?;
        let text = |path: PathBuf| Ok::<_, PromptError>(optional(&path)?.unwrap_or_default());
        let (evals, bad_evals) = eval_rows(&text(prompt.eval_log())?);
        let (evidence, bad_evidence) = evidence_lines(&text(prompt.evidence_log())?);
        let cases = prompt.cases_hash(&library.root)?;
        let status = prompt.meta.status;
        let eval = last_whole(&evals, &hashes.prompt, cases.as_deref());
        let gate = |step: Transition| {
            let requirement = Requirement::of_step(step, &prompt.meta, &library.settings);
            progress(requirement, &usage.counted, eval)
        };
        let reached = Transition::to_status(status).map(gate);
        Ok(Self {
            eval,
            gate: Transition::from(status).map(gate),
            stale: Stale::of(&evidence, status, &hashes),
            missing_evidence: MissingEvidence::of(&evidence, status, &hashes, reached.as_ref()),
            evidence: evidence.last().filter(|last| last.to == status).cloned(),
            malformed: [
                (".usage.jsonl", usage.malformed),
                (".runs.jsonl", bad_runs),
                (".eval.jsonl", bad_evals),
                (".promotions.jsonl", bad_evidence),
            ],
            usage,
        })
    }
}
