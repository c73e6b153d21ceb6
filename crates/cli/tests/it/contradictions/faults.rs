//! Whatever keeps a judge from judging: each with its name, none green.

use std::time::Duration;

use gbrain_testkit::providers::{Asked, Fault};
use serde_json::{Value, json};

use super::{about_the_berth, obedient, verdict, with_disagreement};
use crate::models::Provided;
use crate::support::{Home, Ran, find};

fn run(
    says: impl Fn(&Asked) -> String + Send + Sync + 'static,
    faults: impl Fn(u64) -> Fault + Send + Sync + 'static,
    more: &[&str],
) -> (Provided, Ran) {
    let provided = Provided::new(Home::sqlite(), says, faults);
    with_disagreement(&provided.home);
    let ran = provided.run(&about_the_berth(&[&["--judge", "openai:m"], more].concat()));
    (provided, ran)
}

fn reasons(found: &Value) -> Vec<&str> {
    found["inconclusive_reasons"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect()
}

#[test]
fn a_judge_that_never_answers_is_an_error_by_name() {
    for (fault, kind) in [
        (Fault::Status(500, None), "http_5xx"),
        (Fault::Status(429, Some(0)), "rate_limited"),
        (Fault::Status(401, None), "unknown"),
        (Fault::Garbage, "parse_fail"),
        (Fault::Cut, "parse_fail"),
    ] {
        let (provided, ran) = run(obedient(), move |_| fault, &["--canaries", "2"]);
        assert_eq!(ran.code, Some(2), "{kind}: {}", ran.stderr);
        let found = ran.json();
        assert_eq!(found["run_status"], "judge_failed", "{kind}");
        assert!(found["judge_errors"][kind].as_u64().unwrap() > 0, "{kind}: {found}");
        assert!(ran.stderr.contains("warning:"), "{}", ran.stderr);
        let text = provided.home.run(&["eval", super::VERB, "review"]).stdout;
        assert!(text.contains("judge of this run failed"), "{text}");
        let doctor = provided.home.run(&["doctor", "--json"]).json();
        let check = find(&doctor["checks"], "name", "contradictions");
        assert_eq!(check["status"], "warn", "{check}");
    }
}

#[test]
fn a_judge_that_hangs_is_not_waited_for() {
    let hangs = |_| Fault::Hang(Duration::from_secs(4));
    let (_, ran) = run(obedient(), hangs, &["--canaries", "1"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.json()["judge_errors"]["timeout"].as_u64().unwrap() > 0);
}

#[test]
fn a_few_failures_make_it_inconclusive_and_not_clean() {
    // The last call is the brain's own pair: planted ones come first.
    let (_, ran) = run(
        |asked| match asked {
            Asked::Chat { user, .. } if user.contains("berth of the harbour") => "no idea".into(),
            asked => obedient()(asked),
        },
        |_| Fault::None,
        &["--canaries", "20"],
    );
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let found = ran.json();
    assert!(reasons(&found).contains(&"judge_errors"), "{found}");
    assert_eq!(found["calibration"]["queries_total"], 0, "it is in no rate");
    assert_eq!(found["calibration"]["queries_not_judged"], 1);
}

#[test]
fn a_judge_that_is_no_better_than_guessing_is_not_believed() {
    let (_, ran) = run(|_| verdict(false), |_| Fault::None, &[]);
    let both = vec!["weak_judge", "low_sensitivity"];
    assert_eq!((ran.code, reasons(&ran.json())), (Some(2), both));
    let (_, ran) = run(|_| verdict(true), |_| Fault::None, &[]);
    assert_eq!((ran.code, reasons(&ran.json())), (Some(2), vec!["weak_judge"]));
}

#[test]
fn money_ends_in_a_verdict() {
    let (provided, refused) = run(obedient(), |_| Fault::None, &["--budget-usd", "0.001"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(provided.server.requests(), 0, "refused before anything was sent");
    let (provided, poor) = run(obedient(), |_| Fault::None, &["--budget-usd", "0.05", "--yes"]);
    assert_eq!(poor.code, Some(2), "{}", poor.stderr);
    let found = poor.json();
    assert!(reasons(&found).contains(&"over_budget"), "{found}");
    assert!(provided.server.requests() < 81);
    let spent = provided.home.json(&["spend"])["usd"].as_f64().unwrap();
    assert!(spent <= 0.05 && spent > 0.0, "{spent}");
    assert_eq!(found["cost_usd"]["judge"].as_f64().unwrap(), spent);
    // Paid judgements are stored: the next run continues from there.
    let sent = provided.server.requests();
    provided.run(&about_the_berth(&["--judge", "openai:m"])).exits(1);
    let judged = sent - found["judge_errors"]["total"].as_u64().unwrap().min(sent);
    assert!(judged == 0 || provided.server.requests() < sent + 81, "nothing is paid for twice");
}

#[test]
fn no_key_no_price_no_run() {
    let provided = Provided::new(Home::sqlite(), obedient(), |_| Fault::None);
    with_disagreement(&provided.home);
    provided
        .home
        .run(&about_the_berth(&["--judge", "openai:m"]))
        .exits(2)
        .stderr_has("TEST_KEY")
        .stderr_has("--judge offline");
    provided
        .run(&about_the_berth(&["--judge", "openai:other"]))
        .exits(2)
        .stderr_has("openai:other");
    assert_eq!(provided.server.requests(), 0);
    assert_eq!(provided.home.json(&["eval", super::VERB, "trend"])["rows"], json!([]));
}
