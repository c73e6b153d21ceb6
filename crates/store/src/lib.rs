//! What gbrain remembers: pages, their history, the feed of changes, captured requests, and what
//! serving needs (tokens, jobs, documents, labels), judging (charges, answers of models, runs) and the
//! playbook (suites, canonical queries, retrieval logs, calibration, alerts, incidents), on SQLite or
//! PostgreSQL.
//!
//! Promises:
//! - A write is all or nothing and durable when it returns. Every write of a page makes a new
//!   version; versions never change, so the corpus as of any generation can be read back.
//! - Every change of a page gets the next number of its workspace's feed, in commit order: a
//!   reader that has seen number `n` has seen everything up to `n`.
//! - Captures get their numbers and times in commit order too, so that the rows of a window of
//!   time that was closed never change: windows that follow each other miss and repeat nothing.
//! - A job has one worker at a time: what a worker that lost its job still says changes nothing. Of a
//!   group of jobs one runs at a time, and a due run of a suite is queued once and recorded once.
//! - Messages of an alert reach a channel in their order: at least once, and once if nobody is killed.
//! - A call is charged before it is made, in one transaction with the check of its budgets: however many
//!   processes call at once, no budget is passed.
//! - Both engines give the same answers in the same order, byte for byte: the SQL and the row
//!   decoding are shared, only sessions differ.
//!
//! Deliberately absent: search (the index crate finds), a clock (methods that stamp rows take
//! `now`), parsing, and any log of page text: no error message holds it.

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
pub use capture::{CaptureFilter, CaptureSummary};
pub use document::{Document, DocumentInfo, DocumentKind};
pub use error::StoreError;
pub use incident::{Incident, IncidentState};
pub use job::{
    Beat, Claim, Job, JobCounts, JobFilter, JobInfo, JobStep, Lease, NewJob, Outcome, Progress,
};
pub use judging::{AnswerKind, ModelAnswer, Run, RunKind};
pub use label::{Label, NewLabel};
pub use location::{Location, LocationError, OpenMode, masked_url};
pub use query_set::*;
pub use retrieval_log::*;
pub use spend::{
    Budget, BudgetState, Charge, ChargeId, ChargeState, NewCharge, STANDING, Settlement, SpendLine,
};
pub use store::Store;
pub use suite::*;
pub use token::{NewToken, Token, TokenDigest};
pub use types::*;

/// The result of a store call.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
