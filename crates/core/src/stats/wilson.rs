//! The score interval of a rate (Wilson, JASA 22, 1927).

use super::Interval;
use super::normal::quantile;

/// The interval of `successes` of `n` at a confidence such as 0.95; none when nothing was counted.
/// It stays within 0 and 1, and reaches them exactly when no or every trial succeeded.
pub fn wilson(successes: u64, n: u64, confidence: f64) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let z = quantile(0.5 + confidence.clamp(0.0, 1.0) / 2.0).min(f64::from(u16::MAX));
    let (k, total) = (successes.min(n) as f64, n as f64);
    let p = k / total;
    let shrink = 1.0 + z * z / total;
    let centre = (p + z * z / (2.0 * total)) / shrink;
    let margin = z * (p * (1.0 - p) / total + z * z / (4.0 * total * total)).sqrt() / shrink;
    let low = if successes == 0 { 0.0 } else { (centre - margin).max(0.0) };
    let high = if successes >= n { 1.0 } else { (centre + margin).min(1.0) };
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(successes: u64, n: u64, low: f64, high: f64) {
        let found = wilson(successes, n, 0.95).unwrap();
        let close = (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5;
        assert!(close, "{found:?}");
    }

    /// Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
    #[test]
    fn as_published() {
        check(81, 263, 0.2553, 0.3662);
        check(15, 148, 0.0624, 0.1605);
        check(0, 20, 0.0, 0.1611);
        check(1, 29, 0.0061, 0.1718);
    }

    #[test]
    fn edges() {
        assert_eq!(wilson(0, 0, 0.95), None);
        assert_eq!(wilson(5, 5, 0.95).unwrap().high, 1.0);
        assert_eq!(wilson(9, 5, 0.95), wilson(5, 5, 0.95));
        let none = wilson(1, 2, 0.0).unwrap();
        assert_eq!((none.low, none.high), (0.5, 0.5));
        assert!(wilson(1, 2, 1.0).unwrap().high <= 1.0);
    }
}
