//! Observability of a server: metrics, logs and traces.
//!
//! Guarantees: no telemetry contains a query, a page's text or a token unless enabled explicitly;
//! neither metrics nor traces delay a caller; a scrape for one workspace shows nothing of another.
//!
//! Non-goals: sending data to an address the user did not configure. Metrics are pulled, logs go to
//! stderr, spans are sent only to a configured endpoint.

pub mod logs;
pub mod metrics;
pub mod traces;

pub use logs::{LogError, LogFormat, LogOptions};
pub use metrics::{
    JobCount, MetricReadings, Metrics, RequestOutcome, ScrapeScope, WorkspaceMetrics,
};
pub use traces::{
    EvaluationResult, EvaluationSpan, RetrievalSpan, TraceError, TraceOptions, Tracer,
};
