//! The queries of a probe: from a file, or the most frequent captured ones.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::path::Path;

use gbrain_core::id::WorkspaceId;
use gbrain_store::{CaptureFilter, Store, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::{EvalError, read_document};

/// Reads the queries of a file, without duplicates: one per line, as text or as an object with
/// `query`.
pub fn read_queries(path: &Path) -> Result<Vec<String>, EvalError> {
    let bytes = read_document(path)?;
    let (mut queries, mut seen) = (Vec::new(), FxHashSet::default());
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let wrong = |why: &str| EvalError::Line {
            path: path.to_owned(),
            line: number,
            why: why.to_owned(),
        };
        let text = str::from_utf8(line)
            .map_err(|_| EvalError::NotText { path: path.to_owned(), line: number })?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let query = match text.starts_with('{') {
            false => text.to_owned(),
            true => {
                let object: Value =
                    serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
                let query = object["query"].as_str().map(|query| query.trim().to_owned());
                let query = query.filter(|query| !query.is_empty());
                query.ok_or_else(|| wrong("there is no text in `query`"))?
            }
        };
        if !query.is_empty() && seen.insert(query.clone()) {
            queries.push(query);
        }
    }
    Ok(queries)
}

/// The most frequent captured queries, then the newest. Queries that differ only in case and white
/// space count as one, in its newest spelling.
pub fn most_frequent(
    store: &Store,
    workspace: &WorkspaceId,
    top: usize,
) -> Result<Vec<String>, StoreError> {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut counted: Vec<(String, u64)> = Vec::new();
    store.captures(workspace, &CaptureFilter::default(), &mut |row| {
        let query = row.fields.query.trim().to_owned();
        let folded = query.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        if folded.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let next = counted.len();
        let place = *places.entry(folded).or_insert(next);
        match counted.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => counted.push((query, 1)),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // The sort is stable, so ties stay in the order of the captures, newest first.
    counted.sort_by_key(|(_, count)| Reverse(*count));
    Ok(counted.into_iter().take(top).map(|(query, _)| query).collect())
}
