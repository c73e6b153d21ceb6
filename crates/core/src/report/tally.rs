//! What the rows of a replay add up to beside their means.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::blame::Blame;
use crate::provenance::{Difference, Factor};
use crate::replay::{Caveat, Compared, Outcome, ReplayedRow, Summary};

/// Bins of a distribution from 0 to 1.
pub(super) const BINS: usize = 10;

/// How many rows a factor is the same in, differs in, or is unknown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FactorCounts")]
pub(super) struct Changed {
    pub(super) same: usize,
    pub(super) differs: usize,
    pub(super) unknown: usize,
}

/// What differs between the captures and now, factor by factor.
pub(super) fn changed(rows: &[ReplayedRow]) -> BTreeMap<Factor, Changed> {
    let count =
        |factor, wanted| compared(rows).filter(|row| row.differences.of(factor) == wanted).count();
    let of = |factor: &Factor| {
        let changed = Changed {
            same: count(*factor, Difference::Same),
            differs: count(*factor, Difference::Differs),
            unknown: count(*factor, Difference::Unknown),
        };
        (*factor, changed)
    };
    Factor::ALL.iter().map(of).collect()
}

/// The rows that moved most, worst first.
pub(super) fn worst_rows(rows: &[ReplayedRow], count: usize) -> Vec<&ReplayedRow> {
    let mut worst: Vec<(&ReplayedRow, &Compared)> = rows
        .iter()
        .filter_map(|row| Some((row, row.compared()?)))
        .filter(|(_, compared)| compared.jaccard < 1.0 || compared.top1 == Some(false))
        .collect();
    worst.sort_by(|(a, x), (b, y)| {
        x.jaccard.total_cmp(&y.jaccard).then(x.rbo.total_cmp(&y.rbo)).then(a.line.cmp(&b.line))
    });
    worst.into_iter().map(|(row, _)| row).take(count).collect()
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
