//! The other files of a BEIR folder: `queries.jsonl` and `corpus.jsonl`.

use serde::de::DeserializeOwned;

use super::{Place, QrelsError, utf8};
use crate::format::in_line;
use crate::format::qrels::{BeirDocument, BeirQuery};

/// Ids and texts of `queries.jsonl`, in order.
pub fn queries_of_jsonl(bytes: &[u8]) -> Result<Vec<(String, String)>, QrelsError> {
    let queries: Vec<BeirQuery> = rows(bytes)?;
    Ok(queries.into_iter().map(|BeirQuery { id, text }| (id, text)).collect())
}

/// Ids of `corpus.jsonl`, in order.
pub fn corpus_ids(bytes: &[u8]) -> Result<Vec<String>, QrelsError> {
    let documents: Vec<BeirDocument> = rows(bytes)?;
    Ok(documents.into_iter().map(|BeirDocument { id }| id).collect())
}

fn rows<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, QrelsError> {
    let lines = utf8(bytes)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(at, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| QrelsError::malformed(Place::Line(at + 1), in_line(&error)))
    };
    lines.map(row).collect()
}
