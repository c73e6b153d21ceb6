//! The exact interval of a rate (Clopper and Pearson, Biometrika 26, 1934).
//!
//! It covers the true rate at least as often as it says, for every rate and every n. Wilson's interval
//! ([`super::wilson()`]) does so on average only: near 0 and 1 its coverage falls to .83. Wilson's is
//! used where a format names it.

use super::Interval;
use super::beta::beta_quantile;

/// The interval of `successes` of `n` at a confidence such as 0.95; none when nothing was counted.
pub fn clopper_pearson(successes: u64, n: u64, confidence: f64) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let k = successes.min(n);
    let outside = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let (hits, misses) = (k as f64, (n - k) as f64);
    let low = if k == 0 { 0.0 } else { beta_quantile(hits, misses + 1.0, outside) };
    let high = if k == n { 1.0 } else { beta_quantile(hits + 1.0, misses, 1.0 - outside) };
    Some(Interval { low, high: high.max(low) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(successes: u64, n: u64, low: f64, high: f64) {
        let found = clopper_pearson(successes, n, 0.95).unwrap();
        let close = (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5;
        assert!(close, "{found:?}");
    }

    /// Newcombe, Statistics in Medicine 17, 1998, table I, method 5.
    #[test]
    fn as_published() {
        check(81, 263, 0.2527, 0.3676);
        check(15, 148, 0.0578, 0.1617);
        check(0, 20, 0.0, 0.1684);
        check(1, 29, 0.0009, 0.1776);
    }

    #[test]
    fn edges() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        check(4, 4, 0.3976, 1.0);
        check(1, 1, 0.025, 1.0);
        assert_eq!(clopper_pearson(9, 5, 0.95), clopper_pearson(5, 5, 0.95));
        let many = clopper_pearson(500_000, 1_000_000, 0.95).unwrap();
        assert!((many.high - many.low - 2.0 * 0.000_98).abs() < 1e-5, "{many:?}");
    }
}
