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
    /// The regression gate.
    pub regression: Option<RegressionParts<'a>>,
    /// The correctness gate.
    pub correctness: Option<CorrectnessParts<'a>>,
    /// How sure a breach had to be, if that was asked.
    pub confidence: Option<Confidence>,
    /// What answered.
    pub provenance: Option<&'a Provenance>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

/// What the regression gate was given and found.
#[derive(Debug)]
pub struct RegressionParts<'a> {
    /// The file.
    pub path: &'a str,
    /// Its metadata.
    pub metadata: &'a Metadata,
    /// Whether an edit would have been seen.
    pub integrity: Integrity,
    /// The thresholds that applied.
    pub thresholds: Thresholds,
    /// What was found.
    pub found: &'a Regression,
    /// Every row.
    pub rows: &'a [ReplayedRow],
}

/// What the correctness gate was given and found.
#[derive(Debug)]
pub struct CorrectnessParts<'a> {
    /// The file.
    pub path: &'a str,
    /// The thresholds that applied.
    pub thresholds: CorrectnessThresholds,
    /// `fixed` or `production`.
    pub pipeline: &'static str,
    /// What was found.
    pub found: &'a Correctness,
}
