//! Requests through the door into the store, out of it as lines, and back as rows.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use gbrain_brain::capture::{AuditLog, CaptureOptions, QUEUE, QueryService, software};
use gbrain_brain::{Brain, QueryOptions};
use gbrain_core::baseline::{BaselineDraft, BaselineThresholds, publish};
use gbrain_core::capture::{CapturePolicy, CapturedRow, write_line};
use gbrain_core::gate::CorrectnessThresholds;
use gbrain_core::identity::{IdentityKey, KEY_BYTES};
use gbrain_core::qrels::{JudgedQuery, Judgement};
use gbrain_core::replay::LiveContext;
use gbrain_core::request::{Caller, Request, RetrievalMode};
use gbrain_core::scrub::Scrubber;
use gbrain_eval::{
    GateInputs, GateOutcome, Input, JudgedPipeline, LocalOptions, LocalRetriever, ReplayOptions,
    gate, read_baseline, read_captures, read_publishable,
};
use gbrain_store::CaptureFilter;
use jiff::Timestamp;

use crate::campaign::identity::Question;

/// Requests per door: fewer than its queue holds, so that none is lost.
const PER_DOOR: usize = 250;
/// Pages of a judged query that count.
const K: usize = 10;

/// Asks every question through a door that captures, and waits for the rows.
pub fn capture(brain: &Arc<Brain>, questions: &[Question]) -> Result<()> {
    let audit = tempfile::Builder::new().prefix("gbrain-audit-").tempdir()?;
    let (options, settings) = (options(audit.path()), brain.settings()?);
    for (at, some) in questions.chunks(PER_DOOR).enumerate() {
        let door = QueryService::new(brain.clone(), Some(options.clone()));
        for question in some {
            let Question { request, explain, why_not } = question;
            let request = &Request { settings: settings.clone(), ..request.clone() };
            let why_not = why_not.clone();
            let ask = QueryOptions { explain: *explain, why_not, ..QueryOptions::default() };
            let caller = Caller { remote: at % 2 == 1, ..Caller::default() };
            door.answer(request, &ask, caller)?;
        }
        let drained = door.close();
        ensure!(drained.stored == some.len() as u64, "of {} requests: {drained:?}", some.len());
    }
    Ok(())
}

/// The identity key of a made-up brain.
pub const IDENTITY_KEY: IdentityKey = IdentityKey::new([7; KEY_BYTES]);

/// Capturing as it is by default, of a made-up brain.
pub fn options(audit: &Path) -> CaptureOptions {
    let policy = CapturePolicy {
        scrubber: Some(Scrubber::default()),
        identity: Some(IDENTITY_KEY),
        synthetic: true,
        software: software(),
    };
    CaptureOptions {
        policy: Ok(policy),
        sample_rate: 1.0,
        retention_days: None,
        queue: QUEUE,
        audit: AuditLog { dir: audit.to_owned() },
        observer: None,
    }
}

/// The captures of a brain as an export writes them.
pub fn lines(brain: &Brain) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    brain.store().captures(brain.workspace(), &CaptureFilter::default(), &mut |row| {
        write_line(&row, &mut lines);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(lines)
}

/// The captures of a brain, exported and read back, newest first.
pub(super) fn export(brain: &Brain) -> Result<Vec<CapturedRow>> {
    let lines = lines(brain)?;
    Ok(read_captures(Input::new(Path::new("export"), lines.as_slice()))?.rows)
}

/// Publishes the captures of a brain and gates it on them, and on the first page of each as the
/// known-right answer: the captured pages must all come back, the known-right ones need not.
pub(super) fn strict_gate(
    brain: &Brain,
    live: &LiveContext,
    rows: &[CapturedRow],
) -> Result<GateOutcome> {
    let lines = lines(brain)?;
    let publishable = read_publishable(Input::new(Path::new("export"), lines.as_slice()))?;
    // Time is not what this is about.
    let thresholds = BaselineThresholds { jaccard: 1.0, top1: 1.0, latency_multiplier: 1e6 };
    let draft = BaselineDraft {
        label: "campaign".to_owned(),
        published_at: Timestamp::UNIX_EPOCH,
        thresholds,
        why: None,
        previous: None,
        key: None,
    };
    let published = publish(publishable, &draft)?;
    let baseline = read_baseline(Input::new(Path::new("baseline"), published.text.as_bytes()))?;
    let judged: Vec<JudgedQuery> = rows.iter().filter_map(judged).collect();
    let nothing =
        CorrectnessThresholds { recall_at_k: 0.0, first_relevant_hit: 0.0, expected_top1: 0.0 };
    let inputs = GateInputs {
        baseline: Some((&baseline, thresholds)),
        judged: Some((&judged, nothing)),
        k: K,
        confidence: None,
        pipeline: JudgedPipeline::Fixed,
        replay: ReplayOptions {
            repeats: 1,
            explain: 5,
            blame: true,
            identity: Some(IDENTITY_KEY.for_workspace(brain.workspace())),
            ..ReplayOptions::default()
        },
    };
    let target = LocalRetriever::new(brain, LocalOptions::new(live.clone()), &|_, _| ())?;
    Ok(gate(&target, &inputs, &|_| ())?)
}

/// A captured query with the first page that it found as its answer; none of a row that was asked
/// in another way than judged queries are, whose stages may do their work only then.
fn judged(row: &CapturedRow) -> Option<JudgedQuery> {
    if row.mode != Some(RetrievalMode::Hybrid) || !row.degraded.is_empty() {
        return None;
    }
    let first = row.expected()?.first()?.to_string();
    Some(JudgedQuery {
        id: row.line.to_string(),
        text: Some(row.query.clone()),
        judgements: vec![Judgement { doc: first, grade: 1.0 }],
        ..JudgedQuery::default()
    })
}
