//! Running the gates: the baseline is replayed, the judged queries are asked, both are held
//! against their thresholds.

use gbrain_core::baseline::{Baseline, Thresholds};
use gbrain_core::gate::{
    Confidence, Correctness, CorrectnessThresholds, Regression, Verdict, correctness, regression,
};
use gbrain_core::qrels::JudgedQuery;
use gbrain_core::replay::ReplayedRow;

use crate::{EvalError, Pipeline, Replay, ReplayOptions, Target, judge, replay};

/// What is gated.
#[derive(Debug, Clone)]
pub struct GateInputs<'a> {
    /// A baseline with the thresholds that apply to it.
    pub baseline: Option<(&'a Baseline, Thresholds)>,
    /// Judged queries with the thresholds that apply to them.
    pub judged: Option<(&'a [JudgedQuery], CorrectnessThresholds)>,
    /// How many pages of a judged query count.
    pub k: usize,
    /// How sure a breach must be.
    pub confidence: Option<Confidence>,
    /// Which pipeline answers judged queries.
    pub pipeline: Pipeline,
    /// How rows are asked.
    pub replay: ReplayOptions,
}

/// What the gates found.
#[derive(Debug, Clone, PartialEq)]
pub struct GateOutcome {
    /// The worse of both.
    pub verdict: Verdict,
    /// The regression gate, with its rows.
    pub regression: Option<(Regression, Vec<ReplayedRow>)>,
    /// The correctness gate.
    pub correctness: Option<Correctness>,
}

/// Runs the gates. Both must pass.
pub fn gate(
    target: &dyn Target,
    inputs: &GateInputs<'_>,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<GateOutcome, EvalError> {
    let regression = match &inputs.baseline {
        None => None,
        Some((baseline, thresholds)) => {
            let Replay { rows, .. } = replay(target, &baseline.rows, &inputs.replay, progress)?;
            Some((regression(&rows, thresholds, inputs.confidence), rows))
        }
    };
    let correctness = match &inputs.judged {
        None => None,
        Some((queries, thresholds)) => {
            let threads = inputs.replay.concurrency;
            let judged =
                judge(target, queries.to_vec(), inputs.k, inputs.pipeline, threads, progress)?;
            Some(correctness(judged, inputs.k, thresholds, inputs.confidence))
        }
    };
    // Nothing to gate on is no verdict, and certainly not a pass.
    let nothing = if regression.is_none() && correctness.is_none() {
        Verdict::Inconclusive
    } else {
        Verdict::Pass
    };
    let of_rows = regression.as_ref().map_or(Verdict::Pass, |(found, _)| found.verdict);
    let of_queries = correctness.as_ref().map_or(Verdict::Pass, |found| found.verdict);
    Ok(GateOutcome { verdict: nothing.and(of_rows).and(of_queries), regression, correctness })
}
