//! Status of captures and evaluation runs.

use gbrain_core::fault::Fault;
use gbrain_core::format::serving::EvalStatusBody;
use gbrain_store::{CaptureFilter, DocumentKind, JobFilter};
use jiff::SignedDuration;

use super::jobs::shown;
use crate::http::{NoParameters, OperationCall, Reply};
use crate::jobs::RUNS;

const RUNS_SHOWN: usize = 5;
const LABELS_COUNTED: usize = 1_000;

pub(crate) fn status(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let remote = CaptureFilter { remote: Some(true), ..CaptureFilter::default() };
    let day_ago = call.now.checked_sub(SignedDuration::from_hours(24)).ok();
    let runs = JobFilter {
        kinds: RUNS.iter().map(|kind| (*kind).to_owned()).collect(),
        ..JobFilter::default()
    };
    let counts = store.job_counts_of(ws)?;
    Reply::json(&EvalStatusBody {
        capture: call.registry.is_capturing(),
        captures: store.count_captures(ws, &remote)?,
        capture_failures_24h: store.count_capture_failures(ws, day_ago, None)?,
        baselines: store.documents(ws, DocumentKind::Baseline)?.len(),
        qrels: store.documents(ws, DocumentKind::Qrels)?.len(),
        labels: store.labels(ws, None, LABELS_COUNTED)?.len(),
        runs: store.jobs(ws, &runs, RUNS_SHOWN)?.iter().map(shown).collect(),
        queued: counts.queued,
        running: counts.running,
    })
}
