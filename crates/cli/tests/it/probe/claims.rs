//! One process at a time, and none that was killed in the way of the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::defect::reports_panic;
use gbrain_testkit::process::Running;
use gbrain_testkit::providers::Fault;
use serde_json::json;

use super::*;
use crate::support::wait_until;

const PATIENCE: Duration = Duration::from_secs(60);

/// A stage whose models do not answer while the flag is set.
fn stuck(home: Home) -> (Provided, Arc<AtomicBool>) {
    let is_stuck = Arc::new(AtomicBool::new(true));
    let told = is_stuck.clone();
    let staged = staged(home, GOOD, move |_| match told.load(Ordering::SeqCst) {
        true => Fault::Hang(Duration::from_secs(20)),
        false => Fault::None,
    });
    (staged, is_stuck)
}

/// Waits until something was asked.
#[track_caller]
fn until_asked(staged: &Provided) {
    wait_until("something is asked", || staged.server.requests() > 0);
}

#[test]
fn of_two_at_once_one_runs() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        let args = [&RUN[..], &["--json"]].concat();
        let both: Vec<Running> =
            (0..2).map(|_| Running::start(staged.command(&args), "").unwrap()).collect();
        let mut outcomes: Vec<String> = both
            .into_iter()
            .map(|running| running.wait().unwrap().json().unwrap()["event"]["outcome"].to_string())
            .collect();
        outcomes.sort();
        assert_eq!(outcomes, ["\"pass\"", "\"rate_limited\""]);
        assert_eq!(known(&staged.home), ["pass"]);
        assert_eq!(staged.server.requests(), CALLS);
        let forced = [&args[..], &["--force"]].concat();
        let both: Vec<Running> =
            (0..2).map(|_| Running::start(staged.command(&forced), "").unwrap()).collect();
        let codes: Vec<Option<i32>> =
            both.into_iter().map(|running| running.wait().unwrap().code).collect();
        assert!(codes.contains(&Some(0)), "{codes:?}");
        let runs = known(&staged.home).len();
        let passed = codes.iter().filter(|code| **code == Some(0)).count();
        assert_eq!(runs, 1 + passed, "a forced run is not begun beside another");
    }
}

#[test]
fn one_that_was_killed_is_in_the_way_for_its_lease_only() {
    for home in Home::both() {
        let (staged, is_stuck) = stuck(home);
        let command = staged.command(&["autopilot", "--once", "--lease", "2"]);
        let mut killed = Running::start(command, "").unwrap();
        until_asked(&staged);
        killed.kill_and_wait().unwrap();
        let struck = Instant::now();
        let (refused, _) = probe(&staged, &[]);
        if struck.elapsed() < Duration::from_secs(1) {
            assert_eq!(refused.event.outcome.name(), "rate_limited");
            assert!(refused.event.detail.unwrap().contains("another process"));
        }
        is_stuck.store(false, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(2_500));
        let report = comes_to(&staged, &[], "pass", 0);
        assert_eq!(report.run_id.as_deref(), Some("1.2"), "the same job, begun again");
        let lost: f64 = report.event.cost_usd;
        let spent = staged.home.json(&["spend"])["usd"].as_f64().unwrap();
        assert!(
            (lost - spent).abs() < 1e-9,
            "what the killed one sent is in the cost: {lost} {spent}"
        );
        assert_eq!(known(&staged.home), ["pass"]);
    }
}

#[test]
fn a_terminated_autopilot_releases_its_lease() {
    for home in Home::both() {
        let (staged, is_stuck) = stuck(home);
        let running =
            Running::start(staged.command(&["autopilot", "--interval", "1s"]), "").unwrap();
        until_asked(&staged);
        running.terminate().unwrap();
        let ended = running.wait().unwrap();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.took < PATIENCE && !reports_panic(&ended.stderr), "{}", ended.stderr);
        assert_eq!(known(&staged.home), [""; 0], "what was stopped is no outcome");
        assert_eq!(staged.home.json(&["jobs", "show", "1"])["state"], "queued");
        is_stuck.store(false, Ordering::SeqCst);
        staged.run(&["autopilot", "--once", "--json"]).exits(0);
        assert_eq!(known(&staged.home), ["pass"]);
        assert_eq!(staged.home.json(&["jobs", "show", "1"])["state"], "done");
    }
}

#[test]
fn one_that_is_interrupted_by_hand_is_over() {
    let (staged, is_stuck) = stuck(Home::sqlite());
    let running = Running::start(staged.command(&RUN), "").unwrap();
    until_asked(&staged);
    running.signal("INT").unwrap();
    let ended = running.wait().unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("the probe was interrupted"), "{}", ended.stderr);
    assert_eq!(staged.home.json(&["jobs", "show", "1"])["state"], "cancelled");
    is_stuck.store(false, Ordering::SeqCst);
    let report = comes_to(&staged, &[], "pass", 0);
    assert_eq!(report.run_id.as_deref(), Some("2.1"));
}

#[test]
fn a_job_that_is_cancelled_stops() {
    let (staged, _is_stuck) = stuck(Home::sqlite());
    let running = Running::start(staged.command(&RUN), "").unwrap();
    until_asked(&staged);
    assert_eq!(staged.home.json(&["jobs", "cancel", "1"])["state"], json!("running"));
    assert_eq!(running.wait().unwrap().code, Some(2));
    assert_eq!(staged.home.json(&["jobs", "show", "1"])["state"], "cancelled");
    assert_eq!(known(&staged.home), [""; 0]);
}
