//! Comparing result files through the binary.

use serde_json::Value;

use crate::gate::captured_home;
use crate::support::{Home, find};

#[test]
fn two_replays_are_compared_regressions_first() {
    let home = captured_home(Home::sqlite());
    let path = |name: &str| home.file(name);
    std::fs::write(path("c.ndjson"), home.ok(&["eval", "export", "-q"])).unwrap();
    let replay = |name: &str| {
        let text =
            home.ok(&["eval", "replay", "--against", &path("c.ndjson"), "--json", "--verbose"]);
        std::fs::write(path(name), text).unwrap();
    };
    replay("a.json");
    home.ok(&["config", "set", "search.cut_ratio", "0.95"]);
    replay("b.json");
    let (a, b) = (path("a.json"), path("b.json"));
    let text = home.ok(&["eval", "compare", &a, &b]);
    assert!(text.to_lowercase().contains("jaccard"), "{text}");
    let report: Value = home.json(&["eval", "compare", &a, &b]);
    assert_eq!(report["schema_version"], 1);
    home.ok(&["eval", "compare", &a, &b, "--markdown", &path("d.md"), "--html", &path("d.html")]);
    assert!(
        std::fs::read_to_string(path("d.html")).unwrap().to_lowercase().starts_with("<!doctype")
    );
    assert_eq!(home.run(&["eval", "compare", &a, &a, "--fail-on-regression"]).code, Some(0));
    assert_eq!(home.run(&["eval", "compare", &a, &path("c.ndjson")]).code, Some(2));
    assert_eq!(home.run(&["eval", "compare", &a]).code, Some(2));
}

#[test]
fn settings_are_compared_on_known_right_answers() {
    let home = captured_home(Home::sqlite());
    let qrels = crate::support::demo("qrels.json");
    let qrels = qrels.to_str().unwrap();
    let one: Value = home.json(&["eval", "--qrels", qrels, "--by", "intent"]);
    assert!(one["summary"]["nDCG@5"].as_f64().unwrap() > 0.5);
    assert!(one["segments"]["groups"]["relational"]["queries"].as_u64().unwrap() >= 3);
    let before = home.json(&["config", "list"]);
    let two = home.json(&["eval", "--qrels", qrels, "--config-b", r#"{"search.cut_ratio": 1}"#]);
    assert_eq!(home.json(&["config", "list"]), before);
    let recall = find(&two["comparisons"][0]["measures"], "measure", "R@5");
    assert!(recall["delta"].as_f64().unwrap() < 0.0, "{recall}");
    assert_eq!(recall["n"], 54);
    home.run(&["eval", "--qrels", qrels, "--config-b", r#"{"search.nothing": 1}"#]).exits(2);
}

/// Scores of so many queries in eight measures; the first `fallen` queries have lost everything.
fn scores(home: &Home, name: &str, n: usize, fallen: usize) -> String {
    let names = ["nDCG@10", "P@10", "R@10", "R@100", "RR", "AP", "RBP", "Judged@10"];
    let of = |value: f64| -> Value { names.iter().map(|name| (*name, value)).collect() };
    let per_query: Vec<Value> = (0..n)
        .map(|at| {
            let value = if at < fallen { 0.0 } else { 1.0 };
            serde_json::json!({ "query_id": at.to_string(), "retrieved": 10, "scores": of(value) })
        })
        .collect();
    let scores = serde_json::json!({
        "schema_version": 1, "summary": of((n - fallen) as f64 / n as f64), "per_query": per_query,
        "counts": { "judged_queries": n, "judgements": n },
    });

    home.write(name, scores.to_string())
}

#[test]
fn a_regression_fails_and_too_few_queries_give_no_verdict() {
    let home = Home::sqlite();
    for (n, fallen, code) in
        [(8, 8, 1), (50, 7, 1), (8, 0, 0), (6, 6, 1), (5, 5, 2), (4, 4, 2), (4, 0, 2), (50, 5, 2)]
    {
        let (a, b) = (scores(&home, "a.json", n, 0), scores(&home, "b.json", n, fallen));
        let run = |more: &[&str]| {
            home.run(&[&["eval", "compare", &a, &b, "--fail-on-regression"], more].concat())
        };
        assert_eq!(run(&[]).code, Some(code), "{fallen} of {n}");
        let report: Value = serde_json::from_str(&run(&["--json"]).stdout).unwrap();
        let verdict = ["pass", "fail", "inconclusive"][usize::try_from(code).unwrap()];
        assert_eq!(report["verdict"], verdict, "{report}");
        assert_eq!(report["primary"], serde_json::json!(["nDCG@10"]));
        assert_eq!(report["reasons"].as_array().unwrap().is_empty(), code != 2, "{report}");
        assert_eq!(report["comparisons"][0]["measures"][7]["decides"], false);
    }
}

#[test]
fn the_caller_chooses_what_decides() {
    let home = Home::sqlite();
    let (a, b) = (scores(&home, "a.json", 8, 0), scores(&home, "b.json", 8, 8));
    let run = |primary: &str| {
        home.run(&["eval", "compare", &a, &b, "--fail-on-regression", "--primary", primary])
    };
    assert_eq!(run("R@10").code, Some(1));
    // Seven tests of 2 / 256 are above .05.
    run("nDCG@10 P@10 R@10 R@100 RR AP RBP").exits(2).stderr_has("at least 9 are needed");
    for refused in ["Judged@10", "nDCG@7"] {
        run(refused).exits(2).stderr_has("cannot decide");
    }
}

#[test]
fn a_report_says_what_decides_and_what_it_could_have_seen() {
    let home = Home::sqlite();
    let a = scores(&home, "a.json", 50, 0);
    let text = home.ok(&["eval", "compare", &a, &a]);
    assert!(text.contains("Decides: nDCG@10"), "{text}");
    assert!(text.contains("whole value: nDCG@10 -0.1"), "{text}");
    let few = scores(&home, "few.json", 4, 0);
    let text = home.ok(&["eval", "compare", &few, &few]);
    assert!(text.starts_with("NO VERDICT"), "{text}");
    assert!(text.contains("nDCG@10 cannot tell"), "{text}");
}
