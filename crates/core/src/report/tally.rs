//! What the rows of a replay add up to beside their means.

use crate::blame::Blame;
use crate::provenance::{Difference, Factor};
use crate::replay::{Caveat, Compared, Outcome, ReplayedRow, Summary};

/// Bins of a distribution from 0 to 1.
pub(super) const BINS: usize = 10;

/// How many rows a factor is the same in, differs in, or is unknown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) factor: Factor,
    pub(super) same: usize,
    pub(super) differs: usize,
    pub(super) unknown: usize,
}

/// What differs between the captures and now, factor by factor; nothing without a compared row.
pub(super) fn changed(rows: &[ReplayedRow]) -> Vec<Changed> {
    let count =
        |factor, wanted| compared(rows).filter(|row| row.differences.of(factor) == wanted).count();
    let of = |factor: &Factor| Changed {
        factor: *factor,
        same: count(*factor, Difference::Same),
        differs: count(*factor, Difference::Differs),
        unknown: count(*factor, Difference::Unknown),
    };
    if compared(rows).next().is_none() { Vec::new() } else { Factor::ALL.iter().map(of).collect() }
}

/// How many rows were asked, skipped, failed, and can't be compared.
pub(super) fn asked(summary: &Summary) -> String {
    let Summary { total, replayed, skipped, not_comparable, errored, .. } = summary;
    let uncompared = match not_comparable {
        0 => String::new(),
        n => format!("; {n} of the skipped are not comparable"),
    };
    format!(
        "Replayed {replayed} of {total} captured queries ({skipped} skipped, {errored} \
         errored{uncompared})"
    )
}

/// What moved rows, where that was asked, with how many.
pub(super) fn blames(rows: &[ReplayedRow]) -> Vec<(Blame, usize)> {
    let count = |blame: &Blame| compared(rows).filter(|row| row.blame == Some(*blame)).count();
    Blame::ALL.iter().map(|blame| (*blame, count(blame))).filter(|(_, n)| *n > 0).collect()
}

/// Caveats with the rows that have them.
pub(super) fn caveats(rows: &[ReplayedRow]) -> Vec<(Caveat, usize)> {
    let count = |caveat: &Caveat| compared(rows).filter(|r| r.caveats.contains(caveat)).count();
    Caveat::ALL.iter().map(|caveat| (*caveat, count(caveat))).filter(|(_, n)| *n > 0).collect()
}

/// Rows whose retrieval failed, with the message.
pub(super) fn errors(rows: &[ReplayedRow]) -> impl Iterator<Item = (&ReplayedRow, &str)> {
    rows.iter().filter_map(|row| match &row.outcome {
        Outcome::Errored(message) => Some((row, message.as_str())),
        Outcome::Compared(_) | Outcome::Skipped(_) => None,
    })
}

/// How the overlap of the measured rows is spread, from 0 to 1.
pub(super) fn jaccards(rows: &[ReplayedRow]) -> [usize; BINS] {
    let mut bins = [0; BINS];
    for row in compared(rows).filter(|row| !row.is_both_empty()) {
        bins[((row.jaccard * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    bins
}

/// How many rows have another set or another first page.
pub(super) fn regressed(rows: &[ReplayedRow]) -> usize {
    compared(rows).filter(|row| row.jaccard < 1.0 || row.top1 == Some(false)).count()
}

pub(super) fn compared(rows: &[ReplayedRow]) -> impl Iterator<Item = &Compared> {
    rows.iter().filter_map(ReplayedRow::compared)
}
