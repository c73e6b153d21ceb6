//! Baselines as the commands that look after them tell of them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::{Metadata, Past, Published, Refused, Thresholds};
use crate::named;

/// The version of the bodies here.
pub const BASELINE_VERSION: u32 = 1;

/// What `bench publish --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PublishBody<'a> {
    /// The version.
    schema_version: u32,
    /// Where the baseline is: a file, or a name in the store.
    output_path: &'a str,
    /// Its name for people.
    label: &'a str,
    /// The hash over its queries.
    source_hash: &'a str,
    /// The hash over everything.
    rows_hash: Option<&'a str>,
    /// Names the key that signed it; null if it is not signed.
    key_id: Option<&'a str>,
    /// How many rows it has.
    row_count: usize,
    /// How many captures they stand for.
    weight_total: u64,
    /// The mean latency of the captures.
    baseline_mean_latency_ms: Option<f64>,
    /// What a replay must reach.
    thresholds: Thresholds,
    /// Whether no row came from real use.
    synthetic: bool,
    /// Rows that were left out.
    refused: &'a [Refused],
}

impl<'a> PublishBody<'a> {
    /// The wire form of what was published to `output_path`.
    pub fn new(output_path: &'a str, published: &'a Published) -> Self {
        let Published { text: _, metadata, weight_total, refused, real } = published;
        let Metadata {
            label,
            published_at: _,
            source_hash,
            thresholds,
            row_count,
            mean_latency_ms,
            rows_hash,
            key_id,
            rows_hmac: _,
            why: _,
            history: _,
        } = metadata;
        Self {
            schema_version: BASELINE_VERSION,
            output_path,
            label,
            source_hash,
            rows_hash: rows_hash.as_deref(),
            key_id: key_id.as_deref(),
            row_count: *row_count,
            weight_total: *weight_total,
            baseline_mean_latency_ms: *mean_latency_ms,
            thresholds: *thresholds,
            synthetic: real.is_empty(),
            refused,
        }
    }
}

/// What `bench verify --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselinesVerified {
    /// The version.
    pub schema_version: u32,
    /// The baselines, in the order they were named.
    pub files: Vec<BaselineVerified>,
}

/// Whether one baseline is what was published.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineVerified {
    /// Where it is.
    pub path: String,
    /// What was found.
    pub status: Tampering,
    /// In words.
    pub detail: String,
}

/// Whether a baseline is what was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    Intact,
    /// An edit could not be seen.
    NotEvident,
    Refused,
    /// It can't be read.
    Unreadable,
}

named! {
    Tampering {
        Intact = "intact",
        NotEvident = "not tamper-evident",
        Refused = "refused",
        Unreadable = "unreadable",
    }
}

/// What `bench log --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineLog {
    /// The version.
    pub schema_version: u32,
    /// A baseline and those it took the place of, newest first.
    pub chain: Vec<Past>,
}

impl BaselineLog {
    /// The chain that ends with this baseline.
    pub fn new(metadata: Metadata) -> Self {
        let Metadata {
            label,
            published_at,
            source_hash: _,
            thresholds: _,
            row_count,
            mean_latency_ms: _,
            rows_hash,
            key_id: _,
            rows_hmac: _,
            why,
            history,
        } = metadata;
        let newest = Past { label, published_at, row_count, rows_hash, why };
        let chain = std::iter::once(newest).chain(history).collect();
        Self { schema_version: BASELINE_VERSION, chain }
    }
}

/// What `bench diff --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineDiff<'a> {
    /// The version.
    pub schema_version: u32,
    /// The label of the older baseline.
    pub a: &'a str,
    /// The label of the newer baseline.
    pub b: &'a str,
    /// Whether they ask for other thresholds.
    pub thresholds_differ: bool,
    /// Queries of the newer alone.
    pub added: Vec<&'a str>,
    /// Queries of the older alone.
    pub removed: Vec<&'a str>,
    /// Queries with another ranking, least alike first.
    pub changed: Vec<ChangedRow<'a>>,
    /// Queries whose rankings can't be compared: scrubbed names without hashes, or with hashes of two keys.
    pub not_comparable: Vec<&'a str>,
}

/// A query whose ranking is another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedRow<'a> {
    /// The query.
    pub query: &'a str,
    /// How much of both rankings is the same, 0 to 1.
    pub jaccard: f64,
    /// The older ranking.
    pub a: Vec<String>,
    /// The newer ranking.
    pub b: Vec<String>,
}
