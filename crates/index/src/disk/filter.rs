//! Evaluates a filter on the documents of one segment, using its columns.

use std::ops::Bound;

use gbrain_core::request::Filter;
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

use super::document::{ChunkCode, date_value};
use super::schema::column;

/// The conditions for documents of a segment. Visibility is not one of them: private words have
/// separate lists.
pub(super) struct SegmentFilter {
    conditions: Vec<Condition>,
}

enum Condition {
    /// The value is one of these, which are sorted.
    AnyOf(Column<u64>, Vec<u64>),
    /// The value is inside one of these ranges.
    Within(Column<u64>, Vec<(u64, u64)>),
    /// The date is in this inclusive range.
    Dated(Column<i64>, i64, i64),
    /// The chunk is not part of a timeline.
    TruthOnly(Column<u64>),
    Never,
}

impl SegmentFilter {
    pub(super) fn new(filter: &Filter, reader: &SegmentReader) -> tantivy::Result<Self> {
        let Filter { sources, types, tags, since, until, trust: _, truth_only } = filter;
        let fast = reader.fast_fields();
        let mut conditions = Vec::new();
        if !sources.is_empty() {
            let prefixes = sources.iter().map(|source| source.as_str());
            conditions.push(within(fast.str(column::KEY)?, prefixes)?);
        }
        if !types.is_empty() {
            conditions.push(any_of(fast.str(column::TYPE)?, types)?);
        }
        if !tags.is_empty() {
            conditions.push(any_of(fast.str(column::TAG)?, tags)?);
        }
        if since.is_some() || until.is_some() {
            let (first, last) =
                (since.map_or(i64::MIN, date_value), until.map_or(i64::MAX, date_value));
            let dates = fast.column_opt(column::DATE)?;
            conditions
                .push(dates.map_or(Condition::Never, |dates| Condition::Dated(dates, first, last)));
        }
        if *truth_only && let Some(chunks) = fast.column_opt(column::CHUNK)? {
            conditions.push(Condition::TruthOnly(chunks));
        }
        Ok(Self { conditions })
    }

    pub(super) fn admits(&self, doc: DocId) -> bool {
        self.conditions.iter().all(|condition| condition.admits(doc))
    }
}

impl Condition {
    fn admits(&self, doc: DocId) -> bool {
        match self {
            Self::AnyOf(column, values) => {
                column.values_for_doc(doc).any(|v| values.binary_search(&v).is_ok())
            }
            Self::Within(column, ranges) => {
                let value = column.first(doc);
                value.is_some_and(|v| ranges.iter().any(|(first, end)| (*first..*end).contains(&v)))
            }
            Self::Dated(column, first, last) => {
                column.first(doc).is_some_and(|date| (*first..=*last).contains(&date))
            }
            Self::TruthOnly(column) => {
                column.first(doc).is_none_or(|code| !ChunkCode(code).is_timeline())
            }
            Self::Never => false,
        }
    }
}

fn any_of(column: Option<StrColumn>, wanted: &[String]) -> tantivy::Result<Condition> {
    let Some(column) = column else { return Ok(Condition::Never) };
    let mut values = Vec::new();
    for text in wanted {
        values.extend(column.dictionary().term_ord(text)?);
    }
    values.sort_unstable();
    Ok(if values.is_empty() {
        Condition::Never
    } else {
        Condition::AnyOf(column.ords().clone(), values)
    })
}

/// Matches keys by source: the keys of a source are adjacent.
fn within<'s>(
    column: Option<StrColumn>,
    sources: impl Iterator<Item = &'s str>,
) -> tantivy::Result<Condition> {
    let Some(column) = column else { return Ok(Condition::Never) };
    let mut ranges = Vec::new();
    for source in sources {
        let (from, to) = (format!("{source}\0"), format!("{source}\u{1}"));
        let bounds =
            column.dictionary().term_bounds_to_ord(Bound::Included(from), Bound::Excluded(to))?;
        if let (Bound::Included(first), Bound::Excluded(end)) = bounds {
            ranges.push((first, end));
        }
    }
    Ok(if ranges.is_empty() {
        Condition::Never
    } else {
        Condition::Within(column.ords().clone(), ranges)
    })
}
