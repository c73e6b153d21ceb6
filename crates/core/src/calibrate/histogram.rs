//! Scores by tenths, for somebody to look at: what a mean and a deviation do not show.

use super::{Label, Scored};

/// As many bins from 0 to 1.
const BINS: usize = 10;

/// How many pairs score from a tenth up to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The lowest score that belongs here.
    pub from: f64,
    /// The lowest that does not; of the last bin the highest that does.
    pub to: f64,
    /// Relevant, borderline and irrelevant pairs.
    pub counts: [usize; 3],
}

/// Scores by tenths. What is no score is in none.
pub fn histogram(pairs: &[Scored]) -> Vec<Bin> {
    let edge = |at: usize| at as f64 / BINS as f64;
    let mut bins: Vec<Bin> =
        (0..BINS).map(|at| Bin { from: edge(at), to: edge(at + 1), counts: [0; 3] }).collect();
    for pair in pairs.iter().filter(|pair| (0.0..=1.0).contains(&pair.score)) {
        let at = bins.iter().rposition(|bin| pair.score >= bin.from).unwrap_or(0);
        let of = match pair.label {
            Label::Relevant => 0,
            Label::Borderline => 1,
            Label::Irrelevant => 2,
        };
        bins[at].counts[of] += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::super::tests::scored;
    use super::*;

    #[test]
    fn scores_by_tenths() {
        let mut pairs = scored(Label::Borderline, [0.0, 0.1, 0.3, 0.35, 1.0, 1.5, f64::NAN]);
        pairs.extend(scored(Label::Irrelevant, [0.05]));
        let bins = histogram(&pairs);
        let counts: Vec<[usize; 3]> = bins.iter().map(|bin| bin.counts).collect();
        assert_eq!(counts[0], [0, 1, 1]);
        assert_eq!((counts[1], counts[3], counts[9]), ([0, 1, 0], [0, 2, 0], [0, 1, 0]));
        assert_eq!(counts.iter().flatten().sum::<usize>(), 6);
    }
}
