//! Scheduled probe runs, and access to their results.

use std::time::Duration;

use gbrain_core::format::probe::{AutopilotPassBody, ProbeHistory};
use gbrain_core::format::schema::of_body;
use gbrain_testkit::process::Running;
use gbrain_testkit::providers::Fault;
use serde_json::{Value, json};

use super::*;
use crate::conforms::assert_conforms;
use crate::serve::client::{Call, Server};
use crate::support::{assert_fields, find, wait_until};

/// Waits until the history has runs.
#[track_caller]
fn until_known(staged: &Provided, runs: usize) {
    wait_until("a run comes", || known(&staged.home).len() >= runs);
}

#[test]
fn an_autopilot_looks_once() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        let look = |code: i32| -> Value {
            let body = staged.run(&["autopilot", "--once", "--json"]).exits(code).json();
            assert_conforms(of_body::<AutopilotPassBody>().as_value(), &body);
            body["duties"].clone()
        };
        staged.home.ok(&["workspaces", "add", "team"]);
        let duties = look(0);
        assert_fields(&duties[0], &json!({ "workspace": "default", "state": "ran" }));
        assert_eq!(duties[0]["report"]["event"]["outcome"], "pass");
        assert_eq!(duties.as_array().unwrap().len(), 1, "in `team` it is off");
        assert_eq!(look(0)[0]["state"], "not_due");
        assert_eq!(known(&staged.home), ["pass"]);
        staged.home.ok(&["config", "set", ENABLED, "true", "--workspace", "team"]);
        staged.home.ok(&["config", "set", MAX_USD, "0.01", "--workspace", "team"]);
        let duties = look(2);
        assert_eq!(duties[1]["report"]["event"]["outcome"], "budget_exceeded");
        assert_eq!(known(&staged.home), ["pass"], "workspaces have runs of their own");
        staged.home.ok(&["config", "unset", ENABLED]);
        staged.home.ok(&["config", "unset", ENABLED, "--workspace", "team"]);
        assert_eq!(look(0), json!([]));
        let text = staged.run(&["autopilot", "--once"]).stdout;
        assert!(text.contains("gbrain config set autopilot"), "{text}");
    }
}

#[test]
fn an_autopilot_goes_on_after_failures() {
    let staged = staged(Home::sqlite(), GOOD, |_| Fault::Status(500, None));
    // A workspace whose settings can't be used, before one whose can.
    staged.home.ok(&["workspaces", "add", "a-team"]);
    staged.home.ok(&["config", "set", ENABLED, "true", "--workspace", "a-team"]);
    let running =
        Running::start(staged.command(&["autopilot", "--interval", "200ms"]), "").unwrap();
    until_known(&staged, 1);
    std::thread::sleep(Duration::from_secs(1));
    running.terminate().unwrap();
    let ended = running.wait().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(known(&staged.home), ["error"], "it waits an hour");
    assert_eq!(ended.stderr.matches("quality probe").count(), 2, "{}", ended.stderr);
}

#[test]
fn a_server_runs_it_once_where_it_is_on() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        let serve = || Server::of(staged.command(&["serve"]), &["--autopilot", "200ms"]);
        let (one, other) = (serve(), serve());
        until_known(&staged, 1);
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(staged.server.requests(), CALLS, "several looks of two servers are one run");
        let reply = one.send(&Call::get("/v1/probe"));
        assert_eq!(reply.status, 200, "{}", reply.whole());
        let history = reply.json();
        assert_conforms(of_body::<ProbeHistory>().as_value(), &history);
        assert_eq!(history["runs"].as_array().unwrap().len(), 1);
        assert_eq!(history["runs"][0]["event"]["outcome"], "pass");
        assert_eq!(history["runs"][0]["recall"]["hit"], 9);
        assert_eq!(one.send(&Call::get("/v1/probe?days=0")).status, 400);
        let metrics = [&one, &other].map(|server| server.send(&Call::get("/metrics")).text());
        let counted = |text: &&String| text.contains("kind=\"quality_probe\",verdict=\"pass\"");
        assert_eq!(metrics.iter().filter(counted).count(), 1, "{}", metrics[0]);
        one.stop();
        other.stop();
        assert_eq!(audited(&staged.home).len(), 1);
    }
}

#[test]
fn failure_reasons_are_not_sent_to_remote_callers() {
    let staged = staged(Home::sqlite(), GOOD, |_| Fault::Status(500, None));
    comes_to(&staged, &[], "error", 2);
    let server = Server::of(staged.command(&["serve"]), &[]);
    let history = server.send(&Call::get("/v1/probe?days=7")).json();
    server.stop();
    assert_eq!(history["runs"][0]["event"]["outcome"], "error");
    assert_eq!(history["runs"][0]["event"]["detail"], Value::Null);
    let own = staged.home.json(&["eval", "probe", "history"]);
    assert!(own["runs"][0]["event"]["detail"].as_str().unwrap().contains("http_5xx"));
}

#[test]
fn doctor_tells_how_it_has_been_doing() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        let home = &staged.home;
        let told = || {
            let check = doctor(home);
            let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
            (text("status"), text("message"), text("remedy"))
        };
        home.ok(&["config", "unset", ENABLED]);
        let enable = format!("gbrain config set {ENABLED} true");
        assert_eq!(told(), ("ok".to_owned(), "skipped (disabled)".to_owned(), enable.clone()));
        // The printed command can be pasted.
        let words: Vec<&str> = enable.split(' ').skip(1).collect();
        home.ok(&words);
        let expected = ("ok".to_owned(), "enabled, no events yet".to_owned(), String::new());
        assert_eq!(told(), expected);
        comes_to(&staged, &[], "pass", 0);
        let (status, message, _) = told();
        assert_eq!(status, "ok");
        assert!(message.starts_with("the last 7 days all pass (n = 1)"), "{message}");
        comes_to(&staged, &["--force", "--max-usd", "0.01"], "budget_exceeded", 2);
        let (status, message, remedy) = told();
        assert_eq!(status, "warn");
        assert!(remedy.ends_with("gbrain eval probe run --force"), "{remedy}");
        assert!(message.starts_with("in the last 7 days 1 pass, 1 budget_exceeded"), "{message}");
        assert!(message.contains("it can cost $"), "{message}");
    }
}

#[test]
fn doctor_elsewhere_sees_what_a_machine_did() {
    let staged = staged(Home::postgres(), GOOD, |_| Fault::None);
    comes_to(&staged, &[], "pass", 0);
    let elsewhere = Home::sqlite();
    let mut command = elsewhere.command(&["doctor", "--json"]);
    let report = Ran::of(command.env("DATABASE_URL", staged.home.url()).output().unwrap()).json();
    let check = find(&report["checks"], "name", "nightly_quality_probe_health");
    assert!(check["message"].as_str().unwrap().contains("all pass (n = 1)"), "{check}");
    assert!(audited(&elsewhere).is_empty());
}

#[test]
fn silence_and_old_failures_are_seen_from_the_audit_alone() {
    let staged = staged(Home::sqlite(), GOOD, |_| Fault::None);
    let audit = staged.home.path().join("audit");
    std::fs::create_dir_all(&audit).unwrap();
    let day = |days: i64| jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days);
    let line = |days: i64, outcome: &str| {
        let at = day(days);
        let line = json!({ "ts": format!("{at:.3}"), "outcome": outcome, "exit_code": 2 });
        let name = gbrain_core::probe::file_name(at);
        let path = audit.join(name);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, format!("{before}{line}\n{{\"ts\":\n")).unwrap();
    };
    line(3, "pass");
    let check = doctor(&staged.home);
    assert_eq!(check["status"], "warn");
    assert!(check["message"].as_str().unwrap().contains("has not run since"), "{check}");
    line(4, "fail");
    let message = doctor(&staged.home)["message"].to_string();
    assert!(message.contains("1 pass, 1 fail") && message.contains("not run since"), "{message}");
}
