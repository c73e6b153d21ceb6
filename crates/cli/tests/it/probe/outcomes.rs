//! Every outcome, reached through the real binary.

use std::time::Duration;

use gbrain_core::format::probe::{ProbeEvent, ProbeHistory, ProbeReport};
use gbrain_core::format::schema::of_body;
use gbrain_core::probe::file_name;
use gbrain_testkit::providers::Fault;
use serde_json::json;

use super::*;
use crate::conforms::assert_conforms;

#[test]
fn a_pass_is_recorded_in_the_store_and_the_audit() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        let report = comes_to(&staged, &[], "pass", 0);
        let event = &report.event;
        assert_eq!((event.pass_count, event.fail_count, event.error_count), (10, 0, 0));
        assert_eq!(event.fixture_sha8.as_deref().map(str::len), Some(8));
        let measured = report.measured.as_ref().unwrap();
        assert_eq!((measured.recall.aggregate.hit, measured.recall.aggregate.total), (9, 9));
        assert_eq!(measured.recall.recall_by_type.len(), 6);
        assert_eq!(measured.cross_modal.pass_count, 10);
        assert_eq!(measured.models.answers, "anthropic:reader");
        let home = &staged.home;
        let lines = audited(home);
        let [(name, line)] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(*name, file_name(event.ts.parse().unwrap()));
        assert_conforms(of_body::<ProbeEvent>().as_value(), line);
        assert_eq!((&line["outcome"], &line["ts"]), (&json!("pass"), &json!(event.ts)));
        assert_eq!(line["workspace"], "default");
        assert_eq!(known(home), ["pass"], "what is in both is one run");
        let history = home.json(&["eval", "probe", "history"]);
        assert_conforms(of_body::<ProbeHistory>().as_value(), &history);
        assert_eq!(history["runs"][0]["recall"]["rate"], 1.0);
        let job = home.json(&["jobs", "show", "1"]);
        assert_eq!((&job["kind"], &job["state"]), (&json!("quality_probe"), &json!("done")));
        let text = home.ok(&["eval", "probe", "history"]);
        assert!(text.contains("pass") && text.contains("100.0%"), "{text}");
    }
}

#[test]
fn everything_that_is_asked_is_in_the_cost() {
    let staged = staged(Home::sqlite(), GOOD, |_| Fault::None);
    staged.configure(json!({ "embedder": { "model": "voyage:m", "dims": 64 } }));
    staged.home.ok(&["config", "set", "models.rerank", "jina:m"]);
    let report = comes_to(&staged, &[], "pass", 0);
    let billed: f64 = staged
        .server
        .billed()
        .iter()
        .map(|call| (call.input as f64 + 2.0 * call.output as f64) / 1e6)
        .sum();
    let event = &report.event;
    assert!((event.cost_usd - billed).abs() < 1e-9, "{} {billed}", event.cost_usd);
    assert!(event.cost_usd < event.est_cost_usd && event.est_cost_usd < 5.0, "{event:?}");
    let measured = report.measured.unwrap();
    let models: Vec<&str> = measured.costs.iter().map(|cost| cost.model.as_str()).collect();
    assert_eq!(
        models,
        ["anthropic:b", "anthropic:reader", "google:c", "jina:m", "openai:a", "voyage:m"]
    );
    assert_eq!(measured.costs.iter().find(|cost| cost.model == "jina:m").unwrap().calls, 10);
    let spent = staged.home.json(&["spend"]);
    assert!(
        spent["lines"].as_array().unwrap().iter().all(|line| line["purpose"] == "quality_probe")
    );
    // The embedder is asked anew, so that the probe sees what it says tonight.
    let before = staged.server.requests();
    comes_to(&staged, &["--force"], "pass", 0);
    assert_eq!(staged.server.requests(), 2 * before);
}

#[test]
fn a_wrong_answer_fails() {
    let wrong = Play {
        answer: |question| {
            if question.contains("spare key") {
                "Under the flower pot.".to_owned()
            } else {
                right(question)
            }
        },
        ..GOOD
    };
    for home in Home::both() {
        let staged = staged(home, wrong, |_| Fault::None);
        let report = comes_to(&staged, &[], "fail", 1);
        let event = &report.event;
        assert_eq!((event.pass_count, event.fail_count), (9, 1));
        let detail = event.detail.as_deref().unwrap();
        assert!(detail.starts_with("probe_update_01: correctness mean_below_7"), "{detail}");
        comes_to(&staged, &[], "rate_limited", 2);
        staged.run(&[&RUN[..], &["--force"]].concat()).exits(1).stdout_has("Under the flower pot.");
    }
}

#[test]
fn a_panel_that_lost_its_quorum_leaves_no_verdict() {
    let lone = Play {
        vote: |judge, task| match judge {
            "a" => score(compared(task)),
            _ => "I would rather not say.".to_owned(),
        },
        ..GOOD
    };
    for home in Home::both() {
        let staged = staged(home, lone, |_| Fault::None);
        let report = comes_to(&staged, &[], "inconclusive", 2);
        assert_eq!((report.event.inconclusive_count, report.event.pass_count), (10, 0));
        let detail = report.event.detail.unwrap();
        assert!(detail.contains("too_few_models") && detail.contains("parse_fail"), "{detail}");
        comes_to(&staged, &[], "rate_limited", 2);
    }
}

#[test]
fn answers_that_fail_are_an_error_that_does_not_use_the_window() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::Status(500, None));
        let report = comes_to(&staged, &[], "error", 2);
        assert_eq!(report.event.error_count, 10);
        assert!(report.event.detail.unwrap().contains("http_5xx"));
        assert_eq!(report.event.cost_usd, 0.0);
        // It waits an hour, not a day.
        let refused = comes_to(&staged, &[], "rate_limited", 2);
        let due: jiff::Timestamp = refused.next_run.unwrap().parse().unwrap();
        let ended: jiff::Timestamp = report.event.ts.parse().unwrap();
        let wait = due.duration_since(ended).as_secs();
        assert!((3_590..=3_600).contains(&wait), "{wait}");
        assert_eq!(known(&staged.home), ["error"]);
    }
}

#[test]
fn a_run_that_can_cost_too_much_is_not_begun() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        staged.home.ok(&["config", "set", MAX_USD, "0.02"]);
        let report = comes_to(&staged, &[], "budget_exceeded", 2);
        assert_eq!(staged.server.requests(), 0, "nothing was sent");
        assert!(report.event.est_cost_usd > 0.02 && report.event.cost_usd == 0.0);
        assert_eq!(known(&staged.home), ["budget_exceeded"]);
        // Refused for the same reason, it is told again and kept once.
        comes_to(&staged, &[], "budget_exceeded", 2);
        assert_eq!(known(&staged.home), ["budget_exceeded"]);
        // A larger budget counts at once: a refusal does not use up the day.
        staged.home.ok(&["config", "set", MAX_USD, "5"]);
        comes_to(&staged, &[], "pass", 0);
        comes_to(&staged, &[], "rate_limited", 2);
    }
}

#[test]
fn a_daily_budget_exhausted_midway_is_reported() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        staged.home.ok(&["config", "set", "spend.max_usd_per_day", "0.02"]);
        let report = comes_to(&staged, &[], "budget_exceeded", 2);
        assert!(staged.server.requests() >= 10, "it began");
        assert!(report.event.inconclusive_count > 0 && report.event.error_count == 0);
        assert!(report.event.cost_usd > 0.0 && report.event.cost_usd <= 0.02, "{:?}", report.event);
        assert!(report.event.detail.unwrap().contains("over_budget"));
        assert_eq!(known(&staged.home), ["budget_exceeded"]);
        comes_to(&staged, &[], "rate_limited", 2);
    }
}

#[test]
fn the_cap_holds_whatever_is_lost() {
    // What a judge was sent and did not answer stays charged at its worst, every time it is tried.
    let staged = staged(Home::sqlite(), GOOD, |number| match number {
        ..=10 => Fault::None,
        _ => Fault::Hang(Duration::from_secs(3)),
    });
    let config = staged.home.path().join("config.json");
    let patient = std::fs::read_to_string(&config).unwrap();
    let hasty = patient.replace("\"timeout_seconds\":2", "\"timeout_seconds\":1");
    std::fs::write(&config, hasty.replace("\"attempts\":2", "\"attempts\":4")).unwrap();
    let estimate = comes_to(&staged, &["--max-usd", "0"], "budget_exceeded", 2);
    let cap = format!("{:.6}", estimate.event.est_cost_usd + 0.000_001);
    let report = comes_to(&staged, &["--force", "--max-usd", &cap], "budget_exceeded", 2);
    let cap: f64 = cap.parse().unwrap();
    assert!(
        report.event.cost_usd <= cap && report.event.cost_usd > cap / 2.0,
        "{:?}",
        report.event
    );
    assert!(report.event.detail.unwrap().contains("over_budget"));
}

#[test]
fn a_remote_embedder_without_its_key_is_reported_once() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        staged.configure(json!({ "embedder": { "model": "voyage:m", "dims": 64 } }));
        let keyless = || staged.home.run(&[&RUN[..], &["--json"]].concat());
        for _ in 0..2 {
            let ran = keyless();
            assert_eq!(
                (ran.code, report(&ran).event.outcome.name()),
                (Some(2), "no_embedding_key")
            );
        }
        assert_eq!(known(&staged.home), ["no_embedding_key"], "once in a window");
        comes_to(&staged, &[], "pass", 0);
        // The built-in embedder needs no key: then it is the reader's that is missing.
        staged.configure(json!({}));
        let ran = staged.home.run(&[&RUN[..], &["--force", "--json"]].concat());
        let event = report(&ran).event;
        assert_eq!((ran.code, event.outcome.name()), (Some(2), "error"));
        assert!(event.detail.unwrap().starts_with("no_key"));
    }
}

#[test]
fn a_disabled_probe_runs_only_when_forced() {
    for home in Home::both() {
        let staged = staged(home, GOOD, |_| Fault::None);
        staged.home.ok(&["config", "unset", ENABLED]);
        let refused = staged.run(&RUN).exits(2);
        assert!(refused.stdout.starts_with("DISABLED"), "{}", refused.stdout);
        let enable = "gbrain config set autopilot.nightly_quality_probe.enabled true";
        assert!(refused.stderr.contains(enable), "{}", refused.stderr);
        comes_to(&staged, &[], "disabled", 2);
        assert_eq!(known(&staged.home), [""; 0], "there was nothing to keep");
        assert_eq!(staged.server.requests(), 0);
        comes_to(&staged, &["--force"], "pass", 0);
        assert_eq!(known(&staged.home), ["pass"]);
    }
}

#[test]
fn reports_are_what_their_schema_says() {
    let staged = staged(Home::sqlite(), GOOD, |_| Fault::None);
    for more in [&["--max-usd", "0"][..], &["--force"], &[]] {
        let body = staged.run(&[&RUN, more, &["--json"]].concat()).json();
        assert_conforms(of_body::<ProbeReport>().as_value(), &body);
    }
}

#[test]
fn a_stage_that_does_not_answer_is_no_pass() {
    let staged = staged(Home::sqlite(), GOOD, |_| Fault::None);
    // A reranker whose provider speaks no rerank fails, and the other stages answer. `config set` refuses it.
    let workspace = gbrain_core::id::WorkspaceId::default();
    staged.home.store().config_set(&workspace, "models.rerank", "openai:a").unwrap();
    let report = comes_to(&staged, &[], "inconclusive", 2);
    assert_eq!(report.event.pass_count, 10);
    let detail = report.event.detail.unwrap();
    assert!(detail.starts_with("without rerank"), "{detail}");
}
