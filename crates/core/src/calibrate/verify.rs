//! Verifies a threshold before deployment: low scores are filtered, and recall holds.

use crate::named;
use crate::suite::threshold::Percent;

/// Minimum number of queries: with fewer, 95 % means all of them.
pub const FEWEST_QUERIES: u64 = 20;
/// The recall that a threshold must keep.
const KEPT: Percent = Percent(9_500);

/// The measurements of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerificationResult {
    /// Cases with an expected result among the first five.
    pub hits: u64,
    pub n: u64,
    /// Results shown although they scored below the threshold.
    pub leaked: u64,
    /// Answers for which the target did not apply the threshold.
    pub bypassed: u64,
    /// Number of unanswered cases.
    pub errors: u64,
}

named! {
    /// Why a threshold fails verification.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum VerifyFailure {
        NoCases = "no_cases",
        /// Too few queries for a 95 % bound.
        TooFewQueries = "too_few_queries",
        /// A case was not answered.
        Errors = "errors",
        /// Recall is below 95 %.
        RecallLost = "recall_lost",
        /// Results below the threshold are shown.
        NotFiltered = "not_filtered",
        /// The target did not apply the threshold.
        Bypassed = "bypassed",
    }
}

impl VerifyFailure {
    /// Whether the failure was measured. Otherwise it says nothing about the threshold.
    pub fn is_measured(self) -> bool {
        !matches!(self, Self::NoCases | Self::TooFewQueries | Self::Errors)
    }
}

/// Why a threshold fails verification; empty if it passes.
pub fn verify(found: &VerificationResult) -> Vec<VerifyFailure> {
    let VerificationResult { hits, n, leaked, bypassed, errors } = *found;
    let kept = u128::from(hits) * 10_000 >= u128::from(KEPT.0) * u128::from(n);
    let failed = [
        (VerifyFailure::NoCases, n == 0),
        (VerifyFailure::TooFewQueries, n > 0 && n < FEWEST_QUERIES),
        (VerifyFailure::Errors, errors > 0),
        (VerifyFailure::RecallLost, n > 0 && !kept),
        (VerifyFailure::NotFiltered, leaked > 0),
        (VerifyFailure::Bypassed, bypassed > 0),
    ];
    failed.into_iter().filter(|(_, is_so)| *is_so).map(|(why, _)| why).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_stays_at_95() {
        let with =
            |hits, n| verify(&VerificationResult { hits, n, leaked: 0, bypassed: 0, errors: 0 });
        assert_eq!(with(19, 20), []);
        assert_eq!(with(95, 100), []);
        assert_eq!(with(94, 100), [VerifyFailure::RecallLost]);
        assert_eq!(with(23, 25), [VerifyFailure::RecallLost]);
        assert_eq!(with(0, 0), [VerifyFailure::NoCases]);
        assert_eq!(with(1, 1), [VerifyFailure::TooFewQueries]);
        assert_eq!(with(19, 19), [VerifyFailure::TooFewQueries]);
        let all = VerificationResult { hits: 20, n: 20, leaked: 1, bypassed: 2, errors: 3 };
        let failures = [VerifyFailure::Errors, VerifyFailure::NotFiltered, VerifyFailure::Bypassed];
        assert_eq!(verify(&all), failures);
    }
}
