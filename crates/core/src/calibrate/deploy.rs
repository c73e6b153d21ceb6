//! Decides whether a threshold may be deployed: it was not refused, and it was recently verified
//! with enough queries against the configured reranker and the current corpus.

use jiff::{SignedDuration, Timestamp};

use super::{CalibrationRefusal, FEWEST_QUERIES};
use crate::named;

/// A verification expires after this many days, because the corpus and the queries change.
pub(crate) const FRESH_DAYS: i64 = 7;
/// Maximum allowed clock skew.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

named! {
    /// A reason that prevents deployment.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DeploymentObstacle {
        /// No reranker is configured.
        NoReranker = "no_reranker",
        /// The threshold belongs to another reranker than the configured one.
        OtherModel = "other_model",
        /// The threshold was computed from invalid scores.
        BadScores = "bad_scores",
        /// The calibration was refused and not forced.
        Refused = "refused",
        NotVerified = "not_verified",
        VerifyFailed = "verify_failed",
        /// The verification has expired.
        VerifyOld = "verify_old",
        /// The verification is dated in the future.
        VerifyInFuture = "verify_in_future",
        /// The verification used too few queries.
        TooFewQueries = "too_few_queries",
        /// The corpus changed since the verification.
        OtherCorpus = "other_corpus",
    }
}

impl DeploymentObstacle {
    /// Whether the obstacle can be overridden. A threshold without a reranker or without valid
    /// scores is meaningless.
    pub fn may_be_forced(self) -> bool {
        !matches!(self, Self::NoReranker | Self::OtherModel | Self::BadScores)
    }

    /// Describes the obstacle and the next step.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoReranker => {
                "no reranker is configured: run `gbrain config set models.rerank PROVIDER:MODEL`"
            }
            Self::OtherModel => {
                "another reranker is configured: run `gbrain calibrate score` with it"
            }
            Self::BadScores => "it was computed from invalid scores",
            Self::Refused => "it was refused: see `gbrain calibrate show`",
            Self::NotVerified => "it was not verified: run `gbrain calibrate verify`",
            Self::VerifyFailed => "its verification failed: see `gbrain calibrate show`",
            Self::VerifyOld => {
                "its verification is older than 7 days: run `gbrain calibrate verify`"
            }
            Self::VerifyInFuture => {
                "its verification is dated in the future: correct the clock, then run `gbrain calibrate verify`"
            }
            Self::TooFewQueries => {
                "its verification used fewer than 20 canonical queries: add some, then run `gbrain calibrate verify`"
            }
            Self::OtherCorpus => {
                "pages were written or deleted since its verification: run `gbrain calibrate verify`"
            }
        }
    }
}

/// A stored verification result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredVerification {
    pub passed: bool,
    pub at: Timestamp,
    pub queries: u64,
    /// Corpus generation; none if unknown.
    pub generation: Option<i64>,
}

/// A threshold to deploy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeployCandidate<'a> {
    /// The reranker that it was computed for.
    pub model: &'a str,
    /// The configured reranker, if any.
    pub set: Option<&'a str>,
    pub refusals: &'a [CalibrationRefusal],
    /// Whether the refusals were overridden.
    pub was_forced: bool,
    pub tried: Option<StoredVerification>,
    /// The current corpus generation.
    pub generation: i64,
}

/// The reasons that prevent deployment.
pub fn obstacles(applicant: &DeployCandidate<'_>, now: Timestamp) -> Vec<DeploymentObstacle> {
    let DeployCandidate { model, set, refusals, was_forced, tried, generation } = *applicant;
    let passed = tried.filter(|tried| tried.passed);
    let fresh = SignedDuration::from_hours(24 * FRESH_DAYS);
    let is_old = |at: Timestamp| now.duration_since(at) > fresh;
    let found = [
        (DeploymentObstacle::NoReranker, set.is_none()),
        (DeploymentObstacle::OtherModel, set.is_some_and(|set| set != model)),
        (DeploymentObstacle::BadScores, refusals.contains(&CalibrationRefusal::BadScores)),
        (DeploymentObstacle::Refused, !refusals.is_empty() && !was_forced),
        (DeploymentObstacle::NotVerified, tried.is_none()),
        (DeploymentObstacle::VerifyFailed, tried.is_some_and(|tried| !tried.passed)),
        (DeploymentObstacle::VerifyOld, passed.is_some_and(|one| is_old(one.at))),
        (
            DeploymentObstacle::VerifyInFuture,
            passed.is_some_and(|one| one.at.duration_since(now) > SKEW),
        ),
        (DeploymentObstacle::TooFewQueries, passed.is_some_and(|one| one.queries < FEWEST_QUERIES)),
        (
            DeploymentObstacle::OtherCorpus,
            passed.is_some_and(|one| one.generation != Some(generation)),
        ),
    ];
    found.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obstacles_to_deployment() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let week = SignedDuration::from_hours(24 * 7);
        let trial =
            StoredVerification { passed: true, at: now - week, queries: 20, generation: Some(7) };
        let tried = |passed, at| Some(StoredVerification { passed, at, ..trial });
        let good = DeployCandidate {
            model: "a:m",
            set: Some("a:m"),
            refusals: &[],
            was_forced: false,
            tried: Some(trial),
            generation: 7,
        };
        let check = |applicant: DeployCandidate<'_>, expected: &[DeploymentObstacle]| {
            assert_eq!(obstacles(&applicant, now), expected, "{applicant:?}");
        };
        check(good, &[]);
        let late = now - week - SignedDuration::from_millis(1);
        check(
            DeployCandidate { tried: tried(true, late), ..good },
            &[DeploymentObstacle::VerifyOld],
        );
        check(
            DeployCandidate { tried: tried(false, late), ..good },
            &[DeploymentObstacle::VerifyFailed],
        );
        let soon = now + SignedDuration::from_secs(61);
        check(
            DeployCandidate { tried: tried(true, soon), ..good },
            &[DeploymentObstacle::VerifyInFuture],
        );
        check(DeployCandidate { tried: tried(true, now + SKEW), ..good }, &[]);
        let few = StoredVerification { queries: 1, ..trial };
        check(DeployCandidate { tried: Some(few), ..good }, &[DeploymentObstacle::TooFewQueries]);
        check(DeployCandidate { generation: 8, ..good }, &[DeploymentObstacle::OtherCorpus]);
        let unknown = StoredVerification { generation: None, ..trial };
        check(DeployCandidate { tried: Some(unknown), ..good }, &[DeploymentObstacle::OtherCorpus]);
        check(DeployCandidate { tried: None, ..good }, &[DeploymentObstacle::NotVerified]);
        check(DeployCandidate { set: None, ..good }, &[DeploymentObstacle::NoReranker]);
        check(DeployCandidate { set: Some("b:m"), ..good }, &[DeploymentObstacle::OtherModel]);
        let refused = DeployCandidate { refusals: &[CalibrationRefusal::TooFew], ..good };
        check(refused, &[DeploymentObstacle::Refused]);
        check(DeployCandidate { was_forced: true, ..refused }, &[]);
        let bad = DeployCandidate {
            refusals: &[CalibrationRefusal::BadScores],
            was_forced: true,
            ..good
        };
        check(bad, &[DeploymentObstacle::BadScores]);
        assert!(
            !DeploymentObstacle::BadScores.may_be_forced()
                && DeploymentObstacle::Refused.may_be_forced()
        );
    }
}
