//! Suites: named sets of checks against a retriever, their triggers, and their reports.
//!
//! ```text
//! suites.yaml ─▶ Suite ─▶ due? ─▶ sample of canonical queries ─▶ (target) ─▶ cases ─▶ measures ─▶
//! statuses ─▶ verdict
//! ```
//!
//! Guarantees: shares are compared as integers, so a boundary is exact. A measure of an empty
//! sample is `no_data`, never ok. An error counts as a miss and prevents a pass. The 95th
//! percentile of total latency is computed from totals, never as a sum of percentiles. The same
//! queries, seed and answers give the same report.
//!
//! Not here: querying targets, the clock, and storage of runs.

pub mod anonymous;
mod breach;
pub mod case;
pub mod cron;
pub mod due;
pub mod graph;
pub mod measure;
pub mod query;
pub mod report;
pub mod run;
pub mod sample;
pub mod size;
pub mod snippet;
pub mod spec;
pub mod threshold;
pub mod trend;

use crate::named;

pub use breach::{SuiteBreach, TargetOutage};
pub use run::SuiteRun;
pub use spec::{AlertRouting, Sample, Suite, SuiteError};

named! {
    /// The purpose of a suite.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SuiteKind {
        /// Checks that the pipeline works after a deploy.
        Smoke = "smoke",
        /// Detects retrieval drift after an import.
        Regression = "regression",
        /// Tracks quality over weeks.
        WeeklyBenchmark = "weekly_benchmark",
        /// Checks each source with its own queries.
        SourceSpecific = "source_specific",
        /// Checks questions about ownership, dependencies and alignment, and their rationales.
        GraphQa = "graph_qa",
        /// Checks that the reranker threshold still fits.
        RerankCalibration = "rerank_calibration",
    }
}
