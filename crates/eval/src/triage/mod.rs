//! Triage: collects the evidence about failing cases of a run and passes it to
//! [`gbrain_core::triage`].
//!
//! ```text
//! run, or alert ─▶ its run ─▶ affected cases ─┬ logs of the run: errors, fallbacks, stages, scores ──┐
//!                                            ├ the store: is it there, whole, as it was? ───────────┤
//!                                            ├ the index: passages, vectors, filters, similarity ───┼▶ evidence ─▶ classes
//!                                            └ asked again, deeper ─────────────────────────────────┘
//! ```
//!
//! Promises: nothing is changed, and questions are neither logged nor captured. The local brain is
//! always asked again; paid models and remote targets only if requested. Failed lookups are
//! reported, never counted as healthy. Notes about a case name no page and quote no text.
//!
//! Deliberately absent: the decision ([`gbrain_core::triage`]), and storing the result
//! ([`incident`](crate::incident)).

mod deeper;
mod evidence;
mod local;
mod logs;
mod page_history;
mod remote;
mod subject;

pub use evidence::{TriageContext, triage_run};
pub use subject::find;

use gbrain_brain::BrainError;
use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_store::StoreError;

use crate::EvalError;

#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    #[error("there is no run {0} in this workspace")]
    NoRun(i64),
    #[error("there is neither a run nor an alert `{0}` in this workspace")]
    NoAlert(String),
    /// The alert names no run, and no run of its suite failed.
    #[error("alert `{key}` tells of no run, and no run of suite `{suite}` failed")]
    NoFailingRun { key: String, suite: String },
    /// The run's cases were purged with a page or pruned.
    #[error("only the figures of run {0} are left: its cases were purged or pruned")]
    Gone(i64),
    /// The stored run cannot be parsed.
    #[error("what is kept of run {0} can't be read")]
    Unreadable(i64),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Brain(#[from] BrainError),
    /// The target could not be measured.
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
