//! Alert evaluation on a store in a file: which alerts fire, and which notifications are sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gbrain_core::alert::ALERT_VERSION;
use gbrain_core::alert::{AlertMessage, NotifyPolicy};
use gbrain_core::format::alert::SilenceRecord;
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::SuiteRun;
use gbrain_core::suite::report::InconclusiveReason;
use gbrain_core::suite::run::RunTrigger;
use gbrain_store::{
    AlertStatus, DeliveryFilter, Location, NewSilence, NewSuiteRun, OpenMode, RunParts, Store,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::*;
use crate::suite::{enable, import_queries, not_run, record};

const CHANNELS: &str = "channels:\n  chat: { kind: slack, url_env: CHAT }\n  pager: { kind: pagerduty, routing_key_env: PD }\n";

/// A store, a file of suites that can be changed, and a time that goes on.
struct Room {
    _dir: tempfile::TempDir,
    store: Store,
    workspace: WorkspaceId,
    file: Arc<Mutex<String>>,
    settings: AlertSettings,
    now: Timestamp,
}

impl Room {
    fn new(file: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let store = gbrain_store::Store::open(&location, OpenMode::Use, now).unwrap();
        let file = Arc::new(Mutex::new(file.to_owned()));
        let (workspace, settings) = (WorkspaceId::default(), AlertSettings::default());
        Self { _dir: dir, store, workspace, file, settings, now }
    }

    fn registry(&self) -> ChannelRegistry {
        let file = self.file.clone();
        let read = move || match SuiteFile::parse(&file.lock().unwrap()) {
            Ok(file) => ChannelSettings::parse(&BTreeMap::new(), Some(file), None),
            Err(error) => ChannelSettings::parse(&BTreeMap::new(), None, Some(error.to_string())),
        };
        ChannelRegistry { read: Arc::new(read), environment: Arc::new(|_: &str| None) }
    }

    fn later(&mut self, hours: i64) {
        self.now += SignedDuration::from_hours(hours);
    }

    fn look(&self) -> AlertEvaluation {
        let registry = self.registry();
        let evaluator =
            AlertEvaluator { store: &self.store, registry: &registry, settings: &self.settings };
        evaluator.evaluate(&self.workspace, self.now).unwrap()
    }

    /// Records a run of `weekly` in which so many percent of a hundred cases were found.
    fn run(&mut self, percent: u64) {
        self.run_with(percent, true);
    }

    fn run_with(&mut self, percent: u64, pages: bool) {
        let body = self.body(percent, pages);
        self.keep(&body);
    }

    fn body(&self, percent: u64, pages: bool) -> SuiteRun {
        let mut body = healthy(&self.workspace, self.now);
        let status = if percent < 92 { "alert" } else { "ok" };
        let failing = (percent < 92).then_some(json!({
            "query_id": "q1", "failing": true, "flags": [], "source": null, "difficulty": "easy",
            "retrieval_mode": null, "rank": null, "latency_ms": {}, "results": [],
        }));
        body.measures = serde_json::from_value(json!([{
            "segment": "all", "measure": "recall@5", "value": percent as f64 / 100.0, "hits": percent,
            "n": 100, "target": "95%", "alert": "92%", "status": status, "decides": true, "pages": pages,
        }]))
        .unwrap();
        body.cases =
            Some(failing.into_iter().map(|case| serde_json::from_value(case).unwrap()).collect());
        body.verdict = if percent < 92 { Verdict::Fail } else { Verdict::Pass };
        body.inconclusive_reasons = Vec::new();
        body
    }

    /// Records runs without evidence about the suite: of another target, and a cancelled one.
    fn run_strangely(&mut self, percent: u64) {
        let body = self.body(percent, true);
        self.keep(&SuiteRun { ad_hoc: true, target: "staging".to_owned(), ..body.clone() });
        let (verdict, inconclusive_reasons) =
            (Verdict::Inconclusive, vec![InconclusiveReason::Cancelled]);
        self.keep(&SuiteRun { verdict, inconclusive_reasons, ..body });
    }

    fn keep(&mut self, body: &SuiteRun) {
        self.now += SignedDuration::from_secs(1);
        let key = format!("{}-{}", body.key, self.now);
        let body = SuiteRun { key, ..body.clone() };
        record(&self.store, &self.workspace, &body, self.now).unwrap().unwrap();
    }

    /// The messages queued since the last call, oldest first: channel, action, key.
    fn told(&self, seen: &mut i64) -> Vec<String> {
        let all = self.store.deliveries(&self.workspace, &DeliveryFilter::default(), 1000).unwrap();
        let mut new: Vec<_> = all.into_iter().filter(|one| one.id > *seen).collect();
        new.reverse();
        *seen = new.last().map_or(*seen, |one| one.id);
        let line = |one: &gbrain_store::Delivery| {
            let message: AlertMessage = serde_json::from_str(&one.payload).unwrap();
            assert_eq!(message.dedup_key, one.dedup_key);
            let key = one.dedup_key.strip_prefix("gbrain/default/").unwrap();
            format!("{} {} {key}", one.channel, one.action)
        };
        new.iter().map(line).collect()
    }

    fn firing(&self) -> Vec<String> {
        let states = self.store.alert_board(&self.workspace).unwrap().states;
        let firing = states.into_iter().filter(|one| one.state == AlertStatus::Firing);
        firing.map(|one| format!("{} {}", one.severity, one.dedup_key)).collect()
    }

    fn silence(&self, key: &str, hours: i64) -> i64 {
        let record = SilenceRecord {
            schema_version: ALERT_VERSION,
            key: key.to_owned(),
            reason: "work".to_owned(),
        };
        let ends_at = self.now + SignedDuration::from_hours(hours);
        let new = NewSilence { starts_at: self.now, ends_at, body: json!(record).to_string() };
        self.store.add_silence(&self.workspace, &new).unwrap()
    }

    fn put_suite(&self, spec: serde_json::Value) {
        let name = spec["name"].as_str().unwrap();
        self.store.put_suite(&self.workspace, name, &spec.to_string(), self.now).unwrap();
        assert!(enable(&self.store, &self.workspace, name, self.now).unwrap());
    }
}

fn healthy(workspace: &WorkspaceId, now: Timestamp) -> SuiteRun {
    let suite = crate::suite::placeholder_suite("weekly");
    let trigger = RunTrigger { key: "k", trigger: "manual" };
    not_run(&suite, workspace, trigger, (InconclusiveReason::Broken, "as planned"), now)
}

const RECALL: &str = "weekly/recall@5/all";

#[test]
fn fire_cooldown_again_and_recovery() {
    let mut room = Room::new(CHANNELS);
    let mut seen = 0;
    room.run(100);
    assert_eq!(room.look(), AlertEvaluation { runs: 1, ..AlertEvaluation::default() });
    room.run(80);
    let raised = room.look();
    assert_eq!(raised.changes.raised, [format!("gbrain/default/{RECALL}")]);
    assert_eq!(raised.queued, ["chat", "pager"]);
    let both =
        |action: &str| vec![format!("chat {action} {RECALL}"), format!("pager {action} {RECALL}")];
    assert_eq!(room.told(&mut seen), both("trigger"));
    room.run(80);
    room.look();
    assert_eq!(room.told(&mut seen), [] as [String; 0], "its cooldown");
    assert_eq!(room.look(), AlertEvaluation::default(), "nothing new is no write");
    room.later(4);
    room.run(80);
    room.look();
    assert_eq!(room.told(&mut seen), both("trigger"), "it goes on");
    room.run(100);
    room.look();
    assert_eq!(room.told(&mut seen), both("resolve"));
    assert_eq!(room.firing(), [] as [String; 0]);
    room.run(100);
    room.look();
    assert_eq!(room.told(&mut seen), [] as [String; 0]);
}

/// A build that asks staging closes nobody's page, opens none, and is no sign of life; nor does somebody who
/// stops a run.
#[test]
fn runs_without_evidence_change_no_alert() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    room.put_suite(json!({ "name": "weekly", "type": "weekly_benchmark", "owners": ["@a"],
        "alerts": { "silent_after_days": 8 } }));
    let mut seen = 0;
    room.run_strangely(80);
    assert_eq!(room.look(), AlertEvaluation { runs: 2, ..AlertEvaluation::default() });
    room.run(80);
    room.look();
    assert_eq!(room.told(&mut seen), [format!("chat trigger {RECALL}")]);
    room.run_strangely(100);
    assert_eq!(room.look(), AlertEvaluation { runs: 2, ..AlertEvaluation::default() });
    let found = workspace_metrics(&room.store, &room.workspace, room.now).unwrap();
    assert_eq!(
        found.suites[0].measures[0].value,
        Some(0.8),
        "numbers are those of the suite's own"
    );
    room.later(8 * 24);
    room.run_strangely(100);
    room.look();
    assert_eq!(room.told(&mut seen), ["chat trigger weekly/silent"]);
    room.run_strangely(100);
    assert_eq!(room.look(), AlertEvaluation { runs: 2, ..AlertEvaluation::default() });
    assert_eq!(room.firing().len(), 2);
    room.run(100);
    room.look();
    assert_eq!(room.told(&mut seen).len(), 2, "both are over");
}

/// A resolved alert has the measured value, in the list and in the message.
#[test]
fn a_recovery_says_what_is_well() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    room.run(80);
    room.look();
    room.run(96);
    room.look();
    let well = "weekly recall@5/all is 96.0% (96) (n = 100), within its alert of 92%";
    let listed = wire::alerts(&room.store, &room.workspace, None, room.now).unwrap();
    let alert = &listed.alerts[0];
    assert_eq!((alert.state.name(), &*alert.summary, alert.run), ("resolved", well, Some(2)));
    assert_eq!((alert.failing_count, &alert.failing[..]), (0, &[][..]));
    let last = room.store.deliveries(&room.workspace, &DeliveryFilter::default(), 1).unwrap();
    let message: AlertMessage = serde_json::from_str(&last[0].payload).unwrap();
    assert_eq!((&*message.action, &*message.summary), ("resolve", well));
    assert_eq!((message.failing_count, message.target.as_deref()), (0, Some("local")));
    assert!(message.command.ends_with("suites show 2"), "{}", message.command);
}

/// A new alert is reported by the evaluation, although there is no channel to notify.
#[test]
fn new_alerts_are_reported_without_a_channel() {
    let mut room = Room::new("suites: []\n");
    room.run(80);
    assert_eq!(room.look().changes.raised, [format!("gbrain/default/{RECALL}")]);
    room.run(80);
    assert_eq!(room.look().changes.raised, [] as [String; 0]);
}

/// Several runs that were not looked at are looked at in their order.
#[test]
fn a_backlog_is_delivered_in_order() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    let mut seen = 0;
    for percent in (0..205).map(|at| if at % 2 == 0 { 80 } else { 100 }) {
        room.run(percent);
    }
    assert_eq!(room.look().runs, 205);
    let told = room.told(&mut seen);
    assert_eq!(told.len(), 205);
    let expected = |at: usize| if at.is_multiple_of(2) { "chat trigger " } else { "chat resolve " };
    assert!(told.iter().enumerate().all(|(at, line)| line.starts_with(expected(at))), "{told:?}");
}

#[test]
fn worsening_pages_and_recovery_notifies_all_channels() {
    let mut room = Room::new(CHANNELS);
    room.put_suite(json!({ "name": "weekly", "type": "weekly_benchmark", "owners": ["@a"],
        "alerts": { "page": ["pager"], "notify": ["chat"] } }));
    let mut seen = 0;
    room.run_with(80, false);
    room.look();
    assert_eq!(room.told(&mut seen), [format!("chat trigger {RECALL}")]);
    room.run_with(70, true);
    room.look();
    assert_eq!(
        room.told(&mut seen),
        [format!("chat trigger {RECALL}"), format!("pager trigger {RECALL}")],
        "worse is told at once"
    );
    room.run_with(80, false);
    room.look();
    assert_eq!(room.told(&mut seen), [] as [String; 0]);
    room.run(100);
    room.look();
    let over = [format!("chat resolve {RECALL}"), format!("pager resolve {RECALL}")];
    assert_eq!(room.told(&mut seen), over, "whoever was woken is told that it is over");
}

#[test]
fn a_silence_keeps_messages_and_not_the_state() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    let mut seen = 0;
    let id = room.silence("gbrain/default/weekly/*", 2);
    room.run(80);
    room.look();
    assert_eq!((room.told(&mut seen).len(), room.firing().len()), (0, 1));
    let listed = wire::alerts(&room.store, &room.workspace, None, room.now).unwrap();
    assert!(listed.alerts[0].silenced && listed.alerts[0].notified_at.is_none());
    room.later(3);
    room.look();
    assert_eq!(room.told(&mut seen), [format!("chat trigger {RECALL}")], "without another run");
    assert!(!room.store.end_silence(&room.workspace, id, room.now).unwrap());
    room.silence("gbrain/default/weekly/recall@5/all", 2);
    room.run(100);
    room.look();
    assert_eq!(
        room.told(&mut seen),
        [format!("chat resolve {RECALL}")],
        "it closes what was opened"
    );
}

/// Without channels, or with an unreadable file, notifications wait until there is a channel.
#[test]
fn notifications_wait_until_a_channel_exists() {
    let mut room = Room::new("suites: []\n");
    let mut seen = 0;
    room.run(80);
    assert_eq!(room.look().queued, [] as [String; 0]);
    assert_eq!(room.look(), AlertEvaluation::default(), "no write while nobody is there");
    *room.file.lock().unwrap() = "channels: [".to_owned();
    let problems = room.look().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    *room.file.lock().unwrap() = CHANNELS.to_owned();
    room.look();
    assert_eq!(room.told(&mut seen).len(), 2);
    // A named channel is notified once it is configured.
    room.put_suite(json!({ "name": "weekly", "type": "smoke", "owners": ["@a"],
        "alerts": { "notify": ["gone", ""] } }));
    room.later(5);
    room.run(80);
    let raised = room.look();
    assert_eq!(raised.queued, ["gone"]);
    assert!(raised.problems[0].contains("not a valid channel name"), "{raised:?}");
}

#[test]
fn a_suite_that_does_not_run() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    room.put_suite(json!({ "name": "weekly", "type": "weekly_benchmark", "owners": ["@a"],
        "alerts": { "silent_after_days": 8 } }));
    room.put_suite(json!({ "name": "free", "type": "smoke", "owners": ["@a"] }));
    let mut seen = 0;
    room.later(8 * 24);
    room.look();
    assert_eq!(room.told(&mut seen), [] as [String; 0], "eight days since it was switched on");
    room.later(1);
    room.look();
    assert_eq!(room.told(&mut seen), ["chat trigger weekly/silent"]);
    assert_eq!(room.look(), AlertEvaluation::default(), "that it goes on is no news");
    room.run(100);
    room.look();
    assert_eq!(room.told(&mut seen), ["chat resolve weekly/silent"]);
    room.later(9 * 24);
    room.look();
    assert_eq!(room.told(&mut seen), ["chat trigger weekly/silent"]);
    room.store.disable_suite(&room.workspace, "weekly", room.now).unwrap();
    room.look();
    assert_eq!(room.told(&mut seen), ["chat resolve weekly/silent"], "nobody waits for it");
}

/// An unreadable run is reported, and later ones are evaluated.
#[test]
fn a_run_that_can_not_be_read_wedges_nothing() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    let mut seen = 0;
    let odd = |summary: &str, report: &str| NewSuiteRun {
        suite: "gone".to_owned(),
        key: None,
        trigger: "manual".to_owned(),
        started_at: room.now,
        verdict: Verdict::Pass,
        summary: summary.to_owned(),
        report: report.to_owned(),
    };
    room.store.add_suite_run(&room.workspace, &odd("{}", "[]"), room.now).unwrap();
    let mut body = healthy(&room.workspace, room.now);
    body.verdict = Verdict::Pass;
    let figures = json!(body.figures()).to_string();
    room.store.add_suite_run(&room.workspace, &odd(&figures, "not JSON"), room.now).unwrap();
    room.run(80);
    assert_eq!(room.look().runs, 3);
    let told = room.told(&mut seen);
    let expected =
        ["chat trigger gone/run", "chat resolve gone/run", &format!("chat trigger {RECALL}")];
    assert_eq!(told, expected, "figures alone will do where the rest is gone");
    let later = room.now + SignedDuration::from_hours(1);
    room.store.prune_suite_history(&room.workspace, later, RunParts::All, 1_000).unwrap();
    assert_eq!(room.look(), AlertEvaluation::default());
    room.run(100);
    room.look();
    assert_eq!(room.told(&mut seen), [format!("chat resolve {RECALL}")]);
}

#[test]
fn messages_contain_queries_only_if_allowed() {
    for with_queries in [false, true] {
        let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
        room.settings = AlertSettings {
            policy: NotifyPolicy::default(),
            public_url: Some("https://brain.example/".to_owned()),
            with_queries,
        };
        let entry = json!({ "id": "q1", "query": "where is ada@example.com?", "expected": ["x"] });
        let entries = vec![serde_json::from_value(entry).unwrap()];
        import_queries(
            &room.store,
            &room.workspace,
            entries,
            &Scrubber::default(),
            Some(&IdentityKey::new([1; 32])),
            room.now,
        )
        .unwrap();
        room.run(80);
        room.look();
        let all = room.store.deliveries(&room.workspace, &DeliveryFilter::default(), 9).unwrap();
        let payload = &all[0].payload;
        assert_eq!(payload.contains("where is"), with_queries, "{payload}");
        assert!(!payload.contains("ada@"), "{payload}");
        assert!(payload.contains("https://brain.example/v1/suite-runs/1"), "{payload}");
    }
}

/// Of many who look at once, each run is looked at once.
#[test]
fn several_look_at_once() {
    let mut room = Room::new("channels: { chat: { kind: slack, url_env: CHAT } }\n");
    for at in 0..40 {
        room.run(if at % 2 == 0 { 80 } else { 100 });
    }
    let runs: usize = std::thread::scope(|scope| {
        let room = &room;
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(move || room.look().runs)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let mut seen = 0;
    assert_eq!((runs, room.told(&mut seen).len()), (40, 40));
}

#[test]
fn numbers_of_a_workspace() {
    let mut room = Room::new(CHANNELS);
    room.run(80);
    room.look();
    room.later(1);
    let found = workspace_metrics(&room.store, &room.workspace, room.now).unwrap();
    assert_eq!((found.queued, found.firing.len(), found.suites.len()), (2, 1, 1));
    assert!(found.oldest_queued >= 3600.0, "{found:?}");
    let text = gbrain_core::alert::metrics::document(&[found]);
    assert!(text.contains("measure=\"recall@5\",segment=\"all\"} 0.8\n"), "{text}");
}
