//! The threshold of a reranker: from pairs that people called barely relevant to a score below which
//! results are dropped, and what that score is worth.
//!
//! The playbook's rule is mean - 1 sigma of the borderline scores. A rule is not evidence, so beside it
//! stand the share of borderline pairs that it drops, what it keeps and drops of labelled pairs, a robust
//! floor that outliers can't move, and whether the scores tell good from bad at all. Where they do not,
//! or where there are too few, a calibration is refused; somebody may force it and has to say why.
//!
//! Promises: scores of different models are never compared. Sigma is that of a sample (n - 1).
//! Deliberately absent: asking a reranker, and setting anything.

mod counts;
mod deploy;
mod drift;
mod histogram;
mod separation;
mod standing;
mod verify;

pub use counts::LabelCounts;
pub use deploy::{Applicant, Obstacle, Tried, obstacles};
pub use drift::{Drift, drift};
pub use histogram::{Bin, histogram};
pub use separation::{Separation, separation};
pub use standing::{OLD_DAYS, Standing, Stands, standing};
pub use verify::{FEWEST_QUERIES, Verified, VerifyFailure, verify};

use schemars::JsonSchema;
use serde::Serialize;

use crate::hash::Hash;
use crate::named;
use crate::stats::{deviation, mean};
use crate::suite::query::CanonicalQuery;

/// The fewest borderline pairs.
pub const FEWEST: usize = 30;
/// The most; the newest are taken.
pub const MOST: usize = 50;
/// How well scores must tell relevant and borderline pairs from irrelevant ones: the chance that a random
/// one of the first scores above a random one of the second.
pub(crate) const SEPARATES: f64 = 0.7;
/// The fewest irrelevant pairs that say anything about that.
pub(crate) const FEWEST_BAD: usize = 10;

/// Scores that differ by less are equal.
const SAME: f64 = 1e-9;

/// What people said of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// It answers the query.
    Relevant,
    Borderline,
    Irrelevant,
}

named! {
    Label { Relevant = "relevant", Borderline = "borderline", Irrelevant = "irrelevant" }
}

/// Where a pair comes from: who is believed when two say different things, the last most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum PairOrigin {
    /// The key of a canonical query, or a result far from it.
    Canonical,
    /// Somebody said so of an answer.
    Feedback,
    #[default]
    Manual,
}

named! {
    PairOrigin { Canonical = "canonical", Feedback = "feedback", Manual = "manual" }
}

/// A query with a passage, and what people said of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibrationPair {
    /// What names it.
    pub id: i64,
    /// What people said.
    pub label: Label,
    /// Where it comes from.
    pub origin: PairOrigin,
    /// The document.
    pub document: String,
    /// The passage.
    pub chunk: String,
    /// What was asked.
    pub query: String,
    /// The text of the passage.
    pub text: String,
    /// Whether the passage was named. Otherwise it was chosen, and another text of the document is the same
    /// pair.
    #[serde(skip)]
    pub is_named: bool,
}

impl CalibrationPair {
    /// What makes two pairs the same: the query, and the passage or the document.
    pub fn identity(&self) -> (Hash, &str) {
        let of = if self.is_named { &self.chunk } else { &self.document };
        (CanonicalQuery::text_hash(&self.query), of)
    }
}

/// What a passage is called of which only the text is known.
pub fn chunk_of_text(document: &str, text: &str) -> String {
    format!("{document}#{}", Hash::of(text.as_bytes()).short())
}

/// A pair with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    pub label: Label,
    /// What the reranker said.
    pub score: f64,
}

/// Where a calibration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CalibrationStatus {
    Candidate,
    /// It is in force.
    Active,
    /// It was refused, or failed to verify.
    Rejected,
    /// Another took its place.
    Superseded,
}

named! {
    CalibrationStatus {
        Candidate = "candidate",
        Active = "active",
        Rejected = "rejected",
        Superseded = "superseded",
    }
}

/// Why a calibration is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// There are fewer than 30 borderline pairs.
    TooFew,
    /// A score is no number from 0 to 1.
    BadScores,
    /// All borderline scores are the same.
    NoSpread,
    /// Scores do not tell good from bad.
    NoSeparation,
    /// The borderline scores look like two groups.
    TwoGroups,
}

named! {
    Refusal {
        TooFew = "too_few",
        BadScores = "bad_scores",
        NoSpread = "no_spread",
        NoSeparation = "no_separation",
        TwoGroups = "two_groups",
    }
}

impl Refusal {
    /// Whether somebody may decide otherwise. What is no score makes no threshold, whoever wants it.
    pub fn may_be_forced(self) -> bool {
        self != Self::BadScores
    }

    /// In words, with what to do.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::TooFew => "there are fewer than 30 borderline pairs: collect more",
            Self::BadScores => "a score is no number from 0 to 1: the reranker can't be calibrated",
            Self::NoSpread => {
                "all borderline pairs score the same: the pairs or the reranker are no good"
            }
            Self::NoSeparation => {
                "irrelevant pairs score as high as the others: a threshold would not tell them apart"
            }
            Self::TwoGroups => {
                "the borderline scores are two groups: their mean lies where no score is; look at the labels"
            }
        }
    }
}

/// What a threshold is worth on labelled pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Of what it keeps, the share that is relevant or borderline.
    pub precision: Option<f64>,
    /// Of what is relevant or borderline, the share that it keeps.
    pub recall: Option<f64>,
    /// Pairs that were held against it.
    pub n: usize,
}

/// A calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    pub n: usize,
    pub mean: f64,
    /// Their sample standard deviation.
    pub sigma: f64,
    pub min: f64,
    pub max: f64,
    /// mean - sigma, between 0 and 1.
    pub threshold: f64,
    /// The share of borderline pairs that score below it.
    pub percentile: f64,
    /// The median less 1.4826 median absolute deviations, which outliers can't move.
    pub robust: f64,
    /// What the threshold is worth on all labelled pairs.
    pub worth: Worth,
    /// Whether scores tell good from bad.
    pub separation: Option<Separation>,
    /// Why it should not be used.
    pub refusals: Vec<Refusal>,
}

/// Makes a calibration of scored pairs; none without borderline ones.
pub fn calibrate(pairs: &[Scored]) -> Option<Calibration> {
    let mut scores: Vec<f64> = pairs
        .iter()
        .filter(|pair| pair.label == Label::Borderline)
        .map(|pair| pair.score)
        .collect();
    scores.sort_by(f64::total_cmp);
    let (min, max) = (*scores.first()?, *scores.last()?);
    let average = mean(&scores)?;
    let sigma = deviation(&scores).unwrap_or(0.0);
    let threshold = (average - sigma).clamp(0.0, 1.0);
    let below = scores.iter().filter(|score| **score < threshold).count();
    let separation = separation(pairs);
    // Sums of equal scores differ in their last digits: that is no spread, and no two groups.
    let is_even = sigma.is_nan() || max - min <= SAME;
    let is_score = |pair: &Scored| (0.0..=1.0).contains(&pair.score);
    let refused = [
        (Refusal::TooFew, scores.len() < FEWEST),
        (Refusal::BadScores, !pairs.iter().all(is_score)),
        (Refusal::NoSpread, is_even),
        (
            Refusal::NoSeparation,
            separation.is_some_and(|one| one.chance.is_nan() || one.chance < SEPARATES),
        ),
        (Refusal::TwoGroups, !is_even && separation::looks_like_two_groups(&scores)),
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
        worth: worth(pairs, threshold),
        separation,
        refusals: refused.into_iter().filter(|(_, is_so)| *is_so).map(|(why, _)| why).collect(),
    })
}

fn worth(pairs: &[Scored], threshold: f64) -> Worth {
    let is_good = |pair: &&Scored| pair.label != Label::Irrelevant;
    let kept: Vec<&Scored> = pairs.iter().filter(|pair| pair.score >= threshold).collect();
    let good_kept = kept.iter().copied().filter(is_good).count();
    let good = pairs.iter().filter(is_good).count();
    let share = |part: usize, of: usize| (of > 0).then(|| part as f64 / of as f64);
    Worth {
        precision: share(good_kept, kept.len()),
        recall: share(good_kept, good),
        n: pairs.len(),
    }
}

/// The median less the spread of a normal distribution as the median absolute deviation tells it.
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

    pub(super) fn scored(label: Label, scores: impl IntoIterator<Item = f64>) -> Vec<Scored> {
        scores.into_iter().map(|score| Scored { label, score }).collect()
    }

    /// Thirty borderline scores round 0.5, in steps of a hundredth.
    pub(super) fn even() -> Vec<Scored> {
        scored(Label::Borderline, (0..30).map(|at| 0.36 + f64::from(at) / 100.0))
    }

    #[test]
    fn mean_less_one_sigma_by_hand() {
        let pairs = scored(Label::Borderline, [0.2, 0.4, 0.6, 0.8]);
        let found = calibrate(&pairs).unwrap();
        // Sample variance: (0.09 + 0.01 + 0.01 + 0.09) / 3.
        let sigma = (0.2f64 / 3.0).sqrt();
        assert!((found.sigma - sigma).abs() < 1e-12 && (found.mean - 0.5).abs() < 1e-12);
        assert!((found.threshold - (0.5 - sigma)).abs() < 1e-12);
        assert_eq!((found.min, found.max, found.percentile), (0.2, 0.8, 0.25));
        assert_eq!(found.refusals, [Refusal::TooFew]);
        assert_eq!(calibrate(&[]), None);
        assert_eq!(calibrate(&scored(Label::Relevant, [0.9])), None);
    }

    #[test]
    fn a_threshold_is_a_score() {
        let low = calibrate(&scored(Label::Borderline, [0.0, 0.0, 0.0, 1.0])).unwrap();
        assert_eq!(low.threshold, 0.0);
        assert_eq!(calibrate(&even()).unwrap().refusals, []);
    }

    #[test]
    fn outliers_move_the_mean_and_not_the_floor() {
        let clean = calibrate(&even()).unwrap();
        let mut pairs = even();
        pairs.extend(scored(Label::Borderline, [0.0, 0.0, 0.0]));
        let hurt = calibrate(&pairs).unwrap();
        assert!(clean.threshold - hurt.threshold > 0.08, "{}", hurt.threshold);
        assert!((clean.robust - hurt.robust).abs() < 0.03, "{}", hurt.robust);
    }

    #[test]
    fn what_is_refused() {
        let refusals = |pairs: &[Scored]| calibrate(pairs).unwrap().refusals;
        let same = scored(Label::Borderline, [0.5; 30]);
        assert_eq!(refusals(&same), [Refusal::NoSpread]);
        for score in [0.1, 0.3, 0.7, 0.47, 0.99, 1.0 / 3.0] {
            let same = scored(Label::Borderline, [score; 31]);
            assert_eq!(refusals(&same), [Refusal::NoSpread], "{score}");
        }
        let nearly = (0..30).map(|at| if at % 2 == 0 { 0.7 } else { 0.7 + 1e-12 });
        assert_eq!(refusals(&scored(Label::Borderline, nearly)), [Refusal::NoSpread]);
        let mut bad = even();
        bad[3].score = 1.5;
        assert!(refusals(&bad).contains(&Refusal::BadScores));
        bad[3].score = f64::NAN;
        assert!(refusals(&bad).contains(&Refusal::BadScores));
        let mut mixed = even();
        mixed.extend(scored(Label::Irrelevant, (0..12).map(|at| 0.4 + f64::from(at) / 100.0)));
        assert_eq!(refusals(&mixed), [Refusal::NoSeparation]);
        let mut apart = even();
        apart.extend(scored(Label::Irrelevant, (0..12).map(|at| f64::from(at) / 100.0)));
        assert_eq!(refusals(&apart), []);
        let two = (0..30).map(|at| if at % 2 == 0 { 0.1 + f64::from(at) / 1000.0 } else { 0.9 });
        assert_eq!(refusals(&scored(Label::Borderline, two)), [Refusal::TwoGroups]);
    }

    #[test]
    fn what_a_threshold_is_worth() {
        let mut pairs = scored(Label::Relevant, [0.9, 0.8]);
        pairs.extend(scored(Label::Borderline, [0.5, 0.3]));
        pairs.extend(scored(Label::Irrelevant, [0.6, 0.1]));
        let found = worth(&pairs, 0.5);
        assert_eq!((found.precision, found.recall, found.n), (Some(0.75), Some(0.75), 6));
        assert_eq!(worth(&[], 0.5), Worth { precision: None, recall: None, n: 0 });
    }
}
