//! The nightly quality probe: questions with known answers, asked with the live settings, answered by a
//! model and judged by a panel, at most once in 24 hours.
//!
//! ```text
//! decide ─▶ claim ─▶ ready, estimate ─▶ ask, answer ─▶ judge ─▶ conclude ─▶ store, audit file
//! ```
//!
//! Promises: one process at a time runs the probe of a workspace, and one that is killed keeps the others
//! off for the length of its lease only. What a run may cost holds for everything that it asks, over all
//! attempts. Whatever goes wrong is an outcome with a reason: nothing panics, and nothing ends the process.
//!
//! Deliberately absent: when it is looked whether a run is due ([`autopilot`](crate::autopilot)).

mod audit;
mod cast;
mod claim;
mod estimate;
mod fixture;
mod made;
mod measure;
mod past;
mod run;
#[cfg(test)]
mod tests;
mod trouble;

pub use claim::KIND;
pub use past::{history, recent, switch};
pub use run::{By, Kept, Probed, Window, Wish};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gbrain_index::Models;
use gbrain_llm::{Desk, ModelRef};
use gbrain_store::Store;
use jiff::Timestamp;

/// What the probes of all workspaces of a store have in common: the effects, as arguments.
#[derive(Clone)]
pub struct Probes {
    /// Where settings, claims, charges and runs are.
    pub store: Arc<Store>,
    /// Who can be asked.
    pub desk: Desk,
    /// Where meaning comes from.
    pub embedding: Embedding,
    /// Where the audit files are.
    pub audit_dir: PathBuf,
    /// What this process calls itself: of one running process only.
    pub worker: String,
    /// How long a claim holds without a beat.
    pub lease: Duration,
    pub clock: fn() -> Timestamp,
}

/// Where meaning comes from.
#[derive(Debug, Clone)]
pub enum Embedding {
    /// From models of this machine.
    Own(Models),
    /// From one behind an address.
    Remote {
        model: ModelRef,
        /// How many numbers its vectors have.
        dims: usize,
    },
}
