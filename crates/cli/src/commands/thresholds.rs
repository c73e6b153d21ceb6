//! Thresholds of a baseline as they are typed, on top of others.

use clap::Args;
use gbrain_core::baseline::BaselineThresholds;

use crate::error::CliError;

/// Thresholds that were typed.
#[derive(Debug, Args)]
pub(crate) struct ThresholdArgs {
    /// Least mean Jaccard of a replay [default: the baseline's, else 0.85].
    #[arg(long, value_name = "F")]
    threshold_jaccard: Option<f64>,
    /// Least share of unchanged first pages [default: the baseline's, else 0.80].
    #[arg(long, value_name = "F")]
    threshold_top1: Option<f64>,
    /// Most that latency may have grown, measured in the same way then and now [default: the
    /// baseline's, else 2.0].
    #[arg(long, value_name = "F")]
    threshold_latency_multiplier: Option<f64>,
}

impl ThresholdArgs {
    /// The typed thresholds, and those of `kept` for the rest. NaN and values out of range are refused.
    pub(crate) fn on(&self, kept: BaselineThresholds) -> Result<BaselineThresholds, CliError> {
        let latency = self.threshold_latency_multiplier.unwrap_or(kept.latency_multiplier);
        let thresholds = BaselineThresholds {
            jaccard: self.threshold_jaccard.unwrap_or(kept.jaccard),
            top1: self.threshold_top1.unwrap_or(kept.top1),
            latency_multiplier: latency,
        };
        thresholds.check().map_err(|error| CliError::usage(error.to_string()))?;
        Ok(thresholds)
    }
}
