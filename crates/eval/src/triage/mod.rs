//! Triage: what is known of the failing cases of a run, gathered and put before [`gbrain_core::triage`].
//!
//! ```text
//! run, or alert ─▶ its run ─▶ affected cases ─┬ logs of the run: errors, fallbacks, stages, scores ──┐
//!                                            ├ the store: is it there, whole, as it was? ───────────┤
//!                                            ├ the index: passages, vectors, filters, similarity ───┼▶ evidence ─▶ classes
//!                                            └ asked again, deeper ─────────────────────────────────┘
//! ```
//!
//! Promises: nothing is changed, and nothing that is asked is logged or captured. The local brain is asked
//! again always; models that cost something, and targets elsewhere, only if that was wanted. What can't be
//! looked up is said, and never taken for well. Words about a case name no page and quote no text.
//!
//! Deliberately absent: deciding ([`gbrain_core::triage`]), and keeping what was found
//! ([`incident`](crate::incident)).

mod again;
mod elsewhere;
mod evidence;
mod local;
mod logs;
mod past;
mod subject;

pub use evidence::{TriageMeans, look};
pub use subject::{Subject, find};

use gbrain_brain::BrainError;
use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_store::StoreError;

use crate::EvalError;

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    /// There is no such run.
    #[error("there is no run {0} in this workspace")]
    NoRun(i64),
    /// Nobody knows the alert.
    #[error("there is neither a run nor an alert `{0}` in this workspace")]
    NoAlert(String),
    /// The alert tells of no run, and no run of its suite failed.
    #[error("alert `{key}` tells of no run, and no run of suite `{suite}` failed")]
    NoFailingRun { key: String, suite: String },
    /// The run's cases are gone: a page that it named was purged, or it was kept long enough.
    #[error("only the figures of run {0} are left: its cases were purged or pruned")]
    Gone(i64),
    /// What is kept can't be read.
    #[error("what is kept of run {0} can't be read")]
    Unreadable(i64),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Brain(#[from] BrainError),
    /// Nothing can be measured.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

impl From<TriageError> for Fault {
    fn from(error: TriageError) -> Self {
        let message = chain(&error);
        match error {
            TriageError::NoRun(_) | TriageError::NoAlert(_) => Self::not_found(message)
                .hint("`gbrain suites history` lists runs; alerts are named by their dedup key"),
            TriageError::NoFailingRun { .. } => {
                Self::not_found(message).hint("`gbrain suites history` lists runs")
            }
            TriageError::Gone(_) => {
                Self::not_found(message).hint("run the suite again: `gbrain suites run NAME`")
            }
            TriageError::Unreadable(_) => Self::new(FaultKind::Input, message)
                .hint("it may have been written by a newer gbrain"),
            TriageError::Store(error) => error.into(),
            TriageError::Brain(error) => error.into(),
            TriageError::Eval(error) => error.into(),
        }
    }
}
