//! Alerts and messages of a run from the command line.

use gbrain_core::format::alert::{AlertWithDeliveries, AlertsBody, DeliveriesBody};
use gbrain_core::format::schema::of_body;

use super::*;
use crate::conforms::assert_conforms;
use crate::support::assert_fields;

#[test]
fn a_run_raises_sends_and_takes_back() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, "");
        let ran = known(&home, &receivers, &["suites", "run", "s"]).exits(1);
        // recall@5 pages, recall@10 is told as well: two alerts, three channels.
        let begun = [
            "chat Alert",
            "chat Page",
            "hook trigger",
            "hook trigger",
            "pagerduty trigger",
            "pagerduty trigger",
        ];
        assert_eq!(sent(&receivers), begun, "{}", ran.stderr);
        let list = home.json(&["alerts", "list"]);
        assert_conforms(of_body::<AlertsBody>().as_value(), &list);
        let keys: Vec<&Value> =
            list["alerts"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
        assert_eq!(keys, ["gbrain/default/s/recall@10/all", "gbrain/default/s/recall@5/all"]);
        let shown = home.json(&["alerts", "show", "gbrain/default/s/recall@5/all"]);
        assert_conforms(of_body::<AlertWithDeliveries>().as_value(), &shown);
        assert_fields(&shown["alert"], &json!({ "severity": "critical", "failing_count": 1 }));
        assert!(
            home.ok(&["alerts", "show", "gbrain/default/s/recall@5/all"])
                .contains("gbrain suites show 1")
        );
        // It goes on, and its cooldown too.
        known(&home, &receivers, &["suites", "run", "s"]);
        assert_eq!(receivers.count(), 6);
        mend(&home);
        known(&home, &receivers, &["suites", "run", "s"])
            .exits(0)
            .stderr_has("resolved: gbrain/default/s/recall@5/all");
        assert_eq!(receivers.count(), 12);
        assert_eq!(
            sent(&receivers)
                .iter()
                .filter(|one| one.contains("resolve") || one.contains("Recovered"))
                .count(),
            6
        );
        let over = receivers.taken().into_iter().filter(|one| one.body["action"] == "resolve");
        for ReceivedMessage { body, .. } in over {
            let summary = body["summary"].as_str().unwrap();
            assert!(summary.contains("is 100.0% (1) (n = 1), within its alert of 9"), "{summary}");
            assert_eq!((&body["failing_count"], &body["target"]), (&json!(0), &json!("local")));
            assert!(body["command"].as_str().unwrap().ends_with("suites show 3"), "{body}");
        }
        let list = home.ok(&["alerts", "list", "--all"]);
        assert!(list.contains("QUEUED") && list.contains("within its alert"), "{list}");
        let history = home.json(&["alerts", "history"]);
        assert_conforms(of_body::<DeliveriesBody>().as_value(), &history);
        assert!(deliveries(&home).iter().all(|one| one["state"] == "sent"), "{history:#}");
        assert!(home.json(&["alerts", "list"])["alerts"].as_array().unwrap().is_empty());
        keeps_secrets(&home, &receivers);
    }
}

/// Without the secrets, messages stay queued until a process that has them sends them.
#[test]
fn unsendable_messages_are_queued() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, ", alerts: { notify: [hook, gone] }");
        let ran = home.run(&["suites", "run", "s"]);
        assert!(ran.stderr.contains("4 messages are queued"), "{}", ran.stderr);
        assert_eq!(receivers.requests(), 0);
        let list = home.run(&["alerts", "list"]);
        assert!(
            list.stderr.contains("ALERT_HOOK is not set") && list.stderr.contains("`gone`"),
            "{}",
            list.stderr
        );
        let doctor = home.run(&["doctor"]).stdout;
        assert!(doctor.contains("ALERT_"), "{doctor}");
        let ran = known(&home, &receivers, &["alerts", "deliver", "--json"]);
        let body = ran.json();
        assert_eq!(
            (ran.code, &body["sent"], &body["failed"]),
            (Some(1), &json!(2), &json!(2)),
            "{body:#}"
        );
        assert!(body["errors"][0].as_str().unwrap().contains("unknown channel `gone`"));
        assert_eq!(receivers.count(), 2);
        keeps_secrets(&home, &receivers);
    }
}

#[test]
fn an_overdue_suite_raises_an_alert_on_evaluation() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, ", alerts: { notify: [hook], silent_after_days: 1 }");
        home.ok(&["suites", "enable", "s"]);
        home.execute(
            "UPDATE suites SET updated_at = updated_at - CAST(2 * 86400 AS BIGINT) * 1000",
        );
        let ran = known(&home, &receivers, &["autopilot", "--once", "--json"]);
        let duties = ran.json();
        let is_told = |one: &Value| one["duty"] == "alerts:hook" && one["state"] == "notified";
        assert!(
            ran.code == Some(0) && duties["duties"].as_array().unwrap().iter().any(is_told),
            "{duties:#}"
        );
        let taken = receivers.taken();
        assert_eq!(taken[0].body["dedup_key"], "gbrain/default/s/silent");
        assert!(taken[0].body["summary"].as_str().unwrap().contains("has not run since"));
    }
}

/// Messages contain query text where it is allowed, and links to the configured server.
#[test]
fn settings_of_the_home() {
    let receivers = Receivers::start().unwrap();
    let home = failing(Home::sqlite(), &receivers, ", alerts: { notify: [hook] }");
    let config = |text: &str| home.write("config.json", text);
    config(
        r#"{"format":"gbrain/1","server":{"public_url":"https://brain.example"},"alerts":{"include_query_text":true,"cooldown":"0s"}}"#,
    );
    known(&home, &receivers, &["suites", "run", "s"]);
    known(&home, &receivers, &["suites", "run", "s"]);
    let taken = receivers.taken();
    assert_eq!(taken.len(), 4, "no cooldown");
    assert_eq!(taken[0].body["queries"], json!([ASKED]));
    assert_eq!(taken[0].body["link"], "https://brain.example/v1/suite-runs/1");
    for wrong in [
        r#"{"alerts":{"cooldown":4}}"#,
        r#"{"server":{"public_url":"brain"}}"#,
        r#"{"alerts":{"include_query_text":"yes"}}"#,
    ] {
        config(wrong);
        assert_eq!(home.run(&["alerts", "deliver"]).code, Some(2), "{wrong}");
    }
    // Channels of the home beat those of the file.
    config(&json!({ "channels": { "hook": { "kind": "webhook", "url": receivers.url("/own"), "secret_env": "ALERT_HOOK" } } }).to_string());
    assert_eq!(known(&home, &receivers, &["alerts", "test", "hook"]).code, Some(0));
    assert_eq!(receivers.taken().last().unwrap().path, "/own");
}
