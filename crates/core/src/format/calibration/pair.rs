//! Pairs that people judged: as the store keeps them, as files bring them, as lists tell of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibrate::{CalibrationPair, Label, LabelCounts, PairOrigin, chunk_of_text};

/// The version of [`PairBody`].
pub const PAIR_VERSION: u32 = 1;

/// A pair, beside what the store has columns for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairBody {
    /// The version of the form.
    pub schema_version: u32,
    /// What was asked, scrubbed.
    pub query: String,
    /// The text of the passage as a reranker reads it, so that it can be scored without the corpus.
    pub text: String,
    /// Where it comes from.
    #[serde(default)]
    pub origin: PairOrigin,
    /// Whether the passage was named; rows of before do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<bool>,
}

impl PairBody {
    /// The pair that it is the body of; none if its label is none.
    pub fn pair(
        self,
        id: i64,
        document: &str,
        chunk: &str,
        label: &str,
    ) -> Option<CalibrationPair> {
        let Self { schema_version: _, query, text, origin, named } = self;
        let is_named = named.unwrap_or_else(|| chunk != chunk_of_text(document, &text));
        let label = Label::from_name(label)?;
        let (document, chunk) = (document.to_owned(), chunk.to_owned());
        Some(CalibrationPair { id, query, document, chunk, text, label, origin, is_named })
    }
}

/// A pair as a file brings it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CalibrationPairEntry")]
pub struct PairEntry {
    /// What was asked.
    #[serde(alias = "query_text")]
    pub query: String,
    /// The document: for the local brain `source::slug`, or a slug of any source.
    #[serde(alias = "document_id")]
    pub document: String,
    /// The passage; the one that fits the query best if it is not said.
    #[serde(default, alias = "chunk_id", skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// What people said.
    pub label: Label,
    /// The text of the passage; looked up if it is not given.
    #[serde(default, alias = "chunk_text", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Reads pairs, one JSON object a line; the error names the line.
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

/// What collecting pairs gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CollectedPairs")]
pub struct CollectedBody {
    /// Pairs that are new.
    pub added: usize,
    /// Pairs that say something else now.
    pub changed: usize,
    /// Pairs that were there.
    pub unchanged: usize,
    /// What was passed over, and why.
    pub passed_over: Vec<Passed>,
    /// What there is now.
    pub pairs: LabelCounts,
    /// How many borderline pairs a calibration lacks.
    pub missing: usize,
    /// Low-rated results that somebody should look at: with a label they can be taken in from a file.
    pub review: Vec<ReviewRow>,
}

/// A result that somebody voted down, as a line of a file without its label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ReviewRow {
    /// What was asked, scrubbed.
    pub query: String,
    /// The document.
    pub document: String,
    /// Nobody gave it one yet.
    pub label: Option<Label>,
}

/// A pair that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PassedOverPair")]
pub struct Passed {
    /// The document.
    pub document: String,
    /// Why.
    pub why: String,
}

/// Pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationPairs")]
pub struct PairsBody {
    /// The newest first.
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
        assert_eq!((pair.origin, pair.label), (PairOrigin::Manual, Label::Borderline));
        assert!(pair.is_named, "the passage is not called after its text");
    }
}
