//! Without a model.

use serde_json::{Value, json};

use super::{VERB, about_the_berth, with_disagreement};
use crate::support::{Home, find};

fn check<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    find(&doctor["checks"], "name", name)
}

#[test]
fn a_contradiction_is_found_stored_and_gone_after_its_fix() {
    for home in Home::both() {
        with_disagreement(&home);
        let output = home.path().join("deep/er/report.json");
        let ran = home.run(&about_the_berth(&["--output", output.to_str().unwrap()])).exits(1);
        let found = ran.json();
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&output).unwrap()).unwrap();
        assert_eq!(written, found, "directories are made");
        assert_eq!(found["judge_model"], "offline:rules-2");
        assert_eq!((&found["run_status"], &found["verdict"]), (&json!("ok"), &json!("fail")));
        let finding = &found["findings"][0];
        assert_eq!(finding["verdict"], "contradiction");
        let slugs = [&finding["a"]["slug"], &finding["b"]["slug"]];
        assert_eq!(slugs, [&json!("notes/harbour"), &json!("notes/log")]);
        assert_eq!(finding["a"]["effective_date"], "2024-05-01");
        assert!(finding["resolution_command"].as_str().unwrap().contains("gbrain get"));
        assert!(found["pair_rate"]["corrected"].is_object());
        assert!(found["pair_rate"]["sensitivity"]["n"].as_u64().unwrap() >= 40);
        assert!(found["calibration"]["small_sample_note"].as_str().unwrap().contains("n = 1"));
        let trend = home.json(&["eval", VERB, "trend", "--days", "1"]);
        assert_eq!(trend["rows"][0]["report_json"], found);
        assert!(home.ok(&["eval", VERB, "trend"]).contains('█'));
        let review = home.ok(&["eval", VERB, "review", "--severity", "low"]);
        assert!(review.contains("notes/harbour") && review.contains("$ gbrain get"), "{review}");
        let doctor = home.run(&["doctor", "--json"]).json();
        let seen = check(&doctor, "contradictions");
        assert_eq!(seen["details"]["standing"], 1, "{seen}");
        home.put("notes/log", "The north berth of the harbour was painted.");
        let mended = home.json(&["eval", VERB, "review"]);
        assert_eq!(mended["findings"], json!([]), "it no longer stands");
        let doctor = home.run(&["doctor", "--json"]).json();
        assert_eq!(check(&doctor, "contradictions")["details"]["standing"], 0);
        let clean = home.run(&about_the_berth(&[]));
        // Its rules catch too few planted contradictions to vouch that there is none.
        assert_eq!(clean.code, Some(2), "{}{}", clean.stdout, clean.stderr);
        assert_eq!(clean.json()["verdict"], "inconclusive");
        assert_eq!(clean.json()["inconclusive_reasons"], json!(["low_sensitivity"]));
    }
}

#[test]
fn a_page_is_held_against_its_own_takes() {
    let home = Home::sqlite();
    let page = "---\ntakes:\n  - claim: The north berth of the harbour is closed.\n    holder: Ada\n  \
                - claim: The north berth of the harbour is closed for good.\n    active: false\n---\n\
                The north berth of the harbour is open.";
    home.put("notes/harbour", page);
    let ran = home.run(&about_the_berth(&[]));
    let found = ran.json();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "intra_page_chunk_take");
    let members = [&finding["a"], &finding["b"]];
    let take = members.iter().find(|member| member["take_row_num"] == 1).unwrap();
    assert_eq!(take["holder"], "Ada");
    assert_eq!(found["findings"].as_array().unwrap().len(), 1, "what no longer holds is not held");
    assert!(finding["resolution_command"].as_str().unwrap().contains("gbrain put"));
}

#[test]
fn the_same_run_says_the_same() {
    let home = Home::sqlite();
    with_disagreement(&home);
    let told = || {
        let mut found = home.run(&about_the_berth(&[])).json();
        for changing in ["run_id", "duration_ms"] {
            found.as_object_mut().unwrap().remove(changing);
        }
        found
    };
    assert_eq!(told(), told());
}

#[test]
fn queries_come_from_a_file_a_sample_or_captures() {
    let home = Home::sqlite();
    with_disagreement(&home);
    let file = home.write("queries.jsonl", "\u{feff}{\"query\": \"north berth\"}\n\nbread at dawn\r\nnorth berth\n{\"query\": \"harbour\", \"x\": 1}\n");
    let asked = |args: &[&str]| -> Vec<String> {
        let base = ["eval", VERB, "run", "--json", "--canaries", "40"];
        let ran = home.run(&[base.as_slice(), args].concat());
        let found = ran.json();
        let queries = found["per_query"].as_array().unwrap();
        queries.iter().map(|one| one["query"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["north berth", "bread at dawn", "harbour"];
    assert_eq!(asked(&["--queries-file", &file]), all);
    assert_eq!(asked(&["--queries-file", &file, "--limit", "2"]), all[..2]);
    let drawn = asked(&["--queries-file", &file, "--sample", "2", "--seed", "7"]);
    assert_eq!(drawn, asked(&["--queries-file", &file, "--sample", "2", "--seed", "7"]));
    assert!(drawn.len() == 2 && drawn.iter().all(|query| all.contains(&query.as_str())));
    for query in ["bread", "the harbour", "The  Harbour", "the harbour"] {
        let mut command = home.command(&["query", query]);
        assert!(command.env("GBRAIN_CONTRIBUTOR_MODE", "1").output().unwrap().status.success());
    }
    assert_eq!(asked(&["--from-capture"]), ["the harbour", "bread"], "the most frequent first");
    assert_eq!(asked(&["--from-capture", "--top", "1"]), ["the harbour"]);
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let home = Home::sqlite();
    with_disagreement(&home);
    let file = |name: &str, text: &str| home.write(name, text);
    let refused = |args: &[&str], says: &str| {
        let ran = home.run(&[&["eval", VERB], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    };
    refused(&[], "--queries-file");
    refused(&["--queries-file", &file("empty", "\n \n")], "no query");
    refused(&["--queries-file", &file("cut", "ok\n{\"query\": \"x\"\n")], "line 2");
    refused(&["--queries-file", &file("none", "{\"text\": \"x\"}")], "`query`");
    refused(&["--queries-file", "/nowhere/at/all"], "/nowhere/at/all");
    let binary = home.write("binary", b"fine\n\xff\xfe\n");
    refused(&["--queries-file", &binary], "line 2");
    refused(&["--from-capture"], "GBRAIN_CONTRIBUTOR_MODE");
    refused(&["--query", "x", "--from-capture"], "cannot be used");
    refused(&["--query", "x", "--top-k", "0"], "top-k");
    refused(&["--query", "x", "--judge", "nobody"], "nobody");
    refused(&["--query", "x", "--judge", "offline", "--cassette", "tape"], "cassette");
    refused(&["--query", "x", "--budget-usd=-1"], "budget-usd");
    refused(&["review", "--severity", "dire"], "high");
    refused(&["review"], "no run");
    refused(&["nonsense"], "nonsense");
    assert!(home.ok(&["eval", VERB, "trend"]).contains("No run"));
}

#[test]
fn nothing_to_judge_is_no_pass() {
    let home = Home::sqlite();
    home.put("notes/alone", "The north berth of the harbour is open.");
    let ran = home.run(&about_the_berth(&[])).exits(2);
    assert_eq!(ran.json()["inconclusive_reasons"], json!(["no_pairs", "low_sensitivity"]));
    with_disagreement(&home);
    let blind = home.run(&about_the_berth(&["--canaries", "0"])).exits(2);
    let reasons = &blind.json()["inconclusive_reasons"];
    assert_eq!(*reasons, json!(["no_canaries"]), "nobody knows what the judge is worth");
}
