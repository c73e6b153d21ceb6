//! From a shortlist to pages: the best passage of each, and which say the same.

use std::borrow::Cow;
use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use super::shortlist::Place;

/// Two passages whose cosine is at least this say the same: a copy with another title, or one
/// word changed. Passages that merely share a subject stay below.
const SAME: f64 = 0.98;

/// How many passages are put in order at first, for each page wanted.
const FIRST: usize = 4;

/// A shortlist is made deeper unless it holds this part of the pages wanted: a second scan costs
/// as much as the first.
const ENOUGH: usize = 4;
/// But at least this many, a page of results.
const RESULTS: usize = 10;

/// How much deeper the next attempt looks when a shortlist held too few different pages.
pub(crate) const DEEPER: usize = 4;

/// A passage with its exact score.
#[derive(Debug, Clone)]
pub(crate) struct Near<'r> {
    pub(crate) score: f64,
    pub(crate) place: Place,
    pub(crate) row: Cow<'r, [u8]>,
    pub(crate) inverse_length: f32,
}

/// A page's best passage.
#[derive(Debug, Clone)]
pub(crate) struct Nearest<'r> {
    pub(crate) near: Near<'r>,
    /// Its place among passages that say different things, from 1. Pages that say the same share
    /// one, so that copies do not crowd others out.
    pub(crate) place: usize,
}

/// Keeps the best passage of each page until `k` say different things; of those that say the same
/// as a better one, the first `k`. `page_of` tells pages of one run apart, and `order` puts
/// passages of equal score in order.
///
/// `Err` if the shortlist ended long before that, with as many as there were.
pub(crate) fn distinct_pages<'r>(
    mut passages: Vec<Near<'r>>,
    k: usize,
    page_of: impl Fn(&Near<'r>) -> u64,
    mut order: impl FnMut(&Near<'r>, &Near<'r>) -> Ordering,
) -> Result<Vec<Nearest<'r>>, Vec<Nearest<'r>>> {
    let mut compare =
        |a: &Near<'r>, b: &Near<'r>| b.score.total_cmp(&a.score).then_with(|| order(a, b));
    // Few of a long shortlist are looked at, so only the first of it are put in order at once.
    let first = FIRST * k;
    if first < passages.len() {
        passages.select_nth_unstable_by(first, &mut compare);
    }
    let mut pages: Vec<Nearest<'r>> = Vec::new();
    let mut seen = FxHashSet::default();
    // Where the first of each place is.
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
        let is_copy = |at: &usize| cosine(&pages[*at].near, &near) >= SAME;
        let place = match originals.iter().position(is_copy) {
            Some(_) if pages.len() - originals.len() == k => continue,
            Some(original) => original + 1,
            None if originals.len() == k => return Ok(pages),
            None => {
                originals.push(pages.len());
                originals.len()
            }
        };
        pages.push(Nearest { near, place });
    }
    let enough = k.div_ceil(ENOUGH).max(k.min(RESULTS));
    if originals.len() >= enough { Ok(pages) } else { Err(pages) }
}

fn cosine(a: &Near<'_>, b: &Near<'_>) -> f64 {
    let products = a.row.iter().zip(b.row.iter());
    let sum: i32 = products.map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8)).sum();
    f64::from(sum) * f64::from(a.inverse_length) * f64::from(b.inverse_length)
}
