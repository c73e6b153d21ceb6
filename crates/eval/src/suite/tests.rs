//! Runs against a target in memory, on a store in a file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gbrain_core::format::suite::{QueryEntry, WireKey};
use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::latency::TimingMethod;
use gbrain_core::provenance::Provenance;
use gbrain_core::replay::LiveContext;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::query::QueryState;
use gbrain_core::suite::report::InconclusiveReason;
use gbrain_core::suite::run::RunTrigger;
use gbrain_core::suite::{Sample, Suite, SuiteKind, SuiteRun};
use gbrain_core::target::{Question, TargetAnswer, TargetError, TargetErrorKind, TargetResult};
use gbrain_store::{
    Location, NewEvent, NewQuery, OnDuplicate, OpenMode, RetrievalFilter, Store, SuiteRunFilter,
    WriteKind,
};
use jiff::{SignedDuration, Timestamp};
use std::sync::LazyLock;

use super::*;
use crate::retriever::{Capabilities, Retriever, RetrieverInfo};

/// Answers every question with the document of its own text, but for some.
#[derive(Default)]
struct Fake {
    /// Texts that find nothing.
    misses: Vec<String>,
    failures: BTreeMap<String, TargetErrorKind>,
    takes: Duration,
    asked: AtomicUsize,
    deepest: AtomicUsize,
}

fn info(name: &str) -> RetrieverInfo {
    RetrieverInfo {
        name: name.to_owned(),
        place: "in memory".to_owned(),
        provenance: Provenance::default(),
        live: LiveContext::at(Timestamp::UNIX_EPOCH),
        max_results: None,
        page_count: None,
        capabilities: Capabilities::default(),
    }
}

impl Retriever for Fake {
    fn info(&self) -> &RetrieverInfo {
        static INFO: LazyLock<RetrieverInfo> = LazyLock::new(|| info("fake"));
        &INFO
    }

    fn timing(&self, _: &Question) -> TimingMethod {
        TimingMethod::Wall
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
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
        let results = vec![TargetResult { document, ..TargetResult::default() }];
        Ok(TargetAnswer { results, latency_ms: 5.0, attempts: 1, ..TargetAnswer::default() })
    }
}

/// Answers every question with one document.
struct Answers(&'static str);

impl Retriever for Answers {
    fn info(&self) -> &RetrieverInfo {
        static INFO: LazyLock<RetrieverInfo> = LazyLock::new(|| info("answers"));
        &INFO
    }

    fn timing(&self, _: &Question) -> TimingMethod {
        TimingMethod::Wall
    }

    fn retrieve(&self, _: &Question) -> Result<TargetAnswer, TargetError> {
        let results = vec![TargetResult { document: self.0.to_owned(), ..TargetResult::default() }];
        Ok(TargetAnswer { results, attempts: 1, ..TargetAnswer::default() })
    }
}

const KEY: IdentityKey = IdentityKey::new([7; 32]);

struct Room {
    _dir: tempfile::TempDir,
    store: Store,
    workspace: WorkspaceId,
}

impl Room {
    /// A store with so many queries, each of which must find the document of its own text.
    fn with_queries(count: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let now = Timestamp::now();
        let store = gbrain_store::Store::open(&location, OpenMode::Use, now).unwrap();
        let room = Self { _dir: dir, store, workspace: WorkspaceId::default() };
        room.take((0..count).map(entry).collect());
        room
    }

    fn take(&self, entries: Vec<QueryEntry>) -> Vec<ImportedQuery> {
        let (store, ws) = (&self.store, &self.workspace);
        let scrubber = Scrubber::default();
        import_queries(store, ws, entries, &scrubber, Some(&KEY), Timestamp::now()).unwrap().queries
    }

    fn run(&self, target: &Fake, suite: &Suite, key: &str) -> SuiteRun {
        self.run_until(target, suite, key, &Arc::default())
    }

    fn run_until(
        &self,
        target: &Fake,
        suite: &Suite,
        key: &str,
        stop: &Arc<AtomicBool>,
    ) -> SuiteRun {
        let scrubber = Scrubber::default();
        let context = RunContext {
            store: &self.store,
            workspace: &self.workspace,
            scrubber: &scrubber,
            stop,
            progress: &|_, _| (),
            clock: Timestamp::now,
        };
        let trigger = RunTrigger { key, trigger: "manual" };
        run(&context, &opened(target), suite, trigger).unwrap()
    }
}

fn opened(target: &Fake) -> RunTarget<'_> {
    RunTarget { retriever: target, ad_hoc: false, facts: &unverifiable, scorer: None }
}

fn text(at: usize) -> String {
    format!("question {at:03}")
}

fn entry(at: usize) -> QueryEntry {
    let json = serde_json::json!({ "query": text(at), "expected": [text(at)] });
    serde_json::from_value(json).unwrap()
}

fn suite(kind: SuiteKind) -> Suite {
    Suite::new("checks", kind, vec!["@search".to_owned()])
}

#[test]
fn a_run_that_finds_everything_passes_and_leaves_logs() {
    let room = Room::with_queries(25);
    let target = Fake::default();
    let body = room.run(&target, &suite(SuiteKind::Regression), "k1");
    assert_eq!((body.verdict, body.planned, body.asked), (Verdict::Pass, 25, 25), "{body:?}");
    assert_eq!(target.deepest.load(Ordering::Relaxed), 10, "ranks six to ten are asked for");
    let (store, ws) = (&room.store, &room.workspace);
    let logs = store.retrieval_logs(ws, &RetrievalFilter::default()).unwrap();
    assert_eq!(logs.len(), 25);
    assert!(logs.iter().all(|log| log.fields.experiment_id.as_deref() == Some("k1")));
    assert!(logs.iter().all(|log| log.fields.user_id.as_deref() == Some("eval")));
    let said = store.feedback(ws, &[logs[0].id]).unwrap();
    let signals: Vec<&str> = said[0].iter().map(|one| one.signal_type.as_str()).collect();
    assert_eq!(signals, ["eval_recall_at_5", "eval_recall_at_10"]);
    // A run that is begun again under its key leaves no second set.
    room.run(&target, &suite(SuiteKind::Regression), "k1");
    assert_eq!(store.retrieval_logs(ws, &RetrievalFilter::default()).unwrap().len(), 25);
}

/// The boundaries of the playbook's table, through whole runs.
#[test]
fn boundaries_of_n() {
    let check = |n: usize, misses: usize, verdict: Verdict| {
        let room = Room::with_queries(n);
        let target = Fake { misses: (0..misses).map(text).collect(), ..Fake::default() };
        let mut suite = suite(SuiteKind::Regression);
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
    let body = empty.run(&Fake::default(), &suite(SuiteKind::Regression), "k");
    assert_eq!(
        (body.verdict, body.inconclusive_reasons[0]),
        (Verdict::Inconclusive, InconclusiveReason::NoQueries)
    );
    let room = Room::with_queries(25);
    let failures = BTreeMap::from([(text(3), TargetErrorKind::Unavailable)]);
    let body = room.run(&Fake { failures, ..Fake::default() }, &suite(SuiteKind::Regression), "k");
    assert_eq!(body.verdict, Verdict::Inconclusive, "24 of 25 is no alert, and an error no pass");
    assert_eq!(body.inconclusive_reasons, [InconclusiveReason::Errors]);
    let mut per_source = suite(SuiteKind::SourceSpecific);
    per_source.sample =
        Sample::PerSource { count: 15, least: 15, sources: vec!["slack".to_owned()] };
    let body = room.run(&Fake::default(), &per_source, "k2");
    assert_eq!(body.verdict, Verdict::Inconclusive);
    assert!(body.notes.iter().any(|note| note.contains("slack")), "{:?}", body.notes);
}

#[test]
fn target_wide_errors_are_requested_once() {
    let room = Room::with_queries(25);
    let failures = (0..25).map(|at| (text(at), TargetErrorKind::Denied)).collect();
    let target = Fake { failures, ..Fake::default() };
    let body = room.run(&target, &suite(SuiteKind::Regression), "k");
    assert_eq!((body.verdict, body.asked), (Verdict::Fail, 25));
    assert!(target.asked.load(Ordering::Relaxed) <= 4, "as many as are under way at once");
}

#[test]
fn no_question_begins_after_the_time_is_over() {
    let room = Room::with_queries(25);
    let target = Fake { takes: Duration::from_millis(300), ..Fake::default() };
    let mut slow = suite(SuiteKind::Regression);
    slow.max_duration = SignedDuration::from_secs(1);
    slow.concurrency = 1;
    let body = room.run(&target, &slow, "k");
    assert_eq!(
        (body.verdict, &body.inconclusive_reasons[..]),
        (Verdict::Inconclusive, &[InconclusiveReason::OverTime][..])
    );
    assert!((1..=4).contains(&body.asked), "{}", body.asked);
}

#[test]
fn a_run_that_is_stopped_is_inconclusive() {
    let room = Room::with_queries(25);
    let stop = Arc::new(AtomicBool::new(true));
    let body = room.run_until(&Fake::default(), &suite(SuiteKind::Regression), "k", &stop);
    assert_eq!(body.verdict, Verdict::Inconclusive);
    assert!(body.inconclusive_reasons.contains(&InconclusiveReason::Cancelled));
}

/// The queries answered before the stop look bad, and are no sample.
#[test]
fn a_run_that_is_stopped_on_its_way_does_not_fail() {
    let room = Room::with_queries(25);
    let target = Fake { misses: (0..25).map(text).collect(), ..Fake::default() };
    let stop = Arc::new(AtomicBool::new(false));
    let scrubber = Scrubber::default();
    let context = RunContext {
        store: &room.store,
        workspace: &room.workspace,
        scrubber: &scrubber,
        stop: &stop,
        progress: &|done, _| stop.store(done >= 10, Ordering::Release),
        clock: Timestamp::now,
    };
    let trigger = RunTrigger { key: "k", trigger: "manual" };
    let body = run(&context, &opened(&target), &suite(SuiteKind::Regression), trigger).unwrap();
    assert!((10..25).contains(&body.asked), "{}", body.asked);
    assert_eq!(body.verdict, Verdict::Inconclusive);
    assert_eq!(body.inconclusive_reasons, [InconclusiveReason::Cancelled]);
    assert!(body.breaches().count() > 0, "it would have failed");
}

fn asked(query: &str, key: &str) -> QueryEntry {
    let expected = vec![WireKey::Document(key.to_owned())];
    let json = serde_json::json!({ "query": query });
    QueryEntry { expected, ..serde_json::from_value(json).unwrap() }
}

#[test]
fn queries_are_scrubbed_and_stored_once() {
    let room = Room::with_queries(0);
    let imported = room.take(vec![
        asked("who is ada@example.com in 1700000000.123456?", "a"),
        asked("Who is ada@example.com  in 1700000000.123456?", "b"),
    ]);
    assert_eq!((imported.len(), imported[0].kind), (1, WriteKind::Added));
    let again = room.take(vec![asked("who is ada@example.com in 1700000000.123456?", "a")]);
    assert_eq!((again[0].number, again[0].kind), (imported[0].number, WriteKind::Unchanged));
    let all = stored(&room.store, &room.workspace).unwrap();
    assert_eq!(all[0].text, "who is [REDACTED] in [THREAD]?");
    assert_eq!(all[0].expected.len(), 2);
    let other = room.take(vec![asked("who is ada@example.com in 1800000000.654321?", "c")]);
    assert_ne!(other[0].number, imported[0].number);
}

/// Six queries of one scrubbed text are six queries: a page of one is no answer to another.
#[test]
fn queries_that_look_the_same_once_scrubbed_keep_their_own_answers() {
    let room = Room::with_queries(0);
    let names = ["ada", "bob", "eve", "mal", "sue", "tom"];
    let lines = || names.iter().map(|n| asked(&format!("who is {n}@leakmail.com"), n)).collect();
    assert_eq!(room.take(lines()).len(), 6);
    let again = room.take(lines());
    assert!(again.iter().all(|one| one.kind == WriteKind::Unchanged), "{again:?}");
    let all = stored(&room.store, &room.workspace).unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|one| one.text == "who is [REDACTED]" && one.expected.len() == 1));
    // An answer with one of the pages answers one of the queries.
    let target = Answers("ada");
    let found: Vec<bool> = all
        .iter()
        .map(|query| {
            let question = Question { text: query.text.clone(), k: 10, ..Question::default() };
            let answer = target.retrieve(&question);
            let facts = unverifiable;
            let judged = gbrain_core::suite::case::judge(
                query,
                gbrain_core::suite::case::RationaleRequirement::No,
                &answer,
                &facts,
            );
            judged.is_hit(10)
        })
        .collect();
    assert_eq!(found.iter().filter(|hit| **hit).count(), 1);
    // An export can be imported unchanged, on this machine and on another.
    let exported: Vec<QueryEntry> = all.iter().map(QueryEntry::from).collect();
    let elsewhere = Room::with_queries(0);
    assert_eq!(room.take(exported.clone()).len(), 6);
    assert_eq!(elsewhere.take(exported).len(), 6);
    assert_eq!(stored(&room.store, &room.workspace).unwrap().len(), 6);
}

/// Texts that were scrubbed before they came are told apart by what they must find.
#[test]
fn queries_scrubbed_elsewhere_are_not_joined() {
    let room = Room::with_queries(0);
    let lines = || vec![asked("who is [REDACTED]", "a"), asked("who is [REDACTED]", "b")];
    assert_eq!(room.take(lines()).len(), 2);
    assert!(room.take(lines()).iter().all(|one| one.kind == WriteKind::Unchanged));
}

/// A query of before that stands for several is retired when one of these comes.
#[test]
fn a_merged_query_gives_way_to_what_it_was_made_of() {
    let room = Room::with_queries(0);
    let json =
        serde_json::json!({ "query": "who is [REDACTED]", "id": "old", "expected": ["a", "b"] });
    let merged = serde_json::from_value::<QueryEntry>(json).unwrap().read().unwrap();
    assert!(merged.is_merged());
    let now = Timestamp::now();
    let rows = [row(merged.identity_hash(), &merged)];
    room.store.put_queries(&room.workspace, &rows, OnDuplicate::Replace, now).unwrap();
    let lines = vec![asked("who is ada@leakmail.com", "a"), asked("who is bob@leakmail.com", "b")];
    let (store, ws) = (&room.store, &room.workspace);
    let imported = import_queries(store, ws, lines, &Scrubber::default(), Some(&KEY), now).unwrap();
    assert_eq!((imported.entries, imported.queries.len(), imported.scrubbed), (2, 2, 2));
    assert_eq!(imported.retired, ["old"]);
    let active = stored(store, ws).unwrap();
    let active = active.iter().filter(|one| one.state == QueryState::Active);
    assert!(active.clone().all(|one| one.expected.len() == 1) && active.count() == 2);
}

#[test]
fn without_a_key_nothing_is_merged() {
    let room = Room::with_queries(0);
    let (store, ws) = (&room.store, &room.workspace);
    let lines = vec![asked("fine", "a"), asked("who is ada@leakmail.com", "a")];
    let refused = import_queries(store, ws, lines, &Scrubber::default(), None, Timestamp::now());
    assert!(matches!(refused, Err(QueryProblem::NoIdentityKey { at: 2 })), "{refused:?}");
    assert!(stored(store, ws).unwrap().is_empty());
}

/// Adding a proposed query accepts it; adding a retired one does not reactivate it.
#[test]
fn a_candidate_that_is_added_is_asked() {
    let room = Room::with_queries(0);
    let entry = |state: &str| -> QueryEntry {
        let json = serde_json::json!({ "query": "charge floor", "state": state });
        serde_json::from_value(json).unwrap()
    };
    let state = || stored(&room.store, &room.workspace).unwrap()[0].state;
    let number = room.take(vec![entry("candidate")])[0].number;
    room.take(vec![entry("candidate")]);
    assert_eq!(state(), QueryState::Candidate);
    assert_eq!(room.take(vec![entry("active")])[0].state, QueryState::Active);
    assert_eq!(state(), QueryState::Active);
    let retired = gbrain_store::QueryState::Retired;
    room.store.set_query_state(&room.workspace, number, retired, Timestamp::now()).unwrap();
    assert_eq!(room.take(vec![entry("active")])[0].state, QueryState::Retired);
    assert_eq!(state(), QueryState::Retired);
}

/// A query that can't be read any more is one less to fail: no run passes without it.
#[test]
fn a_query_that_can_not_be_read_is_no_pass() {
    let room = Room::with_queries(25);
    let bad = NewQuery {
        text_hash: Hash::of(b"x"),
        state: gbrain_store::QueryState::Active,
        source: String::new(),
        difficulty: None,
        origin: "manual".to_owned(),
        body: "{\"schema_version\": 99, \"query\": \"x\"}".to_owned(),
    };
    let now = Timestamp::now();
    room.store.put_queries(&room.workspace, &[bad], OnDuplicate::Keep, now).unwrap();
    let body = room.run(&Fake::default(), &suite(SuiteKind::Regression), "k");
    assert_eq!(body.verdict, Verdict::Inconclusive);
    assert_eq!(body.inconclusive_reasons, [InconclusiveReason::Broken]);
    assert!(body.notes.iter().any(|note| note.contains("26")), "{:?}", body.notes);
}

#[test]
fn three_falling_weeks_ask_for_a_new_calibration() {
    let room = Room::with_queries(100);
    let weekly = suite(SuiteKind::WeeklyBenchmark);
    let (store, ws) = (&room.store, &room.workspace);
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
    let summary: SuiteRun = serde_json::from_str(&last.summary).unwrap();
    assert_eq!(summary.recalibrate[0].values, [1.0, 0.99, 0.98, 0.97]);
    assert_eq!(record(store, ws, &body, Timestamp::now()).unwrap(), None, "a key is recorded once");
}

/// For any number of runs per week, and with runs of other targets in between.
#[test]
fn weeks_of_many_runs_are_seen() {
    let room = Room::with_queries(100);
    let weekly = suite(SuiteKind::WeeklyBenchmark);
    let (store, ws) = (&room.store, &room.workspace);
    let missing = |count: usize| Fake { misses: (0..count).map(text).collect(), ..Fake::default() };
    let keep = |body: &SuiteRun, number: usize, weeks_ago: i64| {
        let then = Timestamp::now() - SignedDuration::from_hours(weeks_ago * 7 * 24);
        let (started_at, key) = (format!("{then:.3}"), format!("{}-{number}", body.key));
        let body = SuiteRun { started_at, key, ..body.clone() };
        assert!(record(store, ws, &body, then).unwrap().is_some());
    };
    for (weeks_ago, misses) in [(3, 0), (2, 1), (1, 2)] {
        let body = room.run(&missing(misses), &weekly, &format!("week-{weeks_ago}"));
        (0..60).for_each(|number| keep(&body, number, weeks_ago));
        let elsewhere = room.run(&missing(50), &weekly, &format!("staging-{weeks_ago}"));
        keep(&SuiteRun { ad_hoc: true, ..elsewhere }, 0, weeks_ago);
    }
    let body = room.run(&missing(3), &weekly, "this-week");
    assert_eq!(body.recalibrate[0].values, [1.0, 0.99, 0.98, 0.97]);
    let elsewhere = SuiteRun { ad_hoc: true, ..body };
    assert_eq!(history::falls(store, ws, &weekly, &elsewhere).unwrap(), []);
}

/// Everything that `schedule` says at a time.
fn fired(room: &Room, now: Timestamp) -> Vec<(String, i64)> {
    let mut fired = Vec::new();
    queue_due(&room.store, now, &mut |_, scheduled| match scheduled {
        ScheduleResult::Fired { key, job, .. } => fired.push((key, job)),
        ScheduleResult::Broken { suite, why } => panic!("{suite}: {why}"),
    })
    .unwrap();
    fired
}

impl Room {
    fn with_suite(triggers: &str, target: &str, enabled: Timestamp) -> Self {
        let room = Self::with_queries(0);
        let spec = format!(
            r#"{{"name":"checks","type":"smoke","owners":["@a"],"target":"{target}","triggers":{triggers},
                "debounce":{{"quiet":"5m","max_wait":"30m"}}}}"#
        );
        room.store.put_suite(&room.workspace, "checks", &spec, enabled).unwrap();
        assert!(enable(&room.store, &room.workspace, "checks", enabled).unwrap());
        room
    }

    fn tell(&self, version: &str, at: Timestamp) {
        let event = NewEvent {
            kind: "knowledge.persisted".to_owned(),
            document: "d".to_owned(),
            version: version.to_owned(),
            body: "{}".to_owned(),
        };
        self.store.add_event(&self.workspace, &event, at).unwrap();
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_schedule_catches_up_once() {
    let room = Room::with_suite(r#"[{"cron":"0 2 * * 0"}]"#, "local", at("2026-03-03T00:00:00Z"));
    assert_eq!(fired(&room, at("2026-03-08T01:59:00Z")), []);
    // Three Sundays passed without a check.
    let late = fired(&room, at("2026-03-23T12:00:00Z"));
    assert_eq!(late.len(), 1);
    assert_eq!(late[0].0, "checks/cron:0 2 * * 0@2026-03-22T02:00:00Z");
    assert_eq!(fired(&room, at("2026-03-23T12:00:00Z")), []);
    assert_eq!(fired(&room, at("2026-03-29T02:00:00Z")).len(), 1);
}

#[test]
fn events_wait_for_quiet_but_not_for_ever() {
    let now = at("2026-03-03T00:00:00Z");
    let minute = |minutes: i64| now + SignedDuration::from_mins(minutes);
    let room = Room::with_suite(r#"[{"event":"knowledge.persisted"}]"#, "prod", now);
    room.tell("1", minute(1));
    room.tell("1", minute(3));
    assert_eq!(fired(&room, minute(5)), [], "four minutes of quiet");
    assert_eq!(fired(&room, minute(6)).len(), 1, "the same version told again is no news");
    assert_eq!(fired(&room, minute(60)), []);
    for minutes in 0..40 {
        room.tell(&format!("n{minutes}"), minute(100 + minutes));
        let due = fired(&room, minute(100 + minutes));
        // The first of them has waited for half an hour; and that run waits for a worker still, so what
        // comes after is covered by it.
        assert_eq!(due.len(), 0, "the first run still waits: {minutes}");
    }
    let cursors = room.store.suite_cursors(&room.workspace).unwrap();
    assert!(cursors[0].at > 30, "and yet the events are covered: {cursors:?}");
}

#[test]
fn the_local_brain_is_its_own_source_of_events() {
    use gbrain_core::page::{PageFormat, PageInput, parse};
    let now = Timestamp::now();
    let room = Room::with_suite(r#"[{"event":"graph.changed"}]"#, "local", now);
    let key = gbrain_core::id::PageKey::parse("notes/a", &Default::default()).unwrap();
    let write = |content: &str, at: Timestamp| {
        let input =
            PageInput { key: key.clone(), file_name: None, content, format: PageFormat::Markdown };
        let page = parse(input).unwrap();
        let write = gbrain_store::PageWrite { page: &page, origin: None };
        room.store.write_pages(&room.workspace, &[write], at).unwrap();
    };
    let minute = |minutes: i64| now + SignedDuration::from_mins(minutes);
    write("Nothing links from here.", minute(1));
    assert_eq!(fired(&room, minute(20)), [], "no link came or went");
    write("- depends_on: [[notes/b]]", minute(21));
    assert_eq!(fired(&room, minute(22)), []);
    let due = fired(&room, minute(27));
    assert_eq!(due.len(), 1);
    let job = room.store.job(&room.workspace, due[0].1).unwrap().unwrap();
    let spec: SuiteJob = serde_json::from_str(&job.spec).unwrap();
    let head = room.store.head(&room.workspace).unwrap().generation.0;
    assert_eq!((spec.trigger.as_str(), spec.generation), ("event:graph.changed", Some(head)));
    write("- depends_on: [[notes/b]]\n\nMore words.", minute(40));
    assert_eq!(fired(&room, minute(60)), [], "the links are the same");
}

#[test]
fn a_reenabled_suite_does_not_catch_up() {
    let start = at("2026-03-03T00:00:00Z");
    let room = Room::with_suite(r#"[{"cron":"0 2 * * 0"}]"#, "local", start);
    room.store.disable_suite(&room.workspace, "checks", start).unwrap();
    assert_eq!(fired(&room, at("2026-03-23T12:00:00Z")), []);
    enable(&room.store, &room.workspace, "checks", at("2026-03-23T12:00:00Z")).unwrap();
    assert_eq!(fired(&room, at("2026-03-23T13:00:00Z")), []);
    assert_eq!(fired(&room, at("2026-03-29T02:00:00Z")).len(), 1);
}

#[test]
fn a_suite_of_every_workspace_reaches_new_ones() {
    let now = at("2026-03-03T00:00:00Z");
    let room = Room::with_queries(0);
    let spec = r#"{"name":"all","type":"smoke","workspace":"*","owners":["@a"],"triggers":[{"cron":"0 2 * * 0"}]}"#;
    room.store.put_suite(&room.workspace, "all", spec, now).unwrap();
    enable(&room.store, &room.workspace, "all", now).unwrap();
    let other = WorkspaceId::new("team-a").unwrap();
    room.store.add_workspace(&other, now).unwrap();
    let mut seen = Vec::new();
    let look = |seen: &mut Vec<String>, now| {
        let mut told = |ws: &WorkspaceId, _: ScheduleResult| seen.push(ws.to_string());
        queue_due(&room.store, now, &mut told).unwrap();
    };
    look(&mut seen, at("2026-03-04T00:00:00Z"));
    look(&mut seen, at("2026-03-08T02:00:00Z"));
    assert_eq!(seen, ["default", "team-a"]);
    // The process that queued it died before it was enabled.
    let half = WorkspaceId::new("team-b").unwrap();
    room.store.add_workspace(&half, now).unwrap();
    room.store.put_suite(&half, "all", spec, now).unwrap();
    let is_on = || room.store.suite(&half, "all").unwrap().unwrap().enabled;
    look(&mut seen, at("2026-03-09T00:00:00Z"));
    assert!(is_on());
    // One of the same name that says something else is its workspace's own.
    let own = WorkspaceId::new("team-c").unwrap();
    room.store.add_workspace(&own, now).unwrap();
    room.store.put_suite(&own, "all", &spec.replace("@a", "@c"), now).unwrap();
    look(&mut seen, at("2026-03-09T00:00:00Z"));
    assert!(!room.store.suite(&own, "all").unwrap().unwrap().enabled);
    // A suite disabled by hand stays disabled, also if it was disabled before.
    let unasked = WorkspaceId::new("team-d").unwrap();
    room.store.add_workspace(&unasked, now).unwrap();
    room.store.put_suite(&unasked, "all", spec, now).unwrap();
    room.store.disable_suite(&unasked, "all", at("2026-03-09T00:00:00Z")).unwrap();
    look(&mut seen, at("2026-03-09T00:00:00Z"));
    assert!(!room.store.suite(&unasked, "all").unwrap().unwrap().enabled);
    room.store.disable_suite(&half, "all", at("2026-03-10T00:00:00Z")).unwrap();
    look(&mut seen, at("2026-03-11T00:00:00Z"));
    assert!(!is_on());
}

#[test]
fn a_suite_that_can_not_be_read_says_so_as_a_run() {
    let now = at("2026-03-03T00:00:00Z");
    let room = Room::with_queries(0);
    let spec = r#"{"name":"odd","type":"smoke","owners":[]}"#;
    room.store.put_suite(&room.workspace, "odd", spec, now).unwrap();
    room.store.enable_suite(&room.workspace, "odd", now).unwrap();
    for _ in 0..2 {
        queue_due(&room.store, now, &mut |_, _| ()).unwrap();
    }
    let all = || room.store.suite_runs(&room.workspace, &SuiteRunFilter::default(), 9).unwrap();
    let runs = all();
    assert_eq!((runs.len(), runs[0].verdict), (1, Verdict::Inconclusive));
    assert!(runs[0].summary.contains("no owners"), "{}", runs[0].summary);
    // It was mended, ran, and broke again in the same way.
    let later = now + SignedDuration::from_hours(1);
    let mended = r#"{"name":"odd","type":"smoke","owners":["@a"]}"#;
    room.store.put_suite(&room.workspace, "odd", mended, later).unwrap();
    let well = room.run(&Fake::default(), &suite(SuiteKind::Smoke), "a run of another suite");
    let well = SuiteRun { suite: "odd".to_owned(), key: "ran".to_owned(), ..well };
    record(&room.store, &room.workspace, &well, later).unwrap().unwrap();
    room.store.put_suite(&room.workspace, "odd", spec, later).unwrap();
    for _ in 0..2 {
        queue_due(&room.store, later, &mut |_, _| ()).unwrap();
    }
    let triggers: Vec<String> = all().into_iter().map(|run| run.trigger).collect();
    assert_eq!(
        triggers.iter().filter(|trigger| *trigger == "scheduler").count(),
        2,
        "{triggers:?}"
    );
}

/// A trigger that was taken away waits for nothing, and makes up for nothing if it comes back.
#[test]
fn a_trigger_that_is_gone_is_forgotten() {
    let now = at("2026-03-03T00:00:00Z");
    let room = Room::with_suite(r#"[{"event":"knowledge.persisted"}]"#, "prod", now);
    let cursors = || -> Vec<String> {
        let all = room.store.suite_cursors(&room.workspace).unwrap();
        all.into_iter().map(|cursor| cursor.trigger).collect()
    };
    assert_eq!(cursors(), ["told:knowledge.persisted"]);
    let spec = room.store.suite(&room.workspace, "checks").unwrap().unwrap().spec;
    let put = |spec: &str| {
        room.store.put_suite(&room.workspace, "checks", spec, now).unwrap();
    };
    put(&spec.replace(r#"{"event":"knowledge.persisted"}"#, r#"{"cron":"0 2 * * 0"}"#));
    let minute = |minutes: i64| now + SignedDuration::from_mins(minutes);
    assert_eq!(fired(&room, minute(1)), []);
    assert_eq!(cursors(), ["cron:0 2 * * 0"]);
    room.tell("1", minute(2));
    put(&spec);
    assert_eq!(fired(&room, minute(60)), []);
    assert_eq!(fired(&room, minute(90)), [], "it begins when it comes back");
}
