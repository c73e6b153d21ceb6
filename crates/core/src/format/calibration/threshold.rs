//! A threshold as the store keeps it and as it is told: what it is worth, how its trial went, who forced it.
//!
//! It names no page and holds no text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibrate::{
    Calibration, CalibrationStatus, LabelCounts, Obstacle, Refusal, Separation, Verified,
    VerifyFailure, Worth,
};

/// The version of [`ThresholdBody`].
pub(crate) const THRESHOLD_VERSION: u32 = 1;

/// A threshold, beside what the store has columns for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThresholdBody {
    /// The version of the form.
    pub schema_version: u32,
    /// How it was made.
    pub rule: String,
    /// The lowest borderline score.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// The share of borderline pairs that score below the threshold.
    pub percentile: f64,
    /// The median less 1.4826 median absolute deviations, which outliers can't move.
    pub robust_floor: f64,
    /// Of the labelled pairs that it keeps, the share that is relevant or borderline.
    pub precision: Option<f64>,
    /// Of the relevant and borderline pairs, the share that it keeps.
    pub recall: Option<f64>,
    /// The chance that a good pair scores above an irrelevant one; none with too few irrelevant pairs.
    pub separation: Option<f64>,
    /// Pairs that it was made of.
    pub pairs: LabelCounts,
    /// Why it should not be used.
    pub refusals: Vec<Refusal>,
    /// Why somebody made it all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
    /// What was in force when it was made.
    pub previous: Option<PreviousThreshold>,
    /// Its last trial.
    pub verification: Option<Verification>,
    /// When it was last put in force.
    pub deployment: Option<Deployment>,
}

/// What was in force before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviousThreshold {
    /// Its number.
    pub id: i64,
    /// Its reranker. Scores of another do not compare.
    pub model: String,
    /// The threshold.
    pub threshold: f64,
}

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThresholdTrial")]
pub struct Verification {
    /// When.
    pub at: String,
    /// Who was asked.
    pub target: String,
    /// Whether it may go live.
    pub passed: bool,
    /// Why it may not.
    pub failures: Vec<VerifyFailure>,
    /// Cases.
    pub n: u64,
    /// Cases with an expected result among the first five.
    pub hits: u64,
    /// Cases whose expected result scored below the threshold.
    pub lost: u64,
    /// Results that scored below the threshold and were shown all the same.
    pub leaked: u64,
    /// Results that were left out.
    pub filtered: u64,
    /// Answers whose threshold was not applied.
    pub bypassed: u64,
    /// Cases that were not answered.
    pub errors: u64,
    /// The change that the corpus was as of, of the local brain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// In words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Verification {
    /// What a trial is judged by.
    pub fn verified(&self) -> Verified {
        let Self { n, hits, leaked, bypassed, errors, .. } = *self;
        Verified { hits, n, leaked, bypassed, errors }
    }
}

/// That a threshold was put in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// When.
    pub at: String,
    /// What stood in the way.
    pub obstacles: Vec<Obstacle>,
    /// Why somebody did it all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
}

impl ThresholdBody {
    /// What is kept of a calibration.
    pub fn new(calibration: &Calibration, pairs: LabelCounts) -> Self {
        let Calibration {
            n: _,
            mean: _,
            sigma: _,
            min,
            max,
            threshold: _,
            percentile,
            robust,
            worth: Worth { precision, recall, n: _ },
            separation,
            refusals,
        } = calibration;
        // What is no score may make what is no number, which JSON can't hold; it is refused for that.
        let number = |value: &f64| if value.is_finite() { *value } else { 0.0 };
        Self {
            schema_version: THRESHOLD_VERSION,
            rule: "mean - 1 sigma (n - 1)".to_owned(),
            min: number(min),
            max: number(max),
            percentile: number(percentile),
            robust_floor: number(robust),
            precision: *precision,
            recall: *recall,
            separation: separation.map(|Separation { chance, good: _, bad: _ }| chance),
            pairs,
            refusals: refusals.clone(),
            forced: None,
            previous: None,
            verification: None,
            deployment: None,
        }
    }
}

/// A threshold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RerankThreshold")]
pub struct ThresholdInfo {
    /// Its number.
    pub id: i64,
    /// The reranker.
    pub model: String,
    /// Where it is.
    pub status: CalibrationStatus,
    /// The threshold.
    pub threshold: f64,
    /// Borderline pairs.
    pub n: u64,
    /// Their mean score.
    pub mean: f64,
    /// Their sample standard deviation.
    pub sigma: f64,
    /// When it was made.
    pub created_at: String,
    /// When it got where it is.
    pub decided_at: Option<String>,
    /// The rest.
    #[serde(flatten)]
    pub body: ThresholdBody,
}

/// Thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RerankThresholds")]
pub struct HistoryBody {
    /// The newest first.
    pub thresholds: Vec<ThresholdInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{Label, Scored, calibrate};

    #[test]
    fn a_body_there_and_back() {
        let score = |at: u32| Scored { label: Label::Borderline, score: f64::from(at) / 40.0 };
        let pairs: Vec<Scored> = (0..30).map(score).collect();
        let found = calibrate(&pairs).unwrap();
        let counts = LabelCounts { borderline: 30, ..LabelCounts::default() };
        let mut body = ThresholdBody::new(&found, counts);
        body.forced = Some("why not".to_owned());
        let bad = [f64::NAN, f64::INFINITY, 1e300, -1e300]
            .map(|score| Scored { label: Label::Borderline, score });
        let bad = ThresholdBody::new(&calibrate(&bad).unwrap(), counts);
        let read = serde_json::to_string(&bad).unwrap();
        assert_eq!(serde_json::from_str::<ThresholdBody>(&read).unwrap().refusals, bad.refusals);
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!(serde_json::from_str::<ThresholdBody>(&text).unwrap(), body);
        assert_eq!(serde_json::from_str::<ThresholdBody>("{}").unwrap(), ThresholdBody::default());
    }
}
