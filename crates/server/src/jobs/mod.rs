//! Background jobs: work that outlives the request that asked for it.
//!
//! A job is a row of the store. A worker claims it under a lease, beats while it works, and ends it
//! under the same lease: a worker that was thought dead can neither end a job nor write or delete a
//! page for it. What it had done stays done; whoever claims the job next goes on from there.
//!
//! Deliberately absent: schedules (`autopilot` looks what is due by itself), and jobs that change something
//! outside the store.

mod files;
mod halt;
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

pub(crate) use worker::Worker;

/// How often a job is tried.
pub const ATTEMPTS: u32 = 20;

pub(crate) use measure::refuse_trusted;
pub(crate) use spec::{JOBS, JobBody, RUNS, Rows, RunBody, SUITES};
