//! The other files of a BEIR folder: `queries.jsonl` and `corpus.jsonl`.

use rustc_hash::FxHashSet;
use serde::de::DeserializeOwned;

use super::file::{BeirDocument, BeirQuery};
use super::{QrelsError, QrelsLocation, utf8};
use crate::reading::without_position;

/// Ids and texts of `queries.jsonl`, in order. Every id stands once and has something to ask.
pub fn queries_of_jsonl(bytes: &[u8]) -> Result<Vec<(String, String)>, QrelsError> {
    let mut ids = FxHashSet::default();
    let mut queries = Vec::new();
    for row in rows(bytes)? {
        let (place, BeirQuery { id, text }) = row?;
        not_blank(place, &id)?;
        if text.trim().is_empty() {
            return Err(QrelsError::malformed(place, format!("`text` of `{id}` is blank")));
        }
        if !ids.insert(id.clone()) {
            return Err(QrelsError::malformed(place, format!("`_id` `{id}` stands a second time")));
        }
        queries.push((id, text));
    }
    Ok(queries)
}

/// Ids of `corpus.jsonl`, in order.
pub fn corpus_ids(bytes: &[u8]) -> Result<Vec<String>, QrelsError> {
    rows(bytes)?.map(|row| row.map(|(_, BeirDocument { id, .. })| id)).collect()
}

/// Ids, titles and texts of `corpus.jsonl`, in order. Every id stands once.
pub fn documents_of_jsonl(bytes: &[u8]) -> Result<Vec<(String, String, String)>, QrelsError> {
    let mut ids = FxHashSet::default();
    let mut documents = Vec::new();
    for row in rows(bytes)? {
        let (place, BeirDocument { id, title, text }) = row?;
        not_blank(place, &id)?;
        if !ids.insert(id.clone()) {
            return Err(QrelsError::malformed(place, format!("`_id` `{id}` stands a second time")));
        }
        documents.push((id, title, text));
    }
    Ok(documents)
}

fn not_blank(place: QrelsLocation, id: &str) -> Result<(), QrelsError> {
    if id.trim().is_empty() {
        return Err(QrelsError::malformed(place, "`_id` is blank"));
    }
    Ok(())
}

fn rows<T: DeserializeOwned>(
    bytes: &[u8],
) -> Result<impl Iterator<Item = Result<(QrelsLocation, T), QrelsError>>, QrelsError> {
    let lines = utf8(bytes)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok(lines.map(|(at, line)| {
        let place = QrelsLocation::Line(at + 1);
        let row = serde_json::from_str(line);
        row.map(|row| (place, row))
            .map_err(|error| QrelsError::malformed(place, without_position(&error)))
    }))
}
