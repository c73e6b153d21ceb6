//! Weeks in a row: a drop that goes on asks for a new calibration.

use super::measure::Measure;

/// How many drops in a row ask for it, unless told otherwise.
pub const DROPS: usize = 3;

/// What a weekly run measured of one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Week {
    /// The value; none of nothing.
    pub value: Option<f64>,
}

/// A measure that fell week after week.
#[derive(Debug, Clone, PartialEq)]
pub struct Sustained {
    /// Which.
    pub measure: Measure,
    /// The values, oldest first: the one before the first drop, and each drop.
    pub values: Vec<f64>,
}

/// The measures whose fall asks for a new calibration.
pub const WATCHED: [Measure; 4] =
    [Measure::RecallAt5, Measure::RecallAt10, Measure::PrecisionAt5, Measure::PrecisionAt10];

/// Whether the last weeks, oldest first, each fell below the one before. A week without a value ends
/// what came before it: nobody knows what it would have been.
pub fn sustained(measure: Measure, weeks: &[Week], drops: usize) -> Option<Sustained> {
    let last = weeks.len().checked_sub(drops + 1)?;
    let values: Option<Vec<f64>> = weeks[last..].iter().map(|week| week.value).collect();
    let values = values?;
    let falls = values.windows(2).all(|pair| pair[1] < pair[0]);
    (drops > 0 && falls).then_some(Sustained { measure, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[Option<f64>], expected: bool) {
        let weeks: Vec<Week> = values.iter().map(|value| Week { value: *value }).collect();
        let found = sustained(Measure::RecallAt5, &weeks, DROPS);
        assert_eq!(found.is_some(), expected, "{values:?}");
    }

    #[test]
    fn three_drops_in_a_row() {
        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        check(&some(&[0.98, 0.97, 0.96, 0.95]), true);
        check(&some(&[0.1, 0.98, 0.97, 0.96, 0.95]), true);
        check(&some(&[0.98, 0.97, 0.96]), false);
        check(&some(&[0.98, 0.97, 0.97, 0.95]), false);
        check(&some(&[0.98, 0.97, 0.96, 0.97]), false);
        check(&[Some(0.98), None, Some(0.96), Some(0.95)], false);
        check(&[], false);
    }
}
