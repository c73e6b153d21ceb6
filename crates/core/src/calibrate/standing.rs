//! The status of a workspace's threshold: whether it exists, which model it belongs to, and whether
//! it matches the deployed calibration.

use jiff::{SignedDuration, Timestamp};

use crate::named;

/// A calibration expires after this many days, one quarter.
pub const OLD_DAYS: i64 = 92;

named! {
    /// The status of a threshold.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ThresholdStatus {
        /// No reranker is configured, so the threshold has no effect.
        NoReranker = "no_reranker",
        /// No threshold is configured; nothing is dropped.
        NoThreshold = "no_threshold",
        /// Set by hand, for any reranker or to another value than the calibrated one.
        ByHand = "by_hand",
        /// It belongs to another reranker than the configured one, so it is not applied.
        Stale = "stale",
        /// In effect, but older than a quarter.
        Old = "old",
        InForce = "in_force",
    }
}

impl ThresholdStatus {
    /// Describes the status and the next step.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoReranker => "no reranker is configured",
            Self::NoThreshold => "no threshold is configured: no results are dropped",
            Self::ByHand => "the threshold was set by hand",
            Self::Stale => {
                "stale: the threshold belongs to another reranker and is not applied; calibrate again"
            }
            Self::Old => "in effect, but older than a quarter: calibrate again",
            Self::InForce => "in effect",
        }
    }

    /// Whether the status needs action.
    pub fn is_amiss(self) -> bool {
        matches!(self, Self::Stale | Self::Old)
    }
}

/// The configured threshold and the last deployment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdState<'a> {
    /// The configured reranker, if any.
    pub reranker: Option<&'a str>,
    pub threshold: f64,
    /// The reranker that it is configured for.
    pub of: Option<&'a str>,
    /// Threshold and time of the last deployed calibration.
    pub deployed: Option<(f64, Timestamp)>,
}

/// The status of a threshold.
pub fn threshold_status(stands: &ThresholdState<'_>, now: Timestamp) -> ThresholdStatus {
    let ThresholdState { reranker, threshold, of, deployed } = *stands;
    let Some(reranker) = reranker else { return ThresholdStatus::NoReranker };
    let quarter = SignedDuration::from_hours(24 * OLD_DAYS);
    match (of, deployed) {
        _ if threshold == 0.0 => ThresholdStatus::NoThreshold,
        (Some(of), _) if of != reranker => ThresholdStatus::Stale,
        (Some(_), Some((calibrated, at))) if calibrated == threshold => {
            if now.duration_since(at) > quarter {
                ThresholdStatus::Old
            } else {
                ThresholdStatus::InForce
            }
        }
        _ => ThresholdStatus::ByHand,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let ago = |days: i64| now - SignedDuration::from_hours(24 * days);
        let good = ThresholdState {
            reranker: Some("a:m"),
            threshold: 0.4,
            of: Some("a:m"),
            deployed: Some((0.4, ago(92))),
        };
        let check = |stands: ThresholdState<'_>, expected: ThresholdStatus| {
            assert_eq!(threshold_status(&stands, now), expected, "{stands:?}");
        };
        check(good, ThresholdStatus::InForce);
        check(ThresholdState { deployed: Some((0.4, ago(93))), ..good }, ThresholdStatus::Old);
        check(ThresholdState { reranker: None, ..good }, ThresholdStatus::NoReranker);
        check(ThresholdState { reranker: Some("b:m"), ..good }, ThresholdStatus::Stale);
        check(ThresholdState { threshold: 0.0, ..good }, ThresholdStatus::NoThreshold);
        check(ThresholdState { threshold: 0.5, ..good }, ThresholdStatus::ByHand);
        check(ThresholdState { of: None, ..good }, ThresholdStatus::ByHand);
        check(ThresholdState { deployed: None, ..good }, ThresholdStatus::ByHand);
    }
}
