//! Suites, their cursors, events, due runs and recorded runs, one caller at a time.

use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::job::JobState;
use gbrain_store::{
    BacklogPolicy, CursorMove, EventReceipt, JobFilter, NewDueRun, NewSuiteRun, Store, StoreError,
    StoredSuite, StoredSuiteRun, SuiteCursor, SuiteEvent, SuiteRunFilter, SuiteRunInfo, WriteKind,
};

use crate::database::Database;
use crate::fixture::*;
use crate::jobs::*;
use crate::playbook::*;

on_both_engines! {
    suites_are_kept_under_names,
    cursors_move_from_where_they_were_seen,
    switching_off_forgets_cursors,
    firing_queues_and_moves,
    a_key_is_fired_once,
    a_waiting_run_covers_a_later_one,
    a_run_that_somebody_asks_for_needs_no_switch,
    a_key_gives_the_job_that_is_there,
    of_a_group_one_runs_at_a_time,
    a_group_goes_on_when_its_worker_died,
    events_are_told_once,
    a_run_is_recorded_with_the_end_of_its_job,
    a_lost_worker_records_nothing,
    runs_are_listed,
    runs_are_counted_by_day,
    broken_rows_of_suites_are_refused,
    suites_go_with_their_workspace,
}

fn cursors(store: &Store) -> Vec<(String, i64)> {
    let cursors = store.suite_cursors(&ws()).unwrap();
    cursors.into_iter().map(|SuiteCursor { suite, at, .. }| (suite, at)).collect()
}

fn queued(store: &Store) -> Vec<i64> {
    let filter = JobFilter { state: Some(JobState::Queued), ..JobFilter::default() };
    store.jobs(&ws(), &filter, 100).unwrap().into_iter().map(|job| job.id).collect()
}

fn suites_are_kept_under_names(db: &Database) {
    let store = db.open();
    let put = |name, spec, second| store.put_suite(&ws(), name, spec, at(second)).unwrap();
    assert_eq!(put("smoke", "{}", 1), WriteKind::Added);
    assert_eq!(put("smoke", "{}", 2), WriteKind::Unchanged);
    let expected = StoredSuite {
        name: "smoke".to_owned(),
        spec: "{}".to_owned(),
        hash: Hash::of(b"{}"),
        enabled: false,
        created_at: at(1),
        updated_at: at(1),
    };
    assert_eq!(store.suite(&ws(), "smoke").unwrap(), Some(expected.clone()));
    assert_eq!(store.suite(&ws(), "none").unwrap(), None);
    assert_eq!(store.workspaces_with_suites().unwrap(), []);
    assert!(store.enable_suite(&ws(), "smoke", at(3)).unwrap());
    assert!(store.enable_suite(&ws(), "smoke", at(4)).unwrap());
    assert!(!store.enable_suite(&ws(), "none", at(3)).unwrap());
    assert_eq!(put("smoke", r#"{"k":5}"#, 5), WriteKind::Changed);
    let spec = r#"{"k":5}"#;
    let changed = StoredSuite {
        spec: spec.to_owned(),
        hash: Hash::of(spec.as_bytes()),
        enabled: true,
        updated_at: at(5),
        ..expected
    };
    assert_eq!(store.suite(&ws(), "smoke").unwrap(), Some(changed), "it stays on");
    assert_eq!(put("Zulu", "{}", 6), WriteKind::Added);
    let names: Vec<_> = store.suites(&ws()).unwrap().into_iter().map(|suite| suite.name).collect();
    assert_eq!(names, ["Zulu", "smoke"], "by bytes");
    assert_eq!(store.workspaces_with_suites().unwrap(), [ws()]);
    assert!(store.remove_suite(&ws(), "smoke").unwrap());
    assert!(!store.remove_suite(&ws(), "smoke").unwrap());
    assert_eq!(store.workspaces_with_suites().unwrap(), []);
}

fn cursors_move_from_where_they_were_seen(db: &Database) {
    let store = db.open();
    let advance = |suite: &str, from, to| {
        store.advance_cursor(&ws(), suite, "cron", CursorMove { from, to }).unwrap()
    };
    store.put_suite(&ws(), "off", "{}", at(0)).unwrap();
    assert!(!advance("off", None, 1), "it is not on");
    assert!(!advance("none", None, 1), "there is none");
    put_suite(&store, "on");
    assert!(!advance("on", Some(0), 1), "there is no cursor yet");
    assert!(advance("on", None, 5));
    assert!(!advance("on", None, 6), "there is one by now");
    assert!(!advance("on", Some(4), 6));
    assert!(advance("on", Some(5), 6));
    assert!(advance("on", Some(6), 2), "a feed that was put back from a backup");
    assert_eq!(cursors(&store), [("on".to_owned(), 2)]);
}

fn switching_off_forgets_cursors(db: &Database) {
    let store = db.open();
    put_suite(&store, "a");
    put_suite(&store, "b");
    for suite in ["a", "b"] {
        store.queue_due_run(&ws(), &due(suite, "1", None, 10), at(1)).unwrap().unwrap();
    }
    assert!(store.disable_suite(&ws(), "a", at(2)).unwrap());
    assert!(!store.disable_suite(&ws(), "none", at(2)).unwrap());
    assert_eq!(cursors(&store), [("b".to_owned(), 10)]);
    assert_eq!(
        store.queue_due_run(&ws(), &due("a", "2", None, 20), at(3)).unwrap(),
        None,
        "it is off"
    );
    assert_eq!(cursors(&store), [("b".to_owned(), 10)]);
    store.enable_suite(&ws(), "a", at(4)).unwrap();
    assert_eq!(store.queue_due_run(&ws(), &due("a", "2", Some(10), 20), at(5)).unwrap(), None);
    assert_eq!(store.queue_due_run(&ws(), &due("a", "2", None, 20), at(5)).unwrap(), Some(3));
    store.remove_suite(&ws(), "a").unwrap();
    assert_eq!(cursors(&store), [("b".to_owned(), 10)]);
    assert_eq!(store.job_counts_of(&ws()).unwrap().queued, 3, "what is queued stays");
}

fn firing_queues_and_moves(db: &Database) {
    let store = db.open();
    put_suite(&store, "smoke");
    let first = due("smoke", "1", None, 10);
    assert_eq!(store.queue_due_run(&ws(), &first, at(1)).unwrap(), Some(1));
    assert_eq!(store.queue_due_run(&ws(), &first, at(1)).unwrap(), None, "it was fired");
    let stale = due("smoke", "other", Some(9), 20);
    assert_eq!(store.queue_due_run(&ws(), &stale, at(1)).unwrap(), None, "not from there");
    let second = due("smoke", "2", Some(10), 20);
    assert_eq!(store.queue_due_run(&ws(), &second, at(2)).unwrap(), Some(2));
    let cursor = SuiteCursor { suite: "smoke".to_owned(), trigger: "cron".to_owned(), at: 20 };
    assert_eq!(store.suite_cursors(&ws()).unwrap(), [cursor]);
    let job = store.job(&ws(), 2).unwrap().unwrap();
    assert_eq!((job.info.key.as_deref(), job.info.run_after), (Some("smoke 2"), at(2)));
    assert_eq!(job.info.group.as_deref(), Some("suite smoke"));
    assert_eq!(queued(&store), [2, 1]);
    assert_sound(&store);
}

fn a_key_is_fired_once(db: &Database) {
    let store = db.open();
    put_suite(&store, "smoke");
    // Queued by hand, and recorded after its job was pruned: neither is due again.
    store.add_job(&ws(), &suite_job("smoke", Some("1")), at(1)).unwrap();
    let recorded = NewSuiteRun { key: Some("smoke 2".to_owned()), ..new_run("smoke", None) };
    store.add_suite_run(&ws(), &recorded, at(1)).unwrap().unwrap();
    assert_eq!(store.queue_due_run(&ws(), &due("smoke", "1", None, 10), at(2)).unwrap(), None);
    assert_eq!(cursors(&store), [("smoke".to_owned(), 10)], "or it would be due for ever");
    assert_eq!(store.queue_due_run(&ws(), &due("smoke", "2", Some(10), 20), at(2)).unwrap(), None);
    assert_eq!(cursors(&store), [("smoke".to_owned(), 20)]);
    assert_eq!(
        store.queue_due_run(&ws(), &due("smoke", "3", Some(20), 30), at(2)).unwrap(),
        Some(2)
    );
    let without = NewDueRun { job: suite_job("smoke", None), ..due("smoke", "", Some(30), 40) };
    assert_eq!(store.queue_due_run(&ws(), &without, at(2)).unwrap(), Some(3), "one of many");
}

fn a_waiting_run_covers_a_later_one(db: &Database) {
    let store = db.open();
    put_suite(&store, "smoke");
    let queue_due_run = |key: &str, from, to, second| {
        let due = NewDueRun { backlog: BacklogPolicy::Coalesce, ..due("smoke", key, from, to) };
        store.queue_due_run(&ws(), &due, at(second)).unwrap()
    };
    assert_eq!(queue_due_run("1", None, 10, 1), Some(1));
    assert_eq!(queue_due_run("2", Some(10), 20, 1), None, "the first has not begun");
    assert_eq!(cursors(&store), [("smoke".to_owned(), 20)], "and will see this too");
    let (job, lease) = claim(&store, "w", 2);
    assert_eq!(queue_due_run("3", Some(20), 30, 2), Some(2), "the first has begun");
    assert_eq!(queue_due_run("4", Some(30), 40, 2), None);
    assert!(store.retry_job(&ws(), job.info.id, &lease, "{}", at(3), at(3)).unwrap());
    store.cancel_job(&ws(), 2, at(3)).unwrap();
    assert_eq!(
        queue_due_run("5", Some(40), 50, 4),
        Some(3),
        "one that goes on saw the beginning before"
    );
}

fn a_run_that_somebody_asks_for_needs_no_switch(db: &Database) {
    let store = db.open();
    let asked = |suite: &str| NewDueRun { cursor: None, ..due(suite, "by ada", None, 0) };
    assert_eq!(store.queue_due_run(&ws(), &asked("from a file"), at(1)).unwrap(), Some(1));
    store.put_suite(&ws(), "smoke", "{}", at(1)).unwrap();
    assert_eq!(store.queue_due_run(&ws(), &asked("smoke"), at(1)).unwrap(), Some(2));
    assert_eq!(
        store.queue_due_run(&ws(), &asked("smoke"), at(1)).unwrap(),
        None,
        "its key is queued"
    );
    assert_eq!(cursors(&store), []);
}

fn a_key_gives_the_job_that_is_there(db: &Database) {
    let store = db.open();
    let keyed = suite_job("smoke", Some("1"));
    assert_eq!(store.add_job(&ws(), &keyed, at(1)).unwrap(), 1);
    assert_eq!(store.add_job(&ws(), &keyed, at(2)).unwrap(), 1);
    let of_another_kind = gbrain_store::NewJob { kind: "reindex".to_owned(), ..keyed.clone() };
    assert_eq!(store.add_job(&ws(), &of_another_kind, at(2)).unwrap(), 2, "numbers are dense");
    let (_, lease) = claim(&store, "w", 3);
    let done = gbrain_store::JobOutcome::Done("{}".to_owned());
    assert!(store.finish_job(&ws(), 1, &lease, &done, at(4)).unwrap());
    assert_eq!(store.add_job(&ws(), &keyed, at(5)).unwrap(), 1, "over, and not to be done again");
    assert_eq!(store.prune_jobs(&ws(), at(9)).unwrap(), 1);
    assert_eq!(store.add_job(&ws(), &keyed, at(10)).unwrap(), 3);
    for many in [suite_job("a", None), suite_job("a", None)] {
        store.add_job(&ws(), &many, at(10)).unwrap();
    }
    assert_eq!(queued(&store).len(), 4);
}

fn of_a_group_one_runs_at_a_time(db: &Database) {
    let store = db.open();
    for key in ["1", "2", "3"] {
        store.add_job(&ws(), &suite_job("a", Some(key)), at(1)).unwrap();
    }
    store.add_job(&ws(), &suite_job("b", None), at(1)).unwrap();
    store.add_job(&ws(), &new_job("import"), at(1)).unwrap();
    store.add_workspace(&other(), at(0)).unwrap();
    store.add_job(&other(), &suite_job("a", None), at(1)).unwrap();
    let taken: Vec<_> = std::iter::from_fn(|| try_claim(&store, "w", 2))
        .map(|job| (job.info.workspace.to_string(), job.info.id))
        .collect();
    let one = |name: &str, id| (name.to_owned(), id);
    assert_eq!(taken, [one("default", 1), one("other", 1), one("default", 4), one("default", 5)]);
    let lease = lease_of(&info(&store, 1)).unwrap();
    assert!(store.retry_job(&ws(), 1, &lease, "{}", at(50), at(3)).unwrap());
    assert_eq!(claim(&store, "w", 4).0.info.id, 2, "the first waits, the second may go");
    assert_eq!(try_claim(&store, "w", 5), None);
    let lease = lease_of(&info(&store, 2)).unwrap();
    assert!(store.release_job(&ws(), 2, &lease, at(6)).unwrap());
    assert_eq!(claim(&store, "w", 7).0.info.id, 2);
    let lease = lease_of(&info(&store, 2)).unwrap();
    let outcome = gbrain_store::JobOutcome::Failed("{}".to_owned());
    assert!(store.finish_job(&ws(), 2, &lease, &outcome, at(8)).unwrap());
    assert_eq!(claim(&store, "w", 9).0.info.id, 3);
}

fn a_group_goes_on_when_its_worker_died(db: &Database) {
    let store = db.open();
    for key in ["1", "2"] {
        store.add_job(&ws(), &suite_job("a", Some(key)), at(1)).unwrap();
    }
    assert_eq!(claim(&store, "dies", 2).0.info.id, 1);
    assert_eq!(try_claim(&store, "w", 11), None, "its lease runs");
    let (job, _) = claim(&store, "w", 12);
    assert_eq!((job.info.id, job.info.attempt), (1, 2), "the same one, not the next");
    assert_eq!(try_claim(&store, "w", 13), None);
    // Its attempts are used up: it is closed, and the next one starts at the same time.
    assert_eq!(claim(&store, "w", 30).0.info.id, 2);
    assert_eq!(state(&store, 1), JobState::Failed);
    store.cancel_job(&ws(), 2, at(31)).unwrap();
    store.add_job(&ws(), &suite_job("a", Some("3")), at(31)).unwrap();
    assert_eq!(claim(&store, "w", 50).0.info.id, 3);
    assert_eq!(state(&store, 2), JobState::Cancelled);
}

fn events_are_told_once(db: &Database) {
    let store = db.open();
    assert_eq!(store.event_head(&ws()).unwrap(), 0);
    let tell = |document: &str, version: &str, second| {
        let EventReceipt { seq, is_new } =
            store.add_event(&ws(), &event(document, version), at(second)).unwrap();
        (seq, is_new)
    };
    assert_eq!(tell("a", "1", 1), (1, true));
    assert_eq!(tell("a", "1", 2), (1, false));
    assert_eq!(tell("a", "2", 3), (2, true));
    assert_eq!(tell("", "", 4), (3, true), "of nothing in particular");
    let deploy = gbrain_store::NewEvent { kind: "deploy.finished".to_owned(), ..event("a", "1") };
    assert!(store.add_event(&ws(), &deploy, at(5)).unwrap().is_new, "of another kind");
    let expected = SuiteEvent {
        seq: 2,
        kind: "knowledge.persisted".to_owned(),
        document: "a".to_owned(),
        version: "2".to_owned(),
        body: r#"{"größe":1}"#.to_owned(),
        at: at(3),
    };
    assert_eq!(store.events_after(&ws(), 1, 1).unwrap(), [expected]);
    let seqs = |after| -> Vec<i64> {
        store.events_after(&ws(), after, 9).unwrap().iter().map(|event| event.seq).collect()
    };
    assert_eq!((seqs(0), seqs(4)), (vec![1, 2, 3, 4], vec![]));
    assert_sound(&store);
}

fn a_run_is_recorded_with_the_end_of_its_job(db: &Database) {
    let store = db.open();
    put_suite(&store, "smoke");
    let job = store.queue_due_run(&ws(), &due("smoke", "1", None, 10), at(1)).unwrap().unwrap();
    let (_, lease) = claim(&store, "w", 2);
    let run = NewSuiteRun { verdict: Verdict::Fail, ..new_run("smoke", Some("smoke 1")) };
    let result = |id: i64| format!("{{\"run\":{id}}}");
    let id = store.finish_suite_run(&ws(), job, &lease, &run, &result, at(3)).unwrap();
    assert_eq!(id, Some(1));
    let expected = StoredSuiteRun {
        info: SuiteRunInfo {
            id: 1,
            suite: "smoke".to_owned(),
            key: Some("smoke 1".to_owned()),
            trigger: "cron".to_owned(),
            job: Some(job),
            attempt: 1,
            started_at: at(1),
            finished_at: at(3),
            verdict: Verdict::Fail,
            summary: r#"{"n":25}"#.to_owned(),
        },
        report: Some(r#"{"cases":[]}"#.to_owned()),
    };
    assert_eq!(store.suite_run(&ws(), 1).unwrap(), Some(expected));
    assert_eq!(store.suite_run(&ws(), 2).unwrap(), None);
    let job = store.job(&ws(), job).unwrap().unwrap();
    assert_eq!((job.info.state, job.result.as_deref()), (JobState::Done, Some("{\"run\":1}")));
    let again = store.finish_suite_run(&ws(), job.info.id, &lease, &run, &result, at(4)).unwrap();
    assert_eq!(again, None, "the job is over");
    // The key was recorded by another worker while another job ran for it.
    let second = gbrain_store::NewJob { key: None, ..suite_job("smoke", None) };
    let second = store.add_job(&ws(), &second, at(5)).unwrap();
    let (_, lease) = claim(&store, "w", 6);
    let known = store.finish_suite_run(&ws(), second, &lease, &run, &result, at(7)).unwrap();
    assert_eq!(known, Some(1), "not recorded again");
    assert_eq!(state(&store, second), JobState::Done);
    assert_eq!(store.add_suite_run(&ws(), &run, at(8)).unwrap(), None);
    assert_eq!(store.suite_runs_after(&ws(), 0, 9).unwrap().len(), 1);
    assert_sound(&store);
}

fn a_lost_worker_records_nothing(db: &Database) {
    let store = db.open();
    let id = add(&store, 1);
    let (_, lost) = claim(&store, "first", 2);
    let (_, kept) = claim(&store, "second", 13);
    let record = |lease| {
        let (run, result) = (new_run("smoke", Some("1")), |_| "{}".to_owned());
        store.finish_suite_run(&ws(), id, lease, &run, &result, at(14)).unwrap()
    };
    assert_eq!(record(&lost), None);
    assert_eq!(store.suite_runs_after(&ws(), 0, 9).unwrap(), []);
    assert_eq!(state(&store, id), JobState::Running);
    assert_eq!(record(&kept), Some(1), "and no number is lost");
    assert_eq!(store.suite_run(&ws(), 1).unwrap().unwrap().info.attempt, 2);
}

fn runs_are_listed(db: &Database) {
    let store = db.open();
    for n in 0..6 {
        let suite = if n % 2 == 0 { "even" } else { "odd" };
        let verdict = Verdict::ALL[n % 3];
        let run = NewSuiteRun { verdict, ..new_run(suite, None) };
        assert_eq!(store.add_suite_run(&ws(), &run, at(n as i64)).unwrap(), Some(n as i64 + 1));
    }
    let check = |filter: SuiteRunFilter, limit, expected: &[i64]| {
        let found = store.suite_runs(&ws(), &filter, limit).unwrap();
        let found: Vec<i64> = found.into_iter().map(|run| run.id).collect();
        assert_eq!(found, expected, "{filter:?}");
    };
    let all = SuiteRunFilter::default;
    check(all(), 9, &[6, 5, 4, 3, 2, 1]);
    check(all(), 2, &[6, 5]);
    check(SuiteRunFilter { suite: Some("even".to_owned()), ..all() }, 9, &[5, 3, 1]);
    check(SuiteRunFilter { verdict: Some(Verdict::Pass), ..all() }, 9, &[4, 1]);
    check(SuiteRunFilter { since: Some(at(3)), ..all() }, 9, &[6, 5, 4]);
    check(SuiteRunFilter { until: Some(at(3)), ..all() }, 9, &[3, 2, 1]);
    check(SuiteRunFilter { before: Some(3), ..all() }, 9, &[2, 1]);
    let narrow = SuiteRunFilter { suite: Some("odd".to_owned()), since: Some(at(2)), ..all() };
    check(SuiteRunFilter { before: Some(6), ..narrow }, 9, &[4]);
    let after: Vec<i64> =
        store.suite_runs_after(&ws(), 2, 3).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(after, [3, 4, 5]);
    assert_sound(&store);
}

fn broken_rows_of_suites_are_refused(db: &Database) {
    let store = db.open();
    let nul = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Nul { .. })), "{result:?}");
    };
    nul(store.put_suite(&ws(), "a\0", "{}", at(1)).map(|_| ()));
    nul(store.put_suite(&ws(), "a", "\0", at(1)).map(|_| ()));
    nul(store.suite(&ws(), "\0").map(|_| ()));
    nul(store.enable_suite(&ws(), "\0", at(1)).map(|_| ()));
    nul(store.remove_suite(&ws(), "\0").map(|_| ()));
    nul(store.queue_due_run(&ws(), &due("\0", "1", None, 1), at(1)).map(|_| ()));
    put_suite(&store, "a");
    nul(store.queue_due_run(&ws(), &due("a", "\0", None, 1), at(1)).map(|_| ()));
    nul(store.add_event(&ws(), &event("a\0", "1"), at(1)).map(|_| ()));
    nul(store.add_suite_run(&ws(), &new_run("a", Some("\0")), at(1)).map(|_| ()));
    let broken = |result: Result<(), StoreError>, constraint: &str| match result {
        Err(StoreError::Constraint { which }) => assert_eq!(which, constraint),
        other => panic!("{constraint}: {other:?}"),
    };
    let long = "x".repeat(2000);
    broken(store.put_suite(&ws(), "", "{}", at(1)).map(|_| ()), "suite_name");
    broken(store.put_suite(&ws(), &long, "{}", at(1)).map(|_| ()), "suite_name");
    broken(store.queue_due_run(&ws(), &due("a", &long, None, 1), at(1)).map(|_| ()), "job_key");
    let group = gbrain_store::NewJob { group: Some(String::new()), ..new_job("import") };
    broken(store.add_job(&ws(), &group, at(1)).map(|_| ()), "job_group");
    broken(store.add_event(&ws(), &event(&long, "1"), at(1)).map(|_| ()), "event_document");
    broken(store.add_event(&ws(), &event("a", &long), at(1)).map(|_| ()), "event_version");
    broken(store.add_suite_run(&ws(), &new_run("", None), at(1)).map(|_| ()), "suite_run_suite");
    broken(store.add_suite_run(&ws(), &new_run("a", Some("")), at(1)).map(|_| ()), "suite_run_key");
    assert_eq!(cursors(&store), [], "a run that was not queued moved nothing");
    assert_eq!((store.event_head(&ws()).unwrap(), queued(&store)), (0, vec![]));
    assert_eq!(store.add_suite_run(&ws(), &new_run("a", None), at(1)).unwrap(), Some(1));
}

fn suites_go_with_their_workspace(db: &Database) {
    let store = db.open();
    let unknown = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::UnknownWorkspace(_))), "{result:?}");
    };
    let o = other();
    unknown(store.put_suite(&o, "a", "{}", at(1)).map(|_| ()));
    unknown(store.suites(&o).map(|_| ()));
    unknown(store.suite_cursors(&o).map(|_| ()));
    unknown(store.queue_due_run(&o, &due("a", "1", None, 1), at(1)).map(|_| ()));
    unknown(store.add_event(&o, &event("a", "1"), at(1)).map(|_| ()));
    unknown(store.event_head(&o).map(|_| ()));
    unknown(store.add_suite_run(&o, &new_run("a", None), at(1)).map(|_| ()));
    unknown(store.suite_runs(&o, &SuiteRunFilter::default(), 9).map(|_| ()));
    unknown(store.canonical_queries(&o, &Default::default(), 9).map(|_| ()));
    unknown(store.retrieval_logs(&o, &Default::default()).map(|_| ()));
    unknown(store.pairs(&o, None, 9).map(|_| ()));
    unknown(store.thresholds(&o, None, 9).map(|_| ()));
    unknown(store.alert_board(&o).map(|_| ()));
    unknown(store.deliveries(&o, &Default::default(), 9).map(|_| ()));
    unknown(store.silences(&o, None).map(|_| ()));
    unknown(store.incidents(&o, None, 9).map(|_| ()));
    store.add_workspace(&o, at(0)).unwrap();
    one_of_each(&store, &o, "theirs");
    assert_eq!(store.workspaces_with_suites().unwrap(), std::slice::from_ref(&o));
    store.remove_workspace(&o).unwrap();
    store.add_workspace(&o, at(0)).unwrap();
    one_of_each(&store, &o, "theirs");
    assert_eq!(store.suite_runs_after(&o, 0, 9).unwrap()[0].id, 1, "nothing was left");
    assert_eq!(store.retrieval_logs(&o, &Default::default()).unwrap().len(), 1);
    assert_eq!(store.check(&o).unwrap(), []);
}

fn runs_are_counted_by_day(db: &Database) {
    let store = db.open();
    let day = 86_400;
    let run = |suite: &str, key: &str, verdict, second, summary: &str| {
        let run = NewSuiteRun {
            suite: suite.to_owned(),
            key: Some(key.to_owned()),
            trigger: "manual".to_owned(),
            started_at: at(second),
            verdict,
            summary: summary.to_owned(),
            report: "{}".to_owned(),
        };
        store.add_suite_run(&ws(), &run, at(second)).unwrap().unwrap()
    };
    let failed = run("a", "1", Verdict::Fail, 1, "{}");
    run("a", "2", Verdict::Pass, 2, "{}");
    run("a", "3", Verdict::Fail, 3, r#"{"suite":"a","ad_hoc":true}"#);
    run("a", "4", Verdict::Inconclusive, 4, r#"{"inconclusive_reasons":["cancelled"]}"#);
    let later = run("a", "5", Verdict::Pass, 4 + 2 * day, "{}");
    let other = run("b", "6", Verdict::Inconclusive, 5 + 2 * day, "{}");
    let days = store.suite_days(&ws(), at(0)).unwrap();
    let found: Vec<_> =
        days.iter().map(|(suite, day)| (suite.as_str(), day.runs, day.verdict, day.run)).collect();
    assert_eq!(
        found,
        [
            ("a", 2, Verdict::Fail, failed),
            ("a", 1, Verdict::Pass, later),
            ("b", 1, Verdict::Inconclusive, other),
        ]
    );
    assert_eq!((days[1].1.day - days[0].1.day).get_days(), 2);
    assert_eq!(store.suite_days(&ws(), at(day)).unwrap().len(), 2);
    let newest = |suite, each| -> Vec<(String, i64)> {
        let runs = store.newest_suite_runs(&ws(), suite, each).unwrap();
        runs.into_iter().map(|one| (one.suite, one.id)).collect()
    };
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!(newest(None, 1), [(a.clone(), later), (b, other)]);
    assert_eq!(newest(Some("a"), 2), [(a.clone(), later), (a, later - 1)]);
    assert!(newest(Some("none"), 9).is_empty());
}
