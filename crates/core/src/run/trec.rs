//! TREC runs: `query Q0 document rank score tag`.
//!
//! The rank column is not looked at and what follows the tag is a remark, as in trec_eval. Lines of
//! one query usually stand together; where they do not, they are brought together at the end.

use std::borrow::Cow;
use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use super::fields::Fields;
use super::number::parse_score;
use super::{OrderedBy, Run, RunError, RunHit, Slot};

/// Lines of one query that stand together.
struct Stretch {
    slot: usize,
    start: usize,
}

pub(super) fn parse(text: &str) -> Result<Run<'_>, RunError> {
    let mut run = Run::new(OrderedBy::Score);
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut fields = Fields::new(text);
    let mut last = "";
    // A line has about this many bytes; pages that are not written to cost nothing.
    run.hits.reserve(text.len() / 32);
    while fields.line() {
        if last.is_empty() || !fields.skip_prefix(last) {
            last = fields.field();
            let slot = slot_of(&mut run, last);
            stretches.push(Stretch { slot, start: run.hits.len() });
        }
        let after @ [_, doc, _, score, tag] = std::array::from_fn(|_| fields.field());
        if tag.is_empty() {
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
    gather(&mut run, &stretches);
    settle(&mut run)?;
    Ok(run)
}

fn slot_of<'a>(run: &mut Run<'a>, query: &'a str) -> usize {
    let next = run.slots.len();
    let slot = *run.places.entry(Cow::Borrowed(query)).or_insert(next);
    if slot == next {
        run.slots.push(Slot { query: Cow::Borrowed(query), hits: 0..0 });
    }
    slot
}

/// Gives every query its range of hits.
fn gather(run: &mut Run<'_>, stretches: &[Stretch]) {
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
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for slot in &run.slots {
        let hits = &mut run.hits[slot.hits.clone()];
        if !hits.is_sorted_by(|a, b| best_first(a, b) != Ordering::Greater) {
            hits.sort_unstable_by(best_first);
        }
    }
    for slot in &run.slots {
        seen.clear();
        if let Some(hit) = run.hits[slot.hits.clone()].iter().find(|hit| !seen.insert(&hit.doc)) {
            let (query, doc) = (slot.query.clone().into_owned(), hit.doc.clone().into_owned());
            return Err(RunError::DuplicateDocument { query, doc });
        }
    }
    Ok(())
}

/// trec_eval's order: by score, then by document id, both descending.
fn best_first(a: &RunHit<'_>, b: &RunHit<'_>) -> Ordering {
    let by_score = b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal);
    by_score.then_with(|| b.doc.cmp(&a.doc))
}
