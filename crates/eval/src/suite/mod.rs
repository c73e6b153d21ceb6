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
//! ([`target`](crate::target)), and telling anybody.

mod batch;
mod facts;
pub(crate) mod history;
mod log;
mod promote;
mod queries;
pub mod recorder;
mod relevance;
mod runner;
mod scheduler;
mod suites;
mod targets;
#[cfg(test)]
mod tests;
pub mod wire;

pub(crate) use batch::{QueryAnswer, QueryBatch};
pub use facts::{Checked, unverifiable};
pub use promote::{Proposal, propose};
pub use queries::{
    AllQueries, QueryProblem, StoredQuery, Taken, TakenIn, all_queries, row, stored, take_in,
};
pub use recorder::{record, record_job};
pub use relevance::{Relevance, Reranker, Score, Scorer, borderline, rescore};
pub use runner::{RunContext, RunTarget, SuiteRunner, not_run, run};
pub use scheduler::{ATTEMPTS, Scheduled, SuiteJob, enable, queue_due, remove};
pub use suites::{KEY_LIMIT, KIND, asked_key, drift, group, registered, run_key, stand_in};
pub use targets::{FindTarget, TargetRegistry, local};

/// A value of ours as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
