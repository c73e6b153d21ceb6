//! Captures: stored rows are read back once, in order.

use std::ops::ControlFlow;

use gbrain_core::capture::{CaptureFailure, CaptureFields, FailureReason, StoredCapture};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::{Detail, Operation};
use gbrain_store::{CaptureFilter, CapturePosition, Store, StoreError};
use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    every_field_comes_back,
    any_fields_come_back,
    the_database_bounds_the_query,
    broken_captures_are_refused_whole,
    captures_are_read_newest_first,
    filters_count_and_prune_what_they_read,
    a_reader_may_stop,
    readers_see_one_moment,
    a_clock_that_jumps_back_is_not_followed,
    a_closed_window_stays_as_it_is,
    numbers_are_not_used_again,
    failures_are_kept_once,
    captures_in_figures,
    workspaces_do_not_meet,
    a_removed_workspace_takes_its_captures,
    captures_are_not_in_the_feed,
}

/// A capture with nothing optional.
pub(crate) fn capture(query: &str) -> CaptureFields {
    CaptureFields {
        tool_name: Operation::Query,
        query: query.to_owned(),
        retrieved_slugs: r#"["people/ada","größe"]"#.to_owned(),
        retrieved_chunk_ids: "[3,1,3]".to_owned(),
        source_ids: r#"["default"]"#.to_owned(),
        expand_enabled: None,
        detail: None,
        detail_resolved: None,
        vector_enabled: false,
        expansion_applied: false,
        latency_ms: 1.5,
        remote: false,
        job_id: None,
        subagent_id: None,
        extra: "{}".to_owned(),
    }
}

fn full_capture() -> CaptureFields {
    CaptureFields {
        tool_name: Operation::Search,
        expand_enabled: Some(false),
        detail: Some(Detail::Low),
        detail_resolved: Some(Detail::High),
        vector_enabled: true,
        expansion_applied: true,
        latency_ms: 0.1 + 0.2,
        remote: true,
        job_id: Some(i64::MAX),
        subagent_id: Some(-1),
        extra: r#"{"limit":10,"note":"\u0000 $1 ?1 🦀"}"#.to_owned(),
        ..capture("who's \"Ada\"?\n\\ 🦀")
    }
}

/// All captures that pass a filter.
pub(crate) fn read(store: &Store, ws: &WorkspaceId, filter: &CaptureFilter) -> Vec<StoredCapture> {
    let mut rows = Vec::new();
    store
        .captures(ws, filter, &mut |row| {
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    rows
}

fn all(store: &Store) -> Vec<StoredCapture> {
    read(store, &ws(), &CaptureFilter::default())
}

fn ids(rows: &[StoredCapture]) -> Vec<i64> {
    rows.iter().map(|row| row.id).collect()
}

/// A request that was not captured.
pub(crate) fn failure(event: &str, second: i64, reason: FailureReason) -> CaptureFailure {
    CaptureFailure {
        event_id: event.to_owned(),
        at: at(second),
        reason,
        detail: format!("what was said of {event}"),
    }
}

fn other() -> WorkspaceId {
    WorkspaceId::new("other").unwrap()
}

fn every_field_comes_back(db: &Database) {
    let store = db.open();
    let captures = [capture(""), full_capture()];
    store.add_captures(&ws(), &captures, at(1)).unwrap();
    let rows = all(&store);
    let expected = [(2, &captures[1]), (1, &captures[0])].map(|(id, fields)| StoredCapture {
        id,
        created_at: at(1),
        fields: fields.clone(),
    });
    assert_eq!(rows, expected);
    assert_sound(&store);
}

fn any_capture() -> impl Strategy<Value = CaptureFields> {
    let text = || "[^\0]{0,40}";
    let detail = || prop::option::of(prop::sample::select(Detail::ALL));
    let texts = (text(), text(), text(), text(), text());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<Option<bool>>());
    let numbers = (any::<Option<i64>>(), any::<Option<i64>>(), 0.0..1e9);
    let choices = (prop::sample::select(Operation::ALL), detail(), detail());
    (texts, flags, numbers, choices).prop_map(|(texts, flags, numbers, choices)| CaptureFields {
        query: texts.0,
        retrieved_slugs: texts.1,
        retrieved_chunk_ids: texts.2,
        source_ids: texts.3,
        extra: texts.4,
        vector_enabled: flags.0,
        expansion_applied: flags.1,
        remote: flags.2,
        expand_enabled: flags.3,
        job_id: numbers.0,
        subagent_id: numbers.1,
        latency_ms: numbers.2,
        tool_name: choices.0,
        detail: choices.1,
        detail_resolved: choices.2,
    })
}

fn any_fields_come_back(db: &Database) {
    let store = db.open();
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let captures = prop::collection::vec(any_capture(), 1..5);
    let result = TestRunner::new(config).run(&captures, |captures| {
        let newest = all(&store).first().map_or(0, |row| row.id);
        store.add_captures(&ws(), &captures, at(1)).unwrap();
        let after = CaptureFilter { after_id: Some(newest), ..CaptureFilter::default() };
        let mut rows = read(&store, &ws(), &after);
        rows.reverse();
        prop_assert!(rows.iter().map(|row| &row.fields).eq(&captures));
        prop_assert!(rows.iter().map(|row| row.id).eq(newest + 1..=newest + rows.len() as i64));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn the_database_bounds_the_query(db: &Database) {
    let store = db.open();
    // Two bytes each, then four: the limit counts bytes, not characters.
    for (letter, count) in [("ü", 25_600), ("🦀", 12_800), ("a", 51_200)] {
        let longest = letter.repeat(count);
        store.add_captures(&ws(), &[capture(&longest)], at(1)).unwrap();
        assert_eq!(all(&store)[0].fields.query, longest);
        let error = store.add_captures(&ws(), &[capture(&format!("{longest}x"))], at(1));
        let error = error.unwrap_err();
        let StoreError::Constraint { which } = &error else { panic!("{error:?}") };
        assert_eq!(which, "capture_query");
        assert_eq!(error.failure_reason(), FailureReason::CheckViolation);
    }
    assert_eq!(all(&store).len(), 3);
    let sql = "UPDATE eval_candidates SET query = query || 'x'";
    assert!(matches!(db.raw(sql), Err(StoreError::Constraint { .. })), "not our code");
}

fn broken_captures_are_refused_whole(db: &Database) {
    let store = db.open();
    let broken: [&dyn Fn(&mut CaptureFields); 4] = [
        &|capture| capture.latency_ms = -1.0,
        &|capture| capture.latency_ms = f64::NAN,
        &|capture| capture.latency_ms = f64::INFINITY,
        &|capture| capture.query = "secret \0".to_owned(),
    ];
    for change in broken {
        let mut bad = capture("the secret query");
        change(&mut bad);
        let error = store.add_captures(&ws(), &[capture("good"), bad], at(1)).unwrap_err();
        assert_eq!(error.failure_reason(), FailureReason::CheckViolation, "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(all(&store), []);
    store.add_captures(&ws(), &[], at(9)).unwrap();
    store.add_captures(&ws(), &[capture("good")], at(1)).unwrap();
    assert_eq!(ids(&all(&store)), [1], "what failed took no number");
    for sql in [
        "UPDATE eval_candidates SET tool_name = 'think'",
        "UPDATE eval_candidates SET detail = 'all'",
        "UPDATE eval_candidates SET detail_resolved = ''",
        "INSERT INTO eval_capture_failures VALUES ('default', 'e', 0, 'bored', '')",
        "UPDATE eval_clock SET last_id = -1",
    ] {
        let error = db.raw(sql).unwrap_err();
        assert!(matches!(error, StoreError::Constraint { .. }), "{sql}: {error:?}");
    }
}

fn captures_are_read_newest_first(db: &Database) {
    let store = db.open();
    for second in [1, 2, 2, 3] {
        store.add_captures(&ws(), &[capture("a"), capture("b")], at(second)).unwrap();
    }
    let rows = all(&store);
    assert_eq!(ids(&rows), [8, 7, 6, 5, 4, 3, 2, 1]);
    let seconds: Vec<_> = rows.iter().map(|row| row.created_at).collect();
    assert_eq!(seconds, [3, 3, 2, 2, 2, 2, 1, 1].map(at));
}

/// Ten captures, one per second, with every kind of tool and caller.
fn ten(store: &Store) {
    for second in 0..10 {
        let tool_name = if second % 2 == 0 { Operation::Query } else { Operation::Search };
        let fields = CaptureFields { tool_name, remote: second % 3 == 0, ..capture("q") };
        store.add_captures(&ws(), &[fields], at(second)).unwrap();
    }
}

fn filters_count_and_prune_what_they_read(db: &Database) {
    let store = db.open();
    let filter = CaptureFilter::default();
    let half = at(4) + SignedDuration::from_millis(500);
    let before = |second, id| Some(CapturePosition { at: at(second), id });
    let cases: [(CaptureFilter, &[i64]); 12] = [
        (CaptureFilter { since: Some(at(7)), ..filter }, &[10, 9, 8]),
        (CaptureFilter { until: Some(at(2)), ..filter }, &[2, 1]),
        (CaptureFilter { since: Some(at(2)), until: Some(at(4)), ..filter }, &[4, 3]),
        (CaptureFilter { since: Some(at(4)), until: Some(half), ..filter }, &[5]),
        (CaptureFilter { since: Some(at(4)), until: Some(at(4)), ..filter }, &[]),
        (CaptureFilter { tool: Some(Operation::Search), ..filter }, &[10, 8, 6, 4, 2]),
        (CaptureFilter { remote: Some(true), since: Some(at(1)), ..filter }, &[10, 7, 4]),
        (CaptureFilter { remote: Some(false), after_id: Some(6), ..filter }, &[9, 8]),
        (filter, &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        (CaptureFilter { older_than: before(2, i64::MAX), ..filter }, &[3, 2, 1]),
        (CaptureFilter { older_than: before(2, 0), since: Some(at(1)), ..filter }, &[2]),
        (
            CaptureFilter { tool: Some(Operation::Search), older_than: before(9, 0), ..filter },
            &[8, 6, 4, 2],
        ),
    ];
    for (number, (filter, expected)) in cases.iter().enumerate() {
        ten(&store);
        let base = 10 * number as i64;
        // Each round has the same times, so the rows of the last one are deleted first.
        let filter = CaptureFilter { after_id: filter.after_id.map(|id| id + base), ..*filter };
        let expected: Vec<i64> = expected.iter().map(|id| id + base).collect();
        assert_eq!(ids(&read(&store, &ws(), &filter)), expected, "{filter:?}");
        assert_eq!(store.count_captures(&ws(), &filter).unwrap(), expected.len() as u64);
        let two = CaptureFilter { limit: Some(2), ..filter };
        assert_eq!(ids(&read(&store, &ws(), &two)), expected[..expected.len().min(2)]);
        assert_eq!(store.count_captures(&ws(), &two).unwrap(), expected.len().min(2) as u64);
        assert!(matches!(store.prune_captures(&ws(), &two), Err(StoreError::LimitedPrune)));
        assert_eq!(store.prune_captures(&ws(), &filter).unwrap(), expected.len() as u64);
        assert_eq!(store.count_captures(&ws(), &filter).unwrap(), 0);
        let rest = 10 - expected.len() as u64;
        assert_eq!(store.prune_captures(&ws(), &CaptureFilter::default()).unwrap(), rest);
        db.raw("UPDATE eval_clock SET at = 0").unwrap();
    }
}

fn a_reader_may_stop(db: &Database) {
    let store = db.open();
    let captures: Vec<_> = (0..5000).map(|n| capture(&format!("query {n}"))).collect();
    store.add_captures(&ws(), &captures, at(1)).unwrap();
    for wanted in [1, 1000, 1001, 4999, 5000] {
        let mut seen = 0;
        store
            .captures(&ws(), &CaptureFilter::default(), &mut |_| {
                seen += 1;
                let done = seen == wanted;
                Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .unwrap();
        assert_eq!(seen, wanted);
        let error = store.captures(&ws(), &CaptureFilter::default(), &mut |_| {
            Err(StoreError::Other { detail: "the disk of the reader is full".to_owned() })
        });
        assert!(matches!(error, Err(StoreError::Other { .. })));
        assert_eq!(store.count_captures(&ws(), &CaptureFilter::default()).unwrap(), 5000);
        assert_eq!(all(&store).len(), 5000);
    }
}

fn readers_see_one_moment(db: &Database) {
    let store = db.open();
    let captures: Vec<_> = (0..3000).map(|n| capture(&format!("query {n}"))).collect();
    store.add_captures(&ws(), &captures, at(1)).unwrap();
    let mut seen = Vec::new();
    store
        .captures(&ws(), &CaptureFilter::default(), &mut |row| {
            if seen.is_empty() {
                store.add_captures(&ws(), &captures, at(2)).unwrap();
                let half = CaptureFilter { after_id: Some(1500), ..CaptureFilter::default() };
                store.prune_captures(&ws(), &half).unwrap();
            }
            seen.push(row.id);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(seen, (1..=3000).rev().collect::<Vec<_>>());
    assert_eq!(all(&store).len(), 1500);
}

fn a_clock_that_jumps_back_is_not_followed(db: &Database) {
    let store = db.open();
    for second in [5, 3, 9, 1, 9, 10] {
        store.add_captures(&ws(), &[capture("q")], at(second)).unwrap();
    }
    let rows = all(&store);
    let seconds: Vec<_> = rows.iter().map(|row| row.created_at).collect();
    assert_eq!(seconds, [10, 9, 9, 9, 5, 5].map(at));
    assert_eq!(ids(&rows), [6, 5, 4, 3, 2, 1]);
}

fn a_closed_window_stays_as_it_is(db: &Database) {
    let store = db.open();
    store.add_captures(&ws(), &[capture("a")], at(1)).unwrap();
    let end = at(5) + SignedDuration::from_nanos(1);
    store.close_captures(&ws(), end).unwrap();
    store.close_captures(&ws(), at(2)).unwrap();
    let window = CaptureFilter { until: Some(end), ..CaptureFilter::default() };
    for second in [2, 5] {
        store.add_captures(&ws(), &[capture("b")], at(second)).unwrap();
        assert_eq!(ids(&read(&store, &ws(), &window)), [1]);
    }
    let next = CaptureFilter { since: Some(end), ..CaptureFilter::default() };
    assert_eq!(ids(&read(&store, &ws(), &next)), [3, 2]);
}

fn numbers_are_not_used_again(db: &Database) {
    let store = db.open();
    store.add_captures(&ws(), &[capture("a"), capture("b")], at(1)).unwrap();
    store.prune_captures(&ws(), &CaptureFilter::default()).unwrap();
    store.add_captures(&ws(), &[capture("c")], at(1)).unwrap();
    assert_eq!(ids(&all(&store)), [3]);
    assert_sound(&store);
}

fn failures_are_kept_once(db: &Database) {
    let store = db.open();
    let failures: Vec<_> = FailureReason::ALL
        .iter()
        .enumerate()
        .map(|(n, reason)| failure(&format!("event {n}"), n as i64, *reason))
        .collect();
    store.add_capture_failures(&ws(), &failures[..3]).unwrap();
    store.add_capture_failures(&ws(), &failures).unwrap();
    store.add_capture_failures(&ws(), &failures).unwrap();
    store.add_capture_failures(&ws(), &[]).unwrap();
    let changed = CaptureFailure { detail: "something else".to_owned(), ..failures[0].clone() };
    store.add_capture_failures(&ws(), &[changed.clone(), changed]).unwrap();
    let newest_first: Vec<_> = failures.iter().rev().cloned().collect();
    assert_eq!(store.capture_failures(&ws(), None, 100).unwrap(), newest_first);
    assert_eq!(store.capture_failures(&ws(), None, 2).unwrap(), newest_first[..2]);
    assert_eq!(store.capture_failures(&ws(), Some(at(3)), 100).unwrap(), newest_first[..2]);
    let count = |since, until| store.count_capture_failures(&ws(), since, until).unwrap();
    assert_eq!((count(None, None), count(Some(at(1)), Some(at(4)))), (5, 3));
    assert_eq!(store.prune_capture_failures(&ws(), Some(at(3))).unwrap(), 3);
    assert_eq!((count(None, None), count(None, Some(at(3)))), (2, 0));
    let nul = CaptureFailure { detail: "\0".to_owned(), ..failures[0].clone() };
    let error = store.add_capture_failures(&ws(), &[nul]).unwrap_err();
    assert_eq!(error.failure_reason(), FailureReason::CheckViolation);
}

fn captures_in_figures(db: &Database) {
    let store = db.open();
    let day = 24 * 3600;
    let empty = store.capture_summary(&ws(), at(day)).unwrap();
    assert_eq!((empty.rows, empty.oldest, empty.failures), (0, None, 0));
    ten(&store);
    let failures = [
        failure("a", 3, FailureReason::Other),
        failure("b", 4, FailureReason::Other),
        failure("c", 5, FailureReason::DbDown),
        failure("d", 6, FailureReason::Other),
    ];
    store.add_capture_failures(&ws(), &failures).unwrap();
    let summary = store.capture_summary(&ws(), at(day + 4)).unwrap();
    assert_eq!(summary.rows, 10);
    assert_eq!(summary.tools, [(Operation::Search, 5), (Operation::Query, 5)]);
    assert_eq!((summary.remote, summary.local), (4, 6));
    assert_eq!((summary.oldest, summary.newest), (Some(at(0)), Some(at(9))));
    assert_eq!((summary.last_day, summary.failures), (6, 4));
    let reasons = [(FailureReason::DbDown, 1), (FailureReason::Other, 2)];
    assert_eq!(summary.failures_last_day, reasons);
}

fn workspaces_do_not_meet(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    store.add_captures(&ws(), &[capture("a")], at(9)).unwrap();
    store.close_captures(&ws(), at(10)).unwrap();
    store.add_captures(&other(), &[capture("b")], at(1)).unwrap();
    store.add_capture_failures(&ws(), &[failure("e", 1, FailureReason::Other)]).unwrap();
    store.add_capture_failures(&other(), &[failure("e", 2, FailureReason::DbDown)]).unwrap();
    let rows = read(&store, &other(), &CaptureFilter::default());
    assert_eq!((rows[0].id, rows[0].created_at, rows.len()), (1, at(1), 1));
    assert_eq!(store.capture_failures(&other(), None, 9).unwrap()[0].at, at(2));
    assert_eq!(store.prune_captures(&other(), &CaptureFilter::default()).unwrap(), 1);
    assert_eq!(store.prune_capture_failures(&other(), Some(at(9))).unwrap(), 1);
    assert_eq!(ids(&all(&store)), [1]);
    assert_eq!(store.count_capture_failures(&ws(), None, None).unwrap(), 1);
}

/// Every method on captures of a workspace that does not exist.
fn assert_unknown(store: &Store, ws: &WorkspaceId) {
    let filter = CaptureFilter::default();
    let results: [Result<(), StoreError>; 10] = [
        store.add_captures(ws, &[capture("q")], at(1)),
        store.close_captures(ws, at(1)),
        store.captures(ws, &filter, &mut |_| Ok(ControlFlow::Continue(()))),
        store.count_captures(ws, &filter).map(|_| ()),
        store.prune_captures(ws, &filter).map(|_| ()),
        store.add_capture_failures(ws, &[failure("e", 1, FailureReason::Other)]),
        store.capture_failures(ws, None, 1).map(|_| ()),
        store.count_capture_failures(ws, None, None).map(|_| ()),
        store.prune_capture_failures(ws, Some(at(1))).map(|_| ()),
        store.capture_summary(ws, at(1)).map(|_| ()),
    ];
    for (number, result) in results.into_iter().enumerate() {
        assert!(matches!(result, Err(StoreError::UnknownWorkspace(_))), "{number}: {result:?}");
    }
}

fn a_removed_workspace_takes_its_captures(db: &Database) {
    let store = db.open();
    assert_unknown(&store, &other());
    store.add_workspace(&other(), at(0)).unwrap();
    store.add_captures(&other(), &[capture("a")], at(9)).unwrap();
    store.add_capture_failures(&other(), &[failure("e", 1, FailureReason::Other)]).unwrap();
    store.remove_workspace(&other()).unwrap();
    assert_unknown(&store, &other());
    store.add_workspace(&other(), at(0)).unwrap();
    assert_eq!(read(&store, &other(), &CaptureFilter::default()), []);
    assert_eq!(store.count_capture_failures(&other(), None, None).unwrap(), 0);
    store.add_captures(&other(), &[capture("a")], at(1)).unwrap();
    let rows = read(&store, &other(), &CaptureFilter::default());
    assert_eq!((rows[0].id, rows[0].created_at), (1, at(1)), "its clock is gone too");
}

fn captures_are_not_in_the_feed(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "one")], 1);
    store.add_captures(&ws(), &[capture("q")], at(1)).unwrap();
    write(&store, &[&plain("a", "two")], 2);
    assert_eq!(store.head(&ws()).unwrap().generation.0, 2, "captures are not in the feed");
    assert_sound(&store);
}

#[test]
fn captures_do_not_wait_for_writers_of_pages() {
    let db = Database::postgres();
    let store = db.open();
    let mut importer = db.connect();
    importer.begin_write(&ws());
    importer.batch("UPDATE workspaces SET pages = pages").unwrap();
    // Waiting for a lock would end in an error.
    store.add_captures(&ws(), &[capture("q")], at(1)).unwrap();
    store.close_captures(&ws(), at(2)).unwrap();
    store.add_capture_failures(&ws(), &[failure("e", 1, FailureReason::Other)]).unwrap();
    store.prune_captures(&ws(), &CaptureFilter::default()).unwrap();
    importer.batch("COMMIT").unwrap();
}
