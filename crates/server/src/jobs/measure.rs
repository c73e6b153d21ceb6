//! Jobs that evaluate the brain: replays and gates, with the visibility of remote callers.

use std::time::{Instant, SystemTime};

use gbrain_core::baseline::{Baseline, BaselineIntegrity, BaselineThresholds};
use gbrain_core::capture::CapturedRow;
use gbrain_core::clock::moment;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::gate::{
    CheckStatus, ConfidenceLevel, CorrectnessThresholds, GateCheck, ThresholdSide, Verdict,
};
use gbrain_core::identity::IdentityKey;
use gbrain_core::qrels::Qrels;
use gbrain_core::replay::{LiveContext, SettingsSource};
use gbrain_core::report::json::{GateReport, ReplayReport};
use gbrain_core::request::Viewer;
use gbrain_eval::{
    BLAME_CHUNKS, GateInputs, GateOutcome, GateRun, JudgedPipeline, LocalOptions, LocalRetriever,
    ReplayCorpus, ReplayOptions, Retriever, gate as run_gate, replay as run_replay,
};

use super::public_retriever::PublicRetriever;
use super::spec::{CorpusChoice, GateSpec, ReplaySpec, RowSelection, SettingsChoice};
use super::worker::{JobOutput, RunningJob};
use crate::operations::documents::{baseline, captures_of, qrels};
use crate::telemetry::traces::{EvaluationResult, EvaluationSpan};

/// A finished measurement, for metrics and traces.
pub(super) struct MeasuredRun {
    kind: &'static str,
    rows: usize,
    verdict: Option<Verdict>,
    checks: Vec<GateCheck>,
    began: SystemTime,
    ended: SystemTime,
}

impl MeasuredRun {
    pub(super) fn of_suite(rows: usize, verdict: Verdict, began: SystemTime) -> Self {
        let (kind, ended) = (gbrain_eval::suite::KIND, SystemTime::now());
        Self { kind, rows, verdict: Some(verdict), checks: Vec::new(), began, ended }
    }

    /// Reports the run to metrics and tracing. Called only for stored runs: a stopped run, or one
    /// taken over by another worker, is not reported.
    pub(super) fn publish(&self, running: &RunningJob<'_>) {
        let metrics = running.registry.metrics().workspace(running.workspace());
        metrics.run_finished(self.kind, self.rows as u64, self.ended);
        let Some(verdict) = self.verdict else { return };
        metrics.verdict(self.kind, verdict);
        let compared = self.checks.iter().filter(|check| check.status != CheckStatus::NotCompared);
        let compared: Vec<(&GateCheck, String)> =
            compared.map(|check| (check, threshold(check))).collect();
        let results = compared.iter().map(|(check, threshold)| EvaluationResult {
            name: check.metric,
            value: check.observed,
            verdict: check.verdict(),
            explanation: Some(threshold),
        });
        running.registry.tracer().evaluation(&EvaluationSpan {
            kind: self.kind,
            workspace: running.workspace(),
            started: self.began,
            finished: self.ended,
            run_id: &running.job.info.id.to_string(),
            rows: self.rows as u64,
            verdict,
            results: &results.collect::<Vec<_>>(),
        });
    }
}

fn threshold(check: &GateCheck) -> String {
    match check.bound {
        ThresholdSide::Floor => format!("at least {}", check.threshold),
        ThresholdSide::Ceiling => format!("at most {}", check.threshold),
    }
}

pub(super) fn replay(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    let spec: ReplaySpec = running.spec()?;
    let (rows, integrity) = rows(running, &spec.against)?;
    let options = ReplayOptions {
        as_of: match spec.as_of {
            CorpusChoice::Now => ReplayCorpus::Now,
            CorpusChoice::Capture => ReplayCorpus::Capture,
        },
        settings: settings_from(spec.settings),
        concurrency: 1,
        repeats: usize::from(spec.repeats),
        blame: spec.blame,
        explain: usize::from(spec.top_regressions),
        identity: identity(running),
    };
    let began = SystemTime::now();
    let replayed = run_measurement(running, rows.len(), |target| {
        Ok(run_replay(target, &rows, &options, &|n| running.control.add_done(n))?)
    })?;
    let worst = usize::from(spec.top_regressions);
    let report = ReplayReport::new(&replayed.rows, &replayed.summary, worst, spec.verbose)
        .of_baseline(integrity);
    let measured = MeasuredRun {
        kind: "replay",
        rows: replayed.rows.len(),
        verdict: None,
        checks: Vec::new(),
        began,
        ended: SystemTime::now(),
    };
    Ok(JobOutput { measured: Some(measured), ..JobOutput::with(&report)? })
}

pub(super) fn gate(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    let spec: GateSpec = running.spec()?;
    let inputs = GateDocuments::read(running, &spec)?;
    let gated = GateInputs {
        baseline: inputs.baseline.as_ref().map(|(baseline, by)| (baseline, *by)),
        judged: inputs.qrels.as_ref().map(|(qrels, by)| (qrels.queries.as_slice(), *by)),
        k: usize::from(spec.k),
        confidence: inputs.confidence,
        pipeline: pipeline(&spec),
        replay: ReplayOptions {
            settings: settings_from(spec.settings),
            repeats: usize::from(spec.repeats),
            explain: 5,
            blame: is_small(running)?,
            identity: identity(running),
            ..ReplayOptions::default()
        },
    };
    let count = gated.count();
    let (started, began) = (Instant::now(), SystemTime::now());
    let outcome = run_measurement(running, count, |target| {
        Ok(run_gate(target, &gated, &|n| running.control.add_done(n))?)
    })?;
    let run = GateRun {
        baseline: spec.baseline.as_deref().unwrap_or_default(),
        qrels: spec.qrels.as_deref().unwrap_or_default(),
        provenance: None,
        elapsed_ms: started.elapsed().as_micros() as f64 / 1000.0,
    };
    let measured = MeasuredRun {
        kind: "gate",
        rows: count,
        verdict: Some(outcome.verdict),
        checks: checks(&outcome),
        began,
        ended: SystemTime::now(),
    };
    let done = JobOutput::with(&GateReport::new(&outcome.parts(&gated, run)))?;
    Ok(JobOutput { measured: Some(measured), ..done })
}

fn identity(running: &RunningJob<'_>) -> Option<IdentityKey> {
    running.registry.suites().identity.map(|key| key.for_workspace(running.workspace()))
}

fn checks(outcome: &GateOutcome) -> Vec<GateCheck> {
    let regression = outcome.regression.iter();
    let of_regression =
        regression.flat_map(|(found, _)| found.checks.iter().chain([&found.latency]));
    let of_correctness = outcome.correctness.iter().flat_map(|found| &found.checks);
    of_regression.chain(of_correctness).cloned().collect()
}

/// Runs a measurement on the public view of the brain; a stopped one fails.
fn run_measurement<T>(
    running: &RunningJob<'_>,
    rows: usize,
    measure: impl FnOnce(&dyn Retriever) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let service = running.registry.query_service(running.workspace())?;
    let live =
        LiveContext { settings: service.brain().settings()?, now: moment(SystemTime::now()) };
    running.control.set_note("indexing");
    let indexing = |done: i64, total: i64| {
        running.control.set_progress(done.unsigned_abs(), total.unsigned_abs());
        running.control.check_stop()
    };
    let local = LocalRetriever::new(service.brain(), LocalOptions::new(live), &indexing)?;
    running.control.set_note("asking");
    running.control.set_progress(0, rows as u64);
    let (store, workspace) = (running.registry.store(), running.workspace());
    let (retriever, control) = (Box::new(local), &running.control);
    let result = measure(&PublicRetriever { retriever, control, store, workspace })?;
    if running.control.is_stopped() {
        return Err(Fault::cancelled("the run was stopped"));
    }
    Ok(result)
}

/// The rows to replay, without those of trusted callers, which may contain private pages; and the
/// integrity of the baseline they come from.
fn rows(
    running: &RunningJob<'_>,
    against: &RowSelection,
) -> Result<(Vec<CapturedRow>, Option<BaselineIntegrity>), Fault> {
    let (mut rows, integrity) = match &against.baseline {
        Some(name) => {
            let Baseline { rows, integrity, .. } =
                baseline(running.registry, running.workspace(), name)?;
            (rows, Some(integrity))
        }
        None => (captures_of(running.registry, running.workspace(), against)?, None),
    };
    if let Some(limit) = against.limit {
        rows.truncate(limit as usize);
    }
    if rows.is_empty() {
        return Err(Fault::usage("there are no rows to replay")
            .hint("requests of remote callers are captured while eval.capture is on"));
    }
    Ok((rows, integrity))
}

pub(crate) fn refuse_trusted(rows: &[CapturedRow]) -> Result<(), Fault> {
    let is_trusted = |row: &&CapturedRow| match row.trust {
        Some(trust) => trust == Viewer::Trusted,
        None => !row.remote,
    };
    match rows.iter().filter(is_trusted).count() {
        0 => Ok(()),
        n => Err(Fault::private(format!(
            "{n} of the rows were captured from a trusted caller and may contain private pages"
        ))
        .hint("replay them with `gbrain eval replay`, or publish captures of remote callers")),
    }
}

struct GateDocuments {
    baseline: Option<(Baseline, BaselineThresholds)>,
    qrels: Option<(Qrels, CorrectnessThresholds)>,
    confidence: Option<ConfidenceLevel>,
}

impl GateDocuments {
    fn read(running: &RunningJob<'_>, spec: &GateSpec) -> Result<Self, Fault> {
        if spec.baseline.is_none() && spec.qrels.is_none() {
            return Err(Fault::usage("nothing to gate on").hint("name a baseline, qrels, or both"));
        }
        let confidence = spec.confidence.map(ConfidenceLevel::new).transpose();
        Ok(Self {
            baseline: spec
                .baseline
                .as_deref()
                .map(|name| gated_baseline(running, name, spec))
                .transpose()?,
            qrels: spec
                .qrels
                .as_deref()
                .map(|name| gated_qrels(running, name, spec))
                .transpose()?,
            confidence: confidence.map_err(|error| Fault::of(FaultKind::Usage, &error))?,
        })
    }
}

fn gated_baseline(
    running: &RunningJob<'_>,
    name: &str,
    spec: &GateSpec,
) -> Result<(Baseline, BaselineThresholds), Fault> {
    let baseline = baseline(running.registry, running.workspace(), name)?;
    let thresholds = spec.regression(baseline.metadata.thresholds);
    thresholds.check().map_err(|error| Fault::of(FaultKind::Usage, &error))?;
    Ok((baseline, thresholds))
}

fn gated_qrels(
    running: &RunningJob<'_>,
    name: &str,
    spec: &GateSpec,
) -> Result<(Qrels, CorrectnessThresholds), Fault> {
    let qrels = qrels(running.registry, running.workspace(), name)?;
    if let Some(query) = qrels.queries.iter().find(|query| query.text.is_none()) {
        return Err(Fault::usage(format!("query `{}` has no text to ask", query.id)));
    }
    let thresholds = spec.correctness();
    thresholds.check().map_err(|error| Fault::of(FaultKind::Usage, &error))?;
    Ok((qrels, thresholds))
}

fn pipeline(spec: &GateSpec) -> JudgedPipeline {
    if spec.production { JudgedPipeline::Production } else { JudgedPipeline::Fixed }
}

fn settings_from(whose: SettingsChoice) -> SettingsSource {
    match whose {
        SettingsChoice::Live => SettingsSource::Live,
        SettingsChoice::Capture => SettingsSource::Capture,
    }
}

fn is_small(running: &RunningJob<'_>) -> Result<bool, Fault> {
    Ok(running.registry.store().head(running.workspace())?.chunks <= BLAME_CHUNKS)
}
