//! Agreement of raters beyond chance (Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011).
//!
//! Alpha is one minus the disagreement that was seen over the disagreement that chance would make of
//! the same values. 1 is perfect, 0 is chance, below 0 is worse than chance. Any number of raters, and
//! any of them may be silent on any unit.

use crate::named;

/// The agreement with its input counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alpha {
    pub value: f64,
    /// Units that at least two raters rated.
    pub units: usize,
    /// Values in those units.
    pub values: usize,
}

named! {
    /// Why there is no alpha.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum AlphaError {
        /// No unit has two values.
        NoPairs = "no_pairs",
        /// All values are the same: there is nothing to agree about, and chance agrees as well.
        NoVariation = "no_variation",
    }
}

/// Alpha over units, each the values of its raters. A value that is not finite counts as silence.
pub(crate) fn krippendorff(units: &[Vec<Option<f64>>]) -> Result<Alpha, AlphaError> {
    let spoken = |unit: &Vec<Option<f64>>| -> Vec<f64> {
        unit.iter().flatten().copied().filter(|value| value.is_finite()).collect()
    };
    let units: Vec<Vec<f64>> = units.iter().map(spoken).filter(|unit| unit.len() > 1).collect();
    let levels = ValueLevels::of(&units);
    let values = units.iter().map(Vec::len).sum();
    if values == 0 {
        return Err(AlphaError::NoPairs);
    }
    let observed: f64 =
        units.iter().map(|unit| levels.disagreement(unit) / (unit.len() - 1) as f64).sum();
    let expected = levels.expected() / (values - 1) as f64;
    if expected > 0.0 {
        Ok(Alpha { value: 1.0 - observed / expected, units: units.len(), values })
    } else {
        Err(AlphaError::NoVariation)
    }
}

/// The different values, in order, with how often each occurs.
struct ValueLevels {
    counts: Vec<(f64, f64)>,
}

impl ValueLevels {
    fn of(units: &[Vec<f64>]) -> Self {
        let mut values: Vec<f64> = units.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        let mut counts: Vec<(f64, f64)> = Vec::new();
        for value in values {
            match counts.last_mut() {
                Some((last, n)) if *last == value => *n += 1.0,
                _ => counts.push((value, 1.0)),
            }
        }
        Self { counts }
    }

    /// The place of a value.
    fn place(&self, value: f64) -> usize {
        self.counts.partition_point(|(level, _)| *level < value)
    }

    /// The distances of all ordered pairs in a unit.
    fn disagreement(&self, unit: &[f64]) -> f64 {
        let places: Vec<usize> = unit.iter().map(|value| self.place(*value)).collect();
        let row = |a: &usize| places.iter().map(|b| self.distance(*a, *b)).sum::<f64>();
        places.iter().map(row).sum()
    }

    /// The distances of all ordered pairs of all values.
    fn expected(&self) -> f64 {
        let pair = |a: usize, b: usize| self.counts[a].1 * self.counts[b].1 * self.distance(a, b);
        (0..self.counts.len())
            .map(|a| (0..self.counts.len()).map(|b| pair(a, b)).sum::<f64>())
            .sum()
    }

    /// The square of the difference: values are of an interval scale.
    fn distance(&self, a: usize, b: usize) -> f64 {
        (self.counts[a].0 - self.counts[b].0).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line for each rater, a character for each unit.
    fn units(raters: &[&str]) -> Vec<Vec<Option<f64>>> {
        let value = |rater: &&str, at: usize| {
            rater.as_bytes()[at].is_ascii_digit().then(|| f64::from(rater.as_bytes()[at] - b'0'))
        };
        (0..raters[0].len())
            .map(|at| raters.iter().map(|rater| value(rater, at)).collect())
            .collect()
    }

    #[track_caller]
    fn check(raters: &[&str], expected: f64) {
        let alpha = krippendorff(&units(raters)).unwrap();
        assert!((alpha.value - expected).abs() < 5e-4, "{alpha:?}");
    }

    /// Krippendorff 2011, section C and D: four observers, twelve units, with silence.
    #[test]
    fn as_published_for_four_observers() {
        let raters = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."];
        check(&raters, 0.849);
        let alpha = krippendorff(&units(&raters)).unwrap();
        assert_eq!((alpha.units, alpha.values), (11, 40));
    }

    /// Krippendorff 2011, section A: two observers, two values, without silence.
    #[test]
    fn as_published_for_two_observers() {
        check(&["0100000010", "1110010000"], 0.095);
    }

    #[test]
    fn by_hand() {
        check(&["12", "12"], 1.0);
        // Observed: 2 for each unit, 4 in all. Expected: two 1s and two 2s are 8 of distance, over 3.
        check(&["12", "21"], 1.0 - 4.0 / (8.0 / 3.0));
    }

    #[test]
    fn where_there_is_nothing_to_say() {
        assert_eq!(krippendorff(&[]), Err(AlphaError::NoPairs));
        assert_eq!(krippendorff(&units(&["12", ".."])), Err(AlphaError::NoPairs));
        assert_eq!(krippendorff(&units(&["77", "77"])), Err(AlphaError::NoVariation));
        let nan = vec![vec![Some(f64::NAN), Some(1.0)]];
        assert_eq!(krippendorff(&nan), Err(AlphaError::NoPairs));
    }

    proptest! {
        #[test]
        fn order_does_not_matter_and_one_is_the_most(
            mut table in prop::collection::vec(
                prop::collection::vec(prop::option::of((1..=10u8).prop_map(f64::from)), 3),
                1..12,
            ),
        ) {
            let alpha = krippendorff(&table);
            table.reverse();
            table.iter_mut().for_each(|unit| unit.reverse());
            let turned = krippendorff(&table);
            match (alpha, turned) {
                (Ok(alpha), Ok(turned)) => {
                    prop_assert!((alpha.value - turned.value).abs() < 1e-9);
                    prop_assert!(alpha.value <= 1.0);
                }
                (alpha, turned) => prop_assert_eq!(alpha, turned),
            }
        }
    }
}
