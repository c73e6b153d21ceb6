//! Suites: named sets of checks against a retriever, when they run, and what they say.
//!
//! ```text
//! suites.yaml ─▶ Suite ─▶ due? ─▶ sample of canonical queries ─▶ (a target) ─▶ case ─▶ measures ─▶ statuses ─▶ verdict
//! ```
//!
//! Promises: shares are compared as whole numbers, so a boundary is where the table says. A measure of
//! nothing is `no_data`, never ok. An error counts as a miss and keeps a run from passing. The 95th
//! percentile of a total is that of the totals, never a sum of percentiles. The same queries, seed and
//! answers give the same report.
//!
//! Deliberately absent: asking, the clock, and where runs are kept.

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

pub use breach::{Outage, SuiteBreach};
pub use run::SuiteRun;
pub use spec::{Alerting, Sample, Suite, SuiteError};

/// What a suite is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Does the pipeline work after a deploy?
    Smoke,
    /// Did retrieval drift after something was taken in?
    Regression,
    /// How does it develop over the weeks?
    WeeklyBenchmark,
    /// How is each source doing?
    SourceSpecific,
    /// Are questions about ownership, dependencies and alignment answered, with reasons?
    GraphQa,
    /// Does the threshold of the reranker still fit?
    RerankCalibration,
}

named! {
    Kind {
        Smoke = "smoke",
        Regression = "regression",
        WeeklyBenchmark = "weekly_benchmark",
        SourceSpecific = "source_specific",
        GraphQa = "graph_qa",
        RerankCalibration = "rerank_calibration",
    }
}
