//! Schedulers and workers that race, die and return: every due run is queued once and recorded
//! once, and one job of a group runs at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use gbrain_store::{
    BacklogPolicy, EventReceipt, Job, JobClaim, JobFilter, Lease, NewDueRun, NewSuiteRun, Store,
    SuiteRunFilter,
};
use jiff::{SignedDuration, Timestamp};

use crate::child::{Role, spawn};
use crate::database::Database;
use crate::fixture::*;
use crate::jobs::*;
use crate::playbook::*;

on_both_engines! {
    schedulers_race_to_one_job_for_a_due_run,
    triggers_that_race_leave_one_run_waiting,
    a_switch_and_a_scheduler_race,
    keys_race_to_one_job,
    claims_of_a_group_race_to_one_job,
    a_result_and_a_claim_race_to_one_record,
    an_event_is_news_to_one,
    due_runs_are_recorded_once_whatever_workers_do,
    due_runs_survive_kills,
}

const THREADS: usize = 6;

/// Runs a closure on many threads that start together; returns their results.
fn at_once<T: Send>(job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let (job, barrier) = (&job, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    job(n)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn cursor_of(store: &Store, suite: &str) -> Option<i64> {
    let cursors = store.suite_cursors(&ws()).unwrap();
    cursors.into_iter().find(|cursor| cursor.suite == suite).map(|cursor| cursor.at)
}

/// Queues the next due run after a suite's cursor; returns the job, if there was one.
fn fire_next(store: &Store, suite: &str, last: i64, now: Timestamp) -> Option<i64> {
    let from = cursor_of(store, suite);
    let to = from.unwrap_or(0) + 1;
    let mut due = due(suite, &to.to_string(), from, to);
    // Workers die here more often than the usual number of attempts.
    due.job.max_attempts = 1_000_000;
    (to <= last).then(|| store.queue_due_run(&ws(), &due, now).unwrap())?
}

fn is_fired(store: &Store, suite: &str, last: i64) -> bool {
    cursor_of(store, suite) == Some(last)
}

fn schedulers_race_to_one_job_for_a_due_run(db: &Database) {
    let store = db.open();
    let suites = ["a", "b", "c"];
    suites.iter().for_each(|suite| put_suite(&store, suite));
    let fired = at_once(|_| {
        let mut jobs = Vec::new();
        while !suites.iter().all(|suite| is_fired(&store, suite, 20)) {
            let suite = suites[fastrand::usize(..suites.len())];
            jobs.extend(fire_next(&store, suite, 20, at(1)));
        }
        jobs
    });
    let mut fired: Vec<i64> = fired.into_iter().flatten().collect();
    fired.sort_unstable();
    assert_eq!(fired, (1..=60).collect::<Vec<_>>(), "each one by one, and no number is lost");
    let jobs = store.jobs(&ws(), &JobFilter::default(), 100).unwrap();
    let keys: BTreeSet<_> = jobs.iter().map(|job| job.key.clone().unwrap()).collect();
    assert_eq!((jobs.len(), keys.len()), (60, 60));
    assert_sound(&store);
}

fn triggers_that_race_leave_one_run_waiting(db: &Database) {
    let store = db.open();
    for round in 0..10 {
        let suite = format!("s{round}");
        put_suite(&store, &suite);
        let fired = at_once(|n| {
            let trigger = format!("trigger {n}");
            let key = format!("{n}");
            let due = due(&suite, &key, None, 1);
            let mut due = NewDueRun { trigger, backlog: BacklogPolicy::Coalesce, ..due };
            // With a key, the counter of jobs is locked; without one, the suite.
            due.job.key = due.job.key.filter(|_| round % 2 == 0);
            store.queue_due_run(&ws(), &due, at(1)).unwrap()
        });
        assert_eq!(fired.iter().flatten().count(), 1, "{fired:?}");
    }
    assert_eq!(store.suite_cursors(&ws()).unwrap().len(), 10 * THREADS, "all of them moved");
    assert_eq!(store.job_counts_of(&ws()).unwrap().queued, 10);
}

fn a_switch_and_a_scheduler_race(db: &Database) {
    let store = db.open();
    put_suite(&store, "a");
    at_once(|n| {
        for step in 0..15 {
            match n {
                0 => drop(store.disable_suite(&ws(), "a", at(step)).unwrap()),
                1 => drop(store.enable_suite(&ws(), "a", at(step)).unwrap()),
                2 => drop(store.put_suite(&ws(), "a", &format!("{step}"), at(step)).unwrap()),
                3 if step % 5 == 4 => drop(store.remove_suite(&ws(), "a").unwrap()),
                _ => drop(fire_next(&store, "a", 1000, at(step))),
            }
        }
    });
    store.put_suite(&ws(), "a", "{}", at(0)).unwrap();
    store.disable_suite(&ws(), "a", at(20)).unwrap();
    assert_eq!(cursor_of(&store, "a"), None);
    assert_eq!(fire_next(&store, "a", 1000, at(21)), None);
    assert_sound(&store);
}

fn keys_race_to_one_job(db: &Database) {
    let store = db.open();
    for round in 0..10 {
        let job = suite_job("a", Some(&round.to_string()));
        let ids = at_once(|_| store.add_job(&ws(), &job, at(1)).unwrap());
        assert_eq!(ids, vec![round + 1; THREADS], "no number is lost");
    }
}

/// The groups with a running job, at one time.
fn assert_one_of_a_group_runs(store: &Store) {
    let filter = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
    let running = store.jobs(&ws(), &filter, 1000).unwrap();
    let groups: BTreeSet<_> = running.iter().map(|job| job.group.clone()).collect();
    assert_eq!(groups.len(), running.len(), "{running:?}");
}

fn claims_of_a_group_race_to_one_job(db: &Database) {
    let store = db.open();
    for _ in 0..5 {
        for suite in ["a", "b"] {
            for _ in 0..THREADS {
                store.add_job(&ws(), &suite_job(suite, None), at(1)).unwrap();
            }
        }
        let claimed = at_once(|n| try_claim(&store, &format!("w{n}"), 2));
        assert_one_of_a_group_runs(&store);
        let claimed: Vec<Job> = claimed.into_iter().flatten().collect();
        let groups: BTreeSet<_> = claimed.iter().map(|job| job.info.group.clone()).collect();
        assert_eq!((claimed.len(), groups.len()), (2, 2), "one of each, and nobody failed");
        // Half of them become due while others claim.
        let filter = JobFilter { state: Some(JobState::Queued), ..JobFilter::default() };
        for job in claimed {
            let lease = lease_of(&job.info).unwrap();
            assert!(store.retry_job(&ws(), job.info.id, &lease, "{}", at(3), at(2)).unwrap());
        }
        at_once(|n| try_claim(&store, &format!("w{n}"), 2 + n as i64 % 3));
        assert_one_of_a_group_runs(&store);
        for job in store.jobs(&ws(), &JobFilter::default(), 1000).unwrap() {
            match lease_of(&job) {
                Some(lease) => {
                    let outcome = gbrain_store::JobOutcome::Cancelled;
                    assert!(store.finish_job(&ws(), job.id, &lease, &outcome, at(9)).unwrap());
                }
                None => drop(store.cancel_job(&ws(), job.id, at(9)).unwrap()),
            }
        }
        assert_eq!(store.jobs(&ws(), &filter, 1000).unwrap(), []);
    }
}

fn record(store: &Store, job: i64, lease: &Lease, run: &NewSuiteRun, now: Timestamp) -> bool {
    let result = |id: i64| format!("{id}");
    store.finish_suite_run(&ws(), job, lease, run, &result, now).unwrap().is_some()
}

fn a_result_and_a_claim_race_to_one_record(db: &Database) {
    let store = db.open();
    for round in 0..20 {
        let key = format!("{round}");
        let id = store.add_job(&ws(), &suite_job("a", Some(&key)), at(round)).unwrap();
        let (_, late) = claim(&store, "late", round);
        // The lease has expired: the worker reports its result while others claim the job.
        let heard = at_once(|n| match n {
            0 => record(&store, id, &late, &new_run("a", Some(&key)), at(round + 10)),
            _ => match try_claim(&store, &format!("w{n}"), round + 10) {
                None => false,
                Some(job) => {
                    let lease = lease_of(&job.info).unwrap();
                    record(&store, id, &lease, &new_run("a", Some(&key)), at(round + 10))
                }
            },
        });
        assert_eq!(heard.iter().filter(|heard| **heard).count(), 1, "{heard:?}");
        assert_eq!(state(&store, id), JobState::Done);
    }
    assert_eq!(store.suite_runs_after(&ws(), 0, 99).unwrap().len(), 20);
    assert_sound(&store);
}

fn an_event_is_news_to_one(db: &Database) {
    let store = db.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Numbers become visible in order: a reader that continues from the last one misses none.
        let reader = scope.spawn(|| {
            let mut seen = Vec::new();
            loop {
                let is_last = done.load(Ordering::Relaxed);
                let after = seen.last().copied().unwrap_or(0);
                let events = store.events_after(&ws(), after, 7).unwrap();
                if events.is_empty() && is_last {
                    return seen;
                }
                seen.extend(events.iter().map(|event| event.seq));
            }
        });
        let news = at_once(|n| {
            let tell = |version: usize| {
                let event = event("shared", &version.to_string());
                store.add_event(&ws(), &event, at(1)).unwrap()
            };
            let own = event(&format!("own {n}"), "1");
            assert!(store.add_event(&ws(), &own, at(1)).unwrap().is_new);
            (0..15).map(tell).filter(|EventReceipt { is_new, .. }| *is_new).count()
        });
        assert_eq!(news.iter().sum::<usize>(), 15);
        done.store(true, Ordering::Relaxed);
        let all: Vec<i64> = (1..=15 + THREADS as i64).collect();
        assert_eq!(reader.join().unwrap(), all);
    });
    assert_eq!(store.event_head(&ws()).unwrap(), 15 + THREADS as i64);
}

/// The result of a worker, with its name and attempt.
fn made_by(job: &Job, lease: &Lease) -> NewSuiteRun {
    let group = job.info.group.as_deref().unwrap_or("");
    NewSuiteRun {
        suite: group.trim_start_matches("suite ").to_owned(),
        key: job.info.key.clone(),
        verdict: Verdict::Pass,
        summary: format!("{} {}", lease.worker, lease.attempt),
        ..new_run("", None)
    }
}

/// Every due run has exactly one record, by the worker and attempt that ended its job.
fn assert_recorded_once(store: &Store, suites: &[String], runs: usize) {
    let jobs = store.jobs(&ws(), &JobFilter::default(), 10_000).unwrap();
    assert!(jobs.iter().all(|job| job.state == JobState::Done));
    let recorded = store.suite_runs(&ws(), &SuiteRunFilter::default(), 10_000).unwrap();
    let keys: BTreeSet<_> = recorded.iter().map(|run| run.key.clone().unwrap()).collect();
    let expected: BTreeSet<_> =
        suites.iter().flat_map(|suite| (1..=runs).map(move |n| format!("{suite} {n}"))).collect();
    assert_eq!((keys, recorded.len()), (expected, suites.len() * runs));
    let by_number: BTreeMap<i64, _> = jobs.iter().map(|job| (job.id, job)).collect();
    for run in recorded {
        let job = by_number[&run.job.unwrap()];
        assert_eq!((&job.key, job.attempt), (&run.key, run.attempt));
        let told = format!("{} {}", job.worker.as_deref().unwrap(), job.attempt);
        assert_eq!(run.summary, told, "the word of the worker that had it");
    }
    assert_sound(store);
}

/// Threads with a running clock. Some let their lease expire and report late.
fn due_runs_are_recorded_once_whatever_workers_do(db: &Database) {
    let store = db.open();
    let suites: Vec<String> = (0..4).map(|n| format!("s{n}")).collect();
    suites.iter().for_each(|suite| put_suite(&store, suite));
    let (second, is_over) = (AtomicI64::new(1), AtomicBool::new(false));
    let stale = Mutex::new(Vec::<(Job, Lease)>::new());
    at_once(|n| {
        if n == 0 {
            while !is_over.load(Ordering::Relaxed) {
                assert_one_of_a_group_runs(&store);
            }
            return;
        }
        loop {
            let now = second.fetch_add(1, Ordering::Relaxed);
            let suite = &suites[fastrand::usize(..suites.len())];
            fire_next(&store, suite, 15, at(now));
            let zombie = stale.lock().unwrap().pop();
            if let Some((job, lease)) = zombie {
                record(&store, job.info.id, &lease, &made_by(&job, &lease), at(now));
            }
            let worker = format!("w{n} {now}");
            let Some(job) = try_claim(&store, &worker, now) else {
                let all = suites.iter().all(|suite| is_fired(&store, suite, 15));
                if all && store.job_counts_of(&ws()).unwrap() == Default::default() {
                    is_over.store(true, Ordering::Relaxed);
                    return;
                }
                continue;
            };
            let lease = lease_of(&job.info).unwrap();
            let id = job.info.id;
            match fastrand::u32(..10) {
                0..=2 => stale.lock().unwrap().push((job, lease)),
                3 => drop(store.release_job(&ws(), id, &lease, at(now)).unwrap()),
                4 => drop(store.retry_job(&ws(), id, &lease, "{}", at(now + 5), at(now)).unwrap()),
                _ => drop(record(&store, id, &lease, &made_by(&job, &lease), at(now))),
            }
        }
    });
    assert_recorded_once(&store, &suites, 15);
}

fn later(now: Timestamp, milliseconds: i64) -> Timestamp {
    now.checked_add(SignedDuration::from_millis(milliseconds)).unwrap()
}

/// The task of a child: a scheduler and a worker, by the database's clock, until all runs are
/// recorded.
pub(crate) fn run_suites(store: &Store, suites: usize, runs: usize) {
    let worker = format!("{:016x}", fastrand::u64(..));
    let suites: Vec<String> = (0..suites).map(|n| format!("s{n}")).collect();
    loop {
        let now = store.clock().unwrap();
        for suite in &suites {
            fire_next(store, suite, runs as i64, now);
        }
        let claim = JobClaim {
            worker: worker.clone(),
            kinds: vec!["import".to_owned()],
            lease_until: later(now, 300),
            last: None,
        };
        match store.claim_job(&claim, now).unwrap() {
            Some(job) => {
                let lease = lease_of(&job.info).unwrap();
                std::thread::sleep(Duration::from_millis(fastrand::u64(..8)));
                record(store, job.info.id, &lease, &made_by(&job, &lease), store.clock().unwrap());
            }
            None => {
                let all = suites.iter().all(|suite| is_fired(store, suite, runs as i64));
                if all && store.job_counts_of(&ws()).unwrap() == Default::default() {
                    return;
                }
            }
        }
    }
}

fn due_runs_survive_kills(db: &Database) {
    let store = db.open();
    let (suites, runs) = (5, 20);
    let names: Vec<String> = (0..suites).map(|n| format!("s{n}")).collect();
    names.iter().for_each(|suite| put_suite(&store, suite));
    let start = || spawn(&db.location(), Role::RunSuites { suites, runs });
    let mut children: Vec<_> = (0..2).map(|_| start()).collect();
    let (begin, mut kills) = (Instant::now(), 0);
    while kills < 15 && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50 + fastrand::u64(..250)));
        assert_one_of_a_group_runs(&store);
        let victim = fastrand::usize(..children.len());
        children[victim].kill();
        children[victim] = start();
        kills += 1;
    }
    for child in children {
        child.finish();
    }
    assert_recorded_once(&store, &names, runs);
    assert_eq!(store.workspaces_with_suites().unwrap(), [WorkspaceId::default()]);
}
