//! Input of a gate report.

use crate::baseline::{BaselineIntegrity, BaselineMetadata, BaselineThresholds};
use crate::provenance::Provenance;
use crate::replay::ReplayedRow;

use super::{ConfidenceLevel, Correctness, CorrectnessThresholds, Regression, Verdict};

/// The subject and the results of a gate.
#[derive(Debug)]
pub struct GateParts<'a> {
    /// The verdict on everything.
    pub verdict: Verdict,
    pub regression: Option<RegressionParts<'a>>,
    pub correctness: Option<CorrectnessParts<'a>>,
    /// The required confidence of a breach, if one was requested.
    pub confidence: Option<ConfidenceLevel>,
    pub provenance: Option<&'a Provenance>,
    /// Duration of the gate in milliseconds.
    pub elapsed_ms: f64,
}

/// Input and result of the regression gate.
#[derive(Debug)]
pub struct RegressionParts<'a> {
    pub path: &'a str,
    pub metadata: &'a BaselineMetadata,
    /// Whether an edit would have been seen.
    pub integrity: BaselineIntegrity,
    /// The thresholds that applied.
    pub thresholds: BaselineThresholds,
    pub found: &'a Regression,
    pub rows: &'a [ReplayedRow],
}

/// Input and result of the correctness gate.
#[derive(Debug)]
pub struct CorrectnessParts<'a> {
    pub path: &'a str,
    /// The thresholds that applied.
    pub thresholds: CorrectnessThresholds,
    pub pipeline: &'static str,
    pub found: &'a Correctness,
}
