//! A capture read from a file, and the request that replays it.

use std::fmt;

use jiff::Timestamp;

use crate::id::PageKey;
use crate::latency::CpuTime;
use crate::provenance::Provenance;
use crate::request::{Detail, Filter, Operation, RetrievalMode, Viewer};
use crate::scrub::MARKER;

/// Digits of a page's hash that reports show: enough to tell pages apart.
const SHOWN_DIGITS: usize = 16;

/// A page that was retrieved. Rows of schema 1 alone do not contain the source of each slug.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CapturedPage {
    /// Its source, where that is known.
    pub source: Option<String>,
    pub slug: String,
    /// A keyed hash of its whole name, where scrubbing changed the name.
    pub key_hash: Option<String>,
}

impl CapturedPage {
    /// A page with this source and slug.
    pub fn new(source: &str, slug: &str) -> Self {
        Self { source: Some(source.to_owned()), slug: slug.to_owned(), key_hash: None }
    }

    /// Whether the name is the scrubbed form of another one.
    pub fn is_scrubbed(&self) -> bool {
        let has_marker = |text: &str| text.contains(MARKER);
        self.key_hash.is_some()
            || has_marker(&self.slug)
            || self.source.as_deref().is_some_and(has_marker)
    }

    /// Parses `source::slug`, or a slug without a source.
    pub fn parse(name: &str) -> Self {
        match name.split_once("::") {
            Some((source, slug)) => Self::new(source, slug),
            None => Self { source: None, slug: name.to_owned(), key_hash: None },
        }
    }
}

impl From<&PageKey> for CapturedPage {
    fn from(key: &PageKey) -> Self {
        Self::new(key.source.as_str(), key.slug.as_str())
    }
}

/// `source::slug`, with the beginning of its hash behind a scrubbed name: `default::people/[REDACTED]#3f9a...`.
impl fmt::Display for CapturedPage {
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

/// A row of captures or of a baseline. Missing fields are none.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedRow {
    /// Its line in the file, from 1.
    pub line: usize,
    pub id: Option<i64>,
    pub operation: Operation,
    /// The query; empty when it is missing.
    pub query: String,
    /// The pages that came back, in order.
    pub retrieved: Option<Vec<CapturedPage>>,
    /// The sources of the answer, where pages do not name theirs.
    pub source_ids: Option<Vec<String>>,
    /// The id of the key that hashes of scrubbed names were made with.
    pub identity_key_id: Option<String>,
    /// The requested number of pages.
    pub limit: Option<usize>,
    /// The level of detail requested.
    pub detail: Option<Detail>,
    /// The retrieval mode requested.
    pub mode: Option<RetrievalMode>,
    /// The filters of the request, without trust.
    pub filter: Filter,
    /// Whether scrubbing changed a filter, so that the request can't be repeated.
    pub filter_scrubbed: bool,
    /// The viewer of the answer.
    pub trust: Option<Viewer>,
    /// Whether the vector arm was allowed.
    pub vectors: Option<bool>,
    /// Whether vectors were searched.
    pub vector_enabled: Option<bool>,
    /// Whether expansion gave variants.
    pub expansion_applied: bool,
    /// The result of query expansion, if the row records it.
    pub variants: Vec<String>,
    /// The model that judged the best candidates.
    pub rerank_model: Option<String>,
    /// Whether the answer came from a cache that may have been stale.
    pub cache_hit: bool,
    /// Stages that could not do their work, with the reason.
    pub degraded: Vec<(String, String)>,
    /// The time that recency was measured against.
    pub now: Option<Timestamp>,
    /// When the row was stored.
    pub created_at: Option<Timestamp>,
    /// Duration of the retrieval in milliseconds; none if the answer came from the cache.
    pub latency_ms: Option<f64>,
    /// How many times a target was asked, of which `latency_ms` is the shortest; only captures of a
    /// target say so.
    pub latency_repeats: Option<u32>,
    /// The CPU time of the retrieval, if it was measured with the current method.
    pub cpu_time: Option<CpuTime>,
    /// Whether the caller came over a wire.
    pub remote: bool,
    /// Whether scrubbing changed the query.
    pub scrubbed: Option<bool>,
    /// The pages that the scrubbed query found, where scrubbing changed it.
    pub scrubbed_retrieved: Option<Vec<CapturedPage>>,
    /// Whether the brain was made up.
    pub synthetic: bool,
    /// The query's hash, in a baseline.
    pub query_hash: Option<String>,
    /// Number of captures that the row represents.
    pub weight: u64,
    /// Whether the row says everything that its ranking depended on.
    pub is_whole: bool,
    pub provenance: Provenance,
}

impl CapturedRow {
    /// The pages to compare with: what the text in the row found, which after scrubbing is not
    /// what the text that was typed found.
    pub fn expected(&self) -> Option<&[CapturedPage]> {
        self.scrubbed_retrieved.as_deref().or(self.retrieved.as_deref())
    }

    /// Whether the row came from real use: it was stored by a brain that is not synthetic.
    pub fn is_real(&self) -> bool {
        self.created_at.is_some() && !self.synthetic
    }
}
