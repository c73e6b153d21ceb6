//! Canonical queries on the wire: a line of a file, a row of the store, an item of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FilterEntry;
use crate::request::RetrievalMode;
use crate::suite::query::{
    CanonicalQuery, Difficulty, EdgeEnd, ExpectedSnippet, KeyKind, QueryOrigin, QueryState,
    QuestionFamily, ResultKey,
};

/// The version of [`QueryEntry`].
pub const QUERY_VERSION: u32 = 1;

/// Maximum length of a query in bytes, as in logs.
const LONGEST: usize = 51_200;

/// A canonical query as written in a query file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CanonicalQuery")]
pub struct QueryEntry {
    /// Version of this format.
    #[serde(default = "version")]
    pub schema_version: u32,
    /// Identifies the query; derived from its text by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(alias = "query_text", alias = "text")]
    pub query: String,
    /// Distinguishes queries with the same scrubbed text; computed on import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_hash: Option<String>,
    /// The source that the query is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default)]
    pub difficulty: Difficulty,
    #[serde(default, alias = "mode", skip_serializing_if = "Option::is_none")]
    pub retrieval_mode: Option<RetrievalMode>,
    #[serde(default, skip_serializing_if = "FilterEntry::is_empty")]
    pub filter: FilterEntry,
    /// The family of a graph question.
    #[serde(default, alias = "intent", skip_serializing_if = "Option::is_none")]
    pub family: Option<QuestionFamily>,
    /// Results that must be found.
    #[serde(default)]
    pub expected: Vec<WireKey>,
    /// Results that count as equally good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptable: Vec<WireKey>,
    /// Texts that a highlight must show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_snippets: Vec<WireSnippet>,
    /// Entities that answer a graph question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// The end of an edge that holds the answer: `from` for "what depends on Y", `to` for "what
    /// does Y depend on"; either by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_end: Option<EdgeEnd>,
    /// Suites that use the query; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub origin: QueryOrigin,
    /// Whether suites use the query.
    #[serde(default)]
    pub state: QueryState,
}

/// An expected result: a document id, or an id with its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AnswerKey")]
pub enum WireKey {
    /// A document by its id.
    Document(String),
    /// An id with its kind.
    Typed { kind: KeyKind, id: String },
}

/// A text that a highlight must show, optionally with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ExpectedSnippet")]
pub enum WireSnippet {
    Text(String),
    /// With its position in the document, in characters.
    Placed {
        text: String,
        /// Start of the span.
        start: u32,
        /// End of the span.
        end: u32,
    },
}

/// Why a query was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("the query is empty")]
    Empty,
    #[error("a query takes up to {LONGEST} bytes, and no NUL")]
    Text,
    #[error("version {0} of a query is not known here; this gbrain reads version {QUERY_VERSION}")]
    Version(u32),
    #[error("{0:?} is no id; it takes 1 to 200 bytes")]
    Id(String),
    #[error("a snippet ends before it starts")]
    Span,
    #[error("{0:?} is no day; write it as 2026-03-01")]
    Day(String),
}

fn version() -> u32 {
    QUERY_VERSION
}

impl QueryEntry {
    /// Parses and validates the query.
    pub fn read(self) -> Result<CanonicalQuery, QueryError> {
        let Self {
            schema_version,
            id,
            query,
            original_hash,
            source,
            difficulty,
            retrieval_mode,
            filter,
            family,
            expected,
            acceptable,
            expected_snippets,
            entities,
            answer_end,
            tags,
            origin,
            state,
        } = self;
        if schema_version != QUERY_VERSION {
            return Err(QueryError::Version(schema_version));
        }
        let text = query.trim().to_owned();
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        if text.len() > LONGEST || text.contains('\0') {
            return Err(QueryError::Text);
        }
        let keys =
            |keys: Vec<WireKey>| keys.into_iter().map(WireKey::read).collect::<Result<_, _>>();
        let snippets = expected_snippets.into_iter().map(WireSnippet::read);
        let mut query = CanonicalQuery {
            id: String::new(),
            original_hash: original_hash.map(fit).transpose()?,
            source,
            difficulty,
            mode: retrieval_mode,
            filter: filter.read()?,
            family,
            expected: keys(expected)?,
            acceptable: keys(acceptable)?,
            snippets: snippets.collect::<Result<_, _>>()?,
            entities,
            answer_end,
            tags,
            origin,
            state,
            text,
        };
        query.id = fit(id.unwrap_or_else(|| query.identity_hash().short()))?;
        Ok(query)
    }
}

impl From<&CanonicalQuery> for QueryEntry {
    fn from(query: &CanonicalQuery) -> Self {
        let CanonicalQuery {
            id,
            text,
            original_hash,
            source,
            difficulty,
            mode,
            filter,
            family,
            expected,
            acceptable,
            snippets,
            entities,
            answer_end,
            tags,
            origin,
            state,
        } = query;
        let keys = |keys: &[ResultKey]| keys.iter().map(WireKey::from).collect();
        Self {
            schema_version: QUERY_VERSION,
            id: Some(id.clone()),
            query: text.clone(),
            original_hash: original_hash.clone(),
            source: source.clone(),
            difficulty: *difficulty,
            retrieval_mode: *mode,
            filter: FilterEntry::from(filter),
            family: *family,
            expected: keys(expected),
            acceptable: keys(acceptable),
            expected_snippets: snippets.iter().map(WireSnippet::from).collect(),
            entities: entities.clone(),
            answer_end: *answer_end,
            tags: tags.clone(),
            origin: *origin,
            state: *state,
        }
    }
}

fn fit(id: String) -> Result<String, QueryError> {
    let is_fit = (1..=200).contains(&id.len()) && !id.contains(char::is_control);
    if is_fit { Ok(id) } else { Err(QueryError::Id(id)) }
}

impl WireKey {
    fn read(self) -> Result<ResultKey, QueryError> {
        let (kind, id) = match self {
            Self::Document(id) => (KeyKind::Document, id),
            Self::Typed { kind, id } => (kind, id),
        };
        Ok(ResultKey { kind, id: fit(id)? })
    }
}

impl From<&ResultKey> for WireKey {
    fn from(ResultKey { kind, id }: &ResultKey) -> Self {
        match kind {
            KeyKind::Document => Self::Document(id.clone()),
            kind => Self::Typed { kind: *kind, id: id.clone() },
        }
    }
}

impl WireSnippet {
    fn read(self) -> Result<ExpectedSnippet, QueryError> {
        match self {
            Self::Text(text) => Ok(ExpectedSnippet { text, at: None }),
            Self::Placed { start, end, .. } if end < start => Err(QueryError::Span),
            Self::Placed { text, start, end } => {
                Ok(ExpectedSnippet { text, at: Some((start, end)) })
            }
        }
    }
}

impl From<&ExpectedSnippet> for WireSnippet {
    fn from(ExpectedSnippet { text, at }: &ExpectedSnippet) -> Self {
        match *at {
            None => Self::Text(text.clone()),
            Some((start, end)) => Self::Placed { text: text.clone(), start, end },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<CanonicalQuery, String> {
        let entry: QueryEntry = serde_json::from_str(json).map_err(|error| error.to_string())?;
        entry.read().map_err(|error| error.to_string())
    }

    #[test]
    fn a_query_there_and_back() {
        let json = r#"{"query": " who owns X? ", "source": "slack", "difficulty": "hard", "mode": "graph",
            "family": "ownership", "expected": ["teams/x", {"kind": "chunk", "id": "c1"}],
            "filter": {"types": ["team"], "labels": ["x"], "after": "2026-01-02"},
            "expected_snippets": ["owned by", {"text": "x", "start": 1, "end": 2}], "entities": ["teams/x"]}"#;
        let query = read(json).unwrap();
        assert_eq!((&*query.text, query.id.len()), ("who owns X?", 16));
        let written = serde_json::to_string(&QueryEntry::from(&query)).unwrap();
        assert_eq!(read(&written).unwrap(), query);
    }

    #[test]
    fn invalid_queries_are_refused() {
        let refused = |json: &str, says: &str| {
            let error = read(json).unwrap_err();
            assert!(error.contains(says), "{error}");
        };
        refused(r#"{"query": " "}"#, "empty");
        refused(r#"{}"#, "query");
        refused(r#"{"query": "a\u0000b"}"#, "no NUL");
        refused(&format!(r#"{{"query": "{}"}}"#, "x".repeat(51_201)), "51200 bytes");
        refused(r#"{"query": "x", "colour": 1}"#, "colour");
        refused(r#"{"query": "x", "expected": [""]}"#, "no id");
        refused(r#"{"query": "x", "difficulty": "dire"}"#, "dire");
        refused(r#"{"query": "x", "filter": {"colour": ["red"]}}"#, "colour");
        refused(r#"{"query": "x", "filter": {"after": "soon"}}"#, "soon");
        refused(r#"{"query": "x", "schema_version": 2}"#, "version 2");
        refused(
            r#"{"query": "x", "expected_snippets": [{"text": "x", "start": 2, "end": 1}]}"#,
            "ends before",
        );
    }
}
