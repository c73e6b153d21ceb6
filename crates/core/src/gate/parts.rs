//! What a report of a gate is made of.

use crate::baseline::{Integrity, Metadata, Thresholds};
use crate::provenance::Provenance;
use crate::replay::ReplayedRow;

use super::{Confidence, Correctness, CorrectnessThresholds, Regression, Verdict};

/// What was gated, beside what was found.
#[derive(Debug)]
pub struct GateParts<'a> {
    /// The verdict on everything.
    pub verdict: Verdict,
    pub regression: Option<RegressionParts<'a>>,
    pub correctness: Option<CorrectnessParts<'a>>,
    /// How sure a breach had to be, if that was asked.
    pub confidence: Option<Confidence>,
    pub provenance: Option<&'a Provenance>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

/// What the regression gate was given and found.
#[derive(Debug)]
pub struct RegressionParts<'a> {
    pub path: &'a str,
    pub metadata: &'a Metadata,
    /// Whether an edit would have been seen.
    pub integrity: Integrity,
    /// The thresholds that applied.
    pub thresholds: Thresholds,
    pub found: &'a Regression,
    pub rows: &'a [ReplayedRow],
}

/// What the correctness gate was given and found.
#[derive(Debug)]
pub struct CorrectnessParts<'a> {
    pub path: &'a str,
    /// The thresholds that applied.
    pub thresholds: CorrectnessThresholds,
    pub pipeline: &'static str,
    pub found: &'a Correctness,
}
