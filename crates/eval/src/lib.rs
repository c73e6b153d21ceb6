//! Measures retrieval: runs captured and judged requests against a retriever and reports changes.
//!
//! Promises: settings of the measured brain are never changed; requests are not captured; the same
//! inputs give the same results, except for times.
//!
//! Deliberately absent: decisions (in core), printing, arguments, async.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "the clock of a test is right"))]

pub mod activity;
pub mod alert;
pub mod autopilot;
pub mod benchmark;
pub mod calibrate;
pub mod contradictions;
mod correctness;
pub mod cross_modal;
mod error;
pub mod feedback;
mod files;
mod gate;
pub mod incident;
mod output;
pub mod probe;
mod record;
mod replay;
pub mod retention;
pub mod retriever;
mod selftest;
mod spread;
pub mod suite;
pub mod triage;
mod vectors;

pub use correctness::{JudgedPipeline, JudgedRun, judge};
pub use error::EvalError;
pub use files::{
    Input, MAX_DOCUMENT, MAX_LINE, read_baseline, read_captures, read_document, read_publishable,
};
pub use gate::{BLAME_CHUNKS, GateInputs, GateOutcome, GateRun, gate};
pub use output::{OutputFile, check_output, check_outputs, write_atomically};
pub use record::{NotRecorded, record};
pub use replay::{Replay, ReplayCorpus, ReplayOptions, replay};
pub use retriever::{LocalOptions, LocalRetriever, Retriever, SlowedRetriever, StoppableRetriever};
pub use selftest::{Mutant, MutantReport, Selftest, selftest};
pub use spread::spread;
pub use vectors::{SelfRetrieval, self_retrieval};
