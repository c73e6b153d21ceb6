//! Reranker thresholds, stored and listed: quality, verification and deployment.
//!
//! A threshold contains no page names and no text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibrate::{
    Calibration, CalibrationRefusal, CalibrationStatus, DeploymentObstacle, LabelCounts,
    Separation, ThresholdQuality, VerificationResult, VerifyFailure,
};

/// The version of [`ThresholdBody`].
pub(crate) const THRESHOLD_VERSION: u32 = 1;

/// The stored part of a threshold that has no columns of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThresholdBody {
    /// Version of this format.
    pub schema_version: u32,
    /// Formula of the threshold.
    pub rule: String,
    /// Lowest score of a borderline pair.
    pub min: f64,
    /// Highest score of a borderline pair.
    pub max: f64,
    /// Share of borderline pairs that score below the threshold.
    pub percentile: f64,
    /// Median minus 1.4826 median absolute deviations: a floor that is robust to outliers.
    pub robust_floor: f64,
    /// Share of relevant or borderline pairs among the labelled pairs above the threshold.
    pub precision: Option<f64>,
    /// Share of the relevant and borderline pairs that are above the threshold.
    pub recall: Option<f64>,
    /// Probability that a good pair scores above an irrelevant one; null with too few irrelevant pairs.
    pub separation: Option<f64>,
    /// Number of pairs used, by label.
    pub pairs: LabelCounts,
    /// Reasons against using it.
    pub refusals: Vec<CalibrationRefusal>,
    /// Reason given with `--force` when it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
    /// The threshold that was deployed when it was created.
    pub previous: Option<PreviousThreshold>,
    /// The most recent verification.
    pub verification: Option<Verification>,
    /// The most recent deployment.
    pub deployment: Option<Deployment>,
}

/// The threshold that was deployed before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviousThreshold {
    /// Id of the threshold.
    pub id: i64,
    /// Its reranker. Scores of different rerankers are not comparable.
    pub model: String,
    /// Minimum rerank score of a result.
    pub threshold: f64,
}

/// Verification of a threshold against a suite's cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThresholdTrial")]
pub struct Verification {
    /// Time of the verification.
    pub at: String,
    /// Target that was queried.
    pub target: String,
    /// Whether it may be deployed.
    pub passed: bool,
    /// Reasons why it may not.
    pub failures: Vec<VerifyFailure>,
    /// Number of cases in the verification.
    pub n: u64,
    /// Cases with an expected result in the first five.
    pub hits: u64,
    /// Cases whose expected result scored below the threshold.
    pub lost: u64,
    /// Results that were returned although they scored below the threshold.
    pub leaked: u64,
    /// Results that were dropped.
    pub filtered: u64,
    /// Answers to which the threshold was not applied.
    pub bypassed: u64,
    /// Cases without an answer.
    pub errors: u64,
    /// Generation of the corpus; only for the local brain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Further remarks in plain text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Verification {
    /// The counts that decide whether it passed.
    pub fn verified(&self) -> VerificationResult {
        let Self { n, hits, leaked, bypassed, errors, .. } = *self;
        VerificationResult { hits, n, leaked, bypassed, errors }
    }
}

/// Deployment of a threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// Time of the deployment.
    pub at: String,
    /// Checks that failed before the deployment.
    pub obstacles: Vec<DeploymentObstacle>,
    /// Reason given with `--force`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
}

impl ThresholdBody {
    /// The stored part of a calibration.
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
            worth: ThresholdQuality { precision, recall, n: _ },
            separation,
            refusals,
        } = calibration;
        // Invalid scores can yield NaN, which JSON cannot represent; `refusals` names them.
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

/// A threshold with its statistics.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RerankThreshold")]
pub struct ThresholdInfo {
    /// Id of the threshold.
    pub id: i64,
    /// Id of the reranker.
    pub model: String,
    /// Status of the threshold.
    pub status: CalibrationStatus,
    /// Minimum rerank score of a result.
    pub threshold: f64,
    /// Number of borderline pairs.
    pub n: u64,
    /// Mean score of the borderline pairs.
    pub mean: f64,
    /// Their sample standard deviation.
    pub sigma: f64,
    /// Time of its creation.
    pub created_at: String,
    /// Time of its last status change.
    pub decided_at: Option<String>,
    /// Quality, verification and deployment.
    #[serde(flatten)]
    pub body: ThresholdBody,
}

/// A list of thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RerankThresholds")]
pub struct HistoryBody {
    /// The thresholds, newest first.
    pub thresholds: Vec<ThresholdInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{PairLabel, ScoredLabel, calibrate};

    #[test]
    fn a_body_there_and_back() {
        let score =
            |at: u32| ScoredLabel { label: PairLabel::Borderline, score: f64::from(at) / 40.0 };
        let pairs: Vec<ScoredLabel> = (0..30).map(score).collect();
        let found = calibrate(&pairs).unwrap();
        let counts = LabelCounts { borderline: 30, ..LabelCounts::default() };
        let mut body = ThresholdBody::new(&found, counts);
        body.forced = Some("why not".to_owned());
        let bad = [f64::NAN, f64::INFINITY, 1e300, -1e300]
            .map(|score| ScoredLabel { label: PairLabel::Borderline, score });
        let bad = ThresholdBody::new(&calibrate(&bad).unwrap(), counts);
        let read = serde_json::to_string(&bad).unwrap();
        assert_eq!(serde_json::from_str::<ThresholdBody>(&read).unwrap().refusals, bad.refusals);
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!(serde_json::from_str::<ThresholdBody>(&text).unwrap(), body);
        assert_eq!(serde_json::from_str::<ThresholdBody>("{}").unwrap(), ThresholdBody::default());
    }
}
