//! Suites that run by themselves: schedules, events, two workers.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::support::{assert_fields, demo_home, wait_until};

/// A process that is ended when the test is.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn worker(home: &Home) -> Running {
    let args = ["worker", "--autopilot", "200ms", "--lease", "5"];
    Running(home.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

fn runs(home: &Home) -> Vec<Value> {
    home.json(&["suites", "history"])["runs"].as_array().unwrap().clone()
}

/// One run per event, whichever of two workers sees it; none for an invalid event.
#[test]
fn two_workers_run_a_due_suite_once() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(
            &home,
            "suites:\n  - { name: s, type: regression, owners: [x], sample: { total: 1 }, debounce: { quiet: 1s, max_wait: 5s } }\n",
        );
        queries(
            &home,
            &[json!({ "query": "charge floor", "expected": ["wiki::concepts/charge-floor"] })],
        );
        home.ok(&["suites", "enable", "s"]);
        let _workers = [worker(&home), worker(&home)];
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(runs(&home), [] as [Value; 0], "what was imported before is no event");
        assert_eq!(home.put("notes/new", "The charge floor has a new page.").code, Some(0));
        wait_until("the event is run for", || !runs(&home).is_empty());
        std::thread::sleep(Duration::from_secs(3));
        let all = runs(&home);
        assert_eq!(all.len(), 1, "{all:#?}");
        assert_fields(
            &all[0],
            &json!({ "verdict": "pass", "trigger": "event:knowledge.persisted" }),
        );
        let shown = home.json(&["suites", "show", &all[0]["id"].to_string()]);
        assert_eq!(shown["run"]["asked"], 1);
    }
}

/// A suite whose target is gone says so as a run.
#[test]
fn a_broken_suite_is_recorded() {
    let home = demo_home(Home::sqlite());
    suites(
        &home,
        "targets: { far: { kind: http, api: lightfast-v1, url: 'http://127.0.0.1:9' } }\n\
        suites:\n  - { name: s, type: regression, target: far, owners: [x], debounce: { quiet: 0s, max_wait: 1s } }\n",
    );
    home.ok(&["suites", "enable", "s"]);
    std::fs::remove_file(home.path().join("suites.yaml")).unwrap();
    home.ok(&["events", "emit", "knowledge.persisted", "--document", "d", "--version", "1"]);
    let _worker = worker(&home);
    wait_until("the event is run for", || !runs(&home).is_empty());
    let run = &runs(&home)[0];
    assert_fields(run, &json!({ "verdict": "inconclusive", "inconclusive_reasons": ["broken"] }));
}
