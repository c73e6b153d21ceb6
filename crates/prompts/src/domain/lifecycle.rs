//! The steps from draft to tested to ready, and their requirements.
//!
//! | transition | counts rows | by default | evaluation |
//! |---|---|---|---|
//! | draft to tested | sent and not refuted | 3 | not needed |
//! | tested to ready | sent and verified | 10 | the last whole one was green, of this text |
//!
//! A row counts for the prompt that it ran: template, hooks, defaults and model. Neither a new
//! version nor a demotion resets counts, and a restored text has its runs again. A prompt may set
//! the day from which rows count.

use gbrain_core::named;
use gbrain_core::stats::wilson;

use super::history::EvalState;
use super::meta::{Meta, PromptStatus};
use super::settings::Settings;
use super::usage::{GateCounts, VerdictCounts};

named! {
    /// A promotion by one step.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Transition {
        DraftToTested = "draft_to_tested",
        TestedToReady = "tested_to_ready",
    }
}

/// The number of uses that each transition needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Uses that were sent and not refuted.
    pub draft_to_tested: u64,
    pub tested_to_ready: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { draft_to_tested: 3, tested_to_ready: 10 }
    }
}

/// The requirements for the next step of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    pub transition: Transition,
    pub min_uses: u64,
    /// Whether the last complete evaluation must be green.
    pub require_eval: bool,
    /// Whether only uses whose command exited with 0 count.
    pub require_exit_zero: bool,
}

/// The progress of a prompt towards its next step.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub requirement: Requirement,
    /// The number of uses that count.
    pub uses: u64,
    /// Sent rows of this text.
    pub sent: VerdictCounts,
    /// Sent rows of another text, verifier, default or model.
    pub other_text: u64,
    /// Sent rows without a record of their text.
    pub unknown_text: u64,
    /// Lower bound of the rate of uses that count, at 95 %; `None` if no run was sent.
    pub wilson_low: Option<f64>,
    /// The state of the evaluation.
    pub eval: EvalState,
    /// The unmet requirements; the gate is open if there are none.
    pub unmet: Vec<UnmetRequirement>,
}

/// A requirement of a gate that is not met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnmetRequirement {
    #[error("{have} of {need} uses of this text that are {what}")]
    Uses {
        /// The number of uses so far.
        have: u64,
        /// The number of uses required.
        need: u64,
        what: &'static str,
    },
    /// The evaluation is not green.
    #[error("evaluation: {0}")]
    Eval(&'static str),
}

impl UnmetRequirement {
    /// The command that meets the requirement.
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
    /// The step that leads to a status; `None` for draft.
    pub fn to_status(status: PromptStatus) -> Option<Self> {
        Self::ALL.iter().copied().find(|transition| transition.to() == status)
    }

    /// The step up from a status; `None` for ready.
    pub fn from(status: PromptStatus) -> Option<Self> {
        match status {
            PromptStatus::Draft => Some(Self::DraftToTested),
            PromptStatus::Tested => Some(Self::TestedToReady),
            PromptStatus::Ready => None,
        }
    }

    /// The status that it leads to.
    pub fn to(self) -> PromptStatus {
        match self {
            Self::DraftToTested => PromptStatus::Tested,
            Self::TestedToReady => PromptStatus::Ready,
        }
    }

    /// Describes the runs that count for it.
    pub fn counts(self) -> &'static str {
        match self {
            Self::DraftToTested => "sent and not refuted",
            Self::TestedToReady => "sent and verified",
        }
    }

    fn uses(self, counts: &VerdictCounts) -> u64 {
        match self {
            Self::DraftToTested => counts.not_refuted(),
            Self::TestedToReady => counts.verified,
        }
    }
}

impl Requirement {
    /// The requirements of a library and a prompt together; the prompt's own settings win.
    pub fn of(meta: &Meta, settings: &Settings) -> Option<Self> {
        Transition::from(meta.status).map(|transition| Self::of_step(transition, meta, settings))
    }

    /// The requirements of any step. At least one use is required: a prompt that never ran has no
    /// evidence.
    pub fn of_step(transition: Transition, meta: &Meta, settings: &Settings) -> Self {
        let (library, is_eval_needed) = match transition {
            Transition::DraftToTested => (settings.thresholds.draft_to_tested, false),
            Transition::TestedToReady => (settings.thresholds.tested_to_ready, true),
        };
        let promotion = &meta.promotion;
        Self {
            transition,
            min_uses: promotion.min_uses(transition).unwrap_or(library).max(1),
            // A prompt's own setting applies only to the step that requires an evaluation.
            require_eval: is_eval_needed && promotion.require_eval.unwrap_or(true),
            require_exit_zero: promotion.require_exit_zero.unwrap_or(settings.require_exit_zero),
        }
    }
}

/// Measures the progress of a prompt.
pub fn progress(requirement: Requirement, counted: &GateCounts, eval: EvalState) -> Gate {
    let GateCounts { sent, succeeded, other_text, unknown_text } = counted;
    let looked_at = if requirement.require_exit_zero { succeeded } else { sent };
    let uses = requirement.transition.uses(looked_at);
    let mut unmet = Vec::new();
    if uses < requirement.min_uses {
        let what = requirement.transition.counts();
        unmet.push(UnmetRequirement::Uses { have: uses, need: requirement.min_uses, what });
    }
    if requirement.require_eval
        && let Some(reason) = eval.reason()
    {
        unmet.push(UnmetRequirement::Eval(reason));
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

    fn gate(status: PromptStatus, counts: [u64; 3], eval: EvalState) -> Gate {
        let mut meta = super::super::meta::tests_meta(status);
        meta.promotion.require_exit_zero = Some(false);
        let [verified, refuted, unverified] = counts;
        let sent = VerdictCounts { verified, refuted, unverified };
        let counted = GateCounts { sent, ..GateCounts::default() };
        progress(Requirement::of(&meta, &Settings::default()).unwrap(), &counted, eval)
    }

    #[test]
    fn the_first_gate_counts_unrefuted_runs() {
        assert_eq!(gate(PromptStatus::Draft, [1, 9, 1], EvalState::Missing).unmet.len(), 1);
        assert_eq!(gate(PromptStatus::Draft, [1, 9, 2], EvalState::Missing).unmet, []);
        assert_eq!(gate(PromptStatus::Draft, [0, 0, 3], EvalState::Red).unmet, []);
    }

    #[test]
    fn the_second_gate_counts_what_was_verified_and_wants_a_green_evaluation() {
        assert_eq!(gate(PromptStatus::Tested, [9, 0, 50], EvalState::Green).unmet.len(), 1);
        assert_eq!(gate(PromptStatus::Tested, [10, 0, 0], EvalState::Red).unmet.len(), 1);
        assert_eq!(gate(PromptStatus::Tested, [9, 0, 0], EvalState::Stale).unmet.len(), 2);
        let open = gate(PromptStatus::Tested, [10, 10, 0], EvalState::Green);
        assert_eq!(open.unmet, []);
        assert!((open.wilson_low.unwrap() - 0.2993).abs() < 1e-4, "{open:?}");
    }

    #[test]
    fn failed_calls_count_unless_the_library_says_otherwise() {
        let meta = super::super::meta::tests_meta(PromptStatus::Draft);
        let mut counted = GateCounts::default();
        counted.sent.unverified = 3;
        counted.succeeded.unverified = 2;
        let uses = |settings: &Settings| {
            progress(Requirement::of(&meta, settings).unwrap(), &counted, EvalState::Missing).uses
        };
        assert_eq!(uses(&Settings::default()), 3);
        assert_eq!(uses(&Settings { require_exit_zero: true, ..Settings::default() }), 2);
    }

    #[test]
    fn a_prompt_has_the_last_word_then_its_library() {
        let mut meta = super::super::meta::tests_meta(PromptStatus::Tested);
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
        meta.status = PromptStatus::Draft;
        meta.promotion.require_eval = Some(true);
        assert_eq!(asked(&meta, &settings), (7, false));
        // No prompt can say that it need not run at all.
        meta.promotion.min_uses = [Some(0); 2];
        assert_eq!(asked(&meta, &settings), (1, false));
    }

    #[test]
    fn nothing_is_above_ready() {
        let meta = super::super::meta::tests_meta(PromptStatus::Ready);
        assert_eq!(Requirement::of(&meta, &Settings::default()), None);
    }
}
