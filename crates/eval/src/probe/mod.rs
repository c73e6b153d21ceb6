//! The nightly quality probe: questions with known answers, asked with the live settings, answered by a
//! model and judged by a panel, at most once in 24 hours.
//!
//! ```text
//! decide ─▶ claim ─▶ ready, estimate ─▶ ask, answer ─▶ judge ─▶ conclude ─▶ store, audit file
//! ```
//!
//! Promises: one process at a time runs the probe of a workspace, and one that is killed blocks the
//! others only for the length of its lease. The cost cap covers every call of a run, over all
//! attempts. Every failure is an outcome with a reason: the probe neither panics nor ends the
//! process.
//!
//! Deliberately absent: deciding when to check whether a run is due
//! ([`autopilot`](crate::autopilot)).

mod attempt;
mod audit;
mod claim;
mod error;
mod estimate;
mod fixture;
mod history;
mod measure;
mod models;
mod run;
#[cfg(test)]
mod tests;

pub use claim::KIND;
pub use history::{history, probe_switch, recent};
pub use run::{ProbeInitiator, ProbeRequest, ProbeResult, ProbeStorage, ScheduleCheck};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gbrain_index::Models;
use gbrain_llm::{ModelCatalog, ModelRef};
use gbrain_store::Store;
use jiff::Timestamp;

/// The dependencies that the probes of all workspaces of a store share.
#[derive(Clone)]
pub struct Probes {
    /// Stores settings, claims, charges and runs.
    pub store: Arc<Store>,
    pub catalog: ModelCatalog,
    pub embedding: EmbeddingSource,
    pub audit_dir: PathBuf,
    /// The name of this process; each running process has its own.
    pub worker: String,
    /// How long a claim lasts without a heartbeat.
    pub lease: Duration,
    pub clock: fn() -> Timestamp,
}

#[derive(Debug, Clone)]
pub enum EmbeddingSource {
    /// Models on this machine.
    Own(Models),
    Remote {
        model: ModelRef,
        dims: usize,
    },
}
