//! Workers that race, die and return: every job has one worker at a time, and its writes happen
//! once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gbrain_core::id::{Generation, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_core::page::Page;
use gbrain_store::{
    DeleteOutcome, HeartbeatReply, Job, JobOutcome, JobProgress, JobStep, JudgingRun, Lease,
    NewJob, PageWrite, RunKind, Store, StoreError, WriteKind,
};

use crate::database::Database;
use crate::fixture::*;
use crate::jobs::*;

on_both_engines! {
    every_job_is_claimed_once,
    a_worker_that_lost_its_job_is_not_heard,
    pages_and_checkpoint_move_together,
    pages_that_say_the_same_move_the_checkpoint,
    deletions_and_checkpoint_move_together,
    a_lost_worker_writes_no_page,
    workers_that_die_write_every_page_once,
    a_cancel_and_a_finish_race_to_one_end,
    a_beat_and_a_claim_race_to_one_owner,
    one_of_a_kind_is_one_workers_at_a_time,
    takers_race_to_one_job,
    what_a_job_measured_is_kept_with_its_end,
}

fn every_job_is_claimed_once(db: &Database) {
    let store = db.open();
    let workspaces: Vec<WorkspaceId> =
        (0..4).map(|n| WorkspaceId::new(&format!("w{n}")).unwrap()).collect();
    for ws in &workspaces {
        store.add_workspace(ws, at(0)).unwrap();
    }
    for n in 0..200 {
        let ws = &workspaces[n % workspaces.len()];
        store.add_job(ws, &new_job("import"), at(n as i64 / 10)).unwrap();
    }
    let claimed = Mutex::new(BTreeMap::<(WorkspaceId, i64), usize>::new());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (store, claimed) = (&store, &claimed);
            scope.spawn(move || {
                while let Some(job) = next_of(&*store, &format!("worker {worker}")) {
                    *claimed.lock().unwrap().entry(job).or_default() += 1;
                }
            });
        }
    });
    let claimed = claimed.into_inner().unwrap();
    assert_eq!(claimed.len(), 200);
    assert!(claimed.values().all(|count| *count == 1));
    for ws in &workspaces {
        assert_eq!(store.job_counts_of(ws).unwrap().running, 50);
    }
    assert_eq!(open_jobs(&store).queued, 0);
}

/// Claims until the queue is empty: on PostgreSQL a job locked by another is skipped, so an empty
/// claim is not enough.
fn next_of(store: &Store, worker: &str) -> Option<(WorkspaceId, i64)> {
    loop {
        if let Some(job) = try_claim(store, worker, 100) {
            assert_eq!((job.info.attempt, job.info.worker.as_deref()), (1, Some(worker)));
            return Some((job.info.workspace, job.info.id));
        }
        if open_jobs(store).queued == 0 {
            return None;
        }
    }
}

/// Every update of a worker, and whether it was accepted.
fn heard(store: &Store, id: i64, lease: &Lease) -> [bool; 6] {
    let page = plain("zombie", "written by nobody");
    let progress = JobProgress { done: 99, ..JobProgress::default() };
    let beat = store.heartbeat_job(&ws(), id, lease, &progress, at(999), at(50)).unwrap();
    let step = JobStep { id, lease, checkpoint: &|_| "wrong".to_owned(), done: 99, total: None };
    let write = PageWrite { page: &page, origin: None };
    let was_heard = |error: Option<StoreError>| match error {
        None => true,
        Some(StoreError::LeaseLost { job }) => {
            assert_eq!(job, id);
            false
        }
        Some(error) => panic!("{error:?}"),
    };
    let written = was_heard(store.write_pages_in_job(&ws(), &[write], &step, at(50)).err());
    let step = JobStep { id, lease, checkpoint: &|_| "wrong".to_owned(), done: 99, total: None };
    let keys = [key("zombie")];
    let deleted = was_heard(store.delete_pages_in_job(&ws(), &keys, &step, at(50)).err());
    [
        beat != HeartbeatReply::Lost,
        written,
        deleted,
        store.retry_job(&ws(), id, lease, "{}", at(50), at(50)).unwrap(),
        store.release_job(&ws(), id, lease, at(50)).unwrap(),
        store.finish_job(&ws(), id, lease, &JobOutcome::Done("{}".to_owned()), at(50)).unwrap(),
    ]
}

fn a_worker_that_lost_its_job_is_not_heard(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    let (_, lost) = claim(&store, "first", 2);
    let progress = JobProgress::default();
    let late = store.heartbeat_job(&ws(), id, &lost, &progress, at(13), at(12)).unwrap();
    assert_eq!(late, HeartbeatReply::Continue, "a late worker has its job until another takes it");
    let (job, kept) = claim(&store, "second", 13);
    assert_eq!(job.info.attempt, 2);
    let strangers = [
        lost.clone(),
        Lease { worker: "second".to_owned(), attempt: 1 },
        Lease { worker: "first".to_owned(), attempt: 2 },
        Lease { worker: "second".to_owned(), attempt: 3 },
    ];
    for lease in &strangers {
        assert_eq!(heard(&store, id, lease), [false; 6], "{lease:?}");
    }
    assert_eq!(heard(&store, 99, &kept), [false; 6], "no such job");
    assert_eq!(store.job(&ws(), id).unwrap().unwrap(), job, "nothing happened to it");
    assert_eq!(store.head(&ws()).unwrap().pages, 0);

    let outcome = JobOutcome::Done("{}".to_owned());
    assert!(store.finish_job(&ws(), id, &kept, &outcome, at(14)).unwrap());
    assert_eq!(heard(&store, id, &kept), [false; 6], "it is over");
    assert_eq!(state(&store, id), JobState::Done);
}

fn writes<'a>(pages: &'a [Page]) -> Vec<PageWrite<'a>> {
    pages.iter().map(|page| PageWrite { page, origin: None }).collect()
}

fn pages_and_checkpoint_move_together(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    let (_, lease) = claim(&store, "w", 2);
    let pages = [full("a", "one"), plain("b", "two")];
    let step =
        JobStep { id, lease: &lease, checkpoint: &|_| "b".to_owned(), done: 2, total: Some(4) };
    let outcomes = store.write_pages_in_job(&ws(), &writes(&pages), &step, at(3)).unwrap();
    assert_eq!(outcomes.iter().map(|o| o.kind).collect::<Vec<_>>(), [WriteKind::Added; 2]);
    assert_eq!(store.page(&ws(), &key("a")).unwrap().unwrap().page, pages[0]);
    let job = store.job(&ws(), id).unwrap().unwrap();
    assert_eq!(job.checkpoint.as_deref(), Some("b"));
    assert_eq!((job.info.done, job.info.total, job.info.updated_at), (2, Some(4), at(3)));

    // A page that violates a constraint, a missing source, a NUL: pages and checkpoint are
    // unchanged.
    let mut broken = plain("c", "three");
    broken.chunks[0].start = 1000;
    let next = JobStep { checkpoint: &|_| "c".to_owned(), done: 3, ..step };
    for page in [broken, plain("none::c", "three"), plain("c", "\0")] {
        let error = store.write_pages_in_job(&ws(), &writes(&[page]), &next, at(4)).unwrap_err();
        assert!(!matches!(error, StoreError::LeaseLost { .. }), "{error:?}");
    }
    let nul = JobStep { checkpoint: &|_| "\0".to_owned(), ..next };
    let error = store.write_pages_in_job(&ws(), &writes(&pages), &nul, at(4)).unwrap_err();
    assert!(matches!(error, StoreError::Nul { .. }), "{error:?}");
    assert_eq!(store.job(&ws(), id).unwrap().unwrap(), job);
    assert_eq!(store.head(&ws()).unwrap().generation.0, 2);
    assert_sound(&store);
}

fn pages_that_say_the_same_move_the_checkpoint(db: &Database) {
    let store = db.open();
    let pages = [plain("a", "one")];
    write(&store, &[&pages[0]], 1);
    let id = add(&store, 1);
    let (_, lease) = claim(&store, "w", 2);
    let step = JobStep { id, lease: &lease, checkpoint: &|_| "a".to_owned(), done: 1, total: None };
    for writes in [writes(&pages), Vec::new()] {
        let outcomes = store.write_pages_in_job(&ws(), &writes, &step, at(3)).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.kind == WriteKind::Unchanged));
        let job = store.job(&ws(), id).unwrap().unwrap();
        assert_eq!((job.checkpoint.as_deref(), job.info.done), (Some("a"), 1));
    }
    assert_eq!(store.head(&ws()).unwrap().generation.0, 1);
}

fn deletions_and_checkpoint_move_together(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "one"), &plain("b", "two")], 1);
    let id = add(&store, 1);
    let (_, lost) = claim(&store, "first", 2);
    let (_, kept) = claim(&store, "second", 20);
    let step = JobStep { id, lease: &lost, checkpoint: &|_| "a".to_owned(), done: 1, total: None };
    let error = store.delete_pages_in_job(&ws(), &[key("a")], &step, at(21)).unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error:?}");
    assert_eq!(store.head(&ws()).unwrap().pages, 2);

    let step = JobStep { lease: &kept, ..step };
    for expected in [DeleteOutcome::Deleted(Generation(3)), DeleteOutcome::AlreadyDeleted] {
        let outcomes = store.delete_pages_in_job(&ws(), &[key("a")], &step, at(22)).unwrap();
        assert_eq!(outcomes, [expected]);
        let job = store.job(&ws(), id).unwrap().unwrap();
        assert_eq!((job.checkpoint.as_deref(), job.info.done), (Some("a"), 1));
    }
    assert_eq!(store.head(&ws()).unwrap().pages, 1);
    assert_sound(&store);
}

fn a_lost_worker_writes_no_page(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    let (_, lost) = claim(&store, "first", 2);
    let (_, kept) = claim(&store, "second", 20);
    let pages = [plain("a", "imported")];
    let step = JobStep { id, lease: &kept, checkpoint: &|_| "a".to_owned(), done: 1, total: None };
    store.write_pages_in_job(&ws(), &writes(&pages), &step, at(21)).unwrap();
    write(&store, &[&plain("a", "changed by a person")], 22);
    let step = JobStep { lease: &lost, ..step };
    // Both cases: pages that would change, and pages that would not.
    for text in ["imported", "changed by a person"] {
        let pages = [plain("a", text)];
        let error = store.write_pages_in_job(&ws(), &writes(&pages), &step, at(23)).unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }), "{error:?}");
        assert_eq!(error.to_string(), "job 1 is not this worker's any more; nothing was written");
    }
    let page = store.page(&ws(), &key("a")).unwrap().unwrap();
    assert_eq!((page.page.content.as_str(), page.version), ("changed by a person", 2));
}

const PAGES: usize = 40;

/// Imports pages one by one from its checkpoint on, and dies at random.
fn import_until_it_dies(store: &Store, worker: &str) -> Option<()> {
    // Leases without duration: every claim takes the job from its worker.
    let job = store.claim_job(&claim_by(worker, -10), at(1)).unwrap()?;
    let lease = lease_of(&job.info).unwrap();
    let start: usize = job.checkpoint.as_deref().map_or(0, |text| text.parse().unwrap());
    for n in start..PAGES {
        if fastrand::usize(..8) == 0 {
            return Some(());
        }
        let page = plain(&format!("p{n}"), "imported");
        let (checkpoint, done) = ((n + 1).to_string(), n as u64 + 1);
        let step = JobStep {
            id: 1,
            lease: &lease,
            checkpoint: &|_| checkpoint.clone(),
            done,
            total: None,
        };
        let write = PageWrite { page: &page, origin: None };
        match store.write_pages_in_job(&ws(), &[write], &step, at(2)) {
            Ok(outcomes) => assert_eq!(outcomes[0].kind, WriteKind::Added),
            Err(StoreError::LeaseLost { .. }) => return Some(()),
            Err(error) => panic!("{error:?}"),
        }
        // The page is edited as soon as it exists: a repeated import would overwrite the edit.
        write_text(store, n, "edited");
    }
    store.finish_job(&ws(), 1, &lease, &JobOutcome::Done("{}".to_owned()), at(3)).unwrap();
    Some(())
}

fn write_text(store: &Store, n: usize, text: &str) {
    write(store, &[&plain(&format!("p{n}"), text)], 2);
}

fn workers_that_die_write_every_page_once(db: &Database) {
    let store = db.open();
    let many = NewJob { max_attempts: 1_000_000, ..new_job("import") };
    store.add_job(&ws(), &many, at(0)).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let store = &store;
            scope.spawn(move || {
                while !state(&*store, 1).is_finished() {
                    import_until_it_dies(&*store, &format!("worker {worker}"));
                }
            });
        }
    });
    let job = store.job(&ws(), 1).unwrap().unwrap();
    assert_eq!((job.info.state, job.info.done), (JobState::Done, PAGES as u64));
    for n in 0..PAGES {
        let history = store.history(&ws(), &key(&format!("p{n}"))).unwrap();
        assert_eq!(history.len(), 2, "p{n}: imported once, edited once");
    }
    assert_sound(&store);
}

fn a_cancel_and_a_finish_race_to_one_end(db: &Database) {
    let store = db.open();
    for _ in 0..20 {
        let id = add(&store, 1);
        let (_, lease) = claim(&store, "w", 2);
        let done = JobOutcome::Done("{}".to_owned());
        let (finished, cancelled) = std::thread::scope(|scope| {
            let finish = scope.spawn(|| store.finish_job(&ws(), id, &lease, &done, at(3)).unwrap());
            let cancel = scope.spawn(|| store.cancel_job(&ws(), id, at(3)).unwrap());
            (finish.join().unwrap(), cancel.join().unwrap())
        });
        assert!(finished, "the worker has its job either way");
        let job = info(&store, id);
        assert_eq!(job.state, JobState::Done);
        let was_first = cancelled == Some(JobState::Running);
        assert_eq!((was_first, cancelled.is_some()), (job.cancel_requested, true));
    }
    for _ in 0..20 {
        let id = add(&store, 1);
        let (claimed, cancelled) = std::thread::scope(|scope| {
            let claim = scope.spawn(|| try_claim(&store, "w", 2));
            let cancel = scope.spawn(|| store.cancel_job(&ws(), id, at(2)).unwrap());
            (claim.join().unwrap(), cancel.join().unwrap())
        });
        match (claimed, state(&store, id)) {
            (None, JobState::Cancelled) => assert_eq!(cancelled, Some(JobState::Cancelled)),
            (Some(job), JobState::Running) => {
                assert_eq!((job.info.id, cancelled), (id, Some(JobState::Running)));
                let lease = lease_of(&job.info).unwrap();
                assert!(store.release_job(&ws(), id, &lease, at(3)).unwrap());
                assert_eq!(state(&store, id), JobState::Cancelled);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn a_beat_and_a_claim_race_to_one_owner(db: &Database) {
    let store = db.open();
    for _ in 0..20 {
        let id = add(&store, 1);
        let (_, lease) = claim(&store, "first", 2);
        // At second 12 the lease expires: either the heartbeat keeps the job or the claim takes it.
        let progress = JobProgress::default();
        let (beat, claimed) = std::thread::scope(|scope| {
            let beat = scope.spawn(|| {
                store.heartbeat_job(&ws(), id, &lease, &progress, at(30), at(12)).unwrap()
            });
            let claim = scope.spawn(|| try_claim(&store, "second", 12));
            (beat.join().unwrap(), claim.join().unwrap())
        });
        let owner = lease_of(&info(&store, id)).unwrap();
        match claimed {
            Some(job) => assert_eq!(lease_of(&job.info), Some(owner.clone())),
            None => assert_eq!((beat, &owner), (HeartbeatReply::Continue, &lease)),
        }
        let end = JobOutcome::Cancelled;
        assert!(store.finish_job(&ws(), id, &owner, &end, at(13)).unwrap());
    }
}

#[test]
fn job_heartbeats_do_not_wait_for_page_writers() {
    let db = Database::postgres();
    let store = db.open();
    let mut importer = db.connect();
    importer.begin_write(&ws());
    importer.batch("UPDATE workspaces SET pages = pages").unwrap();
    // Waiting for a lock would end in an error.
    let id = add(&store, 1);
    let (_, lease) = claim(&store, "w", 2);
    store.heartbeat_job(&ws(), id, &lease, &JobProgress::default(), at(9), at(3)).unwrap();
    let step = JobStep { id, lease: &lease, checkpoint: &|_| "y".to_owned(), done: 1, total: None };
    store.write_pages_in_job(&ws(), &[], &step, at(3)).unwrap();
    store.cancel_job(&ws(), id, at(3)).unwrap();
    store.finish_job(&ws(), id, &lease, &JobOutcome::Cancelled, at(3)).unwrap();
    store.prune_jobs(&ws(), at(4)).unwrap();
    importer.batch("COMMIT").unwrap();
}

#[test]
fn a_job_that_another_looks_at_is_passed_over() {
    let db = Database::postgres();
    let store = db.open();
    let (first, second) = (add(&store, 1), add(&store, 2));
    let mut looking = db.connect();
    looking.batch(&format!("BEGIN; SELECT 1 FROM jobs WHERE id = {first} FOR UPDATE")).unwrap();
    // Waiting for a lock would end in an error.
    assert_eq!(claim(&store, "w", 3).0.info.id, second);
    assert_eq!(try_claim(&store, "w", 3), None);
    looking.batch("COMMIT").unwrap();
    assert_eq!(claim(&store, "w", 3).0.info.id, first);
}

#[test]
fn a_worker_beats_while_its_pages_are_written() {
    let db = Database::postgres();
    let store = db.open();
    let id = add(&store, 1);
    let (_, lease) = claim(&store, "w", 2);
    let pages = [plain("a", "one")];
    let step = JobStep { id, lease: &lease, checkpoint: &|_| "a".to_owned(), done: 1, total: None };
    let mut slow = db.connect();
    slow.batch("BEGIN; LOCK TABLE chunks IN SHARE MODE").unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| store.write_pages_in_job(&ws(), &writes(&pages), &step, at(3)));
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(500) {
            let beat =
                store.heartbeat_job(&ws(), id, &lease, &JobProgress::default(), at(9), at(3));
            assert_eq!(beat.unwrap(), HeartbeatReply::Continue);
        }
        assert!(!writer.is_finished(), "it is half-way through its pages");
        slow.batch("COMMIT").unwrap();
        writer.join().unwrap().unwrap();
    });
    assert_eq!(store.job(&ws(), id).unwrap().unwrap().checkpoint.as_deref(), Some("a"));
}

#[test]
fn a_worker_that_loses_its_job_half_way_writes_nothing() {
    let db = Database::postgres();
    let store = db.open();
    let id = add(&store, 1);
    let (_, lost) = claim(&store, "first", 2);
    let pages = [plain("a", "one")];
    let step = JobStep { id, lease: &lost, checkpoint: &|_| "a".to_owned(), done: 1, total: None };
    let mut slow = db.connect();
    slow.batch("BEGIN; LOCK TABLE chunks IN SHARE MODE").unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| store.write_pages_in_job(&ws(), &writes(&pages), &step, at(3)));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!writer.is_finished(), "it is half-way through its pages");
        let (job, _) = claim(&store, "second", 20);
        assert_eq!(job.checkpoint, None);
        slow.batch("COMMIT").unwrap();
        let error = writer.join().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }), "{error:?}");
    });
    assert_eq!(store.head(&ws()).unwrap(), Default::default());
    assert_eq!(info(&store, id).worker.as_deref(), Some("second"));
}

/// Claims the only job of kind `probe` for ten seconds.
fn take(store: &Store, worker: &str, second: i64) -> Option<Job> {
    store.take_job(&ws(), &new_job("probe"), worker, at(second + 10), at(second)).unwrap()
}

fn lease(job: &Job) -> Lease {
    lease_of(&job.info).expect("a job that was taken is running")
}

fn one_of_a_kind_is_one_workers_at_a_time(db: &Database) {
    let store = db.open();
    add(&store, 0);
    let first = take(&store, "first", 1).unwrap();
    assert_eq!((first.info.id, first.info.attempt), (2, 1), "other kinds are not in the way");
    assert_eq!(first.spec, new_job("probe").spec);
    assert_eq!(take(&store, "second", 2), None);
    assert_eq!(try_claim(&store, "worker", 2).unwrap().info.kind, "import");
    let second = take(&store, "second", 11).unwrap();
    assert_eq!((second.info.id, second.info.attempt), (2, 2), "its worker died");
    assert!(!store.release_job(&ws(), 2, &lease(&first), at(12)).unwrap());
    assert!(store.release_job(&ws(), 2, &lease(&second), at(12)).unwrap());
    let third = take(&store, "third", 13).unwrap();
    assert_eq!((third.info.id, third.info.attempt), (2, 3), "it was given back");
    store.cancel_job(&ws(), 2, at(14)).unwrap();
    let next = take(&store, "fourth", 30).unwrap();
    assert_eq!((next.info.id, next.info.attempt), (3, 1), "what was cancelled is over");
    assert!(store.finish_job(&ws(), 3, &lease(&next), &JobOutcome::Cancelled, at(31)).unwrap());
    assert_eq!(take(&store, "fifth", 32).unwrap().info.id, 4);
    let unknown = store.take_job(&other(), &new_job("probe"), "first", at(9), at(1));
    assert!(matches!(unknown, Err(StoreError::UnknownWorkspace(_))), "{unknown:?}");
}

fn takers_race_to_one_job(db: &Database) {
    let store = db.open();
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (store, taken) = (&store, &taken);
            scope.spawn(move || {
                taken.lock().unwrap().extend(take(&*store, &format!("worker {worker}"), 1));
            });
        }
    });
    let taken = taken.into_inner().unwrap();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(store.job_counts_of(&ws()).unwrap().running, 1);
}

fn what_a_job_measured_is_kept_with_its_end(db: &Database) {
    let store = db.open();
    let lost = take(&store, "first", 1).unwrap();
    let job = take(&store, "second", 20).unwrap();
    let finish = |job: &Job| {
        let (id, lease) = (job.info.id, lease(job));
        let (outcome, body) = ("pass".to_owned(), "{}".to_owned());
        let run = JudgingRun { id: lease.worker.clone(), at: at(1), outcome, body };
        let (done, made) = (JobOutcome::Done("{}".to_owned()), (RunKind::QualityProbe, &run));
        store.finish_job_with_run(&ws(), id, &lease, &done, made, at(21)).unwrap()
    };
    assert!(!finish(&lost) && finish(&job) && !finish(&job));
    let runs = store.runs(&ws(), RunKind::QualityProbe, at(0), 9).unwrap();
    assert_eq!(runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["second"]);
    assert_eq!(store.job(&ws(), job.info.id).unwrap().unwrap().info.state, JobState::Done);
}
