//! Jobs that measure the brain: replays and gates, as callers over a wire may see them.

use std::time::{Instant, SystemTime};

use gbrain_core::baseline::{Baseline, Integrity, Thresholds};
use gbrain_core::capture::CapturedRow;
use gbrain_core::clock::moment;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::gate::{Bound, Check, Confidence, CorrectnessThresholds, Status, Verdict};
use gbrain_core::identity::IdentityKey;
use gbrain_core::qrels::Qrels;
use gbrain_core::replay::{Live, SettingsFrom};
use gbrain_core::report::json::{GateReport, ReplayReport};
use gbrain_core::request::Viewer;
use gbrain_eval::{
    AsOf, BLAME_CHUNKS, GateInputs, GateOutcome, GateRun, LocalOptions, LocalRetriever, Pipeline,
    ReplayOptions, Retriever, gate as run_gate, replay as run_replay,
};

use super::public_retriever::PublicRetriever;
use super::spec::{GateSpec, ReplaySpec, Rows, When, Whose};
use super::worker::{Done, Held};
use crate::operations::documents::{baseline, captures_of, qrels};
use crate::telemetry::traces::{EvaluationResult, EvaluationSpan};

/// A measurement that is over, for those who count.
pub(super) struct Measured {
    kind: &'static str,
    rows: usize,
    verdict: Option<Verdict>,
    checks: Vec<Check>,
    began: SystemTime,
    ended: SystemTime,
}

impl Measured {
    /// A run of a suite.
    pub(super) fn of_suite(rows: usize, verdict: Verdict, began: SystemTime) -> Self {
        let (kind, ended) = (gbrain_eval::suite::KIND, SystemTime::now());
        Self { kind, rows, verdict: Some(verdict), checks: Vec::new(), began, ended }
    }

    /// Counts it and makes its span. Only what was kept is told of: a run that was stopped, or that
    /// another worker has by now, says nothing about the brain.
    pub(super) fn tell(&self, held: &Held<'_>) {
        let metrics = held.house.metrics().workspace(held.workspace());
        metrics.run_finished(self.kind, self.rows as u64, self.ended);
        let Some(verdict) = self.verdict else { return };
        metrics.verdict(self.kind, verdict);
        let compared = self.checks.iter().filter(|check| check.status != Status::NotCompared);
        let compared: Vec<(&Check, String)> =
            compared.map(|check| (check, threshold(check))).collect();
        let results = compared.iter().map(|(check, threshold)| EvaluationResult {
            name: check.metric,
            value: check.observed,
            verdict: check.verdict(),
            explanation: Some(threshold),
        });
        held.house.tracer().evaluation(&EvaluationSpan {
            kind: self.kind,
            workspace: held.workspace(),
            started: self.began,
            finished: self.ended,
            run_id: &held.job.info.id.to_string(),
            rows: self.rows as u64,
            verdict,
            results: &results.collect::<Vec<_>>(),
        });
    }
}

fn threshold(check: &Check) -> String {
    match check.bound {
        Bound::Floor => format!("at least {}", check.threshold),
        Bound::Ceiling => format!("at most {}", check.threshold),
    }
}

pub(super) fn replay(held: &Held<'_>) -> Result<Done, Fault> {
    let spec: ReplaySpec = held.spec()?;
    let (rows, integrity) = rows(held, &spec.against)?;
    let options = ReplayOptions {
        as_of: match spec.as_of {
            When::Now => AsOf::Now,
            When::Capture => AsOf::Capture,
        },
        settings: settings_from(spec.settings),
        concurrency: 1,
        repeats: usize::from(spec.repeats),
        blame: spec.blame,
        explain: usize::from(spec.top_regressions),
        identity: identity(held),
    };
    let began = SystemTime::now();
    let replayed = measured(held, rows.len(), |target| {
        Ok(run_replay(target, &rows, &options, &|n| held.going.add(n))?)
    })?;
    let worst = usize::from(spec.top_regressions);
    let report = ReplayReport::new(&replayed.rows, &replayed.summary, worst, spec.verbose)
        .of_baseline(integrity);
    let measured = Measured {
        kind: "replay",
        rows: replayed.rows.len(),
        verdict: None,
        checks: Vec::new(),
        began,
        ended: SystemTime::now(),
    };
    Ok(Done { measured: Some(measured), ..Done::with(&report)? })
}

pub(super) fn gate(held: &Held<'_>) -> Result<Done, Fault> {
    let spec: GateSpec = held.spec()?;
    let inputs = Inputs::read(held, &spec)?;
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
            blame: is_small(held)?,
            identity: identity(held),
            ..ReplayOptions::default()
        },
    };
    let count = gated.count();
    let (started, began) = (Instant::now(), SystemTime::now());
    let outcome =
        measured(held, count, |target| Ok(run_gate(target, &gated, &|n| held.going.add(n))?))?;
    let run = GateRun {
        baseline: spec.baseline.as_deref().unwrap_or_default(),
        qrels: spec.qrels.as_deref().unwrap_or_default(),
        provenance: None,
        elapsed_ms: started.elapsed().as_micros() as f64 / 1000.0,
    };
    let measured = Measured {
        kind: "gate",
        rows: count,
        verdict: Some(outcome.verdict),
        checks: checks(&outcome),
        began,
        ended: SystemTime::now(),
    };
    let done = Done::with(&GateReport::new(&outcome.parts(&gated, run)))?;
    Ok(Done { measured: Some(measured), ..done })
}

/// The key of the workspace's captures.
fn identity(held: &Held<'_>) -> Option<IdentityKey> {
    held.house.suites().identity.map(|key| key.for_workspace(held.workspace()))
}

fn checks(outcome: &GateOutcome) -> Vec<Check> {
    let regression = outcome.regression.iter();
    let of_regression =
        regression.flat_map(|(found, _)| found.checks.iter().chain([&found.latency]));
    let of_correctness = outcome.correctness.iter().flat_map(|found| &found.checks);
    of_regression.chain(of_correctness).cloned().collect()
}

/// Runs a measurement on the brain as outsiders see it; one that was stopped half-way gives nothing.
fn measured<T>(
    held: &Held<'_>,
    rows: usize,
    measure: impl FnOnce(&dyn Retriever) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let door = held.house.door(held.workspace())?;
    let live = Live { settings: door.brain().settings()?, now: moment(SystemTime::now()) };
    held.going.say("indexing");
    let indexing = |done: i64, total: i64| {
        held.going.at(done.unsigned_abs(), total.unsigned_abs());
        held.going.onward()
    };
    let local = LocalRetriever::new(door.brain(), LocalOptions::new(live), &indexing)?;
    held.going.say("asking");
    held.going.at(0, rows as u64);
    let (store, workspace) = (held.house.store(), held.workspace());
    let (retriever, going) = (Box::new(local), &held.going);
    let result = measure(&PublicRetriever { retriever, going, store, workspace })?;
    if held.going.is_halted() {
        return Err(Fault::cancelled("the run was stopped"));
    }
    Ok(result)
}

/// The rows to ask again: none that a trusted caller asked, for what it saw is not for outsiders.
/// With them, what was checked of the baseline that they are of.
fn rows(held: &Held<'_>, against: &Rows) -> Result<(Vec<CapturedRow>, Option<Integrity>), Fault> {
    let (mut rows, integrity) = match &against.baseline {
        Some(name) => {
            let Baseline { rows, integrity, .. } = baseline(held.house, held.workspace(), name)?;
            (rows, Some(integrity))
        }
        None => (captures_of(held.house, held.workspace(), against)?, None),
    };
    if let Some(limit) = against.limit {
        rows.truncate(limit as usize);
    }
    if rows.is_empty() {
        return Err(Fault::usage("there are no rows to ask again").hint(
            "rows are captured while eval.capture is on, and count from callers over a wire",
        ));
    }
    Ok((rows, integrity))
}

/// Refuses rows of trusted callers.
pub(crate) fn refuse_trusted(rows: &[CapturedRow]) -> Result<(), Fault> {
    let is_trusted = |row: &&CapturedRow| match row.trust {
        Some(trust) => trust == Viewer::Trusted,
        None => !row.remote,
    };
    match rows.iter().filter(is_trusted).count() {
        0 => Ok(()),
        n => Err(Fault::private(format!(
            "{n} of the rows were asked by a trusted caller, who may have seen private pages"
        ))
        .hint("replay them with `gbrain eval replay`, or publish what was captured over the wire")),
    }
}

struct Inputs {
    baseline: Option<(Baseline, Thresholds)>,
    qrels: Option<(Qrels, CorrectnessThresholds)>,
    confidence: Option<Confidence>,
}

impl Inputs {
    fn read(held: &Held<'_>, spec: &GateSpec) -> Result<Self, Fault> {
        if spec.baseline.is_none() && spec.qrels.is_none() {
            return Err(Fault::usage("nothing to gate on").hint("name a baseline, qrels, or both"));
        }
        let confidence = spec.confidence.map(Confidence::new).transpose();
        Ok(Self {
            baseline: spec
                .baseline
                .as_deref()
                .map(|name| gated_baseline(held, name, spec))
                .transpose()?,
            qrels: spec.qrels.as_deref().map(|name| gated_qrels(held, name, spec)).transpose()?,
            confidence: confidence.map_err(|error| Fault::of(FaultKind::Usage, &error))?,
        })
    }
}

fn gated_baseline(
    held: &Held<'_>,
    name: &str,
    spec: &GateSpec,
) -> Result<(Baseline, Thresholds), Fault> {
    let baseline = baseline(held.house, held.workspace(), name)?;
    let thresholds = spec.regression(baseline.metadata.thresholds);
    thresholds.check().map_err(|error| Fault::of(FaultKind::Usage, &error))?;
    Ok((baseline, thresholds))
}

fn gated_qrels(
    held: &Held<'_>,
    name: &str,
    spec: &GateSpec,
) -> Result<(Qrels, CorrectnessThresholds), Fault> {
    let qrels = qrels(held.house, held.workspace(), name)?;
    if let Some(query) = qrels.queries.iter().find(|query| query.text.is_none()) {
        return Err(Fault::usage(format!("query `{}` has no text to ask", query.id)));
    }
    let thresholds = spec.correctness();
    thresholds.check().map_err(|error| Fault::of(FaultKind::Usage, &error))?;
    Ok((qrels, thresholds))
}

fn pipeline(spec: &GateSpec) -> Pipeline {
    if spec.production { Pipeline::Production } else { Pipeline::Fixed }
}

fn settings_from(whose: Whose) -> SettingsFrom {
    match whose {
        Whose::Live => SettingsFrom::Live,
        Whose::Capture => SettingsFrom::Capture,
    }
}

fn is_small(held: &Held<'_>) -> Result<bool, Fault> {
    Ok(held.house.store().head(held.workspace())?.chunks <= BLAME_CHUNKS)
}
