//! Why a calibration does not come about.

use gbrain_brain::BrainError;
use gbrain_core::calibrate::Obstacle;
use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::money::Usd;
use gbrain_core::target::TargetError;
use gbrain_llm::{Allowance, SpendingLimit};
use gbrain_store::StoreError;

use crate::EvalError;

/// Why a calibration does not come about.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// No reranker is set.
    #[error("no reranker is set")]
    NoReranker,
    /// There is nothing to score.
    #[error("there are no borderline pairs")]
    NoPairs,
    /// Some pairs have no score, so there is no threshold.
    #[error("{missing} of {of} pairs have no score: {why}")]
    Unscored {
        missing: usize,
        of: usize,
        /// What was said of the first of them.
        why: String,
    },
    /// Scoring may cost more than the budgets of the run and of the day leave.
    #[error(
        "scoring {pairs} pairs may cost up to {needs}, and {} {}: nothing was sent",
        allowance.left,
        match allowance.limit {
            SpendingLimit::Run => "is allowed",
            SpendingLimit::Day => "is left of today's budget",
        }
    )]
    Unaffordable {
        /// Pairs without a score.
        pairs: usize,
        /// The most that it may cost.
        needs: Usd,
        /// What may be spent.
        allowance: Allowance,
    },
    /// There is no such threshold.
    #[error("there is no threshold {0}")]
    NoSuch(i64),
    /// There is no threshold of the reranker that is set.
    #[error("there is no threshold of {0} yet")]
    NoneYet(String),
    /// Something is in the way.
    #[error("threshold {id} may not be put in force: {}", in_words(obstacles))]
    Forbidden {
        id: i64,
        /// What is in the way.
        obstacles: Vec<Obstacle>,
    },
    /// It was made for another reranker.
    #[error("threshold {id} was made for {model}, and {set} is set")]
    OtherModel {
        id: i64,
        model: String,
        /// The one that is set.
        set: String,
    },
    /// A pair can't be kept.
    #[error("pair {at}: {why}")]
    Pair { at: usize, why: String },
    /// The target can't be asked.
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Brain(#[from] BrainError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn in_words(obstacles: &[Obstacle]) -> String {
    let words: Vec<&str> = obstacles.iter().map(|obstacle| obstacle.in_words()).collect();
    words.join("; ")
}

impl From<EvalError> for CalibrateError {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Brain(error) => Self::Brain(error),
            other => Self::Pair { at: 0, why: chain(&other) },
        }
    }
}

impl From<CalibrateError> for Fault {
    fn from(error: CalibrateError) -> Self {
        let message = chain(&error);
        let (kind, hint) = match error {
            CalibrateError::Brain(error) => return error.into(),
            CalibrateError::Store(error) => return error.into(),
            CalibrateError::NoReranker => {
                (FaultKind::Config, "set one: `gbrain config set models.rerank PROVIDER:MODEL`")
            }
            CalibrateError::NoPairs => {
                (FaultKind::Usage, "collect some: `gbrain calibrate collect`")
            }
            CalibrateError::Unscored { .. } => (
                FaultKind::Model,
                "what was scored is kept for a day: run it again to go on from there",
            ),
            CalibrateError::Unaffordable { allowance, .. } => match allowance.limit {
                SpendingLimit::Run => (FaultKind::Conflict, "raise it with --max-usd"),
                SpendingLimit::Day => (
                    FaultKind::Conflict,
                    "raise it with `gbrain config set spend.max_usd_per_day USD`",
                ),
            },
            CalibrateError::NoSuch(_) => {
                (FaultKind::NotFound, "`gbrain calibrate history` shows them")
            }
            CalibrateError::NoneYet(_) => {
                (FaultKind::NotFound, "make one: `gbrain calibrate score`")
            }
            CalibrateError::Forbidden { ref obstacles, .. } => {
                let is_final = obstacles.iter().any(|obstacle| !obstacle.may_be_forced());
                let hint = if is_final { "" } else { "decide otherwise with --force REASON" };
                (FaultKind::Conflict, hint)
            }
            CalibrateError::OtherModel { .. } => (
                FaultKind::Conflict,
                "scores of different models do not compare: `gbrain calibrate score`",
            ),
            CalibrateError::Pair { .. } => (FaultKind::Input, ""),
            CalibrateError::Target(_) => (FaultKind::Target, ""),
        };
        let fault = Self::new(kind, message);
        if hint.is_empty() { fault } else { fault.hint(hint) }
    }
}
