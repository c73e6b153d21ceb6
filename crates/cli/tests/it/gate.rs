//! The gate through the binary: verdicts, evidence, reports, selftest.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::capture::configure;
use crate::support::{Home, Ran, demo, demo_home, find};

/// The bundled brain with captured questions.
pub(crate) fn captured_home(home: Home) -> Home {
    captured_with(home, &[])
}

/// The same, asked with more arguments.
fn captured_with(home: Home, more: &[&str]) -> Home {
    configure(&home, &json!({ "capture": true, "synthetic": true }));
    let home = demo_home(home);
    for question in [
        "who owns the berth planner?",
        "night charging",
        "three plugs did not unlock at Wrenmouth",
        "What depends on Plug Gateway?",
        "mobile phone program for captains",
        "charge floor",
        "first port abroad",
        "energy was metered twice at Ost Sands",
    ] {
        home.ok(&[&["query", question], more].concat());
    }
    home
}

/// Publishes what was captured.
pub(crate) fn publish(home: &Home) -> PathBuf {
    let (captured, to) =
        (home.path().join("c.ndjson"), home.path().join("baselines/b.baseline.ndjson"));
    std::fs::write(&captured, home.ok(&["eval", "export", "-q"])).unwrap();
    home.ok(&[
        "bench",
        "publish",
        "--from",
        captured.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ]);
    to
}

fn gate(home: &Home, baseline: &std::path::Path, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["eval", "gate", "--baseline", baseline.to_str().unwrap()]
        .iter()
        .chain(args)
        .copied()
        .collect();
    home.run(&args)
}

fn qrels() -> String {
    demo("qrels.json").to_str().unwrap().to_owned()
}

#[test]
fn the_loop_is_green_until_something_breaks() {
    for home in Home::both().map(captured_home) {
        let baseline = publish(&home);
        let report = gate(&home, &baseline, &["--json"]).exits(0).json();
        assert_eq!(report["verdict"], json!("pass"));
        assert_eq!(report["regression_gate"]["summary"]["mean_jaccard"], json!(1.0));
        assert_eq!(report["regression_gate"]["results"].as_array().unwrap().len(), 8);
        home.ok(&["config", "set", "search.cut_ratio", "0.95"]);
        let report = gate(&home, &baseline, &["--json"]).exits(1).json();
        assert_eq!(report["regression_gate"]["breaches"][0]["metric"], json!("mean_jaccard"));
        let rows = report["regression_gate"]["results"].as_array().unwrap();
        let moved: Vec<&Value> = rows.iter().filter(|row| row["jaccard"] != json!(1.0)).collect();
        assert!(!moved.is_empty());
        assert!(moved.iter().all(|row| row["blame"] == json!("settings")));
        assert!(moved.iter().any(|row| row["lost"][0]["stage"] == json!("cut")), "{moved:?}");
        // The settings of the captures bring it back.
        gate(&home, &baseline, &["--settings", "capture"]).exits(0);
    }
}

#[test]
fn the_same_inputs_give_the_same_bytes_apart_from_timing() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    let run = || {
        let ran = gate(&home, &baseline, &["--json", "--qrels", &qrels()]);
        let mut report = ran.json();
        assert!(report["timing"]["elapsed_ms"].as_f64().unwrap() > 0.0);
        report["timing"] = Value::Null;
        report.to_string()
    };
    assert_eq!(run(), run());
}

#[test]
fn an_edited_baseline_gives_no_verdict() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    let text = std::fs::read_to_string(&baseline).unwrap();
    std::fs::write(&baseline, text.replace("\"jaccard\":0.85", "\"jaccard\":0.05")).unwrap();
    gate(&home, &baseline, &[]).exits(2).stderr_has("edited or cut off");
    assert_eq!(home.run(&["bench", "verify", baseline.to_str().unwrap()]).code, Some(1));
    assert_eq!(home.run(&["doctor"]).code, Some(1));
}

#[test]
fn thresholds_must_be_numbers_in_range() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    for (flag, bad) in [
        ("--threshold-jaccard", "NaN"),
        ("--threshold-top1", "1.5"),
        ("--threshold-latency-multiplier", "-1"),
        ("--threshold-recall-at-k", "inf"),
        ("--confidence", "0"),
    ] {
        let given = format!("{flag}={bad}");
        let ran = gate(&home, &baseline, &[&given, "--qrels", &qrels()]);
        assert_eq!(ran.code, Some(2), "{given}: {}", ran.stdout);
    }
    assert_eq!(home.run(&["eval", "gate"]).code, Some(2));
}

#[test]
fn the_selftest_kills_every_mutant_on_the_bundled_fixture() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    let ran = gate(&home, &baseline, &["--qrels", &qrels(), "--selftest", "--json"]);
    let report = ran.json();
    assert_eq!(report["kill_score"], json!(1.0), "{report}");
    assert_eq!((report["applied"].as_u64(), ran.code), (Some(10), Some(0)));
}

/// One page has no order and no second place: mutants of order do not apply to answers of one page.
#[test]
fn the_selftest_passes_on_answers_of_one_page() {
    let home = captured_with(Home::sqlite(), &["--limit", "1"]);
    let baseline = publish(&home);
    let ran = gate(&home, &baseline, &["--selftest", "--json"]);
    let report = ran.json();
    assert_eq!((&report["kill_score"], ran.code), (&json!(1.0), Some(0)), "{report}");
    let killed = |name: &str| find(&report["mutants"], "mutant", name)["killed"].clone();
    assert_eq!((killed("shuffle"), killed("duplicate")), (Value::Null, Value::Null));
    assert_eq!(killed("truncate"), json!(true), "{report}");
}

#[test]
fn known_right_answers_are_gated_with_their_source() {
    let home = demo_home(Home::sqlite());
    let ran = home.run(&["eval", "gate", "--qrels", &qrels(), "--json"]).exits(0);
    let report = ran.json();
    assert_eq!(report["regression_gate"], json!({ "ran": false }));
    assert_eq!(report["correctness_gate"]["summary"]["queries_total"], json!(54));
    let wrong = home.path().join("wrong.json");
    let text = std::fs::read_to_string(qrels()).unwrap().replace("\"wiki\"", "\"journal\"");
    std::fs::write(&wrong, text).unwrap();
    assert_eq!(home.run(&["eval", "gate", "--qrels", wrong.to_str().unwrap()]).code, Some(1));
}

#[test]
fn reports_are_written_for_every_reader() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    home.ok(&["config", "set", "search.cut_ratio", "0.95"]);
    let path = |name: &str| home.file(name);
    let mut command = home.command(&[
        "eval",
        "gate",
        "--baseline",
        baseline.to_str().unwrap(),
        "--junit",
        &path("g.xml"),
        "--markdown",
        &path("g.md"),
        "--html",
        &path("g.html"),
        "--github",
    ]);
    let ran =
        Ran::of(command.env("GITHUB_STEP_SUMMARY", path("summary.md")).output().unwrap()).exits(1);
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    assert!(read("g.xml").contains("<failure") && !read("g.xml").contains("<error"));
    assert!(
        read("g.md").contains("| METRIC | BASELINE | CURRENT | DELTA | CI | THRESHOLD | STATUS |")
            || read("g.md").contains("METRIC")
    );
    assert!(
        read("g.html").starts_with("<!doctype html>")
            || read("g.html").starts_with("<!DOCTYPE html>")
    );
    assert!(ran.stdout.contains("::error"));
    assert_eq!(read("summary.md"), read("g.md"));
    // Queries do not travel unless asked to; the page is for the owner.
    assert!(!read("g.xml").contains("berth planner") && !read("g.md").contains("berth planner"));
    assert!(read("g.html").contains("berth planner"));
}

#[test]
fn an_improvement_is_banked_with_a_reason_and_stays_in_the_history() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    let file = baseline.to_str().unwrap();
    home.ok(&["config", "set", "search.cut_ratio", "0.95"]);
    assert_eq!(home.run(&["bench", "ratchet", "--baseline", file]).code, Some(2));
    let before = std::fs::read_to_string(&baseline).unwrap();
    let with = |more: &[&str]| {
        let args = ["bench", "ratchet", "--baseline", file, "--why", "shorter answers"];
        home.run(&[&args[..], more].concat())
    };
    for more in [&["--qrels", &qrels()][..], &[]] {
        with(more).exits(2).stderr_has("would get worse");
        assert_eq!(std::fs::read_to_string(&baseline).unwrap(), before);
    }
    with(&["--accept-loss"]).exits(0);
    assert_eq!(gate(&home, &baseline, &[]).code, Some(0));
    let log = home.json(&["bench", "log", file]);
    assert_eq!(log["chain"].as_array().unwrap().len(), 2);
    assert_eq!(log["chain"][0]["why"], json!("shorter answers"));
    let old = home.write("old.ndjson", before);
    let diff = home.json(&["bench", "diff", &old, file]);
    assert!(!diff["changed"].as_array().unwrap().is_empty());
}

#[test]
fn captures_of_real_use_stay_at_home() {
    let home = Home::sqlite();
    configure(&home, &json!({ "capture": true }));
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    let captured = home.write("c.ndjson", home.ok(&["eval", "export", "-q"]));
    let publish = |to: &str, more: &[&str]| {
        let from = &captured;
        let args: Vec<&str> =
            ["bench", "publish", "--from", from, "--to", to].iter().chain(more).copied().collect();
        home.run(&args)
    };
    let outside = tempfile::tempdir().unwrap();
    let there = outside.path().join("b.ndjson");
    let ran = publish(there.to_str().unwrap(), &[]).exits(2);
    assert!(!there.exists() && ran.stderr.contains("real use"), "{}", ran.stderr);
    // A link inside of the own directory that leads out is outside.
    std::fs::create_dir_all(home.path().join("baselines")).unwrap();
    std::os::unix::fs::symlink(outside.path(), home.path().join("baselines/out")).unwrap();
    let linked = home.path().join("baselines/out/b.ndjson");
    assert_eq!(publish(linked.to_str().unwrap(), &[]).code, Some(2));
    let own = home.path().join("baselines/b.ndjson");
    assert_eq!(publish(own.to_str().unwrap(), &[]).code, Some(0));
    assert_eq!(publish(own.to_str().unwrap(), &[]).code, Some(2));
    assert_eq!(publish(own.to_str().unwrap(), &["--force", "--why", "again"]).code, Some(0));
    assert_eq!(publish(there.to_str().unwrap(), &["--allow-real"]).code, Some(0));
}

#[test]
fn files_of_other_gbrains_gate_unchanged() {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA").map(PathBuf::from) else {
        eprintln!("SKIPPED files_of_other_gbrains_gate_unchanged: set GBRAIN_TEST_DATA");
        return;
    };
    let home = demo_home(Home::sqlite());
    let file = |name: &str| data.join("gbrain").join(name).to_str().unwrap().to_owned();
    // Another brain: the rows are asked, nothing is found again, and that is red, not an error.
    let (baseline, qrels) = (file("v0.41-launch.baseline.ndjson"), file("v0.41-launch.qrels.json"));
    let report = home.run(&["eval", "gate", "--baseline", &baseline, "--json"]).exits(1).json();
    assert_eq!(report["regression_gate"]["summary"]["rows_replayed"], json!(12));
    assert_eq!(report["regression_gate"]["baseline"]["tamper_evident"], json!(false));
    // Judgements of pages that are not there say nothing about this brain.
    home.run(&["eval", "gate", "--baseline", &baseline, "--qrels", &qrels])
        .exits(2)
        .stderr_has("judged pages exists in this brain");
    // With the pages there, all twelve are judged.
    let judged: Value = serde_json::from_str(&std::fs::read_to_string(&qrels).unwrap()).unwrap();
    for query in judged["queries"].as_array().unwrap() {
        let text = query["query"].as_str().unwrap();
        for slug in query["relevant_slugs"].as_array().unwrap() {
            home.put(slug.as_str().unwrap(), &format!("# {text}\n\n{text}."));
        }
    }
    let report = home.run(&["eval", "gate", "--qrels", &qrels, "--json"]).json();
    assert!(matches!(report["verdict"].as_str(), Some("pass" | "fail")), "{report}");
    assert_eq!(report["correctness_gate"]["summary"]["queries_run"], json!(12));
    let replay = home.json(&[
        "eval",
        "replay",
        "--against",
        &file("reference-captures.ndjson"),
        "--limit",
        "20",
        "--repeats",
        "1",
    ]);
    assert_eq!(replay["summary"]["rows_replayed"], json!(20));
}

#[test]
fn questions_without_a_page_are_gated_like_others() {
    let home = captured_home(Home::sqlite());
    home.ok(&["query", "Who invested in Zorblatt Industries?"]);
    let baseline = publish(&home);
    let report = gate(&home, &baseline, &["--json"]).exits(0).json();
    assert_eq!(report["regression_gate"]["summary"]["rows_total"], json!(9));
    assert_eq!(report["regression_gate"]["summary"]["rows_confounded"], json!(0));
}
