//! The best pages of one segment: MaxScore over windows of documents.
//!
//! Documents are taken in windows. In each window, terms are ordered by the most that any document
//! of the window can get from them; the ones that together cannot reach the threshold are left out
//! of the sweep (Turtle and Flood 1995), and so is any block that cannot reach it with all the
//! others' help (Ding and Suel 2011). The rest is added up block by block in an array of sums, and
//! whatever could still win is completed from the lists that were left out. This is the shape of
//! Lucene's `MaxScoreBulkScorer`.
//!
//! Bounds never fall short and only what is strictly below the threshold is dropped, so the answer
//! is that of a full scan.

use tantivy::DocId;
use tantivy::postings::BlockSegmentPostings;

use super::blocks::BlockBounds;
use super::filter::SegmentFilter;
use super::list::{Lengths, List, points_of};
use super::prepared::{Place, Prepared};
use super::segment::Segment;
use super::top::TopPages;
use crate::bm25::{Adds, Form};

/// Documents of a window: sums and marks of one stay in the first cache.
const WINDOW: DocId = 4096;

/// A term's lists. Documents of the exact form are documents of the stem, where they are said at
/// least as often: the exact form adds at most `ratio` times what the stem gives.
struct Term {
    stem: List,
    exact: Option<Exact>,
    /// The most that a document of the window can get from the stem.
    stem_bound: u32,
    /// The same from the exact form.
    exact_bound: u32,
}

struct Exact {
    postings: BlockSegmentPostings,
    weight: f32,
    ratio: f64,
}

/// A list that a window's sweep leaves out.
#[derive(Clone, Copy)]
struct Rest {
    term: usize,
    form: Form,
    bound: u32,
    /// The bounds of this and all that come after.
    remaining: u32,
}

struct Sweep<'a> {
    lengths: Lengths<'a>,
    segment: &'a Segment,
    number: usize,
    filter: &'a SegmentFilter,
    terms: Vec<Term>,
    sums: Vec<u32>,
    marks: Vec<u64>,
    /// Terms by what they can give in the window, the least first.
    order: Vec<usize>,
    rest: Vec<Rest>,
}

/// Offers the pages of one place to `top`.
pub(super) fn search(
    prepared: &Prepared,
    place: &Place,
    segment: &Segment,
    filter: &SegmentFilter,
    top: &mut TopPages<'_>,
) -> tantivy::Result<()> {
    let words = segment.words(place.visibility)?;
    let lengths = Lengths { parts: prepared.scorer.lengths(), codes: words.lengths.as_slice() };
    let terms = open_terms(prepared, place, segment, lengths)?;
    let sweep = Sweep {
        lengths,
        segment,
        number: place.segment,
        filter,
        order: (0..terms.len()).collect(),
        terms,
        sums: vec![0; WINDOW as usize],
        marks: vec![0; WINDOW as usize / 64],
        rest: Vec::new(),
    };
    sweep.run(top)
}

/// The terms of a place that its segment holds. An exact form comes right after its stem.
fn open_terms(
    prepared: &Prepared,
    place: &Place,
    segment: &Segment,
    lengths: Lengths<'_>,
) -> tantivy::Result<Vec<Term>> {
    let words = segment.words(place.visibility)?;
    let bounds = BlockBounds::new(words.written_average, lengths.parts);
    let mut terms: Vec<Term> = Vec::new();
    for (number, ((form, adds), info)) in prepared.lists.iter().zip(&place.infos).enumerate() {
        let Some(info) = info else { continue };
        let postings = segment.open_word(*form, place.visibility, info)?;
        let weight = prepared.scorer.weight(number);
        match adds {
            Adds::Alone => {
                let blocks = bounds.blocks(words.list(*form, info), *form, info, weight)?;
                let stem = List::new(postings, weight, blocks, lengths);
                terms.push(Term { stem, exact: None, stem_bound: 0, exact_bound: 0 });
            }
            Adds::ToStem => {
                let ratio = f64::from(weight) / f64::from(prepared.scorer.weight(number - 1));
                let term = terms.last_mut().expect("a segment that holds a word holds its stem");
                term.exact = Some(Exact { postings, weight, ratio });
            }
        }
    }
    Ok(terms)
}

impl Sweep<'_> {
    fn run(mut self, top: &mut TopPages<'_>) -> tantivy::Result<()> {
        let end = self.segment.reader.max_doc();
        let mut from = self.next(0);
        while from < end {
            let to = from.saturating_add(WINDOW).min(end);
            self.window(from, to, top)?;
            from = self.next(to);
        }
        Ok(())
    }

    fn next(&mut self, from: DocId) -> DocId {
        self.terms.iter_mut().map(|term| term.stem.next(from)).min().unwrap_or(DocId::MAX)
    }

    fn window(&mut self, from: DocId, to: DocId, top: &mut TopPages<'_>) -> tantivy::Result<()> {
        let threshold = top.threshold();
        let total = self.bound_terms(from, to);
        if total < threshold {
            return Ok(());
        }
        let left_out = self.left_out(threshold);
        self.collect_rest(left_out);
        for place in left_out..self.order.len() {
            self.add_up(self.order[place], from, to, total, threshold);
        }
        self.offer_marked(from, top)
    }

    /// Bounds every term in the window; returns the sum.
    fn bound_terms(&mut self, from: DocId, to: DocId) -> u32 {
        let mut total = 0;
        for term in &mut self.terms {
            term.stem_bound = term.stem.bound(from, to);
            term.exact_bound = term.exact.as_ref().map_or(0, |exact| exact.bound(term.stem_bound));
            total += term.bound();
        }
        total
    }

    /// Orders the terms; returns how many of the first cannot reach the threshold together.
    fn left_out(&mut self, threshold: u32) -> usize {
        let terms = &self.terms;
        self.order.sort_unstable_by_key(|term| terms[*term].bound());
        let mut sum = 0;
        let is_short = |term: &&usize| {
            sum += terms[**term].bound();
            sum < threshold
        };
        self.order.iter().take_while(is_short).count()
    }

    /// The lists that complete a sum: stems that are left out and all exact forms, those that can
    /// give most first.
    fn collect_rest(&mut self, left_out: usize) {
        self.rest.clear();
        for (place, number) in self.order.iter().enumerate() {
            let term = &self.terms[*number];
            let rest = |form, bound| Rest { term: *number, form, bound, remaining: 0 };
            if place < left_out && term.stem_bound > 0 {
                self.rest.push(rest(Form::Stem, term.stem_bound));
            }
            if term.exact_bound > 0 {
                self.rest.push(rest(Form::Exact, term.exact_bound));
            }
        }
        self.rest.sort_unstable_by_key(|rest| std::cmp::Reverse(rest.bound));
        let mut remaining = 0;
        for rest in self.rest.iter_mut().rev() {
            remaining += rest.bound;
            rest.remaining = remaining;
        }
    }

    fn add_up(&mut self, number: usize, from: DocId, to: DocId, total: u32, threshold: u32) {
        let term = &mut self.terms[number];
        let others = total - term.bound();
        let exact = &term.exact;
        let is_hopeless = |bound: u32| {
            let exact_bound = exact.as_ref().map_or(0, |exact| exact.bound(bound));
            bound + exact_bound + others < threshold
        };
        let (sums, marks) = (&mut self.sums, &mut self.marks);
        term.stem.sweep(from, to, self.lengths, is_hopeless, |doc, points| {
            let place = (doc - from) as usize;
            sums[place] += points;
            marks[place / 64] |= 1 << (place % 64);
        });
    }

    fn offer_marked(&mut self, from: DocId, top: &mut TopPages<'_>) -> tantivy::Result<()> {
        let rest = self.rest.first().map_or(0, |rest| rest.remaining);
        for word in 0..self.marks.len() {
            let mut marks = std::mem::take(&mut self.marks[word]);
            while marks != 0 {
                let place = word * 64 + marks.trailing_zeros() as usize;
                marks &= marks - 1;
                let sum = std::mem::take(&mut self.sums[place]);
                if sum + rest >= top.threshold() {
                    self.offer(from + place as DocId, sum, top)?;
                }
            }
        }
        Ok(())
    }

    fn offer(&mut self, doc: DocId, sum: u32, top: &mut TopPages<'_>) -> tantivy::Result<()> {
        if !self.segment.is_alive(doc) || !self.filter.admits(doc) {
            return Ok(());
        }
        match self.complete(doc, sum, top.threshold()) {
            Some(points) => top.offer(points, self.number, doc),
            None => Ok(()),
        }
    }

    /// The points of a document in all, unless they stay below the threshold.
    fn complete(&mut self, doc: DocId, mut sum: u32, threshold: u32) -> Option<u32> {
        for place in 0..self.rest.len() {
            let Rest { term, form, bound, remaining } = self.rest[place];
            if sum + remaining < threshold {
                return None;
            }
            let term = &mut self.terms[term];
            let points = match (form, &mut term.exact) {
                (Form::Exact, Some(exact)) => {
                    points_of(&mut exact.postings, exact.weight, doc, self.lengths)
                }
                (Form::Exact, None) => None,
                (Form::Stem, _)
                    if sum + remaining - bound + term.stem.bound_at(doc) < threshold =>
                {
                    return None;
                }
                (Form::Stem, _) => term.stem.points_of(doc, self.lengths),
            };
            sum += points.unwrap_or_default();
        }
        (sum >= threshold).then_some(sum)
    }
}

impl Term {
    fn bound(&self) -> u32 {
        self.stem_bound + self.exact_bound
    }
}

impl Exact {
    /// The most this form adds to a document that the stem gives at most `stem_bound`.
    fn bound(&self, stem_bound: u32) -> u32 {
        // The stem's points were cut, so it may have been due up to one more.
        let most = (f64::from(stem_bound) + 1.0) * self.ratio * (1.0 + 1e-5) + 1.0;
        (most as u32).min(self.weight as u32)
    }
}
