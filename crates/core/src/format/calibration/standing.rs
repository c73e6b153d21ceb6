//! Overview of a workspace's calibration: the output of `gbrain calibrate show`.

use schemars::JsonSchema;
use serde::Serialize;

use super::ThresholdInfo;
use crate::calibrate::{LabelCounts, PairLabel, ScoreBin, ThresholdStatus};

/// Overview of a workspace's calibration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationStanding")]
pub struct CalibrationOverviewBody {
    /// Id of the workspace.
    pub workspace: String,
    /// State of the calibration.
    pub state: ThresholdStatus,
    /// The configured reranker; null without one.
    pub reranker: Option<String>,
    /// The configured threshold; 0 drops nothing.
    pub set_threshold: f64,
    /// The reranker that the configured threshold belongs to.
    pub set_for: Option<String>,
    /// Number of stored pairs by label.
    pub pairs: LabelCounts,
    /// Number of borderline pairs still needed for a calibration.
    pub missing: usize,
    /// The threshold deployed last.
    pub in_force: Option<ThresholdInfo>,
    /// The threshold that the histogram and scores describe: the requested one, or the newest.
    pub shown: Option<ThresholdInfo>,
    /// Drop of the mean score from the deployed to the shown threshold; negative if it rose, null if
    /// their rerankers differ.
    pub score_drop: Option<f64>,
    /// Number of scores by tenths.
    pub histogram: Vec<ScoreBin>,
    /// Scores of the shown threshold.
    pub scores: Vec<ScoreRow>,
}

/// Reranker score of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PairScore")]
pub struct ScoreRow {
    /// Id of the pair.
    pub pair: i64,
    /// Current label of the pair; null if it was deleted.
    pub label: Option<PairLabel>,
    /// Score by the reranker.
    pub score: f64,
}
