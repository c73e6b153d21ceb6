//! Runs suites: asks a target the canonical queries of a workspace, judges the answers, aggregates
//! and records them.
//!
//! ```text
//! scheduler ─▶ job ─▶ runner (sample, ask by a deadline, judge, report) ─▶ recorder
//! ```
//!
//! Promises: no question begins after the suite's time is over, and none may take longer than the
//! time that is left. Every failure is a run with a reason, and never a pass. Questions are logged,
//! scrubbed and marked as measurements. A due run is recorded once, even if several processes run
//! it.
//!
//! Deliberately absent: when a run is due and what its result means ([`gbrain_core::suite`]),
//! opening targets ([`retriever`](crate::retriever)), and notifications.

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
pub use facts::{LocalEdgeChecker, unverifiable};
pub use promote::{QueryProposal, propose};
pub use queries::{
    AllQueries, ImportedQuery, QueryImport, QueryProblem, StoredQuery, all_queries, import_queries,
    row, stored,
};
pub use recorder::{record, record_job};
pub use relevance::{Relevance, Reranker, ScoreFn, Scorer, borderline, rescore};
pub use runner::{RunContext, RunTarget, SuiteRunner, not_run, run};
pub use scheduler::{ATTEMPTS, ScheduleResult, SuiteJob, enable, queue_due, remove};
pub use suites::{
    KEY_LIMIT, KIND, asked_key, drift, group, placeholder_suite, registered, run_key,
};
pub use targets::{FindTarget, TargetRegistry, local};

pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
