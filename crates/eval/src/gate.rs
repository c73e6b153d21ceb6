//! Runs the gates: replays the baseline, runs the judged queries, and compares both with their
//! thresholds.

use gbrain_core::baseline::{Baseline, BaselineThresholds};
use gbrain_core::gate::{
    ConfidenceLevel, Correctness, CorrectnessParts, CorrectnessThresholds, GateParts, Regression,
    RegressionParts, Verdict, correctness, regression,
};
use gbrain_core::provenance::Provenance;
use gbrain_core::qrels::JudgedQuery;
use gbrain_core::replay::ReplayedRow;

use crate::{
    EvalError, JudgedPipeline, JudgedRun, Replay, ReplayOptions, Retriever, judge, replay,
};

#[derive(Debug, Clone)]
pub struct GateInputs<'a> {
    /// A baseline with the thresholds that apply to it.
    pub baseline: Option<(&'a Baseline, BaselineThresholds)>,
    /// Judged queries with the thresholds that apply to them.
    pub judged: Option<(&'a [JudgedQuery], CorrectnessThresholds)>,
    /// Number of top pages of a judged query that count.
    pub k: usize,
    /// The confidence that a breach requires.
    pub confidence: Option<ConfidenceLevel>,
    /// The pipeline that answers judged queries.
    pub pipeline: JudgedPipeline,
    pub replay: ReplayOptions,
}

/// Up to this many chunks, past corpora are indexed quickly enough to blame moved rows by default.
/// Larger brains require `eval replay --blame`.
pub const BLAME_CHUNKS: u64 = 50_000;

impl GateInputs<'_> {
    /// The number of rows and queries.
    pub fn count(&self) -> usize {
        self.baseline.as_ref().map_or(0, |(baseline, _)| baseline.rows.len())
            + self.judged.as_ref().map_or(0, |(queries, _)| queries.len())
    }
}

/// Facts about a gate run that a report shows beside the outcome.
#[derive(Debug, Clone, Copy)]
pub struct GateRun<'a> {
    /// The name of the baseline.
    pub baseline: &'a str,
    /// The name of the judgements.
    pub qrels: &'a str,
    pub provenance: Option<&'a Provenance>,
    pub elapsed_ms: f64,
}

/// The outcome of both gates.
#[derive(Debug, Clone, PartialEq)]
pub struct GateOutcome {
    /// The worse verdict of both gates.
    pub verdict: Verdict,
    /// The result of the regression gate, with its rows.
    pub regression: Option<(Regression, Vec<ReplayedRow>)>,
    pub correctness: Option<Correctness>,
}

impl GateOutcome {
    /// The parts that reports are rendered from.
    pub fn parts<'a>(&'a self, inputs: &GateInputs<'a>, run: GateRun<'a>) -> GateParts<'a> {
        let regression = inputs.baseline.zip(self.regression.as_ref());
        let correctness = inputs.judged.zip(self.correctness.as_ref());
        GateParts {
            verdict: self.verdict,
            regression: regression.map(|((baseline, thresholds), (found, rows))| RegressionParts {
                path: run.baseline,
                metadata: &baseline.metadata,
                integrity: baseline.integrity,
                thresholds,
                found,
                rows,
            }),
            correctness: correctness.map(|((_, thresholds), found)| CorrectnessParts {
                path: run.qrels,
                thresholds,
                pipeline: inputs.pipeline.name(),
                found,
            }),
            confidence: inputs.confidence,
            provenance: run.provenance,
            elapsed_ms: run.elapsed_ms,
        }
    }
}

/// Runs both gates; both must pass.
pub fn gate(
    retriever: &dyn Retriever,
    inputs: &GateInputs<'_>,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<GateOutcome, EvalError> {
    let regression = match &inputs.baseline {
        None => None,
        Some((baseline, thresholds)) => {
            let Replay { rows, .. } = replay(retriever, &baseline.rows, &inputs.replay, progress)?;
            let mut found = regression(&rows, thresholds, inputs.confidence);
            let warning = baseline.integrity.warning().map(str::to_owned);
            found.warnings.splice(0..0, warning);
            Some((found, rows))
        }
    };
    let correctness = match &inputs.judged {
        None => None,
        Some((queries, thresholds)) => {
            let threads = inputs.replay.concurrency;
            let JudgedRun { queries, pages } =
                judge(retriever, queries.to_vec(), inputs.k, inputs.pipeline, threads, progress)?;
            Some(correctness(queries, inputs.k, thresholds, inputs.confidence, &pages))
        }
    };
    // A gate without inputs is inconclusive, not a pass.
    let nothing = if regression.is_none() && correctness.is_none() {
        Verdict::Inconclusive
    } else {
        Verdict::Pass
    };
    let of_rows = regression.as_ref().map_or(Verdict::Pass, |(found, _)| found.verdict);
    let of_queries = correctness.as_ref().map_or(Verdict::Pass, |found| found.verdict);
    Ok(GateOutcome { verdict: nothing.and(of_rows).and(of_queries), regression, correctness })
}
