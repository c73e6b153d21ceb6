//! Retention of suite history.

use gbrain_store::{
    AlertCursor, CursorMove, NewRetrievalLog, RetrievalFilter, RunParts, Store, SuiteHistory,
    SuiteRunFilter,
};

use crate::database::Database;
use crate::fixture::*;
use crate::playbook::*;

on_both_engines! {
    runs_are_let_go,
    logs_go_with_their_runs,
    events_stay_while_somebody_waits_for_them,
    what_is_counted_is_erased,
    whoever_prunes_waits_for_nobody_who_waits_for_him,
}

/// Runs of two suites, one per second.
fn recorded(store: &Store, count: i64) {
    for n in 0..count {
        let (suite, key) = (if n % 2 == 0 { "even" } else { "odd" }, format!("run {n}"));
        store.add_suite_run(&ws(), &new_run(suite, Some(&key)), at(n)).unwrap();
    }
}

fn looked_at(store: &Store, run: i64) {
    let seen = store.alert_board(&ws()).unwrap().cursor;
    assert!(store.store_alert_evaluation(&ws(), seen, run, &[], &[], at(50)).unwrap());
    let AlertCursor { run: at, .. } = store.alert_board(&ws()).unwrap().cursor;
    assert_eq!(at, run);
}

/// The existing runs, and those that have a report.
fn runs(store: &Store) -> (Vec<i64>, Vec<i64>) {
    let all = store.suite_runs(&ws(), &SuiteRunFilter::default(), 99).unwrap();
    let all: Vec<i64> = all.into_iter().map(|run| run.id).collect();
    let has_report = |id: &i64| store.suite_run(&ws(), *id).unwrap().unwrap().report.is_some();
    let whole = all.iter().copied().filter(has_report).collect();
    (all, whole)
}

fn runs_are_let_go(db: &Database) {
    let store = db.open();
    recorded(&store, 6);
    let prune =
        |second, parts| store.prune_suite_history(&ws(), at(second), parts, 1_000).unwrap().runs;
    assert_eq!(prune(99, RunParts::All), 0, "nobody has looked at them for alerts");
    looked_at(&store, 3);
    assert_eq!(prune(2, RunParts::Reports), 2);
    assert_eq!(runs(&store), (vec![6, 5, 4, 3, 2, 1], vec![6, 5, 4, 3]));
    let figures = store.suite_run(&ws(), 1).unwrap().unwrap().info.summary;
    assert_eq!(figures, r#"{"n":25}"#);
    assert_eq!(prune(2, RunParts::Reports), 0, "they are gone");
    assert_eq!(prune(99, RunParts::All), 3, "those that were looked at, with or without a report");
    assert_eq!(runs(&store).0, [6, 5, 4]);
    looked_at(&store, 6);
    assert_eq!(prune(99, RunParts::All), 1);
    assert_eq!(runs(&store).0, [6, 5], "the last of a suite stays");
    let next = store.add_suite_run(&ws(), &new_run("even", None), at(9)).unwrap();
    assert_eq!(next, Some(7), "numbers are not used again");
    assert_sound(&store);
}

fn asked_by(run: Option<&str>, second: i64) -> NewRetrievalLog {
    let mut log = retrieval("q", second);
    log.fields.experiment_id = run.map(str::to_owned);
    log
}

fn logs_go_with_their_runs(db: &Database) {
    let store = db.open();
    recorded(&store, 4);
    looked_at(&store, 4);
    let logs = [
        asked_by(Some("run 0"), 0),
        asked_by(Some("run 2"), 2),
        asked_by(Some("never recorded"), 0),
        asked_by(None, 0),
        asked_by(Some("never recorded"), 9),
    ];
    store.add_retrieval_logs(&ws(), &logs, at(9)).unwrap();
    let erased = store.prune_suite_history(&ws(), at(5), RunParts::Reports, 1_000).unwrap();
    assert_eq!(erased, SuiteHistory { runs: 2, logs: 1, events: 0 });
    let left = || -> Vec<i64> {
        let left = store.retrieval_logs(&ws(), &RetrievalFilter::default()).unwrap();
        left.into_iter().map(|log| log.id).collect()
    };
    assert_eq!(left(), [5, 2, 4, 3], "of the last run, live, and of one that may be under way");
    let after_a_day = at(24 * 3600 + 5);
    let erased = store.prune_suite_history(&ws(), after_a_day, RunParts::Reports, 1_000).unwrap();
    assert_eq!(erased, SuiteHistory { runs: 0, logs: 1, events: 0 });
    assert_eq!(left(), [5, 2, 4], "nobody will record it");
    let words = store.feedback(&ws(), &[1, 2]).unwrap();
    assert_eq!(words.iter().map(Vec::len).collect::<Vec<_>>(), [0, 2]);
    let next = store.add_retrieval_logs(&ws(), &[retrieval("q", 9)], at(9)).unwrap();
    assert_eq!(next, [6]);
    assert_sound(&store);
}

fn events_stay_while_somebody_waits_for_them(db: &Database) {
    let store = db.open();
    for n in 1..=5 {
        store.add_event(&ws(), &event("a", &n.to_string()), at(n)).unwrap();
    }
    for name in ["waits", "is off"] {
        store.put_suite(&ws(), name, "{}", at(1)).unwrap();
        store.enable_suite(&ws(), name, at(1)).unwrap();
    }
    let moved = |suite: &str, trigger: &str, from, to| {
        let advance = CursorMove { from, to };
        assert!(store.advance_cursor(&ws(), suite, trigger, advance).unwrap());
    };
    moved("waits", "told:knowledge.persisted", None, 2);
    moved("waits", "event:knowledge.persisted", None, 0);
    moved("is off", "told:knowledge.persisted", None, 0);
    let prune =
        |second| store.prune_suite_history(&ws(), at(second), RunParts::All, 1_000).unwrap().events;
    assert_eq!(prune(99), 0, "the other one is on, too");
    store.disable_suite(&ws(), "is off", at(6)).unwrap();
    assert_eq!(prune(2), 1);
    assert_eq!(prune(99), 1, "what was fired by");
    moved("waits", "told:knowledge.persisted", Some(2), 5);
    assert_eq!(prune(5), 2);
    assert_eq!(prune(99), 1);
    assert_eq!(store.event_head(&ws()).unwrap(), 5, "numbers are not used again");
    let again = store.add_event(&ws(), &event("a", "2"), at(100)).unwrap();
    assert!(again.is_new && again.seq == 6, "{again:?}");
    assert_sound(&store);
}

fn what_is_counted_is_erased(db: &Database) {
    let store = db.open();
    recorded(&store, 10);
    looked_at(&store, 7);
    let logs: Vec<_> = (0..10).map(|n| asked_by(Some(&format!("run {n}")), n)).collect();
    store.add_retrieval_logs(&ws(), &logs, at(20)).unwrap();
    for n in 1..=4 {
        store.add_event(&ws(), &event("a", &n.to_string()), at(n)).unwrap();
    }
    for (parts, second) in [(RunParts::Reports, 4), (RunParts::All, 6), (RunParts::All, 99)] {
        let counted = store.count_suite_history(&ws(), at(second), parts).unwrap();
        assert_ne!(counted, SuiteHistory::default());
        assert_eq!(store.count_suite_history(&ws(), at(second), parts).unwrap(), counted);
        assert_eq!(store.prune_suite_history(&ws(), at(second), parts, 1_000).unwrap(), counted);
        let left = store.count_suite_history(&ws(), at(second), parts).unwrap();
        assert_eq!(left, SuiteHistory::default());
    }
}

/// Purging pages, recording runs, evaluating them and pruning, all at the same time.
fn whoever_prunes_waits_for_nobody_who_waits_for_him(db: &Database) {
    let store = db.open();
    const ROUNDS: i64 = 30;
    let names: Vec<String> = (0..ROUNDS).map(|n| format!("page{n}")).collect();
    let pages: Vec<_> = names.iter().map(|name| plain(name, "text")).collect();
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    let about = |name: &str| format!("{{\"cases\":[\"default::{name}\"]}}");
    let recorded = |n: i64| {
        let (key, report) = (format!("run {n}"), about(&names[n as usize]));
        let mut log = asked_by(Some(&key), n);
        log.fields.body = Some(report.clone());
        store.add_retrieval_logs(&ws(), &vec![log; 20], at(n)).unwrap();
        let run = gbrain_store::NewSuiteRun { report, ..new_run("s", Some(&key)) };
        store.add_suite_run(&ws(), &run, at(n)).unwrap().unwrap()
    };
    (0..ROUNDS / 2).for_each(|n| looked_at(&store, recorded(n)));
    std::thread::scope(|scope| {
        scope.spawn(|| (ROUNDS / 2..ROUNDS).for_each(|n| looked_at(&store, recorded(n))));
        scope.spawn(|| {
            for name in &names {
                store.purge_page(&ws(), &key(name), at(40)).unwrap();
            }
        });
        scope.spawn(|| {
            for n in 0..ROUNDS {
                store.prune_suite_history(&ws(), at(n), RunParts::Reports, 7).unwrap();
                store.prune_suite_history(&ws(), at(n), RunParts::All, 3).unwrap();
            }
        });
    });
    while store.prune_suite_history(&ws(), at(100_000), RunParts::All, 7).unwrap()
        != SuiteHistory::default()
    {}
    assert_eq!(runs(&store).0, [ROUNDS]);
    assert_eq!(store.retrieval_logs(&ws(), &RetrievalFilter::default()).unwrap().len(), 20);
    assert_sound(&store);
}
