//! What is asked of a target.

use jiff::Timestamp;
use jiff::civil::Date;

use crate::named;
use crate::request::RetrievalMode;

/// What a query is, for targets that treat them differently. Not to be confused with the
/// [`RetrievalMode`]: some APIs call either of them `mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    /// The target finds out.
    Auto,
    /// Words that mean something.
    Semantic,
    /// A name such as `#123` or `ABC-12`.
    Identifier,
}

named! { QueryKind { Auto = "auto", Semantic = "semantic", Identifier = "identifier" } }

/// Which documents may be in the answer. Empty lists mean all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionFilter {
    /// Only these sources.
    pub sources: Vec<String>,
    /// Only these types.
    pub types: Vec<String>,
    /// Only of these authors.
    pub authors: Vec<String>,
    /// Only in these states.
    pub states: Vec<String>,
    /// Only with at least one of these labels; the local brain calls them tags.
    pub labels: Vec<String>,
    /// Only dated on or after this day.
    pub after: Option<Date>,
    /// Only dated on or before this day.
    pub before: Option<Date>,
}

impl QuestionFilter {
    /// Whether it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A question to a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The id of the query, where it has one: saved runs are looked up by it.
    pub id: Option<String>,
    /// What is asked. Text, never syntax.
    pub text: String,
    /// How many results are wanted, at least 1.
    pub k: usize,
    /// Which half answers; none leaves it to the target.
    pub mode: Option<RetrievalMode>,
    /// What the query is; none leaves it to the target.
    pub kind: Option<QueryKind>,
    /// Which documents may be in the answer.
    pub filter: QuestionFilter,
    /// Whose documents are searched, as the target calls it; none is the one of the target's
    /// settings.
    pub workspace: Option<String>,
    /// Whether to tell the edges that justify the answer.
    pub rationale: bool,
    /// Whether to tell the passages that justify the answer.
    pub highlights: bool,
    /// The time that "recent" is measured against, for targets that take one.
    pub now: Option<Timestamp>,
    /// How long the answer may take at most, all attempts together; none leaves it to the target's
    /// settings, which hold all the same.
    pub within: Option<std::time::Duration>,
}

impl Question {
    /// A question with its snippets, and nothing else about it.
    pub fn new(text: impl Into<String>, k: usize) -> Self {
        Self { text: text.into(), k, highlights: true, ..Self::default() }
    }
}
