//! Measures how well scores separate good from bad pairs.

use super::{FEWEST_BAD, PairLabel, ScoredLabel};

/// The separation of relevant and borderline pairs from irrelevant ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Separation {
    /// Probability that a random good pair scores above a random bad one; ties count half
    /// (Mann-Whitney U, area under the ROC curve).
    pub chance: f64,
    pub good: usize,
    pub bad: usize,
}

/// The separation of scored pairs; none with too few bad pairs.
pub fn separation(pairs: &[ScoredLabel]) -> Option<Separation> {
    let of = |is_bad: bool| -> Vec<f64> {
        let of_kind = pairs.iter().filter(|pair| (pair.label == PairLabel::Irrelevant) == is_bad);
        of_kind.map(|pair| pair.score).collect()
    };
    let (good, bad) = (of(false), of(true));
    if bad.len() < FEWEST_BAD || good.is_empty() {
        return None;
    }
    let mut above = 0.0;
    for one in &good {
        for other in &bad {
            above += if one > other {
                1.0
            } else if one == other {
                0.5
            } else {
                0.0
            };
        }
    }
    let chance = above / (good.len() * bad.len()) as f64;
    Some(Separation { chance, good: good.len(), bad: bad.len() })
}

/// Sarle's bimodality coefficient of a uniform distribution; higher values suggest two groups.
const EVEN: f64 = 5.0 / 9.0;

/// Whether scores look bimodal, so that their mean lies between two groups. A uniform distribution
/// is exactly on the line, so a margin is added.
pub(super) fn looks_like_two_groups(scores: &[f64]) -> bool {
    bimodality(scores).is_some_and(|found| found > EVEN + 0.1)
}

fn bimodality(scores: &[f64]) -> Option<f64> {
    let n = scores.len() as f64;
    if scores.len() < 4 {
        return None;
    }
    let mean = scores.iter().sum::<f64>() / n;
    let moment =
        |power: i32| scores.iter().map(|score| (score - mean).powi(power)).sum::<f64>() / n;
    let (second, third, fourth) = (moment(2), moment(3), moment(4));
    if second.is_nan() || second <= 0.0 {
        return None;
    }
    let skew = third / second.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    let plain = fourth / (second * second) - 3.0;
    let excess = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * plain + 6.0);
    let correction = 3.0 * (n - 1.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0));
    Some((skew * skew + 1.0) / (excess + correction))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{even, scored};
    use super::*;

    #[test]
    fn the_chance_by_hand() {
        let mut pairs = scored(PairLabel::Borderline, [0.5, 0.7]);
        pairs.extend(scored(PairLabel::Irrelevant, [0.1; 5]));
        assert_eq!(separation(&pairs), None, "five bad pairs say little");
        pairs.extend(scored(PairLabel::Irrelevant, [0.5, 0.5, 0.6, 0.6, 0.9]));
        // 0.5 beats 5 and ties with 2; 0.7 beats 9.
        let found = separation(&pairs).unwrap();
        assert_eq!((found.chance, found.good, found.bad), (15.0 / 20.0, 2, 10));
    }

    #[test]
    fn one_group_and_two() {
        let even: Vec<f64> = even().iter().map(|pair| pair.score).collect();
        // A sample of thirty is below the 5/9 of very many.
        assert!((bimodality(&even).unwrap() - 0.468).abs() < 0.01);
        assert!(!looks_like_two_groups(&even));
        let two: Vec<f64> = (0..30).map(|at| if at < 15 { 0.1 } else { 0.9 }).collect();
        assert!(looks_like_two_groups(&two));
        assert!(!looks_like_two_groups(&[0.5; 30]));
        let bell = [0.3, 0.4, 0.45, 0.48, 0.5, 0.5, 0.52, 0.55, 0.6, 0.7];
        assert!(!looks_like_two_groups(&bell));
    }
}
