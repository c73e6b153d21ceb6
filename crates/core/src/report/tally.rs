//! Counts over the rows of a replay.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::blame::Blame;
use crate::provenance::{FactorDifference, RankingFactor};
use crate::replay::{Caveat, ReplaySummary, ReplayedRow, RowComparison, RowOutcome};

/// Number of bins from 0 to 1.
pub(super) const BINS: usize = 10;

/// Number of rows in which a factor is unchanged, changed or unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct FactorCounts {
    pub(super) same: usize,
    pub(super) differs: usize,
    pub(super) unknown: usize,
}

/// Counts changed rows by factor.
pub(super) fn changed(rows: &[ReplayedRow]) -> BTreeMap<RankingFactor, FactorCounts> {
    let count =
        |factor, wanted| compared(rows).filter(|row| row.differences.of(factor) == wanted).count();
    let of = |factor: &RankingFactor| {
        let changed = FactorCounts {
            same: count(*factor, FactorDifference::Same),
            differs: count(*factor, FactorDifference::Differs),
            unknown: count(*factor, FactorDifference::Unknown),
        };
        (*factor, changed)
    };
    RankingFactor::ALL.iter().map(of).collect()
}

/// The rows that changed most, worst first.
pub(super) fn worst_rows(rows: &[ReplayedRow], count: usize) -> Vec<&ReplayedRow> {
    let mut worst: Vec<(&ReplayedRow, &RowComparison)> = rows
        .iter()
        .filter_map(|row| Some((row, row.compared()?)))
        .filter(|(_, compared)| compared.jaccard < 1.0 || compared.top1 == Some(false))
        .collect();
    worst.sort_by(|(a, x), (b, y)| {
        x.jaccard.total_cmp(&y.jaccard).then(x.rbo.total_cmp(&y.rbo)).then(a.line.cmp(&b.line))
    });
    worst.into_iter().map(|(row, _)| row).take(count).collect()
}

/// One line with the number of replayed, skipped, failed and incomparable rows.
pub(super) fn asked(summary: &ReplaySummary) -> String {
    let ReplaySummary { total, replayed, skipped, not_comparable, errored, .. } = summary;
    let uncompared = match not_comparable {
        0 => String::new(),
        n => format!("; {n} of the skipped are not comparable"),
    };
    format!(
        "Replayed {replayed} of {total} captured queries ({skipped} skipped, {errored} \
         errored{uncompared})"
    )
}

/// Number of rows by blamed factor, if blame was computed.
pub(super) fn blames(rows: &[ReplayedRow]) -> Vec<(Blame, usize)> {
    let count = |blame: &Blame| compared(rows).filter(|row| row.blame == Some(*blame)).count();
    Blame::ALL.iter().map(|blame| (*blame, count(blame))).filter(|(_, n)| *n > 0).collect()
}

/// Number of rows by caveat.
pub(super) fn caveats(rows: &[ReplayedRow]) -> Vec<(Caveat, usize)> {
    let count = |caveat: &Caveat| compared(rows).filter(|r| r.caveats.contains(caveat)).count();
    Caveat::ALL.iter().map(|caveat| (*caveat, count(caveat))).filter(|(_, n)| *n > 0).collect()
}

/// Failed rows with their error message.
pub(super) fn errors(rows: &[ReplayedRow]) -> impl Iterator<Item = (&ReplayedRow, &str)> {
    rows.iter().filter_map(|row| match &row.outcome {
        RowOutcome::Errored(message) => Some((row, message.as_str())),
        RowOutcome::Compared(_) | RowOutcome::Skipped(_) => None,
    })
}

/// Histogram of the Jaccard overlap of the measured rows.
pub(super) fn jaccards(rows: &[ReplayedRow]) -> [usize; BINS] {
    let mut bins = [0; BINS];
    for row in compared(rows).filter(|row| !row.is_both_empty()) {
        bins[((row.jaccard * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    bins
}

/// Number of rows with a different set of pages or a different first page.
pub(super) fn regressed(rows: &[ReplayedRow]) -> usize {
    compared(rows).filter(|row| row.jaccard < 1.0 || row.top1 == Some(false)).count()
}

pub(super) fn compared(rows: &[ReplayedRow]) -> impl Iterator<Item = &RowComparison> {
    rows.iter().filter_map(ReplayedRow::compared)
}
