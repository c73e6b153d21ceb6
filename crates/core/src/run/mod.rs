//! A run: the saved rankings of a system, one per query.
//!
//! Read from TREC lines or from our own NDJSON rows. Promises: document ids are slices of the bytes
//! that were given wherever these hold them as they are; a document stands at most once per query;
//! a TREC run is in trec_eval's order, which is by score as a double, then by document id,
//! both descending, ignoring its rank column. Rows of NDJSON are rankings already and keep
//! their order.
//!
//! Deliberately absent: I/O, and any limit on depth.

mod error;
mod ndjson;
mod number;
mod row;
mod trec;
mod write;

use std::borrow::Cow;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::reading::meter::ReadingMeter;

pub use error::RunError;
pub use row::{RUN_VERSION, RetrievedPage, RunRow};
pub use write::trec_run;

/// Memory of a query of a run: its slot, its place and its lines, while their lists grow.
const QUERY_BYTES: usize = 250;

/// A document with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHit<'a> {
    /// Its id; `source_id::slug` in our own rows.
    pub doc: Cow<'a, str>,
    pub score: Option<f64>,
}

/// The rule that ordered the hits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderedBy {
    /// Scores, and document ids where they tie.
    Score,
    /// The order they were given in.
    Position,
}

/// One query's place in a run.
#[derive(Debug, Clone, PartialEq)]
struct QuerySlot<'a> {
    query: Cow<'a, str>,
    hits: Range<usize>,
}

/// Rankings by query, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<'a> {
    slots: Vec<QuerySlot<'a>>,
    hits: Vec<RunHit<'a>>,
    places: FxHashMap<Cow<'a, str>, usize>,
    /// The rule that ordered the hits.
    pub ordered_by: OrderedBy,
    /// How many hits were left out because their document was already higher in the ranking.
    pub repeated: usize,
}

impl<'a> Run<'a> {
    /// Reads TREC lines, or NDJSON rows if the first byte that says something is `{`. A byte order
    /// mark and CRLF line ends are tolerated. A file without rows is a run without queries.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RunError> {
        Self::parse_metered(bytes, &mut ReadingMeter::unlimited())
    }

    /// The same within limits.
    pub fn parse_metered(bytes: &'a [u8], meter: &mut ReadingMeter<'_>) -> Result<Self, RunError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| RunError::NotUtf8 { byte: error.valid_up_to() })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('{') {
            ndjson::parse(text, meter)
        } else {
            trec::parse(text, meter)
        }
    }

    /// A run without queries, to be filled by [`Run::push`].
    pub fn new(ordered_by: OrderedBy) -> Self {
        let (slots, hits, places) = (Vec::new(), Vec::new(), FxHashMap::default());
        Self { slots, hits, places, ordered_by, repeated: 0 }
    }

    /// Adds the ranking of one query, best first; repeated documents are left out.
    pub fn push(
        &mut self,
        query: impl Into<Cow<'a, str>>,
        ranking: impl IntoIterator<Item = RunHit<'a>>,
    ) -> Result<(), RunError> {
        let (query, start) = (query.into(), self.hits.len());
        if self.places.insert(query.clone(), self.slots.len()).is_some() {
            return Err(RunError::DuplicateQuery { query: query.into_owned() });
        }
        self.hits.extend(ranking);
        let repeats = repeats(&self.hits[start..]);
        if !repeats.is_empty() {
            self.repeated += repeats.len();
            let (mut at, mut repeats) = (start, repeats.into_iter().peekable());
            let mut tail = self.hits.split_off(start);
            tail.retain(|_| {
                at += 1;
                repeats.next_if_eq(&(at - 1 - start)).is_none()
            });
            self.hits.append(&mut tail);
        }
        self.slots.push(QuerySlot { query, hits: start..self.hits.len() });
        Ok(())
    }

    /// Every query with its ranking.
    pub fn rankings(&self) -> impl Iterator<Item = (&str, &[RunHit<'a>])> {
        self.slots.iter().map(|slot| (slot.query.as_ref(), &self.hits[slot.hits.clone()]))
    }

    /// The ranking of a query.
    pub fn ranking(&self, query: &str) -> Option<&[RunHit<'a>]> {
        let slot = &self.slots[*self.places.get(query)?];
        Some(&self.hits[slot.hits.clone()])
    }

    /// How many queries there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many hits there are.
    pub fn hits(&self) -> usize {
        self.hits.len()
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory(&self) -> usize {
        let owned = |text: &Cow<'_, str>| if let Cow::Owned(text) = text { text.len() } else { 0 };
        let hits = self.hits.iter().map(|hit| size_of::<RunHit<'_>>() + owned(&hit.doc));
        hits.sum::<usize>() + self.slots.len() * QUERY_BYTES
    }
}

/// The places of hits whose document is already higher in the ranking.
fn repeats(hits: &[RunHit<'_>]) -> Vec<usize> {
    let mut seen = FxHashSet::with_capacity_and_hasher(hits.len(), rustc_hash::FxBuildHasher);
    let places = hits.iter().enumerate();
    places.filter(|(_, hit)| !seen.insert(hit.doc.as_ref())).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
