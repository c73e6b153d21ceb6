//! All kinds of suites against the bundled brain, on both stores.

use serde_json::json;

use super::*;
use crate::support::{assert_fields, demo_home};

const SUITES: &str = "suites:
  - { name: smoke, type: smoke, owners: ['@a'], sample: { total: 9 } }
  - { name: post-ingest-regression, type: regression, owners: ['@a'], sample: { total: 9 } }
  - { name: weekly, type: weekly_benchmark, owners: ['@a'], sample: { total: 9 } }
  - { name: sources, type: source_specific, owners: ['@a'], sample: { per_source: 2, sources: [wiki, journal] } }
  - { name: graph, type: graph_qa, owners: ['@a'], sample: { total: 2 } }
";

/// Queries and pages that the bundled brain is known to find.
fn demo_queries() -> Vec<Value> {
    let lines = include_str!("../../../demo/queries.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_kind_of_suite_on_both_stores() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(&home, SUITES);
        queries(&home, &demo_queries());
        let planned = [("smoke", 9), ("post-ingest-regression", 9), ("weekly", 9), ("sources", 4)];
        for (name, planned) in planned {
            let (ran, body) = run(&home, &[name]);
            assert_eq!(ran.code, Some(0), "{name}: {body:#}");
            assert_fields(&body, &json!({ "verdict": "pass", "planned": planned }));
            assert_eq!(measure(&body, "recall@5")["status"], "ok");
            assert_eq!(body["sample"]["smaller_than_playbook"], true, "{body:#}");
        }
        let (ran, body) = run(&home, &["graph"]);
        assert_eq!(ran.code, Some(0), "{body:#}");
        assert_eq!(body["planned"], 2);
        for name in ["graph_answer", "rationale_present", "rationale_faithful"] {
            let one = measure(&body, name);
            assert_eq!((&one["hits"], &one["n"]), (&json!(2), &json!(2)), "{name}: {body:#}");
        }
        let runs = home.json(&["suites", "history"]);
        assert_eq!(runs["runs"].as_array().unwrap().len(), 5);
    }
}

/// A page that says the opposite: the edge that a rationale gives must be so when it is judged.
#[test]
fn a_key_that_is_not_there_fails_and_says_so() {
    let home = demo_home(Home::sqlite());
    suites(&home, SUITES);
    let wrong = json!({ "id": "nowhere", "query": "charge floor", "source": "wiki", "expected": ["wiki::concepts/no-such-page"] });
    queries(&home, &[wrong]);
    let (ran, body) = run(&home, &["smoke"]);
    assert_eq!((ran.code, &body["verdict"]), (Some(1), &json!("fail")));
    assert_eq!(body["cases"][0]["flags"], json!(["missing_result"]));
    let told = home.run(&["suites", "run", "smoke"]).stdout;
    assert!(
        told.starts_with("FAIL") && told.contains("nowhere") && told.contains("charge floor"),
        "{told}"
    );
}

#[test]
fn suite_queries_are_logged_but_not_captured() {
    let home = demo_home(Home::sqlite());
    suites(&home, SUITES);
    queries(&home, &demo_queries());
    run(&home, &["smoke"]);
    let path = home.path().join("brain.db");
    let db = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        count(
            "SELECT count(*) FROM retrieval_logs WHERE user_id = 'eval' AND experiment_id LIKE 'manual:%'"
        ),
        9
    );
    assert!(
        count(
            "SELECT count(*) FROM feedback_events WHERE signal_type = 'eval_recall_at_5' AND score = 1.0"
        ) >= 9
    );
    assert_eq!(count("SELECT count(*) FROM eval_candidates"), 0);
}
