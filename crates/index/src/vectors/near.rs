//! From a shortlist to pages: the best passage of each page, and which pages are near-duplicates.

use std::borrow::Cow;
use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use super::shortlist::VectorPosition;

/// Passages with at least this cosine count as duplicates: a copy with another title, or one word
/// changed. Passages that merely share a subject stay below.
const DUPLICATE_COSINE: f64 = 0.98;

/// Number of passages per wanted page that are sorted at first.
const SORTED_PER_PAGE: usize = 4;

/// A shortlist is deepened unless it contains this fraction of the wanted pages: a second scan
/// costs as much as the first.
const MIN_PAGES_DIVISOR: usize = 4;
/// Minimum number of pages regardless of `MIN_PAGES_DIVISOR`: a page of results.
const MIN_PAGES: usize = 10;

/// Growth of the depth when a shortlist contained too few different pages.
pub(crate) const DEPTH_GROWTH: usize = 4;

/// A passage with its exact score.
#[derive(Debug, Clone)]
pub(crate) struct ScoredPassage<'r> {
    pub(crate) score: f64,
    pub(crate) place: VectorPosition,
    pub(crate) row: Cow<'r, [u8]>,
    pub(crate) inverse_length: f32,
}

/// A page, represented by its best passage.
#[derive(Debug, Clone)]
pub(crate) struct NearestPassage<'r> {
    pub(crate) near: ScoredPassage<'r>,
    /// Rank among passages with different content, from 1. Near-duplicates share a rank, so that
    /// copies do not displace other pages.
    pub(crate) place: usize,
}

/// Selects the best passage of each page until `k` have different content; of near-duplicates of
/// better ones, the first `k` are included. `page_of` identifies the pages of one run, and `order`
/// breaks ties.
///
/// `Err` with the pages found if the shortlist ended much too early.
pub(crate) fn distinct_pages<'r>(
    mut passages: Vec<ScoredPassage<'r>>,
    k: usize,
    page_of: impl Fn(&ScoredPassage<'r>) -> u64,
    mut order: impl FnMut(&ScoredPassage<'r>, &ScoredPassage<'r>) -> Ordering,
) -> Result<Vec<NearestPassage<'r>>, Vec<NearestPassage<'r>>> {
    let mut compare = |a: &ScoredPassage<'r>, b: &ScoredPassage<'r>| {
        b.score.total_cmp(&a.score).then_with(|| order(a, b))
    };
    // Few entries of a long shortlist are needed, so only the first are sorted at once.
    let first = SORTED_PER_PAGE * k;
    if first < passages.len() {
        passages.select_nth_unstable_by(first, &mut compare);
    }
    let mut pages: Vec<NearestPassage<'r>> = Vec::new();
    let mut seen = FxHashSet::default();
    // Index in `pages` of the first page of each rank.
    let mut originals: Vec<usize> = Vec::new();
    for at in 0..passages.len() {
        if at == 0 || at == first {
            let end = if at == first { passages.len() } else { first.min(passages.len()) };
            passages[at..end].sort_unstable_by(&mut compare);
        }
        let near = passages[at].clone();
        if !seen.insert((near.place.run, page_of(&near))) {
            continue;
        }
        let is_copy = |at: &usize| cosine(&pages[*at].near, &near) >= DUPLICATE_COSINE;
        let place = match originals.iter().position(is_copy) {
            Some(_) if pages.len() - originals.len() == k => continue,
            Some(original) => original + 1,
            None if originals.len() == k => return Ok(pages),
            None => {
                originals.push(pages.len());
                originals.len()
            }
        };
        pages.push(NearestPassage { near, place });
    }
    let enough = k.div_ceil(MIN_PAGES_DIVISOR).max(k.min(MIN_PAGES));
    if originals.len() >= enough { Ok(pages) } else { Err(pages) }
}

fn cosine(a: &ScoredPassage<'_>, b: &ScoredPassage<'_>) -> f64 {
    let products = a.row.iter().zip(b.row.iter());
    let sum: i32 = products.map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8)).sum();
    f64::from(sum) * f64::from(a.inverse_length) * f64::from(b.inverse_length)
}
