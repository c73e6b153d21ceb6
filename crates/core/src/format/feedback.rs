//! Feedback on answers: votes, comments, and results marked barely relevant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;

named! {
    /// A vote on an answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Vote {
        Up = "up",
        Down = "down",
    }
}

/// Feedback on an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FeedbackInput")]
pub struct FeedbackInput {
    /// The answer, by its `served.request_id`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub request_id: Option<String>,
    /// The answer, by the number of its log.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub log: Option<i64>,
    #[serde(default)]
    pub vote: Option<Vote>,
    #[serde(default)]
    #[schemars(length(max = 4000))]
    pub comment: Option<String>,
    /// A barely relevant result of the answer, as `source::slug`.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub borderline: Option<String>,
}

/// Ids of the stored feedback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FeedbackKept")]
pub struct FeedbackBody {
    /// Number of the retrieval log.
    pub log: i64,
    /// Ids of the stored feedback, in the order vote, comment, borderline.
    pub feedback: Vec<i64>,
}

/// Comment stored for a result that was marked barely relevant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorderlineComment {
    pub document: String,
}
