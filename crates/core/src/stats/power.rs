//! What a number of queries can see: the smallest drop that a one-sided test finds with a given
//! power, and how many queries a given drop needs.
//!
//! Rates are compared with a known bar by the exact binomial test; means by the normal
//! approximation with a known standard deviation (Chow, Shao and Wang, Sample Size Calculations in
//! Clinical Research, 2nd ed., 2008, ch. 3 and 4). A comparison of two measured runs sees less than
//! this: use the standard deviation of their paired differences.

use super::binomial::{at_most, cumulative};
use super::normal::quantile;

/// The errors that a test may make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// How often it may cry wolf, such as 0.05.
    pub alpha: f64,
    /// How often it must find what is there, such as 0.8.
    pub power: f64,
}

impl Default for Errors {
    fn default() -> Self {
        Self { alpha: 0.05, power: 0.8 }
    }
}

/// No search for a number of queries goes past this.
const MAX_ROWS: u64 = 10_000_000;
/// Past this many trials the binomial test is taken as normal: the two differ in the fourth digit.
const EXACT_ROWS: u64 = 5_000;

/// The smallest drop from `rate` that `n` queries show; none when not even a drop to 0 would.
pub fn smallest_rate_drop(rate: f64, n: u64, errors: &Errors) -> Option<f64> {
    if !is_share(rate) || rate == 0.0 || n == 0 || !are_shares(errors) {
        return None;
    }
    if n > EXACT_ROWS {
        return normal_rate_drop(rate, n, errors);
    }
    let most = most_refused(rate, n, errors.alpha)?;
    // The chance to be refused grows as the rate falls.
    let is_seen = |lower: f64| at_most(most, n, lower) >= errors.power;
    is_seen(0.0).then(|| rate - bisect(0.0, rate, is_seen))
}

/// How many queries show a drop of `drop` from `rate`: the smallest number found by doubling and
/// halving. The exact test saws: a few queries more may see a little less.
pub fn rows_for_rate_drop(rate: f64, drop: f64, errors: &Errors) -> Option<u64> {
    let is_enough = |n| smallest_rate_drop(rate, n, errors).is_some_and(|seen| seen <= drop);
    fewest(is_enough)
}

/// The smallest drop of a mean that `n` queries show: (z_alpha + z_power) sd / sqrt(n).
pub fn smallest_mean_drop(deviation: f64, n: u64, errors: &Errors) -> Option<f64> {
    let is_known = deviation.is_finite() && deviation >= 0.0 && n > 0 && are_shares(errors);
    is_known.then(|| deviates(errors) * deviation / (n as f64).sqrt())
}

/// How many queries show a drop of a mean by `drop`.
pub fn rows_for_mean_drop(deviation: f64, drop: f64, errors: &Errors) -> Option<u64> {
    let is_known = deviation.is_finite() && deviation >= 0.0 && drop > 0.0 && are_shares(errors);
    let rows = (deviates(errors) * deviation / drop).powi(2).ceil().max(1.0);
    (is_known && rows <= MAX_ROWS as f64).then_some(rows as u64)
}

fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

fn are_shares(errors: &Errors) -> bool {
    let inside = |value: f64| value > 0.0 && value < 1.0;
    inside(errors.alpha) && inside(errors.power)
}

fn deviates(errors: &Errors) -> f64 {
    quantile(1.0 - errors.alpha) + quantile(errors.power)
}

/// The most successes at which `rate` is refused: none when even 0 of n may well happen.
fn most_refused(rate: f64, n: u64, alpha: f64) -> Option<u64> {
    let refused = cumulative(n, rate).take_while(|at_most| *at_most <= alpha).count() as u64;
    refused.checked_sub(1)
}

/// sqrt(n) drop = z_alpha sqrt(p q) + z_power sqrt(p' q'), p' = p - drop.
fn normal_rate_drop(rate: f64, n: u64, errors: &Errors) -> Option<f64> {
    let spread = |p: f64| (p * (1.0 - p) / n as f64).sqrt();
    let wolf = quantile(1.0 - errors.alpha) * spread(rate);
    let is_seen = |lower: f64| rate - lower >= wolf + quantile(errors.power) * spread(lower);
    is_seen(0.0).then(|| rate - bisect(0.0, rate, is_seen))
}

/// The highest value at which `holds`, which does at `low` and not much above some point.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

fn fewest(is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = 1;
    while !is_enough(high) {
        high *= 2;
        if high > MAX_ROWS {
            return None;
        }
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRORS: Errors = Errors { alpha: 0.05, power: 0.8 };

    /// From a rate of 1 any failure is refused: power 1 - p^10 = 0.8.
    #[test]
    fn a_perfect_rate_by_hand() {
        let found = smallest_rate_drop(1.0, 10, &ERRORS).unwrap();
        assert!((found - (1.0 - 0.2f64.powf(0.1))).abs() < 1e-9, "{found}");
    }

    /// At 1/2, none of 4 succeeds with 1/16 > 0.05: nothing is refused. None of 5 with 1/32 is, and
    /// happens with 0.8 when (1 - p)^5 = 0.8.
    #[test]
    fn a_few_trials_by_hand() {
        assert_eq!(smallest_rate_drop(0.5, 4, &ERRORS), None);
        let found = smallest_rate_drop(0.5, 5, &ERRORS).unwrap();
        assert!((found - (0.5 - (1.0 - 0.8f64.powf(0.2)))).abs() < 1e-9, "{found}");
    }

    #[test]
    fn exact_and_normal_agree_where_they_meet() {
        for rate in [0.5, 0.8, 0.95] {
            let exact = smallest_rate_drop(rate, EXACT_ROWS, &ERRORS).unwrap();
            let normal = normal_rate_drop(rate, EXACT_ROWS, &ERRORS).unwrap();
            assert!((exact - normal).abs() < 5e-4, "{exact} {normal}");
        }
    }

    /// (1.6449 + 0.8416)^2 = 6.1826.
    #[test]
    fn means_by_hand() {
        let drop = smallest_mean_drop(0.3, 100, &ERRORS).unwrap();
        assert!((drop - 2.486_475 * 0.03).abs() < 1e-6, "{drop}");
        assert_eq!(rows_for_mean_drop(1.0, 0.1, &ERRORS), Some(619));
        assert_eq!(rows_for_mean_drop(0.0, 0.1, &ERRORS), Some(1));
        assert_eq!(rows_for_mean_drop(1.0, 0.0, &ERRORS), None);
    }

    #[test]
    fn rows_and_drops_are_each_others_inverse() {
        for (rate, drop) in [(1.0, 0.15), (0.9, 0.1), (0.8, 0.05)] {
            let n = rows_for_rate_drop(rate, drop, &ERRORS).unwrap();
            assert!(smallest_rate_drop(rate, n, &ERRORS).unwrap() <= drop);
        }
        assert_eq!(rows_for_rate_drop(0.5, 0.6, &ERRORS), rows_for_rate_drop(0.5, 0.5, &ERRORS));
        assert_eq!(rows_for_rate_drop(0.5, 0.0, &ERRORS), None);
        assert_eq!(smallest_rate_drop(f64::NAN, 5, &ERRORS), None);
    }
}
