//! Wrong clocks: a capture from the future hides no other, and windows still contain every capture
//! once.

use std::collections::BTreeMap;

use gbrain_core::id::WorkspaceId;
use gbrain_store::{CaptureFilter, Store};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::captures::{capture, read};
use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    a_capture_from_the_future_hides_no_later_one,
    an_export_from_the_future_hides_no_later_capture,
    a_clock_of_an_older_schema_is_not_followed_into_the_future,
    a_capture_of_a_clock_that_was_behind_is_in_the_next_window,
    wrong_clocks_lose_and_repeat_nothing,
    captures_from_the_future_are_counted_and_dated_again,
}

const YEAR: i64 = 365 * 86_400;

fn add(store: &Store, query: &str, now: Timestamp) {
    store.add_captures(&ws(), &[capture(query)], now).unwrap();
}

/// The queries of a window, which is closed first.
fn window(store: &Store, since: Option<i64>, until: i64) -> Vec<String> {
    store.close_captures(&ws(), at(until)).unwrap();
    let filter =
        CaptureFilter { since: since.map(at), until: Some(at(until)), ..CaptureFilter::default() };
    let mut rows = read(store, &ws(), &filter);
    assert_eq!(store.count_captures(&ws(), &filter).unwrap(), rows.len() as u64);
    rows.sort_by_key(|row| row.id);
    rows.into_iter().map(|row| row.fields.query).collect()
}

fn a_capture_from_the_future_hides_no_later_one(db: &Database) {
    let store = db.open();
    add(&store, "before", at(10));
    add(&store, "from the future", at(YEAR));
    add(&store, "after", at(20));
    assert_eq!(window(&store, None, 30), ["before", "after"]);
    add(&store, "later", at(40));
    assert_eq!(window(&store, Some(30), 50), ["later"]);
    let old = CaptureFilter { until: Some(at(50)), ..CaptureFilter::default() };
    assert_eq!(store.prune_captures(&ws(), &old).unwrap(), 3);
    assert_eq!(window(&store, Some(50), YEAR + 1), ["from the future"], "in its own time");
    assert_sound(&store);
}

fn an_export_from_the_future_hides_no_later_capture(db: &Database) {
    let store = db.open();
    add(&store, "before", at(10));
    assert_eq!(window(&store, None, YEAR), ["before"]);
    add(&store, "after", at(20));
    assert_eq!(window(&store, None, 30), ["before", "after"]);
    assert_eq!(window(&store, Some(YEAR), 40), ["after"], "where the export from the future ended");
    assert_sound(&store);
}

/// In earlier versions a capture from the future moved the clock.
fn a_clock_of_an_older_schema_is_not_followed_into_the_future(db: &Database) {
    let store = db.open();
    add(&store, "dragged", at(10));
    let future = at(YEAR).as_millisecond();
    db.raw(&format!("UPDATE eval_candidates SET created_at = {future}")).unwrap();
    db.raw(&format!("UPDATE eval_clock SET at = {future}")).unwrap();
    add(&store, "after", at(20));
    assert_eq!(window(&store, None, 30), ["after"]);
}

fn a_capture_of_a_clock_that_was_behind_is_in_the_next_window(db: &Database) {
    let store = db.open();
    add(&store, "before", at(YEAR));
    assert_eq!(window(&store, None, YEAR + 10), ["before"]);
    add(&store, "of a clock that was behind", at(20));
    add(&store, "after", at(YEAR + 20));
    assert_eq!(window(&store, Some(YEAR + 10), YEAR + 30), ["of a clock that was behind", "after"]);
    assert_eq!(window(&store, Some(YEAR + 30), YEAR + 40), [] as [&str; 0]);
    assert_sound(&store);
}

fn wrong_clocks_lose_and_repeat_nothing(db: &Database) {
    let store = db.open();
    let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
    // The error of a capture's clock in seconds; `None` for the end of a window.
    let month: i64 = 3600 * 24 * 30;
    let skew = prop_oneof![Just(0), -90..90i64, -month..month];
    let steps = prop::collection::vec(prop::option::weighted(0.7, skew), 1..40);
    let result = TestRunner::new(config).run(&steps, |steps| {
        let ws = WorkspaceId::new(&format!("w{:08x}", fastrand::u32(..))).unwrap();
        store.add_workspace(&ws, at(0)).unwrap();
        let mut seen = BTreeMap::<i64, usize>::new();
        let (mut now, mut end, mut count) = (at(YEAR), None, 0);
        let mut export = |until: Timestamp, end: &mut Option<Timestamp>| {
            store.close_captures(&ws, until).unwrap();
            let window =
                CaptureFilter { since: *end, until: Some(until), ..CaptureFilter::default() };
            for row in read(&store, &ws, &window) {
                *seen.entry(row.id).or_default() += 1;
            }
            *end = Some(until);
        };
        for step in steps {
            now = now.checked_add(SignedDuration::from_secs(5)).unwrap();
            match step {
                Some(skew) => {
                    let wrong = now.checked_add(SignedDuration::from_secs(skew)).unwrap();
                    store.add_captures(&ws, &[capture("q")], wrong).unwrap();
                    count += 1;
                }
                None => export(now, &mut end),
            }
        }
        now = now.checked_add(SignedDuration::from_secs(5)).unwrap();
        store.redate_captures(&ws, now).unwrap();
        assert_eq!(store.capture_summary(&ws, now).unwrap().future, 0);
        let last = now.checked_add(SignedDuration::from_secs(120)).unwrap();
        export(last, &mut end);
        prop_assert_eq!(seen, (1..=count).map(|id| (id, 1)).collect());
        prop_assert_eq!(store.check(&ws).unwrap(), vec![]);
        store.remove_workspace(&ws).unwrap();
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn captures_from_the_future_are_counted_and_dated_again(db: &Database) {
    let store = db.open();
    add(&store, "now", at(10));
    add(&store, "a little ahead", at(60));
    add(&store, "from the future", at(YEAR));
    assert_eq!(store.capture_summary(&ws(), at(10)).unwrap().future, 1);
    assert_eq!(window(&store, None, 20), ["now"]);
    assert_eq!(store.redate_captures(&ws(), at(100)).unwrap(), 1);
    assert_eq!(store.redate_captures(&ws(), at(100)).unwrap(), 0);
    assert_eq!(store.capture_summary(&ws(), at(100)).unwrap().future, 0);
    assert_eq!(window(&store, Some(20), 200), ["a little ahead", "from the future"]);
    assert_sound(&store);
}
