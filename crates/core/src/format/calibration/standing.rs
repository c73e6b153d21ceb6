//! How a workspace's calibration stands, as `gbrain calibrate show` tells it.

use schemars::JsonSchema;
use serde::Serialize;

use super::ThresholdInfo;
use crate::calibrate::{Bin, Label, LabelCounts, Standing};

/// How a workspace's calibration stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationStanding")]
pub struct StandingBody {
    /// Whose.
    pub workspace: String,
    /// How it stands.
    pub state: Standing,
    /// The reranker that is set.
    pub reranker: Option<String>,
    /// The threshold that is set; 0 leaves nothing out.
    pub set_threshold: f64,
    /// The reranker that it is set for.
    pub set_for: Option<String>,
    /// Pairs that there are.
    pub pairs: LabelCounts,
    /// How many borderline pairs a calibration lacks.
    pub missing: usize,
    /// The threshold that was deployed last.
    pub in_force: Option<ThresholdInfo>,
    /// The threshold that is shown: the one that was asked for, or the newest.
    pub shown: Option<ThresholdInfo>,
    /// How much the mean score fell from what is in force to what is shown, of one reranker; negative if it
    /// rose.
    pub fell: Option<f64>,
    /// Its scores by tenths.
    pub histogram: Vec<Bin>,
    /// Its scores.
    pub scores: Vec<ScoreRow>,
}

/// The score of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PairScore")]
pub struct ScoreRow {
    /// The pair.
    pub pair: i64,
    /// What people say of it now; none if it is gone.
    pub label: Option<Label>,
    /// Its score.
    pub score: f64,
}
