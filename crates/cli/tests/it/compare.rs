//! Comparing result files through the binary.

use serde_json::Value;

use crate::gate::captured_home;
use crate::support::Home;

#[test]
fn two_replays_are_compared_regressions_first() {
    let home = captured_home(Home::sqlite());
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
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
    let rows = two["comparisons"][0]["measures"].as_array().unwrap();
    let recall = rows.iter().find(|row| row["measure"] == "R@5").unwrap();
    assert!(recall["delta"].as_f64().unwrap() < 0.0, "{recall}");
    assert_eq!(recall["n"], 20);
    let bad = home.run(&["eval", "--qrels", qrels, "--config-b", r#"{"search.nothing": 1}"#]);
    assert_eq!(bad.code, Some(2));
}
