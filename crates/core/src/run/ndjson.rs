//! Our own rows: `{"query_id", "retrieved": [{"source_id", "slug", "score"?}]}`, one a line.
//!
//! Rows marked by `_kind` are about the file and are passed over. Rows are read straight from their text:
//! keys that mean nothing here take no memory.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::row::{RUN_VERSION, version};
use super::{OrderedBy, Run, RunError, RunHit};
use crate::qrels::doc_id;
use crate::reading::meter::ReadingMeter;
use crate::reading::without_position;

/// Memory of a hit while its row is read, and after that in the run.
const HIT_IN_ROW: usize = 112;
const HIT_IN_RUN: usize = 96;

pub(super) fn parse<'a>(text: &'a str, meter: &mut ReadingMeter<'_>) -> Result<Run<'a>, RunError> {
    let mut run = Run::new(OrderedBy::Position);
    let mut held = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = at + 1;
        let Some(RunRowFields { query_id, retrieved: Hits(hits), .. }) =
            row(line).map_err(|reason| RunError::Row { line: line_number, reason })?
        else {
            continue;
        };
        if let Some(score) = hits.iter().find_map(|hit| hit.score.filter(|s| !s.is_finite())) {
            return Err(RunError::Score { line: line_number, score: score.to_string() });
        }
        let docs: usize = hits.iter().map(|hit| hit.doc.len()).sum();
        held += super::QUERY_BYTES + query_id.len() + docs + hits.len() * HIT_IN_RUN;
        meter.count_temporary(held + hits.len() * HIT_IN_ROW).map_err(RunError::Interrupted)?;
        run.push(query_id, hits)?;
    }
    Ok(run)
}

/// A row in its read form; [`super::RunRow`] is the written form.
#[derive(Deserialize)]
struct RunRowFields<'a> {
    #[serde(default = "version")]
    schema_version: u32,
    #[serde(borrow)]
    query_id: Cow<'a, str>,
    #[serde(borrow)]
    retrieved: Hits<'a>,
}

/// A row that may be a remark.
#[derive(Deserialize)]
struct Remark {
    #[serde(default, rename = "_kind", deserialize_with = "is_there")]
    is_remark: bool,
}

fn is_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

fn row(line: &str) -> Result<Option<RunRowFields<'_>>, String> {
    if line.contains("_kind") {
        let remark: Remark =
            serde_json::from_str(line).map_err(|error| without_position(&error))?;
        if remark.is_remark {
            return Ok(None);
        }
    }
    let row: RunRowFields<'_> =
        serde_json::from_str(line).map_err(|error| without_position(&error))?;
    if row.schema_version != RUN_VERSION {
        let found = row.schema_version;
        return Err(format!("schema_version is {found}; this program reads {RUN_VERSION}"));
    }
    Ok(Some(row))
}

/// A page of a row in its read form.
#[derive(Deserialize)]
struct PageFields<'a> {
    #[serde(borrow)]
    source_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    slug: Cow<'a, str>,
    score: Option<f64>,
}

/// Pages as hits of a run: a list of both would take twice the memory.
struct Hits<'a>(Vec<RunHit<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Hits<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(HitsVisitor)
    }
}

struct HitsVisitor;

impl<'de> Visitor<'de> for HitsVisitor {
    type Value = Hits<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Hits<'de>, A::Error> {
        let mut hits = Vec::new();
        while let Some(PageFields { source_id, slug, score }) = list.next_element()? {
            let doc = match source_id {
                None if slug.contains("::") => slug,
                source => Cow::Owned(doc_id(source.as_deref(), &slug).into_owned()),
            };
            hits.push(RunHit { doc, score });
        }
        Ok(Hits(hits))
    }
}
