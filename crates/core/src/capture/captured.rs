//! A capture as it is read from a file, and the request that asks it again.

use std::fmt;

use jiff::Timestamp;

use crate::id::PageKey;
use crate::latency::CpuTime;
use crate::provenance::Provenance;
use crate::request::{Detail, Filter, Operation, RetrievalMode, Viewer};
use crate::scrub::MARKER;

/// Digits of a page's hash that reports show: enough to tell pages apart.
const SHOWN_DIGITS: usize = 16;

/// A page that was retrieved. Rows of schema 1 alone do not say whose each slug is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Retrieved {
    /// Its source, where that is known.
    pub source: Option<String>,
    pub slug: String,
    /// A keyed hash of its whole name, where scrubbing changed the name.
    pub key_hash: Option<String>,
}

impl Retrieved {
    /// A page by its source and slug as they are.
    pub fn new(source: &str, slug: &str) -> Self {
        Self { source: Some(source.to_owned()), slug: slug.to_owned(), key_hash: None }
    }

    /// Whether the name stands for another one, which scrubbing took out.
    pub fn is_scrubbed(&self) -> bool {
        let has_marker = |text: &str| text.contains(MARKER);
        self.key_hash.is_some()
            || has_marker(&self.slug)
            || self.source.as_deref().is_some_and(has_marker)
    }

    /// Reads `source::slug`, or a slug whose source nobody says.
    pub fn parse(name: &str) -> Self {
        match name.split_once("::") {
            Some((source, slug)) => Self::new(source, slug),
            None => Self { source: None, slug: name.to_owned(), key_hash: None },
        }
    }
}

impl From<&PageKey> for Retrieved {
    fn from(key: &PageKey) -> Self {
        Self::new(key.source.as_str(), key.slug.as_str())
    }
}

/// `source::slug`, with the beginning of its hash behind a scrubbed name: `default::people/[REDACTED]#3f9a...`.
impl fmt::Display for Retrieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{source}::")?;
        }
        f.write_str(&self.slug)?;
        match &self.key_hash {
            Some(hash) => write!(f, "#{}", hash.get(..SHOWN_DIGITS).unwrap_or(hash)),
            None => Ok(()),
        }
    }
}

/// A row of captures or of a baseline. What the row does not say is none.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedRow {
    /// Its line in the file, from 1.
    pub line: usize,
    pub id: Option<i64>,
    pub operation: Operation,
    /// What was asked; empty when it is missing.
    pub query: String,
    /// The pages that came back, in order.
    pub retrieved: Option<Vec<Retrieved>>,
    /// The sources of the answer, where pages do not name theirs.
    pub source_ids: Option<Vec<String>>,
    /// The id of the key that hashes of scrubbed names were made with.
    pub identity_key_id: Option<String>,
    /// How many were asked for.
    pub limit: Option<usize>,
    /// The detail that was asked for.
    pub detail: Option<Detail>,
    /// The mode that was asked for.
    pub mode: Option<RetrievalMode>,
    /// Which pages could be in the answer; trust is beside it.
    pub filter: Filter,
    /// Whether scrubbing changed a filter, so that the request can't be asked again.
    pub filter_scrubbed: bool,
    /// Whose eyes the answer was for.
    pub trust: Option<Viewer>,
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
    /// How many times a target was asked, of which `latency_ms` is the shortest; only captures of a
    /// target say so.
    pub latency_repeats: Option<u32>,
    /// The CPU time of the retrieval, where it was measured as it is measured now.
    pub cpu_time: Option<CpuTime>,
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
