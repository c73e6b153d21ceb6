//! Baselines against edits: hashes, keys, and what a ratchet may bank.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::capture::configure;
use crate::gate::{captured_home, publish};
use crate::support::{Home, Ran, demo};

const KEY: &str = "a key that only this test knows";
const OTHER_KEY: &str = "the key of another repository";
/// Latency is not what these tests are about.
const ANY_LATENCY: [&str; 4] = ["--threshold-latency-multiplier", "1000000", "--repeats", "1"];

fn run_with(home: &Home, key: Option<&str>, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    command.env_remove("GBRAIN_BASELINE_KEY");
    if let Some(key) = key {
        command.env("GBRAIN_BASELINE_KEY", key);
    }
    Ran::of(command.output().unwrap())
}

fn gate(file: &str) -> Vec<&str> {
    [&["eval", "gate", "--json", "--baseline", file][..], &ANY_LATENCY].concat()
}

/// Every command that believes a baseline, with the exit code of one that it refuses.
fn believers(file: &str) -> Vec<(Vec<&str>, i32)> {
    vec![
        (gate(file), 2),
        (vec!["bench", "verify", file], 1),
        (vec!["bench", "log", file], 2),
        (vec!["bench", "diff", file, file], 2),
        (vec!["bench", "ratchet", "--baseline", file, "--why", "x", "--accept-loss"], 2),
        (vec!["bench", "publish", "--from", file, "--to", "elsewhere.ndjson", "--allow-real"], 2),
        (vec!["eval", "replay", "--against", file, "--repeats", "1"], 2),
        ([&gate(file)[..], &["--selftest"]].concat(), 2),
    ]
}

/// The file without its hash.
fn strip_hash(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let at = head.rfind(",\"rows_hash\"").unwrap();
    std::fs::write(path, format!("{}}}\n{rows}", &head[..at])).unwrap();
}

#[test]
fn a_deleted_hash_is_believed_by_no_command() {
    let home = captured_home(Home::sqlite());
    let baseline = publish(&home);
    strip_hash(&baseline);
    let text = std::fs::read_to_string(&baseline).unwrap();
    let easy = text.replace("\"jaccard\":0.85", "\"jaccard\":0.0");
    for edited in [text, easy] {
        std::fs::write(&baseline, edited).unwrap();
        for (args, code) in believers(baseline.to_str().unwrap()) {
            let ran = home.run(&args);
            let told = format!("{args:?}\n{}\n{}", ran.stdout, ran.stderr);
            assert_eq!(ran.code, Some(code), "{told}");
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(told.contains("rows_hash is gone"), "{told}");
        }
    }
    assert_eq!(home.run(&["doctor"]).code, Some(1));
}

#[test]
fn a_signed_baseline_is_checked_by_every_command() {
    let home = captured_home(Home::sqlite());
    let unsigned = publish(&home);
    let unsigned = unsigned.to_str().unwrap();
    let signed = home.path().join("baselines/signed.baseline.ndjson");
    let signed = signed.to_str().unwrap();
    let from = home.path().join("c.ndjson");
    let sign = ["bench", "publish", "--from", from.to_str().unwrap(), "--to", signed, "--json"];
    let body = run_with(&home, Some(KEY), &sign).exits(0).json();
    assert_eq!(body["key_id"].as_str().unwrap().len(), 16, "{body}");
    assert!(!std::fs::read_to_string(signed).unwrap().contains(KEY));

    let verdict = |key: Option<&str>, file: &str| {
        let ran = run_with(&home, key, &gate(file));
        let body = ran.json();
        (ran.code, body["regression_gate"]["baseline"]["integrity"].clone())
    };
    assert_eq!(verdict(Some(KEY), signed), (Some(0), json!("signature_verified")));
    assert_eq!(verdict(None, signed), (Some(0), json!("signature_not_checked")));
    assert_eq!(verdict(None, unsigned), (Some(0), json!("hash_verified")));
    let ran = run_with(&home, None, &gate(signed));
    assert!(ran.stdout.contains("its signature was not checked"), "{}", ran.stdout);

    // A wrong key, and a file that was edited and published again without the key.
    for (key, file, expected) in
        [(OTHER_KEY, signed, "signature does not fit"), (KEY, unsigned, "it is not signed")]
    {
        for (args, code) in believers(file) {
            let takes_unsigned = args[1] == "replay" || args[1] == "publish";
            if file == unsigned && takes_unsigned {
                continue;
            }
            let ran = run_with(&home, Some(key), &args);
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(ran.code, Some(code), "{args:?}: {told}");
            assert!(told.contains(expected), "{args:?}: {told}");
        }
    }
    assert_eq!(run_with(&home, Some(OTHER_KEY), &["doctor"]).code, Some(1));

    // The key may be in a file; one that is empty or short is an error, not no key.
    let file = home.path().join("ci.key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let with_file = [&gate(signed)[..], &["--key-file", file.to_str().unwrap()]].concat();
    assert_eq!(run_with(&home, Some(OTHER_KEY), &with_file).code, Some(0));
    std::fs::write(&file, "short").unwrap();
    assert_eq!(run_with(&home, None, &with_file).code, Some(2));
    for empty in ["", "short"] {
        run_with(&home, Some(empty), &gate(signed)).exits(2).stderr_has("GBRAIN_BASELINE_KEY");
    }
}

#[test]
fn the_public_baseline_is_judged_with_a_remark() {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA").map(PathBuf::from) else {
        eprintln!("SKIPPED the_public_baseline_is_judged_with_a_remark: set GBRAIN_TEST_DATA");
        return;
    };
    let home = captured_home(Home::sqlite());
    let file = data.join("gbrain/v0.41-launch.baseline.ndjson");
    let file = file.to_str().unwrap();
    let path = |name: &str| home.file(name);
    let (xml, md, html) = (path("g.xml"), path("g.md"), path("g.html"));
    let args = ["eval", "gate", "--baseline", file, "--github", "--junit", &xml, "--markdown", &md];
    let ran = home.run(&[&args[..], &["--html", &html, "--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(1), "another brain is judged, and red: {}", ran.stderr);
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    for report in [ran.stdout, read(&xml), read(&md), read(&html), home.run(&gate(file)).stdout] {
        assert!(report.contains("edits cannot be detected"), "{report}");
    }
    assert_eq!(home.run(&["bench", "verify", file]).code, Some(0));
    assert!(home.ok(&["bench", "verify", file]).contains("edits cannot be detected"));
    assert_eq!(run_with(&home, Some(KEY), &gate(file)).code, Some(2));
}

/// A brain of words: what `search` finds is known.
struct Words {
    home: Home,
    baseline: String,
}

impl Words {
    fn new() -> Self {
        let home = Home::sqlite();
        configure(&home, &json!({ "capture": true, "synthetic": true }));
        home.put("notes/boats", "# Boats\n\nA harbour full of boats.");
        home.put("notes/trains", "# Trains\n\nThe trains leave the harbour.");
        home.put("notes/other", "# Other\n\nNothing of that.");
        for query in ["boats", "trains", "harbour"] {
            home.ok(&["search", query]);
        }
        let baseline = publish(&home);
        Self { home, baseline: baseline.to_str().unwrap().to_owned() }
    }

    fn ratchet(&self, more: &[&str]) -> Ran {
        let args = ["bench", "ratchet", "--baseline", &self.baseline, "--why", "better"];
        self.home.run(&[&args[..], more].concat())
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.baseline).unwrap()
    }

    /// The pages of a row.
    fn pages(&self, query: &str) -> Value {
        let rows = self.text();
        let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.into_iter().find(|row| row["query"] == query).unwrap()["retrieved_slugs"].clone()
    }

    fn qrels(&self, entries: &Value) -> String {
        let path = self.home.path().join("qrels.json");
        let file = json!({ "schema_version": 1, "queries": entries });
        std::fs::write(&path, file.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn a_ratchet_refuses_losses() {
    let words = Words::new();
    let before = words.text();
    words.home.ok(&["delete", "notes/boats"]);
    words
        .ratchet(&[])
        .exits(2)
        .stderr_has("it finds nothing any more")
        .stderr_has("no longer finds default::notes/boats")
        .stderr_has("--accept-loss");
    assert_eq!(words.text(), before);
    // A reason is needed to accept a loss, too.
    let args = ["bench", "ratchet", "--baseline", &words.baseline, "--accept-loss"];
    assert_eq!(words.home.run(&args).code, Some(2));
    assert_eq!(words.home.run(&[&args[..], &["--why", " "]].concat()).code, Some(2));

    words.ratchet(&["--accept-loss"]).exits(0);
    // A row that finds nothing is no ranking: it stays as it was, and goes on failing.
    assert_eq!(words.pages("boats"), json!(["notes/boats"]));
    assert_eq!(words.pages("harbour"), json!(["notes/trains"]));
    assert!(words.text().contains("\"row_count\":3"));
}

#[test]
fn a_ratchet_banks_only_what_improved() {
    let words = Words::new();
    let before = words.text();
    assert_eq!(words.pages("trains"), json!(["notes/trains"]));
    // Nothing changed: there is nothing to bank.
    words.ratchet(&[]).exits(2).stderr_has("no row is known to have improved");
    // Judgements of other queries judge nothing.
    let qrels = words.qrels(&json!([{ "query": "planes", "relevant_slugs": ["notes/other"] }]));
    words
        .ratchet(&["--qrels", &qrels])
        .exits(2)
        .stderr_has("none of its queries is in the baseline");
    // A looser gate is a loss.
    words
        .ratchet(&["--threshold-jaccard", "0.1"])
        .exits(2)
        .stderr_has("threshold jaccard falls from 0.85 to 0.1");
    assert_eq!(words.text(), before);

    // One page more for `trains`, which is judged, and for `harbour`, which is not.
    let long = "Among many other things that this long page tells about, page after page, there are \
        trains, and at the very end of it, after all the rest, comes a harbour";
    words.home.put("notes/other", &format!("# Other\n\n{long}."));
    let qrels = words.qrels(&json!([
        { "query": "trains", "relevant_slugs": ["notes/other", "notes/trains"] },
    ]));
    words
        .ratchet(&["--qrels", &qrels])
        .exits(0)
        .stderr_has("1 of 3 rows are judged")
        .stderr_has("1 rows improved; 1 moved");
    assert_eq!(words.pages("trains").as_array().unwrap().len(), 2);
    assert_eq!(words.pages("harbour").as_array().unwrap().len(), 2, "as it was");
    words.ratchet(&["--threshold-jaccard", "0.9"]).exits(0);
}

#[test]
fn publishing_over_a_baseline_tells_what_is_lost() {
    let words = Words::new();
    let captured = words.home.path().join("c.ndjson");
    let text = std::fs::read_to_string(&captured).unwrap();
    let mut rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    rows[0]["retrieved_slugs"] = json!([]);
    rows[0]["retrieved"] = json!([]);
    rows[0]["source_ids"] = json!([]);
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    std::fs::write(&captured, rows.join("\n")).unwrap();
    let from = captured.to_str().unwrap();
    let ran = words
        .home
        .run(&[
            "bench",
            "publish",
            "--from",
            from,
            "--to",
            &words.baseline,
            "--force",
            "--threshold-top1",
            "0.5",
        ])
        .exits(0);
    for expected in [
        "1 of 3 captures can't be gated on",
        "threshold top1 falls from 0.8 to 0.5",
        "1 of the 3 queries of the baseline that was there are not in this one",
        "the gate refuses jaccard 0.85 on 2 rows: it needs 7",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}

#[test]
fn a_check_with_too_few_rows_is_refused_and_named() {
    let words = Words::new();
    let report = words.home.run(&gate(&words.baseline)).exits(2).json();
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["regression_gate"]["checks"][0]["status"], "too_few_rows");
    let text = words.home.run(&["eval", "gate", "--baseline", &words.baseline]).stdout;
    assert!(text.contains("mean_jaccard has 3 rows, and a floor of 0.85 needs 7"), "{text}");
    // A floor of 1 can always be decided, and says the n of every check.
    let strict = ["--threshold-jaccard", "1", "--threshold-top1", "1"];
    let args =
        [&["eval", "gate", "--baseline", &words.baseline][..], &ANY_LATENCY, &strict].concat();
    words.home.run(&args).exits(0).stdout_has("mean_jaccard n=3");
    // One expected first page among twenty queries is one.
    let path = words.home.path().join("q.json");
    let mut entries = vec![json!({ "query": "boats", "relevant_slugs": ["notes/boats"] }); 4];
    entries[0]["first_relevant_slug"] = "notes/boats".into();
    for (at, entry) in entries.iter_mut().enumerate() {
        entry["query_id"] = format!("q{at}").into();
    }
    std::fs::write(&path, json!({ "schema_version": 1, "queries": entries }).to_string()).unwrap();
    words
        .home
        .run(&["eval", "gate", "--qrels", path.to_str().unwrap()])
        .exits(2)
        .stdout_has("expected_top1_hit_rate has 1 row, and a floor of 0.5 needs 2");
}

#[test]
fn replaying_an_empty_brain_is_no_success() {
    let words = Words::new();
    let captured = words.home.path().join("c.ndjson");
    let captured = captured.to_str().unwrap();
    let replay = ["eval", "replay", "--against", captured, "--repeats", "1"];
    assert_eq!(words.home.run(&replay).code, Some(0));
    for home in Home::both() {
        home.run(&replay).exits(2).stderr_has("the brain has no pages");
        home.run(&gate(&words.baseline)).exits(2);
    }
    // A brain with pages in which nothing is found again is not success either.
    let other = Home::sqlite();
    other.put("notes/x", "something else");
    other.run(&replay).exits(2).stderr_has("nothing was found for any row");
}

#[test]
fn the_bundled_qrels_say_how_many_queries_each_check_has() {
    let home = captured_home(Home::sqlite());
    let qrels = demo("qrels.json");
    let shown = home.ok(&["eval", "gate", "--qrels", qrels.to_str().unwrap()]);
    assert!(shown.contains("mean_recall_at_k n=54"), "{shown}");
}
