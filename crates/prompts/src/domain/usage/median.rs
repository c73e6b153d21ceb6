//! The median of any number of integers, in one pass and bounded memory.
//!
//! Every value below [`EXACT`] has its own counter. Larger values (a run of more than a quarter of
//! an hour) are stored individually while they are few, and then counted in steps of a thousandth;
//! a median within such a step is marked as inexact.

/// Values below this limit have a counter each.
const EXACT: u64 = 1 << 20;
/// Number of larger values that are stored individually.
const FEW: usize = 1 << 16;
/// Number of steps between two powers of two, as a power of two.
const STEPS_BITS: u32 = 10;

/// The median of counted values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Middle {
    /// The median, or the mean of the two values in the middle.
    pub value: f64,
    /// Whether the value is exact; otherwise it is accurate to a thousandth.
    pub is_exact: bool,
}

/// Counts values to compute their median.
#[derive(Debug, Clone, Default)]
pub struct Median {
    count: u64,
    exact: Vec<u64>,
    few: Vec<u64>,
    steps: Vec<u64>,
}

impl Median {
    /// Adds a value to the counters.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        if value >= EXACT {
            return self.add_large(value);
        }
        let at = value as usize;
        if at >= self.exact.len() {
            self.exact.resize((at + 1).next_power_of_two(), 0);
        }
        self.exact[at] += 1;
    }

    fn add_large(&mut self, value: u64) {
        if self.steps.is_empty() {
            self.few.push(value);
            if self.few.len() > FEW {
                self.steps = vec![0; step(u64::MAX) + 1];
                for value in std::mem::take(&mut self.few) {
                    self.steps[step(value)] += 1;
                }
            }
        } else {
            self.steps[step(value)] += 1;
        }
    }

    /// The median of all values so far; `None` without values.
    pub fn middle(&self) -> Option<Middle> {
        let last = self.count.checked_sub(1)?;
        let (low, high) = (self.at(last / 2), self.at(last.div_ceil(2)));
        Some(Middle {
            value: low.value / 2.0 + high.value / 2.0,
            is_exact: low.is_exact && high.is_exact,
        })
    }

    /// The value at an index in ascending order, from 0.
    fn at(&self, place: u64) -> Middle {
        let mut before = 0;
        for (value, count) in self.exact.iter().enumerate() {
            before += count;
            if before > place {
                return Middle { value: value as f64, is_exact: true };
            }
        }
        let mut few = self.few.clone();
        few.sort_unstable();
        let beyond = usize::try_from(place - before).unwrap_or(usize::MAX);
        if let Some(&value) = few.get(beyond) {
            return Middle { value: value as f64, is_exact: true };
        }
        let found = self.steps.iter().position(|count| {
            before += count;
            before > place
        });
        Middle { value: middle_of_step(found.unwrap_or_default()), is_exact: false }
    }
}

/// The step of a value of at least [`EXACT`].
fn step(value: u64) -> usize {
    let octave = value.ilog2();
    let within = (value >> (octave - STEPS_BITS)) & ((1 << STEPS_BITS) - 1);
    (((octave - EXACT.ilog2()) as usize) << STEPS_BITS) + within as usize
}

fn middle_of_step(step: usize) -> f64 {
    let steps = 1_u64 << STEPS_BITS;
    let octave = EXACT.ilog2() + (step >> STEPS_BITS) as u32;
    let within = (step as u64 % steps) as f64 + 0.5;
    2_f64.powi(octave as i32) * (1.0 + within / steps as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn median(values: &[u64]) -> Option<Middle> {
        let mut median = Median::default();
        values.iter().for_each(|&value| median.add(value));
        median.middle()
    }

    #[track_caller]
    fn check(values: &[u64], expected: f64) {
        assert_eq!(median(values), Some(Middle { value: expected, is_exact: true }));
    }

    #[test]
    fn by_hand() {
        assert_eq!(median(&[]), None);
        check(&[7], 7.0);
        check(&[3, 1], 2.0);
        check(&[1, 2], 1.5);
        check(&[9, 0, 4], 4.0);
        check(&[EXACT, 1, EXACT + 3], EXACT as f64);
        check(&[EXACT - 1, EXACT + 1], EXACT as f64);
    }

    #[test]
    fn many_large_values_are_right_to_a_thousandth() {
        let values: Vec<u64> = (0..200_001).map(|i| EXACT + i * 50).collect();
        let found = median(&values).unwrap();
        let exact = (EXACT + 100_000 * 50) as f64;
        assert!(!found.is_exact && (found.value / exact - 1.0).abs() < 1e-3, "{found:?}");
        let mut extreme = vec![u64::MAX; FEW + 2];
        extreme.push(0);
        assert!(median(&extreme).unwrap().value > 1.8e19);
    }

    proptest! {
        #[test]
        fn as_sorting_says(values in prop::collection::vec(prop_oneof![0..50_u64, 0..3_000_000_u64, any::<u32>().prop_map(u64::from)], 1..200)) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let last = sorted.len() - 1;
            let expected = (sorted[last / 2] + sorted[last.div_ceil(2)]) as f64 / 2.0;
            prop_assert_eq!(median(&values), Some(Middle { value: expected, is_exact: true }));
        }
    }
}
