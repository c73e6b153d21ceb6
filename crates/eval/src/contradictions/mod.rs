//! The contradiction probe: searches a brain, pairs the statements it finds, and has the pairs
//! judged.
//!
//! `core/contradiction` decides which pairs there are, what a judge sees and how judgements add up.
//! This module does the I/O: it searches a brain ([`gather()`]), asks a judge and caches its
//! judgements ([`JudgeSession`]), reads queries from captures and files ([`read_queries`],
//! [`most_frequent`]), and selects the findings that still hold ([`current_findings`]).
//!
//! Promises: the brain is not changed; a paid judgement is cached immediately; a failed search
//! fails its query, not the run.

mod current;
mod gather;
mod judging;
mod queries;

pub use current::current_findings;
pub use gather::{GatherOptions, gather};
pub use judging::{Judge, JudgeSession, JudgementCache, SessionResult, default_canaries};
pub use queries::{most_frequent, read_queries};
