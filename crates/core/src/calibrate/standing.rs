//! How the threshold of a workspace stands: whether there is one, of which model, and whether it is what was
//! calibrated.

use jiff::{SignedDuration, Timestamp};

use crate::named;

/// A calibration is to be made again after so many days: every quarter.
pub const OLD_DAYS: i64 = 92;

/// How a threshold stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// No reranker is set, so no score is held against anything.
    NoReranker,
    /// Nothing is left out.
    NoThreshold,
    /// Somebody set it by hand, for whichever reranker judges or to another number than was calibrated.
    ByHand,
    /// It is of another reranker than the one that judges: nothing is left out.
    Stale,
    /// It is in force, and older than a quarter.
    Old,
    /// It is in force.
    InForce,
}

named! {
    Standing {
        NoReranker = "no_reranker",
        NoThreshold = "no_threshold",
        ByHand = "by_hand",
        Stale = "stale",
        Old = "old",
        InForce = "in_force",
    }
}

impl Standing {
    /// In words, with what to do.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoReranker => "no reranker is set",
            Self::NoThreshold => "no threshold is set: nothing is left out",
            Self::ByHand => "the threshold was set by hand",
            Self::Stale => {
                "stale: the threshold is of another reranker and is not applied; calibrate again"
            }
            Self::Old => "in force, and older than a quarter: calibrate again",
            Self::InForce => "in force",
        }
    }

    /// Whether somebody should do something.
    pub fn is_amiss(self) -> bool {
        matches!(self, Self::Stale | Self::Old)
    }
}

/// What is known of a workspace's threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stands<'a> {
    /// The reranker that is set.
    pub reranker: Option<&'a str>,
    /// The threshold that is set.
    pub threshold: f64,
    /// The reranker that it is set for.
    pub of: Option<&'a str>,
    /// The calibration that was deployed last, and when.
    pub deployed: Option<(f64, Timestamp)>,
}

/// How it stands.
pub fn standing(stands: &Stands<'_>, now: Timestamp) -> Standing {
    let Stands { reranker, threshold, of, deployed } = *stands;
    let Some(reranker) = reranker else { return Standing::NoReranker };
    let quarter = SignedDuration::from_hours(24 * OLD_DAYS);
    match (of, deployed) {
        _ if threshold == 0.0 => Standing::NoThreshold,
        (Some(of), _) if of != reranker => Standing::Stale,
        (Some(_), Some((calibrated, at))) if calibrated == threshold => {
            if now.duration_since(at) > quarter { Standing::Old } else { Standing::InForce }
        }
        _ => Standing::ByHand,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_it_stands() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let ago = |days: i64| now - SignedDuration::from_hours(24 * days);
        let good = Stands {
            reranker: Some("a:m"),
            threshold: 0.4,
            of: Some("a:m"),
            deployed: Some((0.4, ago(92))),
        };
        let check = |stands: Stands<'_>, expected: Standing| {
            assert_eq!(standing(&stands, now), expected, "{stands:?}");
        };
        check(good, Standing::InForce);
        check(Stands { deployed: Some((0.4, ago(93))), ..good }, Standing::Old);
        check(Stands { reranker: None, ..good }, Standing::NoReranker);
        check(Stands { reranker: Some("b:m"), ..good }, Standing::Stale);
        check(Stands { threshold: 0.0, ..good }, Standing::NoThreshold);
        check(Stands { threshold: 0.5, ..good }, Standing::ByHand);
        check(Stands { of: None, ..good }, Standing::ByHand);
        check(Stands { deployed: None, ..good }, Standing::ByHand);
    }
}
