//! Targets: retrievers that answer questions, with their questions, answers and errors.
//!
//! Promises: one question type and one answer type for every kind of target, so that a replay, a
//! gate, a benchmark or a suite does not depend on the kind. An answer is untrusted data: one that
//! can't be parsed is an error of the kind [`TargetErrorKind::Malformed`], and never an empty
//! answer.
//!
//! Deliberately absent: sending requests (connections, processes, clocks, retries), which is eval's
//! work.

mod answer;
mod error;
mod ids;
pub mod mapping;
pub mod path;
mod question;
pub mod saved;
mod settings;
pub mod shape;
pub mod template;

pub use answer::{
    GraphEvidence, RationaleEdge, RationaleEntity, RerankJudgement, StageFallback, StageIds,
    TargetAnswer, TargetResult, TargetTimings,
};
pub use error::{TargetError, TargetErrorKind};
pub use ids::{DocumentIdRule, DocumentSourceRule};
pub use question::{BrainRequestOptions, QueryKind, Question, QuestionFilter};
pub use settings::{
    EndpointAddress, HttpTarget, KeyLocation, LOCAL, McpTarget, McpTransport, SavedRun, TargetKind,
    TargetLimits, TargetProgram, TargetSettings,
};

#[cfg(test)]
mod tests;
