//! A histogram of scores, which shows shapes that mean and deviation hide.

use schemars::JsonSchema;
use serde::Serialize;

use super::{LabelCounts, ScoredLabel};

/// Number of bins from 0 to 1.
const BINS: usize = 10;

/// Number of pairs in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ScoreBin")]
pub struct ScoreBin {
    /// The lower bound, inclusive.
    pub from: f64,
    /// Upper bound, exclusive; inclusive in the last bin.
    pub to: f64,
    /// Number of pairs by label.
    #[serde(flatten)]
    pub counts: LabelCounts,
}

/// The histogram of scores. Invalid scores are in no bin.
pub fn histogram(pairs: &[ScoredLabel]) -> Vec<ScoreBin> {
    let edge = |at: usize| at as f64 / BINS as f64;
    let mut bins: Vec<ScoreBin> = (0..BINS)
        .map(|at| ScoreBin { from: edge(at), to: edge(at + 1), counts: LabelCounts::default() })
        .collect();
    for pair in pairs.iter().filter(|pair| (0.0..=1.0).contains(&pair.score)) {
        let at = bins.iter().rposition(|bin| pair.score >= bin.from).unwrap_or(0);
        bins[at].counts.add(pair.label);
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::super::tests::scored;
    use super::*;
    use crate::calibrate::PairLabel;

    fn by_label(counts: LabelCounts) -> [usize; 3] {
        [counts.relevant, counts.borderline, counts.irrelevant]
    }

    #[test]
    fn scores_by_tenths() {
        let mut pairs = scored(PairLabel::Borderline, [0.0, 0.1, 0.3, 0.35, 1.0, 1.5, f64::NAN]);
        pairs.extend(scored(PairLabel::Irrelevant, [0.05]));
        let bins = histogram(&pairs);
        let counts: Vec<[usize; 3]> = bins.iter().map(|bin| bin.counts).map(by_label).collect();
        assert_eq!(counts[0], [0, 1, 1]);
        assert_eq!((counts[1], counts[3], counts[9]), ([0, 1, 0], [0, 2, 0], [0, 1, 0]));
        assert_eq!(counts.iter().flatten().sum::<usize>(), 6);
    }
}
