//! Finds the best pages of one segment: MaxScore over windows of documents.
//!
//! Documents are processed in windows. In each window, terms are ordered by their upper bound for
//! any document of the window. The terms that together cannot reach the threshold are non-essential
//! and skipped in the sweep (Turtle and Flood 1995), and so is any block that cannot reach it with
//! all the other terms (Ding and Suel 2011). The rest is summed up block by block in an array, and
//! remaining candidates are completed from the non-essential lists. This is the design of Lucene's
//! `MaxScoreBulkScorer`.
//!
//! Bounds are never too low and only documents strictly below the threshold are dropped, so the
//! result equals that of a full scan.

use tantivy::DocId;
use tantivy::postings::BlockSegmentPostings;

use super::blocks::{BlockBounds, skip_bytes};
use super::filter::SegmentFilter;
use super::list::{DocumentLengths, PostingList, points_of};
use super::prepared::{PreparedWordsQuery, SegmentLists};
use super::segment::IndexSegment;
use super::top::TopPages;
use super::window::{WINDOW, Window};
use crate::bm25::ListContribution;

/// Bounds are computed in floats and compared with integers that were truncated from other floats.
const MARGIN: f64 = 1.0 + 1e-5;

/// A term's lists. Every document of the exact form is one of the stem, with at least the same
/// frequency, so the exact form adds at most `ratio` times the points of the stem.
struct SearchTerm {
    stem: PostingList,
    exact: Option<ExactForm>,
    /// Upper bound of the term's points for a document of the window.
    bound: u32,
}

struct ExactForm {
    postings: BlockSegmentPostings,
    weight: f32,
    ratio: f64,
}

struct WindowSweep<'a> {
    lengths: DocumentLengths<'a>,
    segment: &'a IndexSegment,
    number: usize,
    filter: &'a SegmentFilter,
    terms: Vec<SearchTerm>,
    exact_bounds: ExactFormBound,
    window: Window,
    /// Terms by their bound in the window, ascending.
    order: Vec<usize>,
}

/// Offers the pages of one segment and visibility to `top`.
pub(super) fn search(
    prepared: &PreparedWordsQuery,
    place: &SegmentLists,
    segment: &IndexSegment,
    filter: &SegmentFilter,
    top: &mut TopPages<'_>,
) -> tantivy::Result<()> {
    let words = segment.words(place.visibility)?;
    let lengths =
        DocumentLengths { parts: prepared.scorer.lengths(), codes: words.lengths.as_slice() };
    let terms = open_terms(prepared, place, segment, lengths)?;
    let sweep = WindowSweep {
        lengths,
        segment,
        number: place.segment,
        filter,
        order: (0..terms.len()).collect(),
        exact_bounds: ExactFormBound::of(&terms),
        terms,
        window: Window::new(),
    };
    sweep.run(top)
}

/// The terms that the segment contains. An exact form directly follows its stem.
fn open_terms(
    prepared: &PreparedWordsQuery,
    place: &SegmentLists,
    segment: &IndexSegment,
    lengths: DocumentLengths<'_>,
) -> tantivy::Result<Vec<SearchTerm>> {
    let words = segment.words(place.visibility)?;
    let bounds = BlockBounds::new(words.written_average, lengths.parts);
    let mut terms: Vec<SearchTerm> = Vec::new();
    for (number, ((form, adds), info)) in prepared.lists.iter().zip(&place.infos).enumerate() {
        let Some(info) = info else { continue };
        let postings = segment.open_word(*form, place.visibility, info)?;
        let weight = prepared.scorer.weight(number);
        match adds {
            ListContribution::Alone => {
                let start = words.start_of_list(*form, info, skip_bytes(info))?;
                let blocks = bounds.blocks(&start, *form, info, weight)?;
                let stem = PostingList::new(postings, weight, blocks, lengths);
                terms.push(SearchTerm { stem, exact: None, bound: 0 });
            }
            ListContribution::ToStem => {
                let ratio = f64::from(weight) / f64::from(prepared.scorer.weight(number - 1));
                let term = terms.last_mut().expect("a segment that holds a word holds its stem");
                term.exact = Some(ExactForm { postings, weight, ratio });
            }
        }
    }
    Ok(terms)
}

impl WindowSweep<'_> {
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
        self.exact_bounds.at_most = total - stems;
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
        let is_hopeless = |bound: u32| bound + exact_form_bound(ratio, bound) + others < threshold;
        term.stem.sweep(from, to, self.lengths, is_hopeless, &mut self.window);
    }

    /// Completes the sums of marked documents from the first `left_out` terms, which the sweep
    /// skipped, and from the exact forms. Documents that cannot reach the threshold are dropped on
    /// the way.
    fn complete(&mut self, left_out: usize, from: DocId, to: DocId, threshold: u32) {
        let mut remaining: u32 =
            self.order[..left_out].iter().map(|term| self.terms[*term].bound).sum();
        for place in (0..left_out).rev() {
            self.window
                .prune(self.exact_bounds.min_stem_points(threshold.saturating_sub(remaining)));
            let term = &mut self.terms[self.order[place]];
            remaining -= term.bound;
            if term.bound > 0 {
                term.stem.join(from, to, self.lengths, &mut self.window);
            }
        }
        self.window.prune(self.exact_bounds.min_stem_points(threshold));
    }

    /// Offers the marked documents.
    fn offer(&mut self, top: &mut TopPages<'_>) -> tantivy::Result<()> {
        let Self { window, terms, exact_bounds, segment, filter, lengths, number, .. } = self;
        window.drain(|doc, sum| {
            let threshold = top.threshold();
            if exact_bounds.max_total(sum) < threshold
                || !segment.is_alive(doc)
                || !filter.admits(doc)
            {
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

/// The points of a document's exact forms.
fn exact_points(terms: &mut [SearchTerm], doc: DocId, lengths: DocumentLengths<'_>) -> u32 {
    let exacts = terms.iter_mut().filter_map(|term| term.exact.as_mut());
    exacts.filter_map(|exact| points_of(&mut exact.postings, exact.weight, doc, lengths)).sum()
}

impl SearchTerm {
    /// Extends a bound of the stem's points to the whole term.
    fn with_exact(&self, stem: u32) -> u32 {
        let ratio = self.exact.as_ref().map(|exact| (exact.ratio, exact.weight));
        stem + exact_form_bound(ratio, stem)
    }
}

/// Upper bound of the exact form's points for a document with at most `stem` stem points.
fn exact_form_bound(ratio: Option<(f64, f32)>, stem: u32) -> u32 {
    let Some((ratio, weight)) = ratio.filter(|_| stem > 0) else { return 0 };
    // The stem's points were truncated, so the exact value may be up to one higher.
    let max_points = (f64::from(stem) + 1.0) * ratio * MARGIN + 1.0;
    (max_points as u32).min(weight as u32)
}

/// Upper bound of the points of all exact forms together, relative to those of the stems.
struct ExactFormBound {
    /// RankingFactor on the points of the stems.
    factor: f64,
    /// Allowance for truncating points to integers.
    slack: f64,
    /// Absolute limit in the window, independent of the stems.
    at_most: u32,
}

impl ExactFormBound {
    fn of(terms: &[SearchTerm]) -> Self {
        let ratios = terms.iter().filter_map(|term| term.exact.as_ref()).map(|exact| exact.ratio);
        let factor = 1.0 + ratios.fold(0.0, f64::max) * MARGIN;
        Self { factor, slack: 2.0 * factor * terms.len() as f64, at_most: 0 }
    }

    /// The highest total for `sum` points of stems.
    fn max_total(&self, sum: u32) -> u32 {
        let by_factor = (f64::from(sum) * self.factor + self.slack) as u32;
        by_factor.min(sum + self.at_most)
    }

    /// The fewest points of stems that can reach a total of `points`.
    fn min_stem_points(&self, points: u32) -> u32 {
        let by_factor = ((f64::from(points) - self.slack) / self.factor) as u32;
        by_factor.max(points.saturating_sub(self.at_most))
    }
}
