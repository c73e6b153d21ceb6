//! Files, queries and events through the program.

use gbrain_core::format::schema::of_body;
use gbrain_core::format::suite::SuitePruneBody;
use serde_json::json;

use super::*;
use crate::conforms::assert_conforms;
use crate::support::{args_of, assert_fields, demo_home, find};

#[test]
fn a_suite_is_added_to_the_file_and_registered_off() {
    for home in Home::both() {
        let path = home.path().join("suites.yaml");
        std::fs::write(
            &path,
            "# ours\nsuites:\n  - name: old # first\n    type: smoke\n    owners: [x]\n",
        )
        .unwrap();
        let args = args_of(
            "suites create --name weekly --type weekly_benchmark --owner ml --trigger 'cron:0 2 * * 0'",
        );
        home.ok(&args);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# ours\nsuites:\n  - name: old # first\n") && text.contains("weekly"),
            "{text}"
        );
        home.run(&args).exits(2);
        let list = home.json(&["suites", "list"]);
        let of = |name: &str| find(&list["suites"], "name", name).clone();
        assert_fields(&of("weekly"), &json!({ "registered": true, "enabled": false }));
        assert_eq!(of("old")["registered"], false);
        home.ok(&["suites", "enable", "weekly"]);
        let list = home.json(&["suites", "list"]);
        assert!(
            list["suites"]
                .as_array()
                .unwrap()
                .iter()
                .any(|one| one["name"] == "weekly" && one["enabled"] == true)
        );
        home.ok(&["suites", "disable", "weekly"]);
        assert!(home.ok(&["suites", "list"]).contains("weekly"));
    }
}

#[test]
fn braintrust_suites_are_read_too() {
    let home = Home::sqlite();
    let text = "suites: [{ name: s, type: smoke, owners: [x], endpoint: local }]\n";
    home.write("braintrust_suites.yaml", text);
    assert_eq!(home.json(&["suites", "list"])["suites"][0]["target"], "local");
    assert_eq!(home.json(&["suites", "validate"])["valid"], true);
}

#[test]
fn validation_tells_lines_and_unknown_targets() {
    let home = Home::sqlite();
    suites(&home, "suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    target: mars\n");
    home.run(&["suites", "validate"]).exits(1).stdout_has("suites.yaml:6: ").stdout_has("mars");
    suites(&home, "suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    colour: red\n");
    let found =
        serde_json::from_str::<Value>(&home.run(&["suites", "validate", "--json"]).stdout).unwrap();
    assert_eq!(found["problems"][0]["line"], 6);
    home.run(&["suites", "run", "a"]).exits(2);
}

/// The schema that is shipped is the one that the program means.
#[test]
fn the_schema_is_the_one_in_the_docs() {
    let docs =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/suites.schema.json");
    let shipped: Value = serde_json::from_str(&std::fs::read_to_string(docs).unwrap()).unwrap();
    assert_eq!(
        Home::sqlite().json(&["suites", "schema"]),
        shipped,
        "`gbrain suites schema > docs/suites.schema.json`"
    );
}

#[test]
fn reports_that_travel_hold_no_query() {
    let home = demo_home(Home::sqlite());
    suites(&home, "suites: [{ name: s, type: smoke, owners: [x] }]\n");
    queries(&home, &[json!({ "query": "a secret question", "expected": ["nowhere"] })]);
    let path = |name: &str| home.file(name);
    let (markdown, junit) = (path("r.md"), path("r.xml"));
    let ran = home
        .run(&args_of(&format!(
            "suites run s --markdown {markdown} --junit {junit} --github --json"
        )))
        .exits(1);
    let markdown = std::fs::read_to_string(&markdown).unwrap();
    let junit = std::fs::read_to_string(&junit).unwrap();
    for text in [&markdown, &junit, &ran.stdout, &ran.stderr] {
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(
        markdown.contains("FAIL") && junit.contains("<failure") && ran.stderr.contains("::error")
    );
    let text = home.run(&["suites", "run", "s"]).stdout;
    assert!(text.contains("a secret question"), "{text}");
}

#[test]
fn queries_live_from_candidate_to_retired() {
    for home in Home::both() {
        home.ok(&args_of(
            "queries add 'who is ada@example.com?' --expected people/ada --difficulty hard",
        ));
        let list = home.json(&["queries", "list"]);
        let query = &list["queries"][0];
        assert_fields(query, &json!({ "query": "who is [REDACTED]?", "difficulty": "hard" }));
        let number = query["number"].to_string();
        home.ok(&["queries", "edit", &number, "--expected", "chunk:c1", "--source", "slack"]);
        let query = &home.json(&["queries", "list"])["queries"][0];
        assert_fields(
            query,
            &json!({ "expected": [{ "kind": "chunk", "id": "c1" }], "source": "slack" }),
        );
        home.ok(&["queries", "retire", &number]);
        assert_eq!(home.json(&["queries", "list", "--state", "active"])["queries"], json!([]));
        home.run(&["queries", "retire", "4711"]).exits(2);
    }
}

#[test]
fn captured_traffic_becomes_candidates() {
    let home = demo_home(Home::sqlite());
    home.write("config.json", r#"{"eval":{"capture":true}}"#);
    for _ in 0..3 {
        home.ok(&["query", "charge floor"]);
    }
    home.ok(&["query", "Captain Pell"]);
    let found = home.json(&["queries", "promote"]);
    let first = &found["candidates"][0];
    let all = found["candidates"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{found:#}");
    let charge = all.iter().find(|one| one["query"] == "charge floor").unwrap();
    assert_eq!(charge["expected"], json!(["wiki::concepts/charge-floor"]), "{found:#}");
    // Other results are not judged: a case that accepted them could not fail.
    assert!(all.iter().all(|one| one["acceptable"] == Value::Null), "{found:#}");
    let text = home.ok(&["queries", "promote"]);
    assert!(text.contains("ACCEPTABLE") && text.contains("what was returned first"), "{text}");
    assert_eq!((&charge["state"], &charge["origin"]), (&json!("candidate"), &json!("analytics")));
    suites(&home, "suites: [{ name: s, type: regression, owners: [x], sample: { total: 1 } }]\n");
    assert_eq!(
        run(&home, &["s"]).1["inconclusive_reasons"][0],
        "no_queries",
        "nobody accepted them"
    );
    home.ok(&["queries", "promote", "--accept", &charge["number"].to_string()]);
    let (ran, body) = run(&home, &["s"]);
    assert_eq!((ran.code, &body["planned"]), (Some(0), &json!(1)), "{body:#} {first}");
    let number = charge["number"].to_string();
    home.ok(&["queries", "retire", &number]);
    home.run(&["queries", "promote", "--accept", &number]).exits(2).stderr_has("--state active");
}

#[test]
fn results_labelled_relevant_are_acceptable() {
    let home = demo_home(Home::sqlite());
    home.write("config.json", r#"{"eval":{"capture":true}}"#);
    home.ok(&["query", "charge floor"]);
    home.ok(&["feedback", "--last", "--vote", "up"]);
    home.ok(&["queries", "promote"]);
    let list = home.ok(&["queries", "list"]);
    assert!(list.contains("labels and votes") && list.contains("concepts/charge-floor"), "{list}");
}

#[test]
fn an_event_is_processed_once() {
    for home in Home::both() {
        let emit = ["events", "emit", "knowledge.persisted", "--document", "d", "--version", "3"];
        assert_eq!(home.json(&emit)["is_new"], true);
        assert_eq!(home.json(&emit)["is_new"], false);
        home.ok(&["events", "emit", "deploy.finished"]);
        home.ok(&["events", "emit", "deploy.finished"]);
        assert_eq!(home.json(&["events", "list"])["events"].as_array().unwrap().len(), 3);
        assert_eq!(home.run(&["events", "emit", "tea.ready"]).code, Some(2));
    }
}

#[test]
fn data_left_by_runs_is_erased() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(&home, "suites: [{ name: s, type: smoke, owners: [x], sample: { total: 1 } }]\n");
        home.ok(&["queries", "add", "charge floor", "--expected", "wiki::concepts/charge-floor"]);
        for _ in 0..3 {
            assert_eq!(run(&home, &["s"]).0.code, Some(0));
        }
        home.ok(&["events", "emit", "deploy.finished"]);
        let prune = |more: &[&str]| home.json(&[&["suites", "prune"], more].concat());
        let figures =
            |body: &Value| [&body["runs"], &body["logs"], &body["events"]].map(Value::as_u64);
        let dry = prune(&["--older-than", "0d", "--dry-run"]);
        assert_conforms(of_body::<SuitePruneBody>().as_value(), &dry);
        assert_eq!(figures(&dry), [2, 2, 1].map(Some));
        assert_eq!(figures(&prune(&["--older-than", "1d"])), [0, 0, 0].map(Some));
        assert_eq!(figures(&prune(&["--older-than", "0d"])), [2, 2, 1].map(Some));
        let first = home.run(&["suites", "show", "1"]);
        assert!(first.stdout.contains("recall@5") && first.stderr.contains("figures"), "{first:?}");
        assert_eq!(home.json(&["suites", "show", "1"])["run"], Value::Null);
        assert!(home.json(&["suites", "show", "3"])["run"].is_object(), "the last one stays");
        home.run(&["triage", "1"]).exits(2).stderr_has("figures of run 1");
        assert_eq!(figures(&prune(&["--older-than", "0d", "--runs"])), [2, 0, 0].map(Some));
        assert_eq!(home.json(&["suites", "history"])["runs"].as_array().unwrap().len(), 1);
        for wrong in ["soon", "-1d", "99999999999d"] {
            assert_eq!(
                home.run(&["suites", "prune", "--older-than", wrong]).code,
                Some(2),
                "{wrong}"
            );
        }
    }
}

#[test]
fn runs_older_than_the_retention_are_pruned() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(&home, "suites: [{ name: s, type: smoke, owners: [x], sample: { total: 1 } }]\n");
        home.ok(&["queries", "add", "charge floor", "--expected", "wiki::concepts/charge-floor"]);
        for _ in 0..2 {
            run(&home, &["s"]);
        }
        home.execute(
            "UPDATE suite_runs SET finished_at = finished_at - CAST(31 * 86400 AS BIGINT) * 1000",
        );
        home.ok(&["autopilot", "--once"]);
        assert!(home.json(&["suites", "show", "1"])["run"].is_object(), "nobody asked for it");
        assert_eq!(home.run(&["config", "set", "suites.retention_days", "0"]).code, Some(2));
        home.ok(&["config", "set", "suites.retention_days", "30"]);
        home.ok(&["autopilot", "--once"]);
        assert_eq!(home.json(&["suites", "show", "1"])["run"], Value::Null);
        assert!(home.json(&["suites", "show", "2"])["run"].is_object());
    }
}
