//! What callers say of answers: votes, comments, results that are barely relevant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;

/// Whether somebody liked an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vote {
    Up,
    Down,
}

named! { Vote { Up = "up", Down = "down" } }

/// Something to say of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FeedbackInput")]
pub struct FeedbackInput {
    /// The answer, by what it calls itself (`served.request_id`).
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub request_id: Option<String>,
    /// The answer, by the number of its log.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub log: Option<i64>,
    /// Whether it was liked.
    #[serde(default)]
    pub vote: Option<Vote>,
    /// In words.
    #[serde(default)]
    #[schemars(length(max = 4000))]
    pub comment: Option<String>,
    /// A result of it that is barely relevant, as `source::slug`.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub borderline: Option<String>,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FeedbackKept")]
pub struct FeedbackBody {
    /// The log that it was said of.
    pub log: i64,
    /// The numbers of what was kept, in the order vote, comment, borderline.
    pub feedback: Vec<i64>,
}

/// The comment of a result that somebody called barely relevant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorderlineComment {
    pub document: String,
}
