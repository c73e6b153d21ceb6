//! How a prompt stands: everything that its logs say of it as it is now, each read once.

use std::path::PathBuf;

use super::prompt::optional;
use super::{Library, Prompt, PromptError, log};
use crate::domain::usage::Summary;
use crate::domain::{
    Evidence, Gate, Green, MissingEvidence, Requirement, Stale, Transition, eval_rows,
    evidence_lines, last_whole, progress,
};

/// Lines of each log that are not rows.
pub type MalformedLines = [(&'static str, u64); 4];

/// What the logs of a prompt say.
#[derive(Debug, Clone)]
pub struct Standing {
    pub usage: Summary,
    pub eval: Green,
    /// The way to its next step; none for one that is ready.
    pub gate: Option<Gate>,
    /// What its status rests on.
    pub evidence: Option<Evidence>,
    /// A status that was given to another text.
    pub stale: Option<Stale>,
    /// Why its status does not rest on evidence.
    pub missing_evidence: Option<MissingEvidence>,
    /// Lines that are not rows, by file.
    pub malformed: MalformedLines,
}

impl Standing {
    /// Reads the logs of a prompt.
    pub fn read(library: &Library, prompt: &Prompt) -> Result<Self, PromptError> {
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
