//! Calibrates the reranker's threshold from pairs that reviewers labelled as borderline. Results
//! that score below the threshold are dropped.
//!
//! The playbook's rule is mean - 1 sigma of the borderline scores. As evidence for it, a
//! calibration reports the share of borderline pairs that the threshold drops, its precision and
//! recall on labelled pairs, a robust floor that resists outliers, and how well scores separate
//! good from bad pairs. Without separation, or with too few pairs, a calibration is refused; it can
//! be forced with a reason.
//!
//! Guarantees: scores of different models are never compared. Sigma is the sample standard
//! deviation (n - 1). Not here: calling a reranker, and changing settings.

mod counts;
mod deploy;
mod drift;
mod histogram;
mod separation;
mod standing;
mod verify;

pub use counts::LabelCounts;
pub use deploy::{DeployCandidate, DeploymentObstacle, StoredVerification, obstacles};
pub use drift::{Drift, drift};
pub use histogram::{ScoreBin, histogram};
pub use separation::{Separation, separation};
pub use standing::{OLD_DAYS, ThresholdState, ThresholdStatus, threshold_status};
pub use verify::{FEWEST_QUERIES, VerificationResult, VerifyFailure, verify};

use schemars::JsonSchema;
use serde::Serialize;

use crate::hash::Hash;
use crate::named;
use crate::stats::{deviation, mean};
use crate::suite::query::CanonicalQuery;

/// Minimum number of borderline pairs.
pub const FEWEST: usize = 30;
/// Maximum number of borderline pairs; the newest are used.
pub const MOST: usize = 50;
/// Minimum separation: the probability that a random relevant or borderline pair scores above a
/// random irrelevant one.
pub(crate) const SEPARATES: f64 = 0.7;
/// Minimum number of irrelevant pairs for a separation.
pub(crate) const FEWEST_BAD: usize = 10;

/// Tolerance for comparing scores.
const SAME: f64 = 1e-9;

named! {
    /// The label of a pair.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum PairLabel {
        /// The passage answers the query.
        Relevant = "relevant",
        Borderline = "borderline",
        Irrelevant = "irrelevant",
    }
}

named! {
    /// The origin of a pair. When labels conflict, the later variant wins.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum PairOrigin {
        /// The answer key of a canonical query, or a result unrelated to it.
        Canonical = "canonical",
        /// User feedback on an answer.
        Feedback = "feedback",
        #[default]
        Manual = "manual",
    }
}

/// A query and a passage with their label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibrationPair {
    /// Id of the pair.
    pub id: i64,
    /// Label of the pair.
    pub label: PairLabel,
    /// Origin of the pair.
    pub origin: PairOrigin,
    /// Id of the document.
    pub document: String,
    /// Id of the passage.
    pub chunk: String,
    /// Text of the query, scrubbed.
    pub query: String,
    /// Text of the passage.
    pub text: String,
    /// Whether the label names this passage. Otherwise the passage was chosen from the document,
    /// and another passage of it is the same pair.
    #[serde(skip)]
    pub is_named: bool,
}

impl CalibrationPair {
    /// Identifies the pair: the query, and the passage or the document.
    pub fn identity(&self) -> (Hash, &str) {
        let of = if self.is_named { &self.chunk } else { &self.document };
        (CanonicalQuery::normalized_text_hash(&self.query), of)
    }
}

/// The id of a passage of which only the text is known.
pub fn chunk_of_text(document: &str, text: &str) -> String {
    format!("{document}#{}", Hash::of(text.as_bytes()).short())
}

/// A label with its reranker score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredLabel {
    pub label: PairLabel,
    pub score: f64,
}

named! {
    /// The lifecycle state of a calibration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CalibrationStatus {
        Candidate = "candidate",
        /// Deployed and in effect.
        Active = "active",
        /// Refused, or failed verification.
        Rejected = "rejected",
        /// Replaced by another calibration.
        Superseded = "superseded",
    }
}

named! {
    /// Why a calibration is refused.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CalibrationRefusal {
        /// There are fewer than 30 borderline pairs.
        TooFew = "too_few",
        /// A score is not a number from 0 to 1.
        BadScores = "bad_scores",
        /// All borderline scores are equal.
        NoSpread = "no_spread",
        /// Scores do not separate good from bad pairs.
        NoSeparation = "no_separation",
        /// The borderline scores are bimodal.
        TwoGroups = "two_groups",
    }
}

impl CalibrationRefusal {
    /// Whether the refusal can be overridden. Invalid scores can never give a threshold.
    pub fn may_be_forced(self) -> bool {
        self != Self::BadScores
    }

    /// Describes the refusal and the next step.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::TooFew => "there are fewer than 30 borderline pairs: collect more",
            Self::BadScores => {
                "a score is not a number from 0 to 1: this reranker cannot be calibrated"
            }
            Self::NoSpread => {
                "all borderline pairs score the same: check the pairs and the reranker"
            }
            Self::NoSeparation => {
                "irrelevant pairs score as high as the others: no threshold can separate them"
            }
            Self::TwoGroups => {
                "the borderline scores form two groups, and their mean lies between them: check the labels"
            }
        }
    }
}

/// The quality of a threshold on labelled pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdQuality {
    /// Share of relevant or borderline pairs among the kept ones.
    pub precision: Option<f64>,
    /// Share of relevant or borderline pairs that are kept.
    pub recall: Option<f64>,
    /// Number of labelled pairs.
    pub n: usize,
}

/// A calibration computed from scored pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    pub n: usize,
    pub mean: f64,
    /// The sample standard deviation.
    pub sigma: f64,
    pub min: f64,
    pub max: f64,
    /// mean - sigma, clamped to 0..=1.
    pub threshold: f64,
    /// Share of borderline pairs below the threshold.
    pub percentile: f64,
    /// The median minus 1.4826 median absolute deviations, which resists outliers.
    pub robust: f64,
    /// Quality of the threshold on all labelled pairs.
    pub worth: ThresholdQuality,
    pub separation: Option<Separation>,
    pub refusals: Vec<CalibrationRefusal>,
}

/// Computes a calibration from scored pairs; none without borderline pairs.
pub fn calibrate(pairs: &[ScoredLabel]) -> Option<Calibration> {
    let mut scores: Vec<f64> = pairs
        .iter()
        .filter(|pair| pair.label == PairLabel::Borderline)
        .map(|pair| pair.score)
        .collect();
    scores.sort_by(f64::total_cmp);
    let (min, max) = (*scores.first()?, *scores.last()?);
    let average = mean(&scores)?;
    let sigma = deviation(&scores).unwrap_or(0.0);
    let threshold = (average - sigma).clamp(0.0, 1.0);
    let below = scores.iter().filter(|score| **score < threshold).count();
    let separation = separation(pairs);
    // Sums of equal scores can differ in their last digits, which is neither a spread nor two
    // groups.
    let is_even = sigma.is_nan() || max - min <= SAME;
    let is_score = |pair: &ScoredLabel| (0.0..=1.0).contains(&pair.score);
    let refused = [
        (CalibrationRefusal::TooFew, scores.len() < FEWEST),
        (CalibrationRefusal::BadScores, !pairs.iter().all(is_score)),
        (CalibrationRefusal::NoSpread, is_even),
        (
            CalibrationRefusal::NoSeparation,
            separation.is_some_and(|one| one.chance.is_nan() || one.chance < SEPARATES),
        ),
        (CalibrationRefusal::TwoGroups, !is_even && separation::looks_like_two_groups(&scores)),
    ];
    Some(Calibration {
        n: scores.len(),
        mean: average,
        sigma,
        min,
        max,
        threshold,
        percentile: below as f64 / scores.len() as f64,
        robust: robust(&scores).clamp(0.0, 1.0),
        worth: threshold_quality(pairs, threshold),
        separation,
        refusals: refused.into_iter().filter(|(_, is_so)| *is_so).map(|(why, _)| why).collect(),
    })
}

fn threshold_quality(pairs: &[ScoredLabel], threshold: f64) -> ThresholdQuality {
    let is_good = |pair: &&ScoredLabel| pair.label != PairLabel::Irrelevant;
    let kept: Vec<&ScoredLabel> = pairs.iter().filter(|pair| pair.score >= threshold).collect();
    let good_kept = kept.iter().copied().filter(is_good).count();
    let good = pairs.iter().filter(is_good).count();
    let share = |part: usize, of: usize| (of > 0).then(|| part as f64 / of as f64);
    ThresholdQuality {
        precision: share(good_kept, kept.len()),
        recall: share(good_kept, good),
        n: pairs.len(),
    }
}

/// The median minus the standard deviation estimated from the median absolute deviation.
fn robust(sorted: &[f64]) -> f64 {
    let middle = median(sorted);
    let mut distances: Vec<f64> = sorted.iter().map(|score| (score - middle).abs()).collect();
    distances.sort_by(f64::total_cmp);
    middle - 1.4826 * median(&distances)
}

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn scored(
        label: PairLabel,
        scores: impl IntoIterator<Item = f64>,
    ) -> Vec<ScoredLabel> {
        scores.into_iter().map(|score| ScoredLabel { label, score }).collect()
    }

    /// Thirty borderline scores round 0.5, in steps of a hundredth.
    pub(super) fn even() -> Vec<ScoredLabel> {
        scored(PairLabel::Borderline, (0..30).map(|at| 0.36 + f64::from(at) / 100.0))
    }

    #[test]
    fn mean_less_one_sigma_by_hand() {
        let pairs = scored(PairLabel::Borderline, [0.2, 0.4, 0.6, 0.8]);
        let found = calibrate(&pairs).unwrap();
        // Sample variance: (0.09 + 0.01 + 0.01 + 0.09) / 3.
        let sigma = (0.2f64 / 3.0).sqrt();
        assert!((found.sigma - sigma).abs() < 1e-12 && (found.mean - 0.5).abs() < 1e-12);
        assert!((found.threshold - (0.5 - sigma)).abs() < 1e-12);
        assert_eq!((found.min, found.max, found.percentile), (0.2, 0.8, 0.25));
        assert_eq!(found.refusals, [CalibrationRefusal::TooFew]);
        assert_eq!(calibrate(&[]), None);
        assert_eq!(calibrate(&scored(PairLabel::Relevant, [0.9])), None);
    }

    #[test]
    fn a_threshold_is_a_score() {
        let low = calibrate(&scored(PairLabel::Borderline, [0.0, 0.0, 0.0, 1.0])).unwrap();
        assert_eq!(low.threshold, 0.0);
        assert_eq!(calibrate(&even()).unwrap().refusals, []);
    }

    #[test]
    fn outliers_move_the_mean_and_not_the_floor() {
        let clean = calibrate(&even()).unwrap();
        let mut pairs = even();
        pairs.extend(scored(PairLabel::Borderline, [0.0, 0.0, 0.0]));
        let hurt = calibrate(&pairs).unwrap();
        assert!(clean.threshold - hurt.threshold > 0.08, "{}", hurt.threshold);
        assert!((clean.robust - hurt.robust).abs() < 0.03, "{}", hurt.robust);
    }

    #[test]
    fn refusals() {
        let refusals = |pairs: &[ScoredLabel]| calibrate(pairs).unwrap().refusals;
        let same = scored(PairLabel::Borderline, [0.5; 30]);
        assert_eq!(refusals(&same), [CalibrationRefusal::NoSpread]);
        for score in [0.1, 0.3, 0.7, 0.47, 0.99, 1.0 / 3.0] {
            let same = scored(PairLabel::Borderline, [score; 31]);
            assert_eq!(refusals(&same), [CalibrationRefusal::NoSpread], "{score}");
        }
        let nearly = (0..30).map(|at| if at % 2 == 0 { 0.7 } else { 0.7 + 1e-12 });
        assert_eq!(
            refusals(&scored(PairLabel::Borderline, nearly)),
            [CalibrationRefusal::NoSpread]
        );
        let mut bad = even();
        bad[3].score = 1.5;
        assert!(refusals(&bad).contains(&CalibrationRefusal::BadScores));
        bad[3].score = f64::NAN;
        assert!(refusals(&bad).contains(&CalibrationRefusal::BadScores));
        let mut mixed = even();
        mixed.extend(scored(PairLabel::Irrelevant, (0..12).map(|at| 0.4 + f64::from(at) / 100.0)));
        assert_eq!(refusals(&mixed), [CalibrationRefusal::NoSeparation]);
        let mut apart = even();
        apart.extend(scored(PairLabel::Irrelevant, (0..12).map(|at| f64::from(at) / 100.0)));
        assert_eq!(refusals(&apart), []);
        let two = (0..30).map(|at| if at % 2 == 0 { 0.1 + f64::from(at) / 1000.0 } else { 0.9 });
        assert_eq!(refusals(&scored(PairLabel::Borderline, two)), [CalibrationRefusal::TwoGroups]);
    }

    #[test]
    fn precision_and_recall_of_a_threshold() {
        let mut pairs = scored(PairLabel::Relevant, [0.9, 0.8]);
        pairs.extend(scored(PairLabel::Borderline, [0.5, 0.3]));
        pairs.extend(scored(PairLabel::Irrelevant, [0.6, 0.1]));
        let found = threshold_quality(&pairs, 0.5);
        assert_eq!((found.precision, found.recall, found.n), (Some(0.75), Some(0.75), 6));
        assert_eq!(
            threshold_quality(&[], 0.5),
            ThresholdQuality { precision: None, recall: None, n: 0 }
        );
    }
}
