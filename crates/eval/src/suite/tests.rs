//! Runs against a target in memory, on a store in a file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gbrain_core::format::suite::{QueryEntry, SuiteRunBody, SuiteSummary, WireKey};
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::report::Reason;
use gbrain_core::suite::{Kind, Sample, Suite};
use gbrain_core::target::{Found, Question, TargetAnswer, TargetError, TargetErrorKind};
use gbrain_store::{Location, OpenMode, RetrievalFilter, Store, SuiteRunFilter, WriteKind};
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::target::Ask;

/// Answers every question with the document of its own text, but for some.
#[derive(Default)]
struct Fake {
    /// Texts that find nothing.
    misses: Vec<String>,
    /// Texts that fail.
    failures: BTreeMap<String, TargetErrorKind>,
    /// How long an answer takes.
    takes: Duration,
    asked: AtomicUsize,
    deepest: AtomicUsize,
}

impl Ask for Fake {
    fn ask(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.deepest.fetch_max(question.k, Ordering::Relaxed);
        std::thread::sleep(self.takes.min(question.within.unwrap_or(Duration::MAX)));
        if let Some(kind) = self.failures.get(&question.text) {
            return Err(TargetError::new(*kind, "as planned"));
        }
        let document = match self.misses.contains(&question.text) {
            true => "elsewhere".to_owned(),
            false => question.text.clone(),
        };
        let results = vec![Found { document, ..Found::default() }];
        Ok(TargetAnswer { results, latency_ms: 5.0, attempts: 1, ..TargetAnswer::default() })
    }

    fn name(&self) -> &str {
        "fake"
    }
}

struct Room {
    _dir: tempfile::TempDir,
    store: Box<dyn Store>,
    workspace: WorkspaceId,
}

impl Room {
    /// A store with so many queries, each of which must find the document of its own text.
    fn with_queries(count: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let now = Timestamp::now();
        let store = gbrain_store::open(&location, OpenMode::Use, now).unwrap();
        let room = Self { _dir: dir, store, workspace: WorkspaceId::default() };
        room.take((0..count).map(entry).collect());
        room
    }

    fn take(&self, entries: Vec<QueryEntry>) -> Vec<Taken> {
        let (store, ws) = (self.store.as_ref(), &self.workspace);
        take_in(store, ws, entries, &Scrubber::default(), Timestamp::now()).unwrap()
    }

    fn run(&self, target: &Fake, suite: &Suite, key: &str) -> SuiteRunBody {
        self.run_until(target, suite, key, &AtomicBool::new(false))
    }

    fn run_until(
        &self,
        target: &Fake,
        suite: &Suite,
        key: &str,
        stop: &AtomicBool,
    ) -> SuiteRunBody {
        let scrubber = Scrubber::default();
        let means = SuiteMeans {
            store: self.store.as_ref(),
            workspace: &self.workspace,
            target,
            facts: &unverifiable,
            scorer: None,
            scrubber: &scrubber,
            stop,
            progress: &|_, _| (),
            clock: Timestamp::now,
        };
        let occasion = Occasion { key, trigger: "manual", doubt: None };
        run(&means, suite, &occasion).unwrap()
    }
}

fn text(at: usize) -> String {
    format!("question {at:03}")
}

fn entry(at: usize) -> QueryEntry {
    let json = serde_json::json!({ "query": text(at), "expected": [text(at)] });
    serde_json::from_value(json).unwrap()
}

fn suite(kind: Kind) -> Suite {
    Suite::new("checks", kind, vec!["@search".to_owned()])
}

#[test]
fn a_run_that_finds_everything_passes_and_leaves_logs() {
    let room = Room::with_queries(25);
    let target = Fake::default();
    let body = room.run(&target, &suite(Kind::Regression), "k1");
    assert_eq!((body.verdict, body.planned, body.asked), (Verdict::Pass, 25, 25), "{body:?}");
    assert_eq!(target.deepest.load(Ordering::Relaxed), 10, "ranks six to ten are asked for");
    let (store, ws) = (room.store.as_ref(), &room.workspace);
    let logs = store.retrieval_logs(ws, &RetrievalFilter::default()).unwrap();
    assert_eq!(logs.len(), 25);
    assert!(logs.iter().all(|log| log.fields.experiment_id.as_deref() == Some("k1")));
    assert!(logs.iter().all(|log| log.fields.user_id.as_deref() == Some("eval")));
    let said = store.feedback(ws, &[logs[0].id]).unwrap();
    let signals: Vec<&str> = said[0].iter().map(|one| one.signal_type.as_str()).collect();
    assert_eq!(signals, ["eval_recall_at_5", "eval_recall_at_10"]);
    // A run that is begun again under its key leaves no second set.
    room.run(&target, &suite(Kind::Regression), "k1");
    assert_eq!(store.retrieval_logs(ws, &RetrievalFilter::default()).unwrap().len(), 25);
}

/// The boundaries of the playbook's table, through whole runs.
#[test]
fn boundaries_of_n() {
    let check = |n: usize, misses: usize, verdict: Verdict| {
        let room = Room::with_queries(n);
        let target = Fake { misses: (0..misses).map(text).collect(), ..Fake::default() };
        let mut suite = suite(Kind::Regression);
        suite.sample = Sample::Total(n);
        let body = room.run(&target, &suite, "k");
        assert_eq!(body.verdict, verdict, "{misses} of {n} missed");
    };
    check(20, 0, Verdict::Pass);
    check(20, 1, Verdict::Fail);
    check(25, 1, Verdict::Pass);
    check(25, 2, Verdict::Fail);
    check(100, 4, Verdict::Pass);
    check(100, 5, Verdict::Fail);
}

#[test]
fn nothing_wrong_is_green() {
    let empty = Room::with_queries(0);
    let body = empty.run(&Fake::default(), &suite(Kind::Regression), "k");
    assert_eq!(
        (body.verdict, body.inconclusive_reasons[0]),
        (Verdict::Inconclusive, Reason::NoQueries)
    );
    let room = Room::with_queries(25);
    let failures = BTreeMap::from([(text(3), TargetErrorKind::Unavailable)]);
    let body = room.run(&Fake { failures, ..Fake::default() }, &suite(Kind::Regression), "k");
    assert_eq!(body.verdict, Verdict::Inconclusive, "24 of 25 is no alert, and an error no pass");
    assert_eq!(body.inconclusive_reasons, [Reason::Errors]);
    let mut per_source = suite(Kind::SourceSpecific);
    per_source.sample = Sample::PerSource { count: 15, sources: vec!["slack".to_owned()] };
    let body = room.run(&Fake::default(), &per_source, "k2");
    assert_eq!(body.verdict, Verdict::Inconclusive);
    assert!(body.notes.iter().any(|note| note.contains("slack")), "{:?}", body.notes);
}

#[test]
fn what_every_question_would_hear_is_asked_once() {
    let room = Room::with_queries(25);
    let failures = (0..25).map(|at| (text(at), TargetErrorKind::Denied)).collect();
    let target = Fake { failures, ..Fake::default() };
    let body = room.run(&target, &suite(Kind::Regression), "k");
    assert_eq!((body.verdict, body.asked), (Verdict::Fail, 25));
    assert!(target.asked.load(Ordering::Relaxed) <= 4, "as many as are under way at once");
}

#[test]
fn no_question_begins_after_the_time_is_over() {
    let room = Room::with_queries(25);
    let target = Fake { takes: Duration::from_millis(300), ..Fake::default() };
    let mut slow = suite(Kind::Regression);
    slow.max_duration = SignedDuration::from_secs(1);
    slow.concurrency = 1;
    let began = std::time::Instant::now();
    let body = room.run(&target, &slow, "k");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(
        (body.verdict, &body.inconclusive_reasons[..]),
        (Verdict::Inconclusive, &[Reason::OverTime][..])
    );
    assert!((2..=4).contains(&body.asked), "{}", body.asked);
}

#[test]
fn a_run_that_is_stopped_is_inconclusive() {
    let room = Room::with_queries(25);
    let stop = AtomicBool::new(true);
    let body = room.run_until(&Fake::default(), &suite(Kind::Regression), "k", &stop);
    assert_eq!(body.verdict, Verdict::Inconclusive);
    assert!(body.inconclusive_reasons.contains(&Reason::Cancelled));
}

#[test]
fn queries_are_scrubbed_and_kept_once() {
    let room = Room::with_queries(0);
    let entry = |query: &str, key: &str| {
        let expected = vec![WireKey::Document(key.to_owned())];
        let json = serde_json::json!({ "query": query });
        QueryEntry { expected, ..serde_json::from_value(json).unwrap() }
    };
    let taken = room.take(vec![
        entry("who is ada@example.com in 1700000000.123456?", "a"),
        entry("Who is ada@example.com  in 1800000000.654321?", "b"),
    ]);
    assert_eq!((taken.len(), taken[0].kind), (1, WriteKind::Added));
    let again = room.take(vec![entry("who is bob@example.com in 1700000000.123456?", "a")]);
    assert_eq!((again[0].number, again[0].kind), (taken[0].number, WriteKind::Unchanged));
    let all = stored(room.store.as_ref(), &room.workspace).unwrap();
    assert_eq!(all[0].text, "who is [REDACTED] in [THREAD]?");
    assert_eq!(all[0].expected.len(), 2);
}

#[test]
fn three_falling_weeks_ask_for_a_new_calibration() {
    let room = Room::with_queries(100);
    let weekly = suite(Kind::WeeklyBenchmark);
    let (store, ws) = (room.store.as_ref(), &room.workspace);
    for (weeks_ago, misses) in [(3, 0), (2, 1), (1, 2)] {
        let target = Fake { misses: (0..misses).map(text).collect(), ..Fake::default() };
        let mut body = room.run(&target, &weekly, &format!("week-{weeks_ago}"));
        assert_eq!(body.recalibrate, []);
        let then = Timestamp::now() - SignedDuration::from_hours(weeks_ago * 7 * 24);
        body.started_at = format!("{then:.3}");
        assert!(record(store, ws, &body, then).unwrap().is_some());
    }
    let target = Fake { misses: (0..3).map(text).collect(), ..Fake::default() };
    let body = room.run(&target, &weekly, "this-week");
    assert_eq!(body.verdict, Verdict::Pass, "97 of 100 is no alert");
    assert!(!body.recalibrate.is_empty(), "but the third fall in a row");
    record(store, ws, &body, Timestamp::now()).unwrap();
    let last = &store.suite_runs(ws, &SuiteRunFilter::default(), 1).unwrap()[0];
    let summary: SuiteSummary = serde_json::from_str(&last.summary).unwrap();
    assert_eq!(summary.recalibrate[0].values, [1.0, 0.99, 0.98, 0.97]);
    assert_eq!(record(store, ws, &body, Timestamp::now()).unwrap(), None, "a key is recorded once");
}
