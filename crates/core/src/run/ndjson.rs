//! Our own rows: `{"query_id", "retrieved": [{"source_id", "slug", "score"?}]}`, one a line.
//!
//! Rows marked by `_kind` are about the file and are passed over.

use std::borrow::Cow;

use serde_json::Value;

use super::{OrderedBy, Run, RunError, RunHit};
use crate::format::{RUN_VERSION, Retrieved, RunRow, in_line};
use crate::qrels::doc_id;

pub(super) fn parse(text: &str) -> Result<Run<'_>, RunError> {
    let mut run = Run::new(OrderedBy::Position);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = at + 1;
        let Some(RunRow { query_id, retrieved, .. }) =
            row(line).map_err(|reason| RunError::Row { line: line_number, reason })?
        else {
            continue;
        };
        let hits = retrieved.into_iter().map(|hit| read(hit, line_number));
        run.push(query_id, hits.collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(run)
}

fn row(line: &str) -> Result<Option<RunRow>, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| in_line(&error))?;
    if value.get("_kind").is_some() {
        return Ok(None);
    }
    let row: RunRow = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if row.schema_version != RUN_VERSION {
        let found = row.schema_version;
        return Err(format!("schema_version is {found}; this program reads {RUN_VERSION}"));
    }
    Ok(Some(row))
}

fn read(hit: Retrieved, line: usize) -> Result<RunHit<'static>, RunError> {
    let Retrieved { source_id, slug, score } = hit;
    let score = match score {
        Some(score) if !score.is_finite() => {
            return Err(RunError::Score { line, score: score.to_string() });
        }
        score => score,
    };
    Ok(RunHit { doc: Cow::Owned(doc_id(source_id.as_deref(), &slug).into_owned()), score })
}
