//! Labelled query-passage pairs: stored records, imported lines and list bodies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibrate::{CalibrationPair, LabelCounts, PairLabel, PairOrigin, chunk_of_text};

/// The version of [`PairBody`].
pub const PAIR_VERSION: u32 = 1;

/// The stored part of a pair that has no columns of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairBody {
    /// Version of this format.
    pub schema_version: u32,
    /// The query text, scrubbed.
    pub query: String,
    /// The passage text as the reranker reads it, so that it can be scored without the corpus.
    pub text: String,
    /// Origin of the pair.
    #[serde(default)]
    pub origin: PairOrigin,
    /// Whether the passage was given by name; absent in old rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<bool>,
}

impl PairBody {
    /// The pair with its column values; none if the label is unknown.
    pub fn pair(
        self,
        id: i64,
        document: &str,
        chunk: &str,
        label: &str,
    ) -> Option<CalibrationPair> {
        let Self { schema_version: _, query, text, origin, named } = self;
        let is_named = named.unwrap_or_else(|| chunk != chunk_of_text(document, &text));
        let label = PairLabel::from_name(label)?;
        let (document, chunk) = (document.to_owned(), chunk.to_owned());
        Some(CalibrationPair { id, query, document, chunk, text, label, origin, is_named })
    }
}

/// A pair as a line of an imported file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CalibrationPairEntry")]
pub struct PairEntry {
    /// Text of the query.
    #[serde(alias = "query_text")]
    pub query: String,
    /// The document: `source::slug` for the local brain, or a slug of any source.
    #[serde(alias = "document_id")]
    pub document: String,
    /// The passage; by default the best match for the query.
    #[serde(default, alias = "chunk_id", skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// The reviewer's label: relevant, borderline or irrelevant.
    pub label: PairLabel,
    /// The passage text; looked up by default.
    #[serde(default, alias = "chunk_text", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Reads pairs, one JSON object per line; the error names the line.
pub fn read_pairs(text: &str) -> Result<Vec<PairEntry>, (usize, String)> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, at)| {
            let entry: PairEntry =
                serde_json::from_str(line).map_err(|error| (at, error.to_string()))?;
            match entry.query.trim().is_empty() || entry.document.trim().is_empty() {
                true => Err((at, "the query or the document is empty".to_owned())),
                false => Ok(entry),
            }
        })
        .collect()
}

/// Outcome of collecting pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CollectedPairs")]
pub struct PairCollectionBody {
    /// Number of new pairs.
    pub added: usize,
    /// Number of pairs whose label or text changed.
    pub changed: usize,
    /// Number of pairs that were stored already.
    pub unchanged: usize,
    /// Skipped pairs with their reasons.
    pub passed_over: Vec<SkippedPair>,
    /// Number of stored pairs by label.
    pub pairs: LabelCounts,
    /// Number of borderline pairs still needed for a calibration.
    pub missing: usize,
    /// Low-rated results to review: add a label to each and import them from a file.
    pub review: Vec<ReviewRow>,
}

/// A result with a down vote, as a line of an import file without its label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ReviewRow {
    /// The query text, scrubbed.
    pub query: String,
    /// Id of the document.
    pub document: String,
    /// Always null: not labelled yet.
    pub label: Option<PairLabel>,
}

/// A pair that was not collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PassedOverPair")]
pub struct SkippedPair {
    /// Id of the document.
    pub document: String,
    /// Why it was skipped.
    pub why: String,
}

/// A list of labelled pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationPairs")]
pub struct PairsBody {
    /// The pairs, newest first.
    pub pairs: Vec<CalibrationPair>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_or_named() {
        let good =
            r#"{"query_text": "q", "document_id": "d", "label": "borderline", "chunk_text": "t"}"#;
        let entries = read_pairs(&format!("{good}\n\n{good}\n")).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].text.as_deref(), Some("t"));
        let check = |line: &str, expected: &str| {
            let (at, why) = read_pairs(&format!("{good}\n{line}")).unwrap_err();
            assert!(at == 2 && why.contains(expected), "{line}: {at} {why}");
        };
        check(r#"{"query": "q", "document": "d", "label": null}"#, "null");
        check(r#"{"query": "q", "document": "d", "label": "good"}"#, "borderline");
        check(r#"{"query": "q", "document": "d"}"#, "label");
        check(r#"{"query": " ", "document": "d", "label": "relevant"}"#, "empty");
        check(r#"{"query": "q", "document": "d", "label": "relevant", "x": 1}"#, "unknown field");
        check("nonsense", "expected");
    }

    #[test]
    fn bodies_of_before_are_read() {
        let body: PairBody =
            serde_json::from_str(r#"{"schema_version":1,"query":"q","text":"t"}"#).unwrap();
        let pair = body.pair(3, "d", "c", "borderline").unwrap();
        assert_eq!((pair.origin, pair.label), (PairOrigin::Manual, PairLabel::Borderline));
        assert!(pair.is_named, "the passage is not called after its text");
    }
}
