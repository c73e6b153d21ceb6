//! Background jobs: work that outlives the request that started it.
//!
//! A job is a row in the store. A worker claims it under a lease, sends heartbeats while it works,
//! and finishes it under the same lease: a worker that lost its lease can neither finish the job
//! nor write or delete pages for it. Completed steps are kept; the next worker continues from
//! there.
//!
//! Non-goals: schedules (the scheduler checks for due work), and jobs that change anything outside
//! the store.

mod control;
mod files;
mod import;
mod measure;
mod public_retriever;
mod spec;
mod suite;
#[cfg(test)]
pub(crate) mod tests;
mod worker;

pub use spec::ImportFilesSpec;
pub use worker::WorkerOptions;

pub(crate) use worker::JobWorker;

/// Most attempts per job.
pub const ATTEMPTS: u32 = 20;

pub(crate) use measure::refuse_trusted;
pub(crate) use spec::{JOBS, JobBody, RUNS, RowSelection, RunBody, SUITES};
