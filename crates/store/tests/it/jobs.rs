//! Background jobs: queued, listed, claimed, ended, cancelled, pruned.

use gbrain_core::fault::{FaultBody, FaultKind};
use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use gbrain_store::{
    HeartbeatReply, Job, JobClaim, JobCounts, JobFilter, JobInfo, JobOutcome, JobProgress, JobStep,
    Lease, NewJob, Store, StoreError,
};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    a_job_goes_from_queue_to_result,
    lists_are_newest_first,
    the_oldest_due_job_comes_first,
    workspaces_take_turns,
    what_a_job_was_given_goes_when_it_is_over,
    the_clock_is_right,
    a_failed_attempt_is_tried_again,
    attempts_end,
    a_job_given_back_has_lost_nothing,
    cancelling_depends_on_the_state,
    a_cancelled_job_is_not_queued_again,
    only_ended_jobs_are_pruned,
    jobs_hold_no_nul,
    workspaces_have_their_own_jobs,
    broken_jobs_are_refused,
}

pub(crate) fn other() -> WorkspaceId {
    WorkspaceId::new("other").unwrap()
}

pub(crate) fn new_job(kind: &str) -> NewJob {
    NewJob {
        kind: kind.to_owned(),
        spec: r#"{"path":"größe"}"#.to_owned(),
        created_by: "ada".to_owned(),
        max_attempts: 2,
        key: None,
        group: None,
    }
}

/// Queues a job of kind `import` in the default workspace.
pub(crate) fn add(store: &Store, second: i64) -> i64 {
    store.add_job(&ws(), &new_job("import"), at(second)).unwrap()
}

/// A claim for imports with a lease of ten seconds.
pub(crate) fn claim_by(worker: &str, second: i64) -> JobClaim {
    JobClaim {
        worker: worker.to_owned(),
        kinds: vec!["import".to_owned(), "reindex".to_owned()],
        lease_until: at(second + 10),
        last: None,
    }
}

pub(crate) fn try_claim(store: &Store, worker: &str, second: i64) -> Option<Job> {
    store.claim_job(&claim_by(worker, second), at(second)).unwrap()
}

/// Claims a job that must exist.
pub(crate) fn claim(store: &Store, worker: &str, second: i64) -> (Job, Lease) {
    let job = try_claim(store, worker, second).expect("a job is due");
    let lease = lease_of(&job.info).expect("a claimed job is running");
    (job, lease)
}

pub(crate) fn lease_of(job: &JobInfo) -> Option<Lease> {
    let worker = job.worker.clone().filter(|_| job.state == JobState::Running)?;
    Some(Lease { worker, attempt: job.attempt })
}

/// Jobs of all workspaces that have not ended.
pub(crate) fn open_jobs(store: &Store) -> JobCounts {
    let mut all = JobCounts::default();
    for workspace in store.workspaces().unwrap() {
        let of_it = store.job_counts_of(&workspace.id).unwrap();
        all.queued += of_it.queued;
        all.running += of_it.running;
    }
    all
}

/// Moves a job's checkpoint without pages.
pub(crate) fn checkpoint(store: &Store, id: i64, lease: &Lease, text: &str, second: i64) {
    let text = text.to_owned();
    let step = JobStep { id, lease, checkpoint: &|_| text.clone(), done: 3, total: Some(9) };
    store.write_pages_in_job(&ws(), &[], &step, at(second)).unwrap();
}

pub(crate) fn info(store: &Store, id: i64) -> JobInfo {
    store.job(&ws(), id).unwrap().unwrap().info
}

pub(crate) fn state(store: &Store, id: i64) -> JobState {
    info(store, id).state
}

fn ids(jobs: &[JobInfo]) -> Vec<i64> {
    jobs.iter().map(|job| job.id).collect()
}

fn a_job_goes_from_queue_to_result(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    assert_eq!(id, 1);
    let queued = store.job(&ws(), id).unwrap().unwrap();
    let expected = JobInfo {
        workspace: ws(),
        id,
        kind: "import".to_owned(),
        state: JobState::Queued,
        attempt: 0,
        max_attempts: 2,
        run_after: at(1),
        done: 0,
        total: None,
        note: String::new(),
        error: None,
        worker: None,
        lease_until: None,
        cancel_requested: false,
        created_by: "ada".to_owned(),
        created_at: at(1),
        started_at: None,
        updated_at: at(1),
        finished_at: None,
        key: None,
        group: None,
    };
    assert_eq!(queued.info, expected);
    assert_eq!((queued.spec.as_str(), &queued.checkpoint), (r#"{"path":"größe"}"#, &None));
    assert_eq!(lease_of(&queued.info), None);

    let (job, lease) = claim(&store, "w", 2);
    let running = JobInfo {
        state: JobState::Running,
        attempt: 1,
        worker: Some("w".to_owned()),
        lease_until: Some(at(12)),
        started_at: Some(at(2)),
        updated_at: at(2),
        ..expected
    };
    assert_eq!(job, Job { info: running.clone(), ..queued });
    assert_eq!(open_jobs(&store), JobCounts { queued: 0, running: 1 });

    let progress = JobProgress { done: 3, total: Some(9), note: "reading".to_owned() };
    let beat = store.heartbeat_job(&ws(), id, &lease, &progress, at(20), at(3)).unwrap();
    assert_eq!(beat, HeartbeatReply::Continue);
    checkpoint(&store, id, &lease, "at 3", 4);
    let job = store.job(&ws(), id).unwrap().unwrap();
    let beaten = JobInfo {
        done: 3,
        total: Some(9),
        note: "reading".to_owned(),
        lease_until: Some(at(20)),
        updated_at: at(4),
        ..running
    };
    assert_eq!((&job.info, job.checkpoint.as_deref()), (&beaten, Some("at 3")));

    let outcome = JobOutcome::Done("{}".to_owned());
    assert!(store.finish_job(&ws(), id, &lease, &outcome, at(5)).unwrap());
    let job = store.job(&ws(), id).unwrap().unwrap();
    let done = JobInfo {
        state: JobState::Done,
        lease_until: None,
        updated_at: at(5),
        finished_at: Some(at(5)),
        ..beaten
    };
    assert_eq!((&job.info, job.result.as_deref()), (&done, Some("{}")));
    assert_eq!(lease_of(&job.info), None);
    assert_eq!(open_jobs(&store), JobCounts::default());
    assert_eq!(store.job(&ws(), 2).unwrap(), None);
    assert_sound(&store);
}

fn lists_are_newest_first(db: &Database) {
    let store = db.open();
    for n in 0..6 {
        let kind = ["import", "reindex", "replay"][n % 3];
        store.add_job(&ws(), &new_job(kind), at(n as i64)).unwrap();
    }
    claim(&store, "w", 9);
    let list = |filter: JobFilter, limit| ids(&store.jobs(&ws(), &filter, limit).unwrap());
    let all = JobFilter::default();
    assert_eq!(list(all.clone(), 100), [6, 5, 4, 3, 2, 1]);
    assert_eq!(list(all.clone(), 2), [6, 5]);
    assert_eq!(list(JobFilter { before: Some(5), ..all.clone() }, 2), [4, 3]);
    let kinds = vec!["replay".to_owned(), "import".to_owned()];
    assert_eq!(list(JobFilter { kinds, ..all.clone() }, 100), [6, 4, 3, 1]);
    let queued = JobFilter { state: Some(JobState::Queued), ..all.clone() };
    assert_eq!(list(queued, 100), [6, 5, 4, 3, 2]);
    let kinds = vec!["import".to_owned()];
    let both = JobFilter { state: Some(JobState::Running), kinds, before: Some(6) };
    assert_eq!(list(both, 100), [1]);
    assert_eq!(list(JobFilter { kinds: vec!["x".to_owned()], ..all }, 100), Vec::<i64>::new());
    assert_eq!(store.jobs(&ws(), &JobFilter::default(), 1).unwrap()[0], info(&store, 6));
}

fn the_oldest_due_job_comes_first(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    let claimed =
        |second| try_claim(&store, "w", second).map(|job| (job.info.workspace, job.info.id));
    store.add_job(&ws(), &new_job("replay"), at(1)).unwrap();
    assert_eq!(claimed(9), None, "of another kind");
    store.add_job(&ws(), &new_job("import"), at(5)).unwrap();
    store.add_job(&other(), &new_job("reindex"), at(4)).unwrap();
    store.add_job(&other(), &new_job("import"), at(6)).unwrap();
    assert_eq!(open_jobs(&store), JobCounts { queued: 4, running: 0 });
    assert_eq!(store.job_counts_of(&ws()).unwrap(), JobCounts { queued: 2, running: 0 });
    assert_eq!(claimed(3), None, "not due");
    assert_eq!(claimed(9), Some((ws(), 2)));
    assert_eq!(claimed(9), Some((other(), 1)), "fewest at work first");
    assert_eq!(claimed(9), Some((other(), 2)));
    assert_eq!(claimed(9), None);
    assert_eq!(claimed(18), None, "leases hold");
    assert_eq!(claimed(19), Some((ws(), 2)), "and run out");
    let none = JobClaim { kinds: Vec::new(), ..claim_by("w", 99) };
    assert_eq!(store.claim_job(&none, at(99)).unwrap(), None);
}

/// Regardless of how many jobs of one workspace wait, and of their age.
fn workspaces_take_turns(db: &Database) {
    let store = db.open();
    let names = ["a", "b", "c"].map(|name| WorkspaceId::new(name).unwrap());
    for (name, jobs) in names.iter().zip([20, 20, 2]) {
        store.add_workspace(name, at(0)).unwrap();
        for n in 0..jobs {
            store.add_job(name, &new_job("import"), at(if jobs == 2 { 90 } else { n })).unwrap();
        }
    }
    let mut last = None;
    let mut alone = |second| {
        let claim = JobClaim { last: last.clone(), ..claim_by("w", second) };
        let job = store.claim_job(&claim, at(second)).unwrap().unwrap();
        let done = JobOutcome::Done("{}".to_owned());
        let (ws, id) = (&job.info.workspace, job.info.id);
        assert!(store.finish_job(ws, id, &lease_of(&job.info).unwrap(), &done, at(99)).unwrap());
        last = Some(job.info.workspace.clone());
        job.info.workspace.to_string()
    };
    let turns: Vec<String> = (0..7).map(|_| alone(99)).collect();
    assert_eq!(turns.concat(), "abcabca", "one worker");
    let at_once = |n: usize| {
        let job = try_claim(&store, &format!("worker {n}"), 99).unwrap();
        job.info.workspace.to_string()
    };
    let turns: Vec<String> = (0..4).map(at_once).collect();
    assert_eq!(turns.concat(), "abab", "many workers");
}

fn what_a_job_was_given_goes_when_it_is_over(db: &Database) {
    let store = db.open();
    type End<'e> = &'e dyn Fn(i64, &Lease);
    let finish = |id, lease: &Lease, outcome| {
        assert!(store.finish_job(&ws(), id, lease, &outcome, at(4)).unwrap());
    };
    let cancel = |id| store.cancel_job(&ws(), id, at(3)).unwrap();
    let ends: [End<'_>; 6] = [
        &|id, lease| finish(id, lease, JobOutcome::Done("{}".to_owned())),
        &|id, lease| finish(id, lease, JobOutcome::Failed("{}".to_owned())),
        &|id, lease| finish(id, lease, JobOutcome::Cancelled),
        &|id, lease| {
            // A released job keeps everything; one cancelled in the queue keeps nothing.
            assert!(store.release_job(&ws(), id, lease, at(4)).unwrap());
            assert_ne!(store.job(&ws(), id).unwrap().unwrap().spec, "");
            cancel(id);
        },
        &|id, lease| {
            cancel(id);
            assert!(store.retry_job(&ws(), id, lease, "{}", at(5), at(4)).unwrap());
        },
        &|id, _| {
            cancel(id);
            assert_eq!(try_claim(&store, "another", 12), None);
        },
    ];
    for (n, end) in ends.iter().enumerate() {
        let id = add(&store, 1);
        let (_, lease) = claim(&store, "w", 2);
        checkpoint(&store, id, &lease, "half", 3);
        end(id, &lease);
        let job = store.job(&ws(), id).unwrap().unwrap();
        assert!(job.info.state.is_finished(), "{n}");
        assert_eq!((job.spec.as_str(), &job.checkpoint), ("", &None), "{n}");
        assert_eq!((job.info.done, job.info.total), (3, Some(9)), "{n}");
    }
}

fn the_clock_is_right(db: &Database) {
    let store = db.open();
    let (before, seen) = (jiff::Timestamp::now(), store.clock().unwrap());
    let apart = seen.duration_since(before).abs();
    assert!(apart < jiff::SignedDuration::from_secs(60), "{apart}");
    assert!(store.clock().unwrap() >= seen);
}

fn a_failed_attempt_is_tried_again(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    let (_, first) = claim(&store, "w", 2);
    checkpoint(&store, id, &first, "half", 3);
    assert!(store.retry_job(&ws(), id, &first, "\"busy\"", at(20), at(4)).unwrap());
    let queued = info(&store, id);
    assert_eq!((queued.state, queued.attempt, queued.run_after), (JobState::Queued, 1, at(20)));
    assert_eq!((queued.error.as_deref(), queued.lease_until), (Some("\"busy\""), None));
    assert_eq!(try_claim(&store, "w", 19), None);
    let (job, second) = claim(&store, "w", 20);
    assert_eq!((job.info.attempt, job.checkpoint.as_deref()), (2, Some("half")));
    assert_eq!(job.info.started_at, Some(at(2)), "when it first started");
    assert!(store.retry_job(&ws(), id, &second, "\"again\"", at(30), at(21)).unwrap());
    let failed = info(&store, id);
    assert_eq!((failed.state, failed.finished_at), (JobState::Failed, Some(at(21))));
    assert_eq!(failed.error.as_deref(), Some("\"again\""));
    assert_eq!(try_claim(&store, "w", 99), None);
}

fn attempts_end(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    for second in [10, 20] {
        assert_eq!(claim(&store, "w", second).0.info.id, id);
    }
    let next = add(&store, 2);
    let (job, _) = claim(&store, "w", 30);
    assert_eq!(job.info.id, next, "the one in its way is closed");
    let failed = store.job(&ws(), id).unwrap().unwrap();
    assert_eq!((failed.info.state, failed.info.attempt), (JobState::Failed, 2));
    assert_eq!((failed.info.finished_at, failed.info.lease_until), (Some(at(30)), None));
    let error = failed.info.error.unwrap();
    let error: FaultBody = serde_json::from_str(&error).unwrap();
    assert_eq!(error.error.kind, "attempts_exhausted");
    assert!(FaultKind::from_name(&error.error.kind).is_some());
}

fn a_job_given_back_has_lost_nothing(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    let (_, lease) = claim(&store, "w", 2);
    assert!(store.release_job(&ws(), id, &lease, at(3)).unwrap());
    assert!(!store.release_job(&ws(), id, &lease, at(3)).unwrap(), "once");
    let queued = info(&store, id);
    assert_eq!((queued.state, queued.run_after), (JobState::Queued, at(3)));
    assert_eq!((queued.attempt, queued.max_attempts), (1, 3), "two are left, as before");
    let (_, again) = claim(&store, "w", 4);
    assert_ne!(again, lease, "a lease is never given twice");
    assert!(!store.finish_job(&ws(), id, &lease, &JobOutcome::Cancelled, at(5)).unwrap());
    assert_eq!(state(&store, id), JobState::Running);
}

fn cancelling_depends_on_the_state(db: &Database) {
    let store = db.open();
    let cancel = |id, second| store.cancel_job(&ws(), id, at(second)).unwrap();
    assert_eq!(cancel(1, 0), None);
    let queued = add(&store, 1);
    assert_eq!(cancel(queued, 2), Some(JobState::Cancelled));
    let job = info(&store, queued);
    assert_eq!((job.state, job.finished_at), (JobState::Cancelled, Some(at(2))));
    assert_eq!(cancel(queued, 3), Some(JobState::Cancelled));
    assert_eq!(info(&store, queued), job, "as it was");
    assert_eq!(try_claim(&store, "w", 3), None);

    let running = add(&store, 4);
    let (_, lease) = claim(&store, "w", 5);
    assert_eq!(cancel(running, 6), Some(JobState::Running));
    assert!(info(&store, running).cancel_requested);
    let progress = JobProgress::default();
    let beat = store.heartbeat_job(&ws(), running, &lease, &progress, at(20), at(7)).unwrap();
    assert_eq!(beat, HeartbeatReply::Cancel);
    assert!(store.finish_job(&ws(), running, &lease, &JobOutcome::Cancelled, at(8)).unwrap());
    assert_eq!(state(&store, running), JobState::Cancelled);
    let beat = store.heartbeat_job(&ws(), running, &lease, &progress, at(20), at(9)).unwrap();
    assert_eq!(beat, HeartbeatReply::Lost);

    let quick = add(&store, 10);
    let (_, lease) = claim(&store, "w", 11);
    cancel(quick, 12);
    let done = JobOutcome::Done("1".to_owned());
    assert!(store.finish_job(&ws(), quick, &lease, &done, at(13)).unwrap(), "it was done before");
    assert_eq!(cancel(quick, 14), Some(JobState::Done));
}

fn a_cancelled_job_is_not_queued_again(db: &Database) {
    let store = db.open();
    type End<'e> = &'e dyn Fn(i64, &Lease);
    let ends: [End<'_>; 3] = [
        &|id, lease| assert!(store.release_job(&ws(), id, lease, at(4)).unwrap()),
        &|id, lease| assert!(store.retry_job(&ws(), id, lease, "{}", at(5), at(4)).unwrap()),
        &|_, _| assert_eq!(try_claim(&store, "another", 12), None),
    ];
    for end in ends {
        let id = add(&store, 1);
        let (_, lease) = claim(&store, "w", 2);
        store.cancel_job(&ws(), id, at(3)).unwrap();
        end(id, &lease);
        let job = info(&store, id);
        assert_eq!((job.state, job.lease_until), (JobState::Cancelled, None));
        assert!(job.finished_at.is_some());
    }
}

fn only_ended_jobs_are_pruned(db: &Database) {
    let store = db.open();
    for second in [1, 2, 3] {
        add(&store, second);
        let (job, lease) = claim(&store, "w", second);
        let outcome = JobOutcome::Failed("{}".to_owned());
        assert!(store.finish_job(&ws(), job.info.id, &lease, &outcome, at(second)).unwrap());
    }
    add(&store, 1);
    claim(&store, "w", 4);
    add(&store, 1);
    assert_eq!(store.prune_jobs(&ws(), at(3)).unwrap(), 2);
    assert_eq!(store.prune_jobs(&ws(), at(3)).unwrap(), 0);
    assert_eq!(ids(&store.jobs(&ws(), &JobFilter::default(), 9).unwrap()), [5, 4, 3]);
    assert_eq!(store.prune_jobs(&ws(), at(99)).unwrap(), 1);
    for id in [4, 5] {
        store.cancel_job(&ws(), id, at(5)).unwrap();
    }
    assert_eq!(try_claim(&store, "w", 99), None);
    assert_eq!(store.prune_jobs(&ws(), at(100)).unwrap(), 2);
    assert_eq!(add(&store, 6), 6, "numbers are not used again");
    assert_sound(&store);
}

fn jobs_hold_no_nul(db: &Database) {
    let store = db.open();
    let refused = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Nul { .. })), "{result:?}");
    };
    let nul = || "a\0b".to_owned();
    refused(store.add_job(&ws(), &NewJob { spec: nul(), ..new_job("import") }, at(1)).map(|_| ()));
    refused(store.add_job(&ws(), &new_job("\0"), at(1)).map(|_| ()));
    let id = add(&store, 1);
    assert_eq!(id, 1, "nothing was taken");
    refused(store.claim_job(&claim_by("\0", 1), at(1)).map(|_| ()));
    refused(
        store.claim_job(&JobClaim { kinds: vec![nul()], ..claim_by("w", 1) }, at(1)).map(|_| ()),
    );
    let filter = JobFilter { kinds: vec![nul()], ..JobFilter::default() };
    refused(store.jobs(&ws(), &filter, 1).map(|_| ()));
    let (_, lease) = claim(&store, "w", 1);
    let progress = JobProgress { note: nul(), ..JobProgress::default() };
    refused(store.heartbeat_job(&ws(), id, &lease, &progress, at(9), at(2)).map(|_| ()));
    refused(store.retry_job(&ws(), id, &lease, "\0", at(2), at(2)).map(|_| ()));
    for outcome in [JobOutcome::Done(nul()), JobOutcome::Failed(nul())] {
        refused(store.finish_job(&ws(), id, &lease, &outcome, at(2)).map(|_| ()));
    }
    assert_eq!(state(&store, id), JobState::Running);
}

fn workspaces_have_their_own_jobs(db: &Database) {
    let store = db.open();
    let unknown = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::UnknownWorkspace(_))), "{result:?}");
    };
    let lease = Lease { worker: "w".to_owned(), attempt: 1 };
    let outcome = JobOutcome::Cancelled;
    unknown(store.add_job(&other(), &new_job("import"), at(1)).map(|_| ()));
    unknown(store.job(&other(), 1).map(|_| ()));
    unknown(store.jobs(&other(), &JobFilter::default(), 1).map(|_| ()));
    unknown(store.finish_job(&other(), 1, &lease, &outcome, at(1)).map(|_| ()));
    unknown(store.release_job(&other(), 1, &lease, at(1)).map(|_| ()));
    unknown(store.cancel_job(&other(), 1, at(1)).map(|_| ()));
    unknown(store.prune_jobs(&other(), at(1)).map(|_| ()));
    unknown(store.job_counts_of(&other()).map(|_| ()));

    store.add_workspace(&other(), at(0)).unwrap();
    add(&store, 1);
    let (_, lease) = claim(&store, "w", 2);
    store.add_job(&other(), &new_job("import"), at(1)).unwrap();
    assert!(!store.finish_job(&other(), 1, &lease, &outcome, at(3)).unwrap(), "not that one");
    assert_eq!(store.cancel_job(&other(), 1, at(3)).unwrap(), Some(JobState::Cancelled));
    assert_eq!(state(&store, 1), JobState::Running);
    assert_eq!(store.prune_jobs(&other(), at(9)).unwrap(), 1);
    store.add_job(&other(), &new_job("import"), at(1)).unwrap();
    store.remove_workspace(&other()).unwrap();
    assert_eq!(open_jobs(&store), JobCounts { queued: 0, running: 1 });
    store.add_workspace(&other(), at(0)).unwrap();
    assert_eq!(store.add_job(&other(), &new_job("import"), at(1)).unwrap(), 1, "from the start");
}

fn broken_jobs_are_refused(db: &Database) {
    let store = db.open();
    let never = NewJob { max_attempts: 0, ..new_job("import") };
    let error = store.add_job(&ws(), &never, at(1)).unwrap_err();
    assert!(matches!(&error, StoreError::Constraint { which } if which == "job_attempts"));
    add(&store, 1);
    for change in [
        "state = 'paused'",
        "state = 'running'",
        "state = 'done'",
        "state = 'done', finished_at = 1",
        "state = 'failed', finished_at = 1",
        "finished_at = 1",
        "lease_until = 1",
        "cancel_requested = TRUE",
        "attempt = -1",
        "total = -1",
    ] {
        let error = db.raw(&format!("UPDATE jobs SET {change}")).unwrap_err();
        assert!(matches!(error, StoreError::Constraint { .. }), "{change}: {error:?}");
    }
    db.raw("UPDATE counters SET last_id = 0").unwrap();
    let findings = store.check(&ws()).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].detail, "1 jobs are past their counter");
}
