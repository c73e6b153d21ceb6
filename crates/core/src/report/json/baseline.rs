//! JSON output of the `baseline` commands.

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::{
    BaselineMetadata, BaselineThresholds, PastBaseline, PublishedBaseline, RefusedRow,
};
use crate::named;

/// The schema version of these bodies.
pub const BASELINE_VERSION: u32 = 1;

/// The output of `baseline publish --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PublishBody<'a> {
    /// The version of this output format.
    schema_version: u32,
    /// Path of the file, or name in the store.
    output_path: &'a str,
    /// The label of the baseline.
    label: &'a str,
    /// The hash of its queries.
    source_hash: &'a str,
    /// The hash of all rows.
    rows_hash: Option<&'a str>,
    /// Id of the signing key; null if it is not signed.
    key_id: Option<&'a str>,
    /// Number of rows in the baseline.
    row_count: usize,
    /// Number of captures that the rows represent.
    weight_total: u64,
    /// The mean latency of the captures.
    baseline_mean_latency_ms: Option<f64>,
    /// The thresholds of a replay.
    thresholds: BaselineThresholds,
    /// Whether all rows are synthetic.
    synthetic: bool,
    /// Rows that were rejected.
    refused: &'a [RefusedRow],
}

impl<'a> PublishBody<'a> {
    /// The output for a baseline published to `output_path`.
    pub fn new(output_path: &'a str, published: &'a PublishedBaseline) -> Self {
        let PublishedBaseline { text: _, metadata, weight_total, refused, real } = published;
        let BaselineMetadata {
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

/// The output of `baseline verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselinesVerified {
    /// The version of this output format.
    pub schema_version: u32,
    /// The baselines, in the order of the arguments.
    pub files: Vec<BaselineVerified>,
}

/// The integrity check of one baseline.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineVerified {
    /// Path of the baseline.
    pub path: String,
    /// Result of the integrity check.
    pub status: IntegrityStatus,
    /// The result as a sentence.
    pub detail: String,
}

named! {
    /// Whether a baseline is unchanged since publication.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum IntegrityStatus {
        Intact = "intact",
        /// An edit could not be detected.
        NotEvident = "not tamper-evident",
        Refused = "refused",
        Unreadable = "unreadable",
    }
}

/// The output of `baseline log --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineLog {
    /// The version of this output format.
    pub schema_version: u32,
    /// The baseline and its predecessors, newest first.
    pub chain: Vec<PastBaseline>,
}

impl BaselineLog {
    /// The chain that ends with this baseline.
    pub fn new(metadata: BaselineMetadata) -> Self {
        let BaselineMetadata {
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
        let newest = PastBaseline { label, published_at, row_count, rows_hash, why };
        let chain = std::iter::once(newest).chain(history).collect();
        Self { schema_version: BASELINE_VERSION, chain }
    }
}

/// The output of `baseline diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineDiff<'a> {
    /// The version of this output format.
    pub schema_version: u32,
    /// The label of the older baseline.
    pub a: &'a str,
    /// The label of the newer baseline.
    pub b: &'a str,
    /// Whether the thresholds differ.
    pub thresholds_differ: bool,
    /// Queries only in the newer baseline.
    pub added: Vec<&'a str>,
    /// Queries only in the older baseline.
    pub removed: Vec<&'a str>,
    /// Queries with different rankings, least similar first.
    pub changed: Vec<ChangedRow<'a>>,
    /// Queries with incomparable rankings: scrubbed names without hashes, or hashes of two keys.
    pub not_comparable: Vec<&'a str>,
}

/// A query with different rankings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedRow<'a> {
    /// The text of the query.
    pub query: &'a str,
    /// Jaccard overlap of both rankings, 0 to 1.
    pub jaccard: f64,
    /// The ranking in the older baseline.
    pub a: Vec<String>,
    /// The ranking in the newer baseline.
    pub b: Vec<String>,
}
