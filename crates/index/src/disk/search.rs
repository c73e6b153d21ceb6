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

use super::blocks::{BlockBounds, skip_bytes};
use super::filter::SegmentFilter;
use super::list::{Lengths, List, points_of};
use super::prepared::{Place, Prepared};
use super::segment::Segment;
use super::top::TopPages;
use super::window::{WINDOW, Window};
use crate::bm25::Adds;

/// Bounds are computed in floats and compared with integers that were cut from other floats.
const MARGIN: f64 = 1.0 + 1e-5;

/// A term's lists. Documents of the exact form are documents of the stem, where they are said at
/// least as often: the exact form adds at most `ratio` times what the stem gives.
struct Term {
    stem: List,
    exact: Option<Exact>,
    /// The most that a document of the window can get from the term.
    bound: u32,
}

struct Exact {
    postings: BlockSegmentPostings,
    weight: f32,
    ratio: f64,
}

struct Sweep<'a> {
    lengths: Lengths<'a>,
    segment: &'a Segment,
    number: usize,
    filter: &'a SegmentFilter,
    terms: Vec<Term>,
    lift: Lift,
    window: Window,
    /// Terms by what they can give in the window, the least first.
    order: Vec<usize>,
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
        lift: Lift::of(&terms),
        terms,
        window: Window::new(),
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
                let start = words.start_of_list(*form, info, skip_bytes(info))?;
                let blocks = bounds.blocks(&start, *form, info, weight)?;
                let stem = List::new(postings, weight, blocks, lengths);
                terms.push(Term { stem, exact: None, bound: 0 });
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
            self.search_window(from, to, top)?;
            from = self.next(to);
        }
        Ok(())
    }

    fn next(&mut self, from: DocId) -> DocId {
        self.terms.iter_mut().map(|term| term.stem.next(from)).min().unwrap_or(DocId::MAX)
    }

    fn search_window(
        &mut self,
        from: DocId,
        to: DocId,
        top: &mut TopPages<'_>,
    ) -> tantivy::Result<()> {
        let threshold = top.threshold();
        let total = self.bound_terms(from, to);
        if total < threshold {
            return Ok(());
        }
        self.window.start(from);
        let left_out = self.left_out(threshold);
        for place in left_out..self.order.len() {
            self.sweep(self.order[place], from, to, total, threshold);
        }
        self.complete(left_out, from, to, threshold);
        self.offer(top)
    }

    /// Bounds every term in the window; returns the sum.
    fn bound_terms(&mut self, from: DocId, to: DocId) -> u32 {
        let (mut total, mut stems) = (0, 0);
        for term in &mut self.terms {
            let stem = term.stem.bound(from, to);
            term.bound = term.with_exact(stem);
            total += term.bound;
            stems += stem;
        }
        self.lift.at_most = total - stems;
        total
    }

    /// Orders the terms; returns how many of the first cannot reach the threshold together.
    fn left_out(&mut self, threshold: u32) -> usize {
        let terms = &self.terms;
        self.order.sort_unstable_by_key(|term| terms[*term].bound);
        let mut sum = 0;
        let is_short = |term: &&usize| {
            sum += terms[**term].bound;
            sum < threshold
        };
        self.order.iter().take_while(is_short).count()
    }

    /// Adds up and marks the documents of a term.
    fn sweep(&mut self, number: usize, from: DocId, to: DocId, total: u32, threshold: u32) {
        let term = &mut self.terms[number];
        let others = total - term.bound;
        let ratio = term.exact.as_ref().map(|exact| (exact.ratio, exact.weight));
        let is_hopeless = |bound: u32| bound + exact_bound(ratio, bound) + others < threshold;
        term.stem.sweep(from, to, self.lengths, is_hopeless, &mut self.window);
    }

    /// Completes the sums of marked documents from the first `left_out` terms, which the sweep left
    /// out, and from the exact forms, and drops what cannot reach the threshold on the way.
    fn complete(&mut self, left_out: usize, from: DocId, to: DocId, threshold: u32) {
        let mut remaining: u32 =
            self.order[..left_out].iter().map(|term| self.terms[*term].bound).sum();
        for place in (0..left_out).rev() {
            self.window.prune(self.lift.least(threshold.saturating_sub(remaining)));
            let term = &mut self.terms[self.order[place]];
            remaining -= term.bound;
            if term.bound > 0 {
                term.stem.join(from, to, self.lengths, &mut self.window);
            }
        }
        self.window.prune(self.lift.least(threshold));
    }

    /// Offers the marked documents.
    fn offer(&mut self, top: &mut TopPages<'_>) -> tantivy::Result<()> {
        let Self { window, terms, lift, segment, filter, lengths, number, .. } = self;
        window.drain(|doc, sum| {
            let threshold = top.threshold();
            if lift.most(sum) < threshold || !segment.is_alive(doc) || !filter.admits(doc) {
                return Ok(());
            }
            let points = sum + exact_points(terms, doc, *lengths);
            if points < threshold {
                return Ok(());
            }
            top.offer(points, *number, doc)
        })
    }
}

/// What a document's exact forms add.
fn exact_points(terms: &mut [Term], doc: DocId, lengths: Lengths<'_>) -> u32 {
    let exacts = terms.iter_mut().filter_map(|term| term.exact.as_mut());
    exacts.filter_map(|exact| points_of(&mut exact.postings, exact.weight, doc, lengths)).sum()
}

impl Term {
    /// A bound of the stem's points as one of the term's.
    fn with_exact(&self, stem: u32) -> u32 {
        let ratio = self.exact.as_ref().map(|exact| (exact.ratio, exact.weight));
        stem + exact_bound(ratio, stem)
    }
}

/// The most that an exact form adds to a document that its stem gives at most `stem`.
fn exact_bound(ratio: Option<(f64, f32)>, stem: u32) -> u32 {
    let Some((ratio, weight)) = ratio.filter(|_| stem > 0) else { return 0 };
    // The stem's points were cut, so up to one more may have been due.
    let most = (f64::from(stem) + 1.0) * ratio * MARGIN + 1.0;
    (most as u32).min(weight as u32)
}

/// What all exact forms together can add to the points of all stems.
struct Lift {
    /// By how much, times the points of the stems.
    factor: f64,
    /// What cutting points to integers can hide.
    slack: f64,
    /// How many points in the window, whatever the stems give.
    at_most: u32,
}

impl Lift {
    fn of(terms: &[Term]) -> Self {
        let ratios = terms.iter().filter_map(|term| term.exact.as_ref()).map(|exact| exact.ratio);
        let factor = 1.0 + ratios.fold(0.0, f64::max) * MARGIN;
        Self { factor, slack: 2.0 * factor * terms.len() as f64, at_most: 0 }
    }

    /// The most that stems of `sum` points can make.
    fn most(&self, sum: u32) -> u32 {
        let by_factor = (f64::from(sum) * self.factor + self.slack) as u32;
        by_factor.min(sum + self.at_most)
    }

    /// The fewest points of stems that can make `points`.
    fn least(&self, points: u32) -> u32 {
        let by_factor = ((f64::from(points) - self.slack) / self.factor) as u32;
        by_factor.max(points.saturating_sub(self.at_most))
    }
}
