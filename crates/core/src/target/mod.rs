//! Targets: whatever answers a question. What is asked of it, what it answered, why it did not.
//!
//! Promises: one question and one answer for every kind of target, so that a replay, a gate, a
//! benchmark or a suite does not know which it asks. What a target says is data of somebody else: an
//! answer that can't be understood is an error of the kind [`TargetErrorKind::Malformed`], and never an
//! empty answer.
//!
//! Deliberately absent: asking (connections, processes, clocks, retries), which is eval's work.

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
    Found, Judgement, Rationale, RationaleEdge, RationaleEntity, StageFallback, StageIds,
    TargetAnswer, Timings,
};
pub use error::{TargetError, TargetErrorKind};
pub use ids::{IdRule, SourceRule};
pub use question::{BrainOptions, QueryKind, Question, QuestionFilter};
pub use settings::{
    Address, HttpTarget, KeyPlace, LOCAL, McpTarget, McpTransport, Program, SavedRun, TargetKind,
    TargetLimits, TargetSettings,
};

#[cfg(test)]
mod tests;
