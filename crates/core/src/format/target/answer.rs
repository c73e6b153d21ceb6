//! Questions and answers of targets on the wire: what a command is sent, what it sends back, and what
//! `targets check --json` prints.

use schemars::JsonSchema;
use serde::Serialize;

use crate::request::RetrievalMode;
use crate::target::{QueryKind, Question, QuestionFilter, TargetAnswer};

/// The version of [`QuestionBody`] and [`AnswerBody`].
const VERSION: u32 = 1;

/// A question as a command gets it, on one line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuestionBody<'a> {
    /// The version of this shape.
    schema_version: u32,
    /// The number of the question; the answer has the same.
    id: u64,
    /// Text of the question.
    query: &'a str,
    /// The id of the query, where it has one.
    query_id: Option<&'a str>,
    /// Number of results that are requested.
    k: usize,
    /// The half that should answer; null leaves it to the target.
    mode: Option<RetrievalMode>,
    /// The kind of the query; null leaves it to the target.
    query_kind: Option<QueryKind>,
    /// The owner whose documents are searched.
    workspace: Option<&'a str>,
    /// A filter on the documents of the answer.
    filter: &'a QuestionFilter,
    /// Whether to tell the edges that justify the answer.
    rationale: bool,
    /// Whether to tell the passages that justify the answer.
    highlights: bool,
    /// The time that "recent" is measured against.
    #[schemars(extend("format" = "date-time"))]
    now: Option<String>,
}

impl<'a> QuestionBody<'a> {
    /// The wire form of a question with its number.
    pub fn new(id: u64, question: &'a Question) -> Self {
        let Question {
            id: query_id,
            text,
            k,
            mode,
            kind,
            filter,
            brain: _,
            workspace,
            rationale,
            highlights,
            passages: _,
            stages: _,
            now,
            within: _,
        } = question;
        Self {
            schema_version: VERSION,
            id,
            query: text,
            query_id: query_id.as_deref(),
            k: *k,
            mode: *mode,
            query_kind: *kind,
            workspace: workspace.as_deref(),
            filter,
            rationale: *rationale,
            highlights: *highlights,
            now: now.map(|now| now.to_string()),
        }
    }
}

/// A target's answer to one question.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetAnswer")]
pub struct AnswerBody<'a> {
    /// The version of this shape.
    schema_version: u32,
    #[serde(flatten)]
    answer: &'a TargetAnswer,
}

impl<'a> AnswerBody<'a> {
    /// The wire form of an answer.
    pub fn new(answer: &'a TargetAnswer) -> Self {
        Self { schema_version: VERSION, answer }
    }
}
