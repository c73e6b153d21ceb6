//! TREC runs: `query Q0 document rank score tag`.
//!
//! The rank column is not looked at and what follows the tag is a remark, as in trec_eval. Lines of
//! one query usually stand together; where they do not, they are brought together at the end.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hasher as _;

use rustc_hash::{FxHashSet, FxHasher};

use super::number::parse_score;
use super::{OrderedBy, QUERY_BYTES, QuerySlot, Run, RunError, RunHit};
use crate::fields::FieldWalker;
use crate::reading::meter::ReadingMeter;

/// Lines of one query that stand together.
struct LineGroup {
    slot: usize,
    start: usize,
}

/// Memory of consecutive lines of one query.
const STRETCH_BYTES: usize = 64;
/// After how many of them the memory is counted again.
const COUNT_EVERY: usize = 1024;

pub(super) fn parse<'a>(text: &'a str, meter: &mut ReadingMeter<'_>) -> Result<Run<'a>, RunError> {
    let mut run = Run::new(OrderedBy::Score);
    let mut stretches: Vec<LineGroup> = Vec::new();
    let mut fields = FieldWalker::new(text);
    let mut last = "";
    let lines = 1 + memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let hits = lines * size_of::<RunHit<'_>>();
    meter.count_temporary(hits).map_err(RunError::Interrupted)?;
    run.hits.reserve_exact(lines);
    while fields.line() {
        if last.is_empty() || !fields.skip_prefix(last) {
            last = fields.field();
            let slot = slot_of(&mut run, last);
            stretches.push(LineGroup { slot, start: run.hits.len() });
            if stretches.len().is_multiple_of(COUNT_EVERY) {
                let memory = hits + memory_of_stretches(&run, &stretches);
                meter.count_temporary(memory).map_err(RunError::Interrupted)?;
            }
        }
        let iteration = fields.field();
        let (doc, rank, score) = (fields.field(), fields.field(), fields.field());
        if fields.field().is_empty() {
            let after = [iteration, doc, rank, score];
            let found = 1 + after.iter().filter(|field| !field.is_empty()).count();
            return Err(RunError::Fields { line: fields.line_number(), found });
        }
        let score = parse_score(score).ok_or_else(|| RunError::Score {
            line: fields.line_number(),
            score: score.to_owned(),
        })?;
        run.hits.push(RunHit { doc: Cow::Borrowed(doc), score: Some(score) });
        fields.skip_line();
    }
    if stretches.len() > run.slots.len() {
        // The hits are copied once, to bring those of a query together.
        let memory = 2 * hits + memory_of_stretches(&run, &stretches);
        meter.count_temporary(memory).map_err(RunError::Interrupted)?;
    }
    gather(&mut run, &stretches);
    settle(&mut run)?;
    Ok(run)
}

fn memory_of_stretches(run: &Run<'_>, stretches: &[LineGroup]) -> usize {
    run.slots.len() * QUERY_BYTES + stretches.len() * STRETCH_BYTES
}

fn slot_of<'a>(run: &mut Run<'a>, query: &'a str) -> usize {
    let next = run.slots.len();
    let slot = *run.places.entry(Cow::Borrowed(query)).or_insert(next);
    if slot == next {
        run.slots.push(QuerySlot { query: Cow::Borrowed(query), hits: 0..0 });
    }
    slot
}

/// Gives every query its range of hits.
fn gather(run: &mut Run<'_>, stretches: &[LineGroup]) {
    let end = |at: usize| stretches.get(at + 1).map_or(run.hits.len(), |next| next.start);
    let mut ranges: Vec<(usize, std::ops::Range<usize>)> =
        stretches.iter().enumerate().map(|(at, one)| (one.slot, one.start..end(at))).collect();
    if stretches.len() > run.slots.len() {
        ranges.sort_by_key(|(slot, _)| *slot);
        let mut together = Vec::with_capacity(run.hits.len());
        for (_, range) in &mut ranges {
            let start = together.len();
            together.extend_from_slice(&run.hits[range.clone()]);
            *range = start..together.len();
        }
        run.hits = together;
    }
    for (slot, range) in ranges {
        let hits = &mut run.slots[slot].hits;
        let start = if hits.start == hits.end { range.start } else { hits.start };
        *hits = start..range.end;
    }
}

/// Puts every ranking in order and refuses documents that stand twice.
fn settle(run: &mut Run<'_>) -> Result<(), RunError> {
    let mut marks = DocHashes::default();
    for slot in &run.slots {
        let hits = &mut run.hits[slot.hits.clone()];
        if !hits.is_sorted_by(|a, b| best_first(a, b) != Ordering::Greater) {
            hits.sort_unstable_by(best_first);
        }
        if !marks.may_repeat(hits) {
            continue;
        }
        let mut seen = FxHashSet::default();
        if let Some(hit) = hits.iter().find(|hit| !seen.insert(&hit.doc)) {
            let (query, doc) = (slot.query.clone().into_owned(), hit.doc.clone().into_owned());
            return Err(RunError::DuplicateDocument { query, doc });
        }
    }
    Ok(())
}

/// A hash of every document of a ranking, in the same memory for one ranking after another: rankings
/// without two equal ones need no closer look.
#[derive(Default)]
struct DocHashes {
    slots: Vec<u64>,
}

impl DocHashes {
    fn may_repeat(&mut self, hits: &[RunHit<'_>]) -> bool {
        let size = (hits.len() * 2).next_power_of_two();
        self.slots.clear();
        self.slots.resize(size, 0);
        hits.iter().any(|hit| {
            let mut hasher = FxHasher::default();
            hasher.write(hit.doc.as_bytes());
            // 0 is an empty slot.
            let mark = hasher.finish().max(1);
            let mut at = mark as usize & (size - 1);
            // Invariant: at least half of the slots are empty, so that this ends.
            while self.slots[at] != 0 && self.slots[at] != mark {
                at = (at + 1) & (size - 1);
            }
            std::mem::replace(&mut self.slots[at], mark) == mark
        })
    }
}

/// trec_eval's order: by score, then by document id, both descending.
fn best_first(a: &RunHit<'_>, b: &RunHit<'_>) -> Ordering {
    let by_score = b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal);
    by_score.then_with(|| b.doc.cmp(&a.doc))
}
