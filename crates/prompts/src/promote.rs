//! `eva promote` and `eva demote`: a status, and the line that says what it rests on.

use gbrain_core::prompt::{
    Evidence, Gate, Green, Move, Requirement, Stale, Status, Transition, edited, progress,
};
use gbrain_core::usage::Summary;
use jiff::Timestamp;

use crate::{Library, Prompt, PromptError, log};

/// A change of a status.
#[derive(Debug, Clone)]
pub struct Moved {
    /// What was written down; nothing if a gate was closed.
    pub evidence: Option<Evidence>,
    /// How far it was.
    pub gate: Gate,
    /// A status that was given to another text.
    pub stale: Option<Stale>,
}

/// How to go down.
#[derive(Debug, Clone, Default)]
pub struct Demotion {
    /// Where to; one step if nobody says.
    pub to: Option<Status>,
    /// Why.
    pub reason: Option<String>,
}

/// The moment from which on rows count, if the prompt says one: a day, or a moment.
pub fn since(prompt: &Prompt) -> Result<Option<[u8; 20]>, PromptError> {
    let Some(text) = &prompt.meta.promotion.since else { return Ok(None) };
    let text = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.clone() };
    let moment: Option<Timestamp> = text.parse().ok();
    let second = moment.map(gbrain_core::usage::second);
    let bytes = second.and_then(|second| second.as_bytes().first_chunk().copied());
    bytes.map(Some).ok_or_else(|| PromptError::Meta {
        path: prompt.file("meta.yml"),
        source: gbrain_core::prompt::MetaError {
            problems: vec![format!("`promotion.since` is a day, not `{text}`")],
        },
    })
}

/// How far a prompt is on the way to its next step; none for one that is ready.
pub fn gate(
    library: &Library,
    prompt: &Prompt,
    usage: &Summary,
) -> Result<Option<Gate>, PromptError> {
    let Some(requirement) = Requirement::of(&prompt.meta, &library.settings) else {
        return Ok(None);
    };
    Ok(Some(progress(requirement, usage, prompt.green()?)))
}

/// Takes a prompt one step up if its gate is open, or if it is forced.
pub fn promote(
    library: &Library,
    prompt: &Prompt,
    is_forced: bool,
    by: &str,
    now: Timestamp,
) -> Result<Moved, PromptError> {
    let usage = log::summarise(&prompt.usage_log(), since(prompt)?)?;
    let gate =
        gate(library, prompt, &usage)?.ok_or_else(|| PromptError::Ready(prompt.id.clone()))?;
    let stale = prompt.stale()?;
    if !gate.unmet.is_empty() && !is_forced {
        return Ok(Moved { evidence: None, gate, stale });
    }
    let action = if gate.unmet.is_empty() { Move::Promoted } else { Move::Forced };
    let to = gate.requirement.transition.to();
    let evidence = evidence(prompt, &usage, &gate, Step { action, to, reason: None }, by, now);
    write(prompt, &evidence, now)?;
    Ok(Moved { evidence: Some(evidence), gate, stale })
}

/// Takes a prompt down.
pub fn demote(
    library: &Library,
    prompt: &Prompt,
    demotion: &Demotion,
    by: &str,
    now: Timestamp,
) -> Result<Evidence, PromptError> {
    let below = match prompt.meta.status {
        Status::Ready => Status::Tested,
        Status::Tested | Status::Draft => Status::Draft,
    };
    let to = demotion.to.unwrap_or(below);
    if to >= prompt.meta.status {
        return Err(PromptError::NotAbove(prompt.id.clone(), prompt.meta.status));
    }
    let usage = log::summarise(&prompt.usage_log(), since(prompt)?)?;
    // What it would take to come back.
    let mut meta = prompt.meta.clone();
    meta.status = to;
    let requirement = Requirement::of(&meta, &library.settings);
    let requirement = requirement.unwrap_or(Requirement {
        transition: Transition::DraftToTested,
        min_uses: 0,
        require_eval: false,
        require_exit_zero: false,
    });
    let gate = progress(requirement, &usage, prompt.green().unwrap_or(Green::Missing));
    let step = Step { action: Move::Demoted, to, reason: demotion.reason.clone() };
    let evidence = evidence(prompt, &usage, &gate, step, by, now);
    write(prompt, &evidence, now)?;
    Ok(evidence)
}

struct Step {
    action: Move,
    to: Status,
    reason: Option<String>,
}

fn evidence(
    prompt: &Prompt,
    usage: &Summary,
    gate: &Gate,
    step: Step,
    by: &str,
    now: Timestamp,
) -> Evidence {
    Evidence {
        schema_version: Evidence::VERSION,
        ts: Evidence::moment(now),
        action: step.action,
        from: prompt.meta.status,
        to: step.to,
        by: by.to_owned(),
        version: prompt.meta.version.clone(),
        prompt_hash: prompt.hash(),
        uses: gate.uses,
        min_uses: gate.requirement.min_uses,
        sent: usage.sent.all(),
        verified: usage.sent.verified,
        refuted: usage.sent.refuted,
        unverified: usage.sent.unverified,
        wilson_low: gate.wilson_low,
        eval: gate.eval.name().to_owned(),
        unmet: gate.unmet.iter().map(ToString::to_string).collect(),
        reason: step.reason,
    }
}

/// The line first, then the status: a status without evidence is never seen.
fn write(prompt: &Prompt, evidence: &Evidence, now: Timestamp) -> Result<(), PromptError> {
    let path = prompt.file("meta.yml");
    let text = std::fs::read_to_string(&path).map_err(PromptError::io(&path))?;
    let today = now.strftime("%Y-%m-%d").to_string();
    let mut text = text;
    for (key, value) in [("status", evidence.to.name()), ("updated", &today)] {
        let edit = || PromptError::Edit { path: path.clone(), key };
        text = edited(&text, key, value).ok_or_else(edit)?;
    }
    log::append(&prompt.evidence_log(), || evidence.to_line())?;
    crate::new::replace(&path, &text)
}
