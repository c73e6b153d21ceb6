//! The first line of a baseline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The value of `_kind` in the first line.
pub(super) const KIND: &str = "baseline_metadata";

/// The thresholds that a replay must reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Thresholds")]
pub struct BaselineThresholds {
    /// Minimum of the mean Jaccard.
    pub jaccard: f64,
    /// Minimum share of queries whose first page is the same.
    pub top1: f64,
    /// Most that the mean latency may have grown.
    pub latency_multiplier: f64,
}

impl Default for BaselineThresholds {
    fn default() -> Self {
        Self { jaccard: 0.85, top1: 0.80, latency_multiplier: 2.0 }
    }
}

/// A threshold that nothing can be measured against.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("threshold `{name}` is {value}; it takes a number {expected}")]
pub struct ThresholdsError {
    pub name: &'static str,
    pub value: f64,
    pub expected: &'static str,
}

impl BaselineThresholds {
    /// Rejects a threshold that every replay would pass, or none at all.
    pub fn check(&self) -> Result<(), ThresholdsError> {
        check_rate("jaccard", self.jaccard)?;
        check_rate("top1", self.top1)?;
        if self.latency_multiplier.is_finite() && self.latency_multiplier > 0.0 {
            return Ok(());
        }
        let (name, value) = ("latency_multiplier", self.latency_multiplier);
        Err(ThresholdsError { name, value, expected: "above 0" })
    }
}

/// Refuses a rate outside 0 to 1.
pub(crate) fn check_rate(name: &'static str, value: f64) -> Result<(), ThresholdsError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ThresholdsError { name, value, expected: "from 0 to 1" })
}

/// A baseline that this one took the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PastBaseline")]
pub struct PastBaseline {
    /// The label of the baseline.
    pub label: String,
    /// When it was published.
    pub published_at: String,
    /// Number of rows that it had.
    pub row_count: usize,
    /// Its hash over everything, where it had one.
    pub rows_hash: Option<String>,
    /// Why it was published.
    pub why: Option<String>,
}

/// The first line of a baseline, read.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineMetadata {
    /// A name for people.
    pub label: String,
    /// When it was published.
    pub published_at: String,
    /// The hash over the queries.
    pub source_hash: String,
    /// The thresholds that a replay must reach.
    pub thresholds: BaselineThresholds,
    /// Number of rows in the file.
    pub row_count: usize,
    /// The mean latency of the captures; none when no row has one.
    pub mean_latency_ms: Option<f64>,
    /// The hash over everything; none in files of other gbrains.
    pub rows_hash: Option<String>,
    /// Names the key that signed it; none if it is not signed.
    pub key_id: Option<String>,
    /// The signature over `rows_hash`.
    pub rows_hmac: Option<String>,
    /// Why it was published.
    pub why: Option<String>,
    /// The baselines that it replaced, newest first.
    pub history: Vec<PastBaseline>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct WireMetadata {
    pub(super) schema_version: u64,
    pub(super) _kind: String,
    pub(super) label: String,
    pub(super) published_at: String,
    pub(super) source_hash: String,
    pub(super) thresholds: BaselineThresholds,
    pub(super) row_count: usize,
    pub(super) baseline_mean_latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight_total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) synthetic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<PastBaseline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows_hmac: Option<String>,
}

impl From<WireMetadata> for BaselineMetadata {
    fn from(wire: WireMetadata) -> Self {
        let WireMetadata {
            schema_version: _,
            _kind: _,
            label,
            published_at,
            source_hash,
            thresholds,
            row_count,
            baseline_mean_latency_ms,
            weight_total: _,
            synthetic: _,
            why,
            history,
            key_id,
            rows_hash,
            rows_hmac,
        } = wire;
        Self {
            label,
            published_at,
            source_hash,
            thresholds,
            row_count,
            mean_latency_ms: baseline_mean_latency_ms,
            rows_hash,
            key_id,
            rows_hmac,
            why,
            history,
        }
    }
}

/// Whether an object is the first line of a baseline.
pub(super) fn is_metadata(object: &Map<String, Value>) -> bool {
    object.get("_kind").and_then(Value::as_str) == Some(KIND)
}
