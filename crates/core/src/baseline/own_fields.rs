//! The fields that only this gbrain writes into baselines.
//!
//! A file that carries any of them was published here and has a `rows_hash`; without the hash it was
//! edited. A file with none of them comes from another gbrain, has no hash, and is judged with the
//! remark that edits cannot be detected.

use serde_json::{Map, Value};

/// Fields of the metadata line.
pub(super) const METADATA_FIELDS: &[&str] =
    &["weight_total", "synthetic", "why", "history", "rows_hash", "key_id", "rows_hmac"];

/// Fields of rows: what captures add to schema 1, and what publishing adds to captures.
pub(super) const ROW_FIELDS: &[&str] = &[
    "request_version",
    "retrieved",
    "limit",
    "retrieval_mode",
    "vectors",
    "source_scope",
    "filters",
    "filters_scrubbed",
    "trust",
    "now",
    "settings",
    "settings_hash",
    "software",
    "corpus",
    "embedder",
    "expansion_variants",
    "expansion_scrubbed",
    "rerank_model",
    "cache_hit",
    "cache",
    "degraded",
    "scrubbed",
    "scrub_families",
    "scrubbed_retrieved",
    "scrub_jaccard",
    "identity_key_id",
    "synthetic",
    "cpu_time",
    "target",
    "latency_repeats",
    "weight",
];

/// The first of `fields` that an object has.
pub(super) fn first_own(
    object: &Map<String, Value>,
    fields: &'static [&'static str],
) -> Option<&'static str> {
    fields.iter().copied().find(|field| object.contains_key(*field))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemars::schema_for;

    use super::*;
    use crate::baseline::metadata::WireMetadata;
    use crate::format::capture::ReproductionFields;

    /// The metadata fields that the reference gbrain writes.
    const FOREIGN_METADATA: [&str; 8] = [
        "schema_version",
        "_kind",
        "label",
        "published_at",
        "source_hash",
        "thresholds",
        "row_count",
        "baseline_mean_latency_ms",
    ];

    #[test]
    fn every_additive_field_of_a_capture_is_listed() {
        let schema = schema_for!(ReproductionFields<'_>);
        let properties = schema.as_value()["properties"].as_object().unwrap();
        // Publishing adds the first, captures of a target the others.
        let more = ["weight", "target", "latency_repeats"];
        let written: BTreeSet<&str> = properties.keys().map(String::as_str).chain(more).collect();
        let listed: BTreeSet<&str> = ROW_FIELDS.iter().copied().collect();
        assert_eq!(written, listed, "a field that captures add belongs in ROW_FIELDS");
    }

    #[test]
    fn every_additive_field_of_the_metadata_is_listed() {
        let schema = schema_for!(WireMetadata);
        let properties = schema.as_value()["properties"].as_object().unwrap();
        let written: BTreeSet<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|field| !FOREIGN_METADATA.contains(field))
            .collect();
        let listed: BTreeSet<&str> = METADATA_FIELDS.iter().copied().collect();
        assert_eq!(written, listed, "a field that publishing adds belongs in METADATA_FIELDS");
    }
}
