//! Persistence on SQLite or PostgreSQL: pages, their history, the feed of changes, captured
//! requests, and the tables for serving (tokens, jobs, documents, labels), judging (charges, model
//! answers, runs) and the playbook (suites, canonical queries, retrieval logs, calibration, alerts,
//! incidents).
//!
//! Guarantees:
//! - A write is atomic, and durable when it returns. Every write of a page creates a new version;
//!   versions never change, so the corpus as of any generation can be read.
//! - Every change of a page gets the next number of its workspace's feed, in commit order: a reader
//!   that has seen number `n` has seen everything up to `n`.
//! - Captures get their numbers and times in commit order too, so the rows of a closed time window
//!   never change: consecutive windows miss and repeat nothing.
//! - A job has one worker at a time: updates by a worker that lost its job have no effect. One job
//!   of a group runs at a time, and a due run of a suite is queued once and recorded once.
//! - Messages of an alert reach a channel in order: at least once, and exactly once if no sender is
//!   killed.
//! - A call is charged before it is made, in one transaction with the check of its budgets: no
//!   budget is exceeded, however many processes call at once.
//! - Both engines return the same results in the same order, byte for byte: the SQL and the row
//!   decoding are shared, only sessions differ.
//!
//! Deliberately absent: search (see the index crate), a clock (methods that stamp rows take `now`),
//! parsing, and page text in logs or error messages.

mod alert;
mod calibration;
mod capture;
mod document;
mod driver;
mod error;
mod incident;
mod job;
mod judging;
mod label;
mod location;
mod ops;
mod plan;
mod postgres;
pub mod private;
mod query_set;
mod retrieval_log;
mod row;
mod schema;
mod spend;
mod sqlite;
mod store;
mod suite;
mod token;
mod types;

pub use alert::*;
pub use calibration::*;
pub use capture::{CaptureFilter, CapturePosition, CaptureSummary};
pub use document::{Document, DocumentInfo, DocumentKind};
pub use error::StoreError;
pub use incident::{Incident, IncidentState};
pub use job::{
    HeartbeatReply, Job, JobClaim, JobCounts, JobFilter, JobInfo, JobOutcome, JobProgress, JobStep,
    Lease, NewJob,
};
pub use judging::{AnswerKind, JudgingRun, ModelAnswer, RunKind};
pub use label::{LabelReview, NewLabel, StoredLabel, Withdrawal};
pub use location::{Location, LocationError, OpenMode, masked_url};
pub use query_set::*;
pub use retrieval_log::*;
pub use spend::{
    Budget, BudgetState, Charge, ChargeId, ChargeState, DAILY_PREFIX, NewCharge, Settlement,
};
pub use store::Store;
pub use suite::*;
pub use token::{ApiToken, NewToken, TokenDigest};
pub use types::*;

/// The result of a store operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
