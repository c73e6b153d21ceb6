//! Consecutive time windows contain every capture once, regardless of the clocks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use gbrain_core::capture::CaptureFields;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{CaptureFilter, Store};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::captures::{capture, read};
use crate::child::{Player, Role, spawn};
use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    random_windows_see_every_capture_once,
    threads_capture_while_windows_are_read,
    processes_capture_while_windows_are_read,
    closing_waits_for_captures_on_their_way,
}

/// Reads windows, each from the end of the last.
#[derive(Default)]
struct Exporter {
    end: Option<Timestamp>,
    /// The count of each number.
    seen: BTreeMap<i64, usize>,
}

impl Exporter {
    /// Reads the captures since the last window and before `until`, if that is later.
    fn read_until(&mut self, store: &Store, ws: &WorkspaceId, until: Timestamp) {
        if self.end.is_some_and(|end| until < end) {
            return;
        }
        store.close_captures(ws, until).unwrap();
        let window = CaptureFilter { since: self.end, until: Some(until), ..Default::default() };
        let rows = read(store, ws, &window);
        assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse((row.created_at, row.id))));
        let newest = self.seen.keys().max().copied().unwrap_or(0);
        for row in rows {
            assert!(row.id > newest, "{} comes after {newest}", row.id);
            *self.seen.entry(row.id).or_default() += 1;
        }
        self.end = Some(until);
    }

    /// After a last window: every number once.
    #[track_caller]
    fn assert_saw_all(&self, count: usize) {
        let expected = (1..=count as i64).map(|id| (id, 1)).collect();
        assert_eq!(self.seen, expected);
    }
}

fn several(count: usize) -> Vec<CaptureFields> {
    (0..count).map(|n| capture(&format!("query {n}"))).collect()
}

/// A time up to 40 ms from another, with fractions of a millisecond.
fn near(moment: Timestamp) -> Timestamp {
    moment + SignedDuration::from_nanos(fastrand::i64(-40_000_000..40_000_000))
}

fn random_windows_see_every_capture_once(db: &Database) {
    let store = db.open();
    let config = Config { cases: 30, failure_persistence: None, ..Config::default() };
    // Both act at arbitrary times, in nanoseconds.
    let step = (any::<bool>(), 0..8_000_000i64, 1..4usize);
    let steps = prop::collection::vec(step, 1..40);
    let result = TestRunner::new(config).run(&steps, |steps| {
        let ws = WorkspaceId::new(&format!("w{:08x}", fastrand::u32(..))).unwrap();
        store.add_workspace(&ws, at(0)).unwrap();
        let (mut exporter, mut count) = (Exporter::default(), 0);
        for (is_capture, nanoseconds, captures) in steps {
            let now = at(0) + SignedDuration::from_nanos(nanoseconds);
            if is_capture {
                store.add_captures(&ws, &several(captures), now).unwrap();
                count += captures;
            } else {
                exporter.read_until(&store, &ws, now);
            }
        }
        exporter.read_until(&store, &ws, at(1));
        exporter.assert_saw_all(count);
        prop_assert_eq!(store.check(&ws).unwrap(), vec![]);
        store.remove_workspace(&ws).unwrap();
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn threads_capture_while_windows_are_read(db: &Database) {
    let store = db.open();
    let (clock, count) = (AtomicI64::new(0), AtomicUsize::new(0));
    let now = || near(at(0) + SignedDuration::from_micros(clock.fetch_add(500, Ordering::Relaxed)));
    let done = AtomicBool::new(false);
    let mut exporter = Exporter::default();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|thread| {
                let (shared, now, count) = (&store, &now, &count);
                scope.spawn(move || {
                    // Half of them have separate connections.
                    let own = (thread % 2 == 0).then(|| db.open());
                    let store = own.as_ref().unwrap_or(shared);
                    for _ in 0..40 {
                        let captures = several(fastrand::usize(1..4));
                        store.add_captures(&ws(), &captures, now()).unwrap();
                        count.fetch_add(captures.len(), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let (now, done, exporter) = (&now, &done, &mut exporter);
        scope.spawn(move || {
            let store = db.open();
            while !done.load(Ordering::Relaxed) {
                exporter.read_until(&store, &ws(), now());
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    exporter.read_until(&store, &ws(), at(3600));
    exporter.assert_saw_all(count.into_inner());
    assert_sound(&store);
}

/// The task of a capturing process: `batches`, by a clock that is slightly wrong.
pub(crate) fn capture_batches(store: &Store, batches: usize) -> usize {
    let mut count = 0;
    for _ in 0..batches {
        let captures = several(fastrand::usize(1..4));
        store.add_captures(&ws(), &captures, near(Timestamp::now())).unwrap();
        count += captures.len();
    }
    count
}

fn processes_capture_while_windows_are_read(db: &Database) {
    let store = db.open();
    let children: Vec<_> =
        (0..3).map(|_| spawn(&db.location(), Role::Capture { batches: 150 })).collect();
    let done = AtomicBool::new(false);
    let mut exporter = Exporter::default();
    let count: usize = std::thread::scope(|scope| {
        let (store, done, exporter) = (&store, &done, &mut exporter);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                exporter.read_until(&*store, &ws(), near(Timestamp::now()));
            }
        });
        let reports = children.into_iter().flat_map(Player::finish);
        let count = reports.map(|report| report.parse::<usize>().unwrap()).sum();
        done.store(true, Ordering::Relaxed);
        count
    });
    exporter.read_until(&store, &ws(), Timestamp::now() + SignedDuration::from_secs(60));
    exporter.assert_saw_all(count);
    assert_sound(&store);
}

fn closing_waits_for_captures_on_their_way(db: &Database) {
    let store = db.open();
    store.add_captures(&ws(), &[capture("first")], at(1)).unwrap();
    let mut other = db.connect();
    other
        .batch(if matches!(db, Database::Sqlite(_)) { "BEGIN IMMEDIATE" } else { "BEGIN" })
        .unwrap();
    other.batch("UPDATE eval_clock SET last_id = last_id + 1").unwrap();
    let columns = "created_at, tool_name, query, retrieved_slugs, retrieved_chunk_ids, source_ids, \
         vector_enabled, expansion_applied, latency_ms, remote, extra";
    let insert = format!(
        "INSERT INTO eval_candidates (workspace_id, id, {columns}) \
         SELECT workspace_id, id + 1, {columns} FROM eval_candidates"
    );
    other.batch(&insert).unwrap();
    let window = CaptureFilter { until: Some(at(2)), ..CaptureFilter::default() };
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| store.close_captures(&ws(), at(2)).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        assert!(!closing.is_finished());
        assert_eq!(read(&store, &ws(), &window).len(), 1, "readers do not wait");
        other.batch("COMMIT").unwrap();
        closing.join().unwrap();
    });
    assert_eq!(read(&store, &ws(), &window).len(), 2);
    assert_sound(&store);
}
