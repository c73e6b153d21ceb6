//! McNemar's exact test (McNemar, Psychometrika 12, 1947): two systems, one yes or no per query.

use super::binomial::at_most;

/// The two-sided p-value that queries which only one of two systems got right are spread evenly
/// between them. Queries that both or neither got right say nothing. Without such a query, 1.
pub(crate) fn mcnemar(only_before: u64, only_after: u64) -> f64 {
    let (fewer, all) = (only_before.min(only_after), only_before.saturating_add(only_after));
    (2.0 * at_most(fewer, all, 0.5)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(mcnemar(0, 0), 1.0);
        assert_eq!(mcnemar(3, 3), 1.0);
        assert!((mcnemar(0, 5) - 2.0 / 32.0).abs() < 1e-12);
        assert!((mcnemar(5, 0) - 2.0 / 32.0).abs() < 1e-12);
        // 2 (1 + 10 + 45) / 2^10
        assert!((mcnemar(2, 8) - 112.0 / 1024.0).abs() < 1e-12);
        assert!(mcnemar(100, 900) < 1e-100);
    }
}
