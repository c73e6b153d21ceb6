//! `eva promote` and `eva demote`: a status, and the line that says what it rests on.
//!
//! Both hold a lock on the prompt's directory while they read its logs and write its status, so that two at once
//! are one after the other.

use std::fs::File;

use jiff::Timestamp;

use super::prompt::day;
use super::{Library, MalformedLines, Prompt, PromptError, Standing, log};
use crate::domain::{Evidence, Gate, HashScope, Move, Requirement, Stale, Status, progress};

/// A change of a status.
#[derive(Debug, Clone)]
pub struct Moved {
    /// What was written down; nothing if a gate was closed.
    pub evidence: Option<Evidence>,
    /// How far it was.
    pub gate: Gate,
    /// A status that was given to another text.
    pub stale: Option<Stale>,
    /// Lines of logs that are not rows, by file: nothing was counted of them.
    pub malformed: MalformedLines,
}

/// How to go down.
#[derive(Debug, Clone, Default)]
pub struct Demotion {
    /// Where to; one step if nobody says.
    pub to: Option<Status>,
    pub reason: Option<String>,
}

/// Takes a prompt one step up if its gate is open, or if it is forced.
pub fn promote(
    library: &Library,
    prompt: &Prompt,
    is_forced: bool,
    by: &str,
    now: Timestamp,
) -> Result<Moved, PromptError> {
    let (_lock, prompt) = lock(prompt)?;
    let Standing { gate, stale, malformed, .. } = Standing::read(library, &prompt)?;
    let Some(gate) = gate else {
        return Err(PromptError::Ready { id: prompt.id.clone(), stale });
    };
    if !gate.unmet.is_empty() && !is_forced {
        return Ok(Moved { evidence: None, gate, stale, malformed });
    }
    let action = if gate.unmet.is_empty() { Move::Promoted } else { Move::Forced };
    let to = gate.requirement.transition.to();
    let evidence = evidence(&prompt, &gate, Step { action, to, reason: None }, by, now);
    write(&prompt, &evidence)?;
    Ok(Moved { evidence: Some(evidence), gate, stale, malformed })
}

/// Takes a prompt down.
pub fn demote(
    library: &Library,
    prompt: &Prompt,
    demotion: &Demotion,
    by: &str,
    now: Timestamp,
) -> Result<Evidence, PromptError> {
    let (_lock, prompt) = lock(prompt)?;
    let below = match prompt.meta.status {
        Status::Ready => Status::Tested,
        Status::Tested | Status::Draft => Status::Draft,
    };
    let to = demotion.to.unwrap_or(below);
    if to >= prompt.meta.status {
        return Err(PromptError::NotAbove(prompt.id.clone(), prompt.meta.status));
    }
    let standing = Standing::read(library, &prompt)?;
    // What it would take to come back.
    let mut meta = prompt.meta.clone();
    meta.status = to;
    let requirement = Requirement::of(&meta, &library.settings);
    let requirement = requirement.ok_or(PromptError::NotAbove(prompt.id.clone(), to))?;
    let gate = progress(requirement, &standing.usage.counted, standing.eval);
    let step = Step { action: Move::Demoted, to, reason: demotion.reason.clone() };
    let evidence = evidence(&prompt, &gate, step, by, now);
    write(&prompt, &evidence)?;
    Ok(evidence)
}

/// Waits until no other process changes the status of a prompt, and reads the prompt again.
pub(crate) fn lock(prompt: &Prompt) -> Result<(File, Prompt), PromptError> {
    let failed = || PromptError::io(&prompt.dir);
    let dir = File::open(&prompt.dir).map_err(failed())?;
    dir.lock().map_err(failed())?;
    let prompt = Prompt::read(prompt.dir.clone())?;
    Ok((dir, prompt))
}

struct Step {
    action: Move,
    to: Status,
    reason: Option<String>,
}

fn evidence(prompt: &Prompt, gate: &Gate, step: Step, by: &str, now: Timestamp) -> Evidence {
    Evidence {
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

/// The line first, then the status: a status without evidence is never seen.
fn write(prompt: &Prompt, evidence: &Evidence) -> Result<(), PromptError> {
    let today = day(evidence.ts);
    let edit = prompt.edit_meta(&[("status", evidence.to.name()), ("updated", &today)])?;
    log::append(&prompt.evidence_log(), || evidence.to_line())?;
    edit.save()
}
