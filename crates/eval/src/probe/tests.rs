use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gbrain_brain::built_in_models;
use gbrain_core::config::PROBE_ENABLED;
use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::ProbeOutcome;
use gbrain_llm::ModelCatalog;
use gbrain_store::{Location, OpenMode, RunKind};
use jiff::Timestamp;
use tempfile::TempDir;

use super::claim::{Claim, StopCause};
use super::*;

/// Long enough for a slow machine, and short enough to be waited for.
const LEASE: Duration = Duration::from_millis(400);

/// A store with an enabled probe and no model.
fn probes() -> (TempDir, Probes) {
    let dir = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(dir.path().join("brain.db"));
    let store = gbrain_store::Store::open(&location, OpenMode::Init, Timestamp::now()).unwrap();
    store.config_set(&WorkspaceId::default(), PROBE_ENABLED, "true").unwrap();
    let probes = Probes {
        store: store.into(),
        catalog: ModelCatalog::default(),
        embedding: EmbeddingSource::Own(built_in_models()),
        audit_dir: dir.path().join("audit"),
        worker: "test".to_owned(),
        lease: LEASE,
        clock: Timestamp::now,
    };
    (dir, probes)
}

fn request(workspace: &WorkspaceId) -> ProbeRequest<'_> {
    ProbeRequest {
        workspace,
        initiator: ProbeInitiator::Autopilot,
        schedule: ScheduleCheck::Enforced,
        max_usd: None,
        cassette: None,
        stop: Arc::default(),
        progress: &|_, _, _| (),
    }
}

fn take<'a>(probes: &'a Probes, ws: &'a WorkspaceId, worker: &str) -> Option<Claim<'a>> {
    Claim::take(probes.store.as_ref(), ws, worker, "test", LEASE).unwrap()
}

#[test]
fn a_claim_runs_out_unless_it_is_held() {
    let (_dir, probes) = probes();
    let ws = WorkspaceId::default();
    let first = take(&probes, &ws, "first").unwrap();
    assert!(take(&probes, &ws, "second").is_none());
    let (stop, halt) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    let (is_mine, halted) = first.hold(&stop, &halt, || {
        std::thread::sleep(3 * LEASE);
        take(&probes, &ws, "second").is_none()
    });
    assert!(is_mine && halted.is_none(), "it beats while it works");
    // As a process that was killed.
    std::thread::sleep(2 * LEASE);
    let second = take(&probes, &ws, "second").unwrap();
    assert_eq!((first.run_id(), second.run_id()), ("1.1".to_owned(), "1.2".to_owned()));
    assert_eq!(first.budget(), second.budget(), "what was spent is spent");
    let (_, halted) = first.hold(&stop, &halt, || {
        while !halt.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    assert_eq!(halted, Some(StopCause::Lost), "one that comes back late hears that it lost");
    assert!(!first.release().unwrap() && second.cancel().unwrap());
}

#[test]
fn a_running_probe_sees_a_stop_request() {
    let (_dir, probes) = probes();
    let ws = WorkspaceId::default();
    let claim = take(&probes, &ws, "first").unwrap();
    let (stop, halt) = (AtomicBool::new(true), Arc::new(AtomicBool::new(false)));
    let (_, halted) = claim.hold(&stop, &halt, || {
        while !halt.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    assert_eq!(halted, Some(StopCause::Stopped));
}

#[test]
fn a_missing_model_is_a_stored_error() {
    let (_dir, probes) = probes();
    let ws = WorkspaceId::default();
    let probed = probes.run(request(&ws)).unwrap();
    assert_eq!(
        (probed.event.outcome, &probed.storage),
        (ProbeOutcome::Error, &ProbeStorage::Stored)
    );
    assert!(probed.event.detail.unwrap().starts_with("no_key"));
    let again = probes.run(request(&ws)).unwrap();
    assert_eq!(
        (again.event.outcome, again.storage),
        (ProbeOutcome::RateLimited, ProbeStorage::NotStored)
    );
    let runs = probes.store.runs(&ws, RunKind::QualityProbe, Timestamp::MIN, 9).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(recent(probes.store.as_ref(), &ws, None, Timestamp::now()).unwrap().len(), 1);
    let both = recent(probes.store.as_ref(), &ws, Some(&probes.audit_dir), Timestamp::now());
    assert_eq!(both.unwrap().len(), 1, "what is in two places is one run");
}

#[test]
fn a_run_that_kills_its_process_is_given_up() {
    let (_dir, probes) = probes();
    let ws = WorkspaceId::default();
    for _ in 0..3 {
        assert!(take(&probes, &ws, "killed").is_some());
        std::thread::sleep(2 * LEASE);
    }
    let probed = probes.run(request(&ws)).unwrap();
    let detail = "it was begun 3 times, and its process was killed each time";
    assert_eq!(probed.event.outcome, ProbeOutcome::Error);
    assert_eq!(probed.event.detail.as_deref(), Some(detail));
    assert!(take(&probes, &ws, "next").is_some(), "the job is over");
}

#[test]
fn a_store_that_is_gone_is_an_error_and_no_panic() {
    let (_dir, probes) = probes();
    let unknown = WorkspaceId::new("nowhere").unwrap();
    let probed = probes.run(request(&unknown)).unwrap();
    assert_eq!(
        (probed.event.outcome, probed.storage),
        (ProbeOutcome::Error, ProbeStorage::NotStored)
    );
}

#[test]
fn an_unwritable_audit_is_reported() {
    let (dir, probes) = probes();
    std::fs::write(dir.path().join("audit"), "a file").unwrap();
    let probed = probes.run(request(&WorkspaceId::default())).unwrap();
    assert!(matches!(probed.storage, ProbeStorage::Failed(why) if why.contains("audit")));
    assert!(probed.report.run_id.is_some(), "it is in the store");
}
