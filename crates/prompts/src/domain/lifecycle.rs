//! From draft to tested to ready: what a prompt must have shown.
//!
//! | transition | counts rows | by default | evaluation |
//! |---|---|---|---|
//! | draft to tested | sent and not refuted | 3 | not needed |
//! | tested to ready | sent and verified | 10 | the last whole one was green, of this text |
//!
//! A row counts for the prompt that it was a run of: template, hooks, defaults and model. Neither a new version nor
//! a demotion resets counts, and a text that comes back has its runs again. A prompt may say from which day on to
//! count.

use gbrain_core::named;
use gbrain_core::stats::wilson;

use super::history::Green;
use super::meta::{Meta, Status};
use super::settings::Settings;
use super::usage::{Counted, Counts};

/// A step up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    DraftToTested,
    TestedToReady,
}

named! { Transition { DraftToTested = "draft_to_tested", TestedToReady = "tested_to_ready" } }

/// How many uses each transition needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Sent and not refuted.
    pub draft_to_tested: u64,
    pub tested_to_ready: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { draft_to_tested: 3, tested_to_ready: 10 }
    }
}

/// What is asked of a prompt for its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    pub transition: Transition,
    pub min_uses: u64,
    /// Whether the last whole evaluation must be green.
    pub require_eval: bool,
    /// Whether only uses count whose command ended with 0.
    pub require_exit_zero: bool,
}

/// How far a prompt is on the way to its next step.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub requirement: Requirement,
    /// How many uses count.
    pub uses: u64,
    /// Rows of this text that were sent.
    pub sent: Counts,
    /// Sent rows of another text, verifier, default or model.
    pub other_text: u64,
    /// Sent rows that have no record of their text.
    pub unknown_text: u64,
    /// What the rate of uses that count is at least, at 95 %; none without any that was sent.
    pub wilson_low: Option<f64>,
    /// What the evaluations say.
    pub eval: Green,
    /// What is missing. Open when empty.
    pub unmet: Vec<Unmet>,
}

/// Something that a gate asks for and does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmet {
    #[error("{have} of {need} uses of this text that are {what}")]
    Uses {
        /// How many there are.
        have: u64,
        /// How many it takes.
        need: u64,
        what: &'static str,
    },
    /// No evaluation that is green.
    #[error("evaluation: {0}")]
    Eval(&'static str),
}

impl Unmet {
    /// The command that makes it.
    pub fn remedy(&self, id: &str) -> String {
        match self {
            Self::Uses { have, need, .. } => {
                format!("`kick {id} --send` {} times", need.saturating_sub(*have))
            }
            Self::Eval(_) => format!("`eva eval {id}`"),
        }
    }
}

impl Transition {
    /// The step that leads to a status; none leads to draft.
    pub fn to_status(status: Status) -> Option<Self> {
        Self::ALL.iter().copied().find(|transition| transition.to() == status)
    }

    /// The step up from a status; none from the top.
    pub fn from(status: Status) -> Option<Self> {
        match status {
            Status::Draft => Some(Self::DraftToTested),
            Status::Tested => Some(Self::TestedToReady),
            Status::Ready => None,
        }
    }

    /// Where it leads.
    pub fn to(self) -> Status {
        match self {
            Self::DraftToTested => Status::Tested,
            Self::TestedToReady => Status::Ready,
        }
    }

    /// What counts for it, in words.
    pub fn counts(self) -> &'static str {
        match self {
            Self::DraftToTested => "sent and not refuted",
            Self::TestedToReady => "sent and verified",
        }
    }

    fn uses(self, counts: &Counts) -> u64 {
        match self {
            Self::DraftToTested => counts.unrefuted(),
            Self::TestedToReady => counts.verified,
        }
    }
}

impl Requirement {
    /// What a library and a prompt ask for together; the prompt has the last word.
    pub fn of(meta: &Meta, settings: &Settings) -> Option<Self> {
        Transition::from(meta.status).map(|transition| Self::of_step(transition, meta, settings))
    }

    /// The same for any step. At least one use is asked for: a prompt that never ran has shown nothing.
    pub fn of_step(transition: Transition, meta: &Meta, settings: &Settings) -> Self {
        let (library, is_eval_needed) = match transition {
            Transition::DraftToTested => (settings.thresholds.draft_to_tested, false),
            Transition::TestedToReady => (settings.thresholds.tested_to_ready, true),
        };
        let promotion = &meta.promotion;
        Self {
            transition,
            min_uses: promotion.min_uses(transition).unwrap_or(library).max(1),
            // A prompt's own word is about the step that asks for an evaluation.
            require_eval: is_eval_needed && promotion.require_eval.unwrap_or(true),
            require_exit_zero: promotion.require_exit_zero.unwrap_or(settings.require_exit_zero),
        }
    }
}

/// How far a prompt is.
pub fn progress(requirement: Requirement, counted: &Counted, eval: Green) -> Gate {
    let Counted { sent, succeeded, other_text, unknown_text } = counted;
    let looked_at = if requirement.require_exit_zero { succeeded } else { sent };
    let uses = requirement.transition.uses(looked_at);
    let mut unmet = Vec::new();
    if uses < requirement.min_uses {
        let what = requirement.transition.counts();
        unmet.push(Unmet::Uses { have: uses, need: requirement.min_uses, what });
    }
    if requirement.require_eval
        && let Some(reason) = eval.reason()
    {
        unmet.push(Unmet::Eval(reason));
    }
    let wilson_low = wilson(uses, sent.all(), 0.95).map(|interval| interval.low);
    Gate {
        requirement,
        uses,
        sent: *sent,
        other_text: *other_text,
        unknown_text: *unknown_text,
        wilson_low,
        eval,
        unmet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(status: Status, counts: [u64; 3], eval: Green) -> Gate {
        let mut meta = super::super::meta::tests_meta(status);
        meta.promotion.require_exit_zero = Some(false);
        let [verified, refuted, unverified] = counts;
        let sent = Counts { verified, refuted, unverified };
        let counted = Counted { sent, ..Counted::default() };
        progress(Requirement::of(&meta, &Settings::default()).unwrap(), &counted, eval)
    }

    #[test]
    fn the_first_gate_counts_what_nobody_refuted() {
        assert_eq!(gate(Status::Draft, [1, 9, 1], Green::Missing).unmet.len(), 1);
        assert_eq!(gate(Status::Draft, [1, 9, 2], Green::Missing).unmet, []);
        assert_eq!(gate(Status::Draft, [0, 0, 3], Green::Red).unmet, []);
    }

    #[test]
    fn the_second_gate_counts_what_was_verified_and_wants_a_green_evaluation() {
        assert_eq!(gate(Status::Tested, [9, 0, 50], Green::Green).unmet.len(), 1);
        assert_eq!(gate(Status::Tested, [10, 0, 0], Green::Red).unmet.len(), 1);
        assert_eq!(gate(Status::Tested, [9, 0, 0], Green::Stale).unmet.len(), 2);
        let open = gate(Status::Tested, [10, 10, 0], Green::Green);
        assert_eq!(open.unmet, []);
        assert!((open.wilson_low.unwrap() - 0.2993).abs() < 1e-4, "{open:?}");
    }

    #[test]
    fn failed_calls_count_unless_the_library_says_otherwise() {
        let meta = super::super::meta::tests_meta(Status::Draft);
        let mut counted = Counted::default();
        counted.sent.unverified = 3;
        counted.succeeded.unverified = 2;
        let uses = |settings: &Settings| {
            progress(Requirement::of(&meta, settings).unwrap(), &counted, Green::Missing).uses
        };
        assert_eq!(uses(&Settings::default()), 3);
        assert_eq!(uses(&Settings { require_exit_zero: true, ..Settings::default() }), 2);
    }

    #[test]
    fn a_prompt_has_the_last_word_then_its_library() {
        let mut meta = super::super::meta::tests_meta(Status::Tested);
        let thresholds = Thresholds { draft_to_tested: 1, tested_to_ready: 20 };
        let settings = Settings { thresholds, ..Settings::default() };
        let asked = |meta: &Meta, settings: &Settings| {
            let requirement = Requirement::of(meta, settings).unwrap();
            (requirement.min_uses, requirement.require_eval)
        };
        assert_eq!(asked(&meta, &Settings::default()), (10, true));
        assert_eq!(asked(&meta, &settings), (20, true));
        meta.promotion.min_uses = [Some(7); 2];
        meta.promotion.require_eval = Some(false);
        assert_eq!(asked(&meta, &settings), (7, false));
        meta.status = Status::Draft;
        meta.promotion.require_eval = Some(true);
        assert_eq!(asked(&meta, &settings), (7, false));
        // No prompt can say that it need not run at all.
        meta.promotion.min_uses = [Some(0); 2];
        assert_eq!(asked(&meta, &settings), (1, false));
    }

    #[test]
    fn nothing_is_above_ready() {
        let meta = super::super::meta::tests_meta(Status::Ready);
        assert_eq!(Requirement::of(&meta, &Settings::default()), None);
    }
}
