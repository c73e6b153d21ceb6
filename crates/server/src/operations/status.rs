//! How captures and measurements stand.

use gbrain_core::fault::Fault;
use gbrain_core::format::serving::EvalStatusBody;
use gbrain_store::{CaptureFilter, DocumentKind, JobFilter};
use jiff::SignedDuration;

use super::jobs::shown;
use crate::http::{Call, NoParameters, Reply};
use crate::jobs::RUNS;

/// How many runs are told of.
const RUNS_SHOWN: usize = 5;
/// Labels are counted up to this.
const LABELS_COUNTED: usize = 1_000;

/// Says how it stands.
pub(crate) fn status(call: &Call<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let (store, ws) = (call.house.store(), &call.who.workspace);
    let remote = CaptureFilter { remote: Some(true), ..CaptureFilter::default() };
    let day_ago = call.now.checked_sub(SignedDuration::from_hours(24)).ok();
    let runs = JobFilter {
        kinds: RUNS.iter().map(|kind| (*kind).to_owned()).collect(),
        ..JobFilter::default()
    };
    let counts = store.job_counts_of(ws)?;
    Reply::json(&EvalStatusBody {
        capture: call.house.is_capturing(),
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
