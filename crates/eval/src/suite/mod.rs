//! Suites, run: canonical queries of a workspace, asked of a target, judged, added up and recorded.
//!
//! ```text
//! queries ─▶ sample ─▶ ask (a deadline, so many at once) ─▶ judge ─▶ report ─▶ logs, feedback, run
//! ```
//!
//! Promises: no question begins after the suite's time is over, and none may take longer than what is left.
//! Whatever goes wrong is a run with a reason, and never a pass. What was asked is logged, scrubbed and
//! marked as a measurement. A due run is recorded once, whoever runs it.
//!
//! Deliberately absent: when a run is due and what it says ([`gbrain_core::suite`]), opening targets
//! ([`retriever`](crate::retriever)), and telling anybody.

mod ask;
mod book;
mod conduct;
mod facts;
mod fresh;
mod log;
pub(crate) mod past;
mod promote;
mod queries;
mod relevance;
mod run;
mod schedule;
mod suites;
#[cfg(test)]
mod tests;
pub mod wire;

pub(crate) use ask::{Asked, Asking};
pub use book::{FindTarget, TargetBook, local};
pub use conduct::Conductor;
pub use facts::{Checked, unverifiable};
pub use fresh::{Freshness, await_index};
pub use promote::{Proposal, propose};
pub use queries::{
    AllQueries, QueryProblem, StoredQuery, Taken, TakenIn, all_queries, row, stored, take_in,
};
pub use relevance::{Relevance, Reranker, Score, Scorer, borderline, rescore};
pub use run::{Occasion, SuiteMeans, broken, record, recorded, run};
pub use schedule::{ATTEMPTS, Scheduled, SuiteJob, enable, remove, schedule};
pub use suites::{KEY_LIMIT, KIND, asked_key, drift, group, registered, run_key, stand_in};

/// A value of ours as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
