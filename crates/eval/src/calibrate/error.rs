//! Errors of a calibration.

use gbrain_brain::BrainError;
use gbrain_core::calibrate::DeploymentObstacle;
use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::money::Usd;
use gbrain_core::target::TargetError;
use gbrain_llm::{Allowance, SpendingLimit};
use gbrain_store::StoreError;

use crate::EvalError;

#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    #[error("no reranker is configured")]
    NoReranker,
    #[error("there are no borderline pairs")]
    NoPairs,
    /// Pairs without a score, so no threshold can be computed.
    #[error("{missing} of {of} pairs have no score: {why}")]
    Unscored {
        missing: usize,
        of: usize,
        /// The error of the first call that failed.
        why: String,
    },
    /// Scoring may exceed the budget of the run or of the day.
    #[error(
        "scoring {pairs} pairs may cost up to {needs}, but {} {}: nothing was sent",
        allowance.left,
        match allowance.limit {
            SpendingLimit::Run => "is allowed",
            SpendingLimit::Day => "is left of today's budget",
        }
    )]
    Unaffordable {
        /// Pairs without a score.
        pairs: usize,
        /// Upper bound of the cost.
        needs: Usd,
        /// The remaining budget of the run or of the day.
        allowance: Allowance,
    },
    #[error("there is no threshold {0}")]
    NoSuch(i64),
    /// The configured reranker has no threshold.
    #[error("there is no threshold for {0} yet")]
    NoneYet(String),
    #[error("threshold {id} cannot be deployed: {}", in_words(obstacles))]
    Forbidden { id: i64, obstacles: Vec<DeploymentObstacle> },
    /// It was computed for another reranker.
    #[error("threshold {id} was computed for {model}, but the configured reranker is {set}")]
    OtherModel { id: i64, model: String, set: String },
    #[error("pair {at}: {why}")]
    Pair { at: usize, why: String },
    /// The target could not be queried.
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Brain(#[from] BrainError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn in_words(obstacles: &[DeploymentObstacle]) -> String {
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
            CalibrateError::Unscored { .. } => {
                (FaultKind::Model, "scores are cached for a day: run it again to continue")
            }
            CalibrateError::Unaffordable { allowance, .. } => match allowance.limit {
                SpendingLimit::Run => (FaultKind::Conflict, "raise it with --max-usd"),
                SpendingLimit::Day => (
                    FaultKind::Conflict,
                    "raise it with `gbrain config set spend.max_usd_per_day USD`",
                ),
            },
            CalibrateError::NoSuch(_) => {
                (FaultKind::NotFound, "list them with `gbrain calibrate history`")
            }
            CalibrateError::NoneYet(_) => {
                (FaultKind::NotFound, "create one: `gbrain calibrate score`")
            }
            CalibrateError::Forbidden { ref obstacles, .. } => {
                let is_final = obstacles.iter().any(|obstacle| !obstacle.may_be_forced());
                let hint = if is_final { "" } else { "override with --force REASON" };
                (FaultKind::Conflict, hint)
            }
            CalibrateError::OtherModel { .. } => (
                FaultKind::Conflict,
                "scores of different models are not comparable: run `gbrain calibrate score`",
            ),
            CalibrateError::Pair { .. } => (FaultKind::Input, ""),
            CalibrateError::Target(_) => (FaultKind::Target, ""),
        };
        let fault = Self::new(kind, message);
        if hint.is_empty() { fault } else { fault.hint(hint) }
    }
}
