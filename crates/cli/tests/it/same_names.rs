//! Names and texts that scrubbing makes the same: they stay different, through the binary.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::capture::{configure, exported};
use crate::gate::publish;
use crate::support::{Home, Ran, find};

const TOPICS: [&str; 10] = [
    "lighthouse",
    "harbour",
    "ferry",
    "anchor",
    "compass",
    "lantern",
    "rudder",
    "mooring",
    "capstan",
    "bowsprit",
];

/// A brain whose pages all have the same scrubbed name, with a captured query for each.
fn people_home(home: Home) -> Home {
    configure(&home, &json!({ "capture": true, "synthetic": true }));
    for topic in TOPICS {
        put(&home, &format!("people/{topic}-at-example-com"), topic);
    }
    for topic in TOPICS {
        home.ok(&["query", topic]);
    }
    home
}

fn put(home: &Home, slug: &str, topic: &str) {
    home.put(slug, &format!("Everything about the {topic} is kept here.")).exits(0);
}

/// Every page gives way to another one that has its text and, once scrubbed, its name.
fn swap(home: &Home) {
    for topic in TOPICS {
        home.ok(&["delete", &format!("people/{topic}-at-example-com")]);
        put(home, &format!("people/other-{topic}-at-example-com"), topic);
    }
}

fn gate(home: &Home, baseline: &Path, more: &[&str]) -> Ran {
    let baseline = baseline.to_str().unwrap();
    let args = ["eval", "gate", "--baseline", baseline, "--threshold-latency-multiplier", "1000"];
    home.run(&[&args[..], more].concat())
}

/// Figures of one row in ten say nothing of the others, and the exit code says so.
#[test]
fn a_replay_that_compares_few_of_its_rows_is_not_green() {
    let home = people_home(Home::sqlite());
    let rows = exported(&home);
    let mut lines = vec![json!({
        "schema_version": 1, "tool_name": "query", "query": "lighthouse", "latency_ms": 1,
        "retrieved_slugs": rows[0]["retrieved_slugs"], "source_ids": ["default"],
    })];
    lines.resize(4, lines[0].clone());
    home.put("notes/compass", "The compass rose.");
    lines[0]["retrieved_slugs"] = json!(["notes/compass"]);
    lines[0]["query"] = json!("compass rose");
    let file = home.path().join("rows.ndjson");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    let ran = home.run(&["eval", "replay", "--against", file.to_str().unwrap()]).exits(2);
    assert!(!ran.stdout.contains("[healthy]"), "{}", ran.stdout);
    assert!(ran.stderr.contains("3 of 4 rows were not compared"), "{}", ran.stderr);
}

#[test]
fn swapped_pages_with_the_same_scrubbed_name_are_seen() {
    for home in Home::both().map(people_home) {
        let baseline = publish(&home);
        let rows = exported(&home);
        assert!(rows.iter().all(|row| row["identity_key_id"].is_string()), "{:?}", rows[0]);
        let text = std::fs::read_to_string(&baseline).unwrap();
        assert!(!text.contains("at-example-com"), "{text}");
        let key = std::fs::read_to_string(home.path().join("identity.key")).unwrap();
        assert!(!text.contains(key.trim()));
        gate(&home, &baseline, &[]).exits(0);
        let report = gate(&home, &baseline, &["--selftest", "--json"]).json();
        let swapped = find(&report["mutants"], "mutant", "swap_identity");
        assert_eq!(swapped["killed"], true, "{swapped}");
        swap(&home);
        let ran = gate(&home, &baseline, &["--json"]).exits(1);
        let report = ran.json();
        assert_eq!(report["regression_gate"]["summary"]["mean_jaccard"], 0.0, "{report}");
        assert!(!ran.stdout.contains("at-example-com"), "{}", ran.stdout);
    }
}

#[test]
fn baselines_of_other_pages_with_the_same_scrubbed_names_differ() {
    let home = people_home(Home::sqlite());
    let before = home.path().join("baselines/before.baseline.ndjson");
    std::fs::rename(publish(&home), &before).unwrap();
    swap(&home);
    for topic in TOPICS {
        home.ok(&["query", topic]);
    }
    let after = publish(&home);
    let [before, after] = [&before, &after].map(|path| path.to_str().unwrap());
    let diff = home.json(&["bench", "diff", before, after]);
    assert_eq!(diff["changed"].as_array().unwrap().len(), 10, "{diff}");
    assert!(diff["changed"].as_array().unwrap().iter().all(|row| row["jaccard"] == 0.0), "{diff}");
    assert_eq!(diff["not_comparable"], json!([]));
    let same = home.json(&["bench", "diff", before, before]);
    assert_eq!(same["changed"], json!([]));
}

#[test]
fn without_the_key_such_rows_are_not_compared() {
    let home = people_home(Home::sqlite());
    let baseline = publish(&home);
    let path = home.path().join("identity.key");
    let key = std::fs::read_to_string(&path).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    for other in [None, Some("07".repeat(32))] {
        match &other {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        }
        let ran = gate(&home, &baseline, &["--json"]);
        assert_eq!(ran.code, Some(2), "{other:?}: {}\n{}", ran.stdout, ran.stderr);
        let report = ran.json();
        assert_eq!(report["verdict"], "inconclusive");
        assert_eq!(report["regression_gate"]["summary"]["rows_not_comparable"], 10);
        home.run(&["eval", "replay", "--against", baseline.to_str().unwrap()])
            .exits(2)
            .stdout_has("10 of the skipped are not comparable")
            .stdout_has("identity.key");
    }
    let with_key = |key: &str| {
        let baseline = baseline.to_str().unwrap();
        let args =
            ["eval", "gate", "--baseline", baseline, "--threshold-latency-multiplier", "1000"];
        Ran::of(home.command(&args).env("GBRAIN_IDENTITY_KEY", key).output().unwrap())
    };
    assert_eq!(with_key(key.trim()).code, Some(0));
    assert_eq!(with_key("short").code, Some(2));
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let config = home.path().join("config.json");
    std::fs::set_permissions(config, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let doctor = home.run(&["doctor"]);
    assert!(doctor.stdout.contains("identity.key"), "{}", doctor.stdout);
    home.run(&["doctor", "--fix"]);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn old_rows_with_scrubbed_names_are_neither_equal_nor_published() {
    let home = people_home(Home::sqlite());
    put(&home, "plain/quay", "quay");
    home.ok(&["query", "quay"]);
    let old: String = exported(&home)
        .into_iter()
        .map(|mut row| {
            let object = row.as_object_mut().unwrap();
            object.remove("identity_key_id");
            for page in object["retrieved"].as_array_mut().unwrap() {
                page.as_object_mut().unwrap().remove("key_hash");
            }
            format!("{row}\n")
        })
        .collect();
    let path = home.path().join("old.ndjson");
    std::fs::write(&path, old).unwrap();
    let against = path.to_str().unwrap();
    let report = home.run(&["eval", "replay", "--against", against, "--verbose", "--json"]).json();
    let skipped = report["summary"]["rows_not_comparable"].as_u64().unwrap();
    assert!(skipped >= 10, "{report}");
    assert!(report["diagnosis"].to_string().contains("not comparable"), "{report}");
    let to = home.path().join("baselines/old.baseline.ndjson");
    let published = home.run(&[
        "bench",
        "publish",
        "--from",
        path.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ]);
    assert!(
        published.stderr.contains("no key_hash") || published.code == Some(2),
        "{}",
        published.stderr
    );
}

#[test]
fn filters_are_scrubbed_and_such_rows_are_not_asked_again() {
    for home in Home::both() {
        configure(&home, &json!({ "capture": true, "synthetic": true }));
        home.put("plain/quay", "---\ntags: [ada@example.com]\n---\nThe quay is made of stone.");
        home.ok(&["query", "quay", "--tag", "ada@example.com"]);
        home.ok(&["query", "quay", "--type", "note for 415-555-0132"]);
        home.ok(&["search", "quay", "--tag", "ada@example.com"]);
        let rows = exported(&home);
        assert_eq!(rows.len(), 3);
        for row in &rows {
            let text = row.to_string();
            assert!(!text.contains("ada@") && !text.contains("555-0132"), "{text}");
            assert_eq!(row["filters_scrubbed"], true);
        }
        let path = home.write("filtered.ndjson", home.ok(&["eval", "export", "--quiet"]));
        let report = home
            .run(&["eval", "replay", "--against", &path, "--json", "--verbose"])
            .exits(2)
            .json();
        assert_eq!(report["summary"]["rows_not_comparable"], 3, "{report}");
        assert_eq!(report["results"][0]["skip_reason"], "a filter was scrubbed");
    }
}

#[test]
fn imported_queries_with_the_same_scrubbed_text_stay_apart() {
    for home in Home::both() {
        let lines: String = TOPICS[..6]
            .iter()
            .map(|topic| {
                put(&home, &format!("people/{topic}"), topic);
                let query = format!("who is {topic}@leakmail.com");
                format!("{}\n", json!({ "query": query, "expected": [format!("people/{topic}")] }))
            })
            .collect();
        let path = home.path().join("queries.jsonl");
        std::fs::write(&path, &lines).unwrap();
        let path = path.to_str().unwrap();
        home.run(&["queries", "import", path])
            .exits(0)
            .stderr_has("6 lines became 6 queries (6 with a scrubbed text)");
        let list = home.json(&["queries", "list"]);
        let queries = list["queries"].as_array().unwrap();
        assert_eq!(queries.len(), 6);
        assert!(queries.iter().all(|one| one["query"] == "who is [REDACTED]"));
        assert!(queries.iter().all(|one| one["expected"].as_array().unwrap().len() == 1));
        assert!(!list.to_string().contains("leakmail"));
        let again = home.json(&["queries", "import", path]);
        assert_eq!((&again["lines"], &again["scrubbed"]), (&json!(6), &json!(6)));
        assert!(
            again["queries"].as_array().unwrap().iter().all(|one| one["outcome"] == "unchanged")
        );
    }
}
