//! `eva promote` and `eva demote`: change a status and record its evidence.
//!
//! Both lock the prompt's directory while they read its logs and write its status, so that
//! concurrent changes are serialised.

use std::fs::File;

use jiff::Timestamp;

use super::prompt::day;
use super::{Library, LibraryPrompt, MalformedLines, PromptAssessment, PromptError, log};
use crate::domain::{
    Gate, HashScope, PromotionAction, PromptStatus, Requirement, Stale, StatusEvidence, progress,
};

/// The result of a promotion.
#[derive(Debug, Clone)]
pub struct PromotionResult {
    /// The recorded line; `None` if a gate was closed.
    pub evidence: Option<StatusEvidence>,
    /// The state of the gate.
    pub gate: Gate,
    /// Set if the status was given to another text.
    pub stale: Option<Stale>,
    /// The number of malformed lines, by log.
    pub malformed: MalformedLines,
}

/// The parameters of a demotion.
#[derive(Debug, Clone, Default)]
pub struct Demotion {
    /// The new status; one step down by default.
    pub to: Option<PromptStatus>,
    pub reason: Option<String>,
}

/// Promotes a prompt by one step if its gate is open, or if forced.
pub fn promote(
    library: &Library,
    prompt: &LibraryPrompt,
    is_forced: bool,
    by: &str,
    now: Timestamp,
) -> Result<PromotionResult, PromptError> {
    let (_lock, prompt) = lock(prompt)?;
    let PromptAssessment { gate, stale, malformed, .. } = PromptAssessment::read(library, &prompt)?;
    let Some(gate) = gate else {
        return Err(PromptError::Ready { id: prompt.id.clone(), stale });
    };
    if !gate.unmet.is_empty() && !is_forced {
        return Ok(PromotionResult { evidence: None, gate, stale, malformed });
    }
    let action =
        if gate.unmet.is_empty() { PromotionAction::Promoted } else { PromotionAction::Forced };
    let to = gate.requirement.transition.to();
    let evidence = evidence(&prompt, &gate, Step { action, to, reason: None }, by, now);
    write(&prompt, &evidence)?;
    Ok(PromotionResult { evidence: Some(evidence), gate, stale, malformed })
}

/// Demotes a prompt to a lower status.
pub fn demote(
    library: &Library,
    prompt: &LibraryPrompt,
    demotion: &Demotion,
    by: &str,
    now: Timestamp,
) -> Result<StatusEvidence, PromptError> {
    let (_lock, prompt) = lock(prompt)?;
    let below = match prompt.meta.status {
        PromptStatus::Ready => PromptStatus::Tested,
        PromptStatus::Tested | PromptStatus::Draft => PromptStatus::Draft,
    };
    let to = demotion.to.unwrap_or(below);
    if to >= prompt.meta.status {
        return Err(PromptError::NotAbove(prompt.id.clone(), prompt.meta.status));
    }
    let assessment = PromptAssessment::read(library, &prompt)?;
    // The requirements to reach the old status again.
    let mut meta = prompt.meta.clone();
    meta.status = to;
    let requirement = Requirement::of(&meta, &library.settings);
    let requirement = requirement.ok_or(PromptError::NotAbove(prompt.id.clone(), to))?;
    let gate = progress(requirement, &assessment.usage.counted, assessment.eval);
    let step = Step { action: PromotionAction::Demoted, to, reason: demotion.reason.clone() };
    let evidence = evidence(&prompt, &gate, step, by, now);
    write(&prompt, &evidence)?;
    Ok(evidence)
}

/// Locks a prompt against other status changes, and reads it again.
pub(crate) fn lock(prompt: &LibraryPrompt) -> Result<(File, LibraryPrompt), PromptError> {
    let failed = || PromptError::io(&prompt.dir);
    let dir = File::open(&prompt.dir).map_err(failed())?;
    dir.lock().map_err(failed())?;
    let prompt = LibraryPrompt::read(prompt.dir.clone())?;
    Ok((dir, prompt))
}

struct Step {
    action: PromotionAction,
    to: PromptStatus,
    reason: Option<String>,
}

fn evidence(
    prompt: &LibraryPrompt,
    gate: &Gate,
    step: Step,
    by: &str,
    now: Timestamp,
) -> StatusEvidence {
    StatusEvidence {
        ts: now,
        action: step.action,
        from: prompt.meta.status,
        to: step.to,
        by: by.to_owned(),
        version: prompt.meta.version.clone(),
        prompt_hash: prompt.hash(),
        hash_scope: HashScope::Prompt,
        uses: gate.uses,
        min_uses: gate.requirement.min_uses,
        runs: gate.sent,
        wilson_low: gate.wilson_low,
        eval: gate.eval.name().to_owned(),
        unmet: gate.unmet.iter().map(ToString::to_string).collect(),
        reason: step.reason,
    }
}

/// Writes the line before the status, so that a status never appears without evidence.
fn write(prompt: &LibraryPrompt, evidence: &StatusEvidence) -> Result<(), PromptError> {
    let today = day(evidence.ts);
    let edit = prompt.edit_meta(&[("status", evidence.to.name()), ("updated", &today)])?;
    log::append(&prompt.evidence_log(), || evidence.to_line())?;
    edit.save()
}
