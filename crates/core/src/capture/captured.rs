//! A capture as it is read from a file, and the request that asks it again.

use std::fmt;

use jiff::Timestamp;

use crate::id::PageKey;
use crate::provenance::Provenance;
use crate::request::{Detail, Filter, Operation, RetrievalMode, Trust};

/// A page that was retrieved. Rows of schema 1 alone do not say whose each slug is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Retrieved {
    /// Its source, where that is known.
    pub source: Option<String>,
    /// Its slug.
    pub slug: String,
}

impl Retrieved {
    /// Reads `source::slug`, or a slug whose source nobody says.
    pub fn parse(name: &str) -> Self {
        match name.split_once("::") {
            Some((source, slug)) => Self { source: Some(source.to_owned()), slug: slug.to_owned() },
            None => Self { source: None, slug: name.to_owned() },
        }
    }
}

impl From<&PageKey> for Retrieved {
    fn from(key: &PageKey) -> Self {
        Self { source: Some(key.source.to_string()), slug: key.slug.to_string() }
    }
}

impl fmt::Display for Retrieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source}::{}", self.slug),
            None => f.write_str(&self.slug),
        }
    }
}

/// A row of captures or of a baseline. What the row does not say is none.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedRow {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its number.
    pub id: Option<i64>,
    /// The operation.
    pub operation: Operation,
    /// What was asked; empty when it is missing.
    pub query: String,
    /// The pages that came back, in order.
    pub retrieved: Option<Vec<Retrieved>>,
    /// How many were asked for.
    pub limit: Option<usize>,
    /// The detail that was asked for.
    pub detail: Option<Detail>,
    /// The mode that was asked for.
    pub mode: Option<RetrievalMode>,
    /// Which pages could be in the answer; trust is beside it.
    pub filter: Filter,
    /// Whose eyes the answer was for.
    pub trust: Option<Trust>,
    /// Whether the vector arm was allowed.
    pub vectors: Option<bool>,
    /// Whether vectors were searched.
    pub vector_enabled: Option<bool>,
    /// Whether expansion gave variants.
    pub expansion_applied: bool,
    /// What expansion gave, where the row says so.
    pub variants: Vec<String>,
    /// The model that judged the best candidates.
    pub rerank_model: Option<String>,
    /// Whether the answer came from a cache that may have been stale.
    pub cache_hit: bool,
    /// Stages whose machinery could not do its work, with the reason.
    pub degraded: Vec<(String, String)>,
    /// The time that recency was measured against.
    pub now: Option<Timestamp>,
    /// When the row was stored.
    pub created_at: Option<Timestamp>,
    /// How long finding the answer took, in milliseconds; none where it was kept from before.
    pub latency_ms: Option<f64>,
    /// Whether the caller came over a wire.
    pub remote: bool,
    /// Whether scrubbing changed the query.
    pub scrubbed: Option<bool>,
    /// The pages that the scrubbed query found, where scrubbing changed it.
    pub scrubbed_retrieved: Option<Vec<Retrieved>>,
    /// Whether the brain was made up.
    pub synthetic: bool,
    /// The query's hash, in a baseline.
    pub query_hash: Option<String>,
    /// How many captures the row stands for.
    pub weight: u64,
    /// Whether the row says everything that its ranking depended on.
    pub is_whole: bool,
    /// What answered.
    pub provenance: Provenance,
}

impl CapturedRow {
    /// The pages to compare with: what the text in the row found, which after scrubbing is not
    /// what the text that was typed found.
    pub fn expected(&self) -> Option<&[Retrieved]> {
        self.scrubbed_retrieved.as_deref().or(self.retrieved.as_deref())
    }

    /// Whether the row came from real use: it was stored by a brain that nobody made up.
    pub fn is_real(&self) -> bool {
        self.created_at.is_some() && !self.synthetic
    }
}
