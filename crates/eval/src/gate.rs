//! Running the gates: the baseline is replayed, the judged queries are asked, both are held
//! against their thresholds.

use gbrain_core::baseline::{Baseline, Thresholds};
use gbrain_core::gate::{
    Confidence, Correctness, CorrectnessParts, CorrectnessThresholds, GateParts, Regression,
    RegressionParts, Verdict, correctness, regression,
};
use gbrain_core::provenance::Provenance;
use gbrain_core::qrels::JudgedQuery;
use gbrain_core::replay::ReplayedRow;

use crate::{EvalError, JudgedRun, Pipeline, Replay, ReplayOptions, Retriever, judge, replay};

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

/// Up to this many chunks past corpora are quick to index, so that finding out what moved a row costs
/// little. On a larger brain that is asked for: `eval replay --blame`.
pub const BLAME_CHUNKS: u64 = 50_000;

impl GateInputs<'_> {
    /// How many rows and queries are asked.
    pub fn count(&self) -> usize {
        self.baseline.as_ref().map_or(0, |(baseline, _)| baseline.rows.len())
            + self.judged.as_ref().map_or(0, |(queries, _)| queries.len())
    }
}

/// What a report says of a gate beside what was found.
#[derive(Debug, Clone, Copy)]
pub struct GateRun<'a> {
    /// What the baseline is called.
    pub baseline: &'a str,
    /// What the judgements are called.
    pub qrels: &'a str,
    pub provenance: Option<&'a Provenance>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

/// What the gates found.
#[derive(Debug, Clone, PartialEq)]
pub struct GateOutcome {
    /// The worse of both.
    pub verdict: Verdict,
    /// The regression gate, with its rows.
    pub regression: Option<(Regression, Vec<ReplayedRow>)>,
    pub correctness: Option<Correctness>,
}

impl GateOutcome {
    /// What reports are made of.
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

/// Runs the gates. Both must pass.
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
