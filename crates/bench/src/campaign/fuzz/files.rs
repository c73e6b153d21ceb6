//! Invariants of files of rows: canonical queries, calibration pairs, batches, probe events.

use gbrain_core::cross_modal::batch::Rows;
use gbrain_core::format::calibration::read_pairs;
use gbrain_core::format::probe::read_events;
use gbrain_core::format::suite::{QueryEntry, WorkspaceCheck, read_queries};
use gbrain_core::id::WorkspaceId;
use gbrain_eval::contradictions;

use super::promises::{Broken, Tools, check_words, require};

/// Canonical queries: a refusal names a line of the file, and what is taken is the same when it is
/// written and read again.
pub(super) fn check_queries(bytes: &[u8]) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().count().max(1);
    let entries = match read_queries(&text, WorkspaceCheck::Workspace("default")) {
        Ok(entries) => entries,
        Err(error) => {
            require((1..=lines).contains(&error.line), || format!("{error} of {lines} lines"))?;
            return check_words(&error.to_string());
        }
    };
    for (line, entry) in entries {
        require((1..=lines).contains(&line), || format!("line {line} of {lines}"))?;
        let query = match entry.read() {
            Ok(query) => query,
            Err(error) => {
                check_words(&error.to_string())?;
                continue;
            }
        };
        let written = QueryEntry::from(&query);
        let json = serde_json::to_string(&written).map_err(|error| error.to_string())?;
        let again =
            read_queries(&json, WorkspaceCheck::Any).map_err(|error| format!("{error}: {json}"))?;
        let again = again.into_iter().map(|(_, entry)| entry.read()).next();
        let again = again.and_then(Result::ok).ok_or_else(|| format!("it is lost: {json}"))?;
        require(again == query, || format!("written, it is another: {json}"))?;
    }
    Ok(())
}

/// Rows of other kinds: every line is a row or is told.
pub(super) fn check_rows(bytes: &[u8], tools: &Tools) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().count();
    match read_pairs(&text) {
        Ok(pairs) => {
            let written = pairs.iter().all(|pair| !pair.query.trim().is_empty());
            require(written, || "a pair without a query".to_owned())?;
        }
        Err((line, reason)) => {
            require((1..=lines).contains(&line), || format!("line {line} of {lines}"))?;
            check_words(&reason)?;
        }
    }
    let rows = Rows::read(&text);
    for malformed in &rows.malformed {
        let is_there = (1..=lines).contains(&malformed.line) && !malformed.why.is_empty();
        require(is_there, || format!("{malformed:?} of {lines} lines"))?;
    }
    let told = rows.questions.len() + rows.upstream.len() + rows.malformed.len();
    require(told <= lines, || format!("{told} rows of {lines} lines"))?;
    let mut ids: Vec<&str> = rows.questions.iter().map(|question| question.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    require(ids.len() == rows.questions.len(), || "an id stands twice".to_owned())?;
    let events = read_events(bytes, &WorkspaceId::default());
    require(events.len() <= bytes.split(|byte| *byte == b'\n').count(), String::new)?;
    let path = tools.dir.path().join("questions.txt");
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    match contradictions::read_queries(&path) {
        Ok(queries) => {
            require(queries.iter().all(|query| !query.is_empty()), || "an empty one".to_owned())
        }
        Err(error) => {
            let words = gbrain_core::fault::chain(&error);
            require(words.contains("questions.txt"), || format!("no file in {words:?}"))?;
            check_words(&words)
        }
    }
}
