//! Judgements against a brain: bare ids, pages that do not exist, ids that match nothing.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Home, Ran};

const PAGES: [(&str, &str, &str); 5] = [
    ("q1", "people/ada", "Ada leads the plug gateway."),
    ("q2", "people/bo", "Bo repairs tide gauges."),
    ("q3", "notes/ferry", "The night ferry charges at pier four."),
    ("q4", "notes/crane", "A crane lifts containers of barley."),
    ("q5", "notes/siren", "The fog siren was replaced."),
];

fn home() -> Home {
    let home = Home::sqlite();
    for (_, slug, text) in PAGES {
        home.put(slug, text);
    }
    home
}

/// The same judgements in every shape, with the arguments that read each.
fn shapes(dir: &Path, slug_of: impl Fn(&str) -> String) -> Vec<Vec<String>> {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    std::fs::create_dir_all(dir.join("beir/qrels")).unwrap();
    let lines = |line: &dyn Fn(&str, &str, &str) -> String| -> String {
        PAGES.iter().map(|(id, slug, text)| line(id, &slug_of(slug), text) + "\n").collect()
    };
    let write = |name: &str, text: String| std::fs::write(dir.join(name), text).unwrap();
    write("queries.jsonl", lines(&|id, _, text| json!({ "_id": id, "text": text }).to_string()));
    write("beir/queries.jsonl", std::fs::read_to_string(dir.join("queries.jsonl")).unwrap());
    write(
        "beir/corpus.jsonl",
        lines(&|_, slug, text| json!({ "_id": slug, "text": text }).to_string()),
    );
    let table = lines(&|id, slug, _| format!("{id}\t{slug}\t1"));
    write("beir/qrels/test.tsv", format!("query-id\tcorpus-id\tscore\n{table}"));
    write("trec.qrels", lines(&|id, slug, _| format!("{id} 0 {slug} 1")));
    let entries: Vec<Value> = PAGES
        .iter()
        .map(|(id, slug, text)| {
            json!({ "query_id": id, "query": text, "relevant_slugs": [slug_of(slug)] })
        })
        .collect();
    write("gate.json", json!({ "schema_version": 1, "queries": entries }).to_string());
    vec![
        vec!["--qrels".to_owned(), path("gate.json")],
        vec!["--qrels".to_owned(), path("beir")],
        vec![
            "--qrels".to_owned(),
            path("trec.qrels"),
            "--queries".to_owned(),
            path("queries.jsonl"),
        ],
    ]
}

fn run(home: &Home, command: &[&str], judged: &[String]) -> (Ran, Value) {
    let args: Vec<&str> = command
        .iter()
        .copied()
        .chain(judged.iter().map(String::as_str))
        .chain(["--json"])
        .collect();
    let ran = home.run(&args);
    let body = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    (ran, body)
}

#[test]
fn bare_ids_are_pages_of_the_default_source_in_every_shape() {
    let home = home();
    let mut seen = Vec::new();
    for judged in shapes(home.path(), str::to_owned) {
        let (ran, score) = run(&home, &["eval"], &judged);
        assert_eq!(ran.code, Some(0), "{judged:?}: {}", ran.stderr);
        assert_eq!(score["summary"]["R@5"], 1.0, "{judged:?}: {score}");
        let (ran, report) = run(&home, &["eval", "gate"], &judged);
        assert_eq!(ran.code, Some(0), "{judged:?}: {}", ran.stderr);
        let summary = report["correctness_gate"]["summary"].clone();
        assert_eq!(summary["mean_recall_at_k"], 1.0, "{judged:?}: {summary}");
        seen.push((score["summary"].clone(), score["qrels_hash"].clone(), summary));
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "{seen:?}");
}

#[test]
fn judged_pages_that_do_not_exist_are_no_silent_zero() {
    let home = home();
    for judged in shapes(home.path(), |slug| format!("elsewhere/{slug}")) {
        for command in [&["eval"][..], &["eval", "gate"]] {
            let (ran, body) = run(&home, command, &judged);
            assert_eq!(ran.code, Some(2), "{judged:?}: {}", ran.stdout);
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.contains("none of the 5 judged pages exists"), "{message}");
            assert!(ran.stderr.contains("source::slug"), "a remedy: {}", ran.stderr);
        }
    }
    // Some of them: counted, named, and measured as misses.
    let one =
        |slug: &str| if slug == "people/bo" { "people/bob".to_owned() } else { slug.to_owned() };
    for judged in shapes(home.path(), one) {
        let (ran, score) = run(&home, &["eval"], &judged);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let warned = "1 of 5 judged pages do not exist and count as misses: `default::people/bob`";
        assert!(ran.stderr.contains(warned), "{}", ran.stderr);
        assert!(score["warnings"].to_string().contains(warned), "{score}");
        let (ran, report) = run(&home, &["eval", "gate"], &judged);
        assert_eq!(ran.code, Some(0), "0.8 is above 0.7: {}", ran.stderr);
        assert!(report["correctness_gate"]["warnings"].to_string().contains(warned), "{report}");
    }
}

#[test]
fn a_target_whose_ids_match_nothing_gives_no_verdict() {
    let home = home();
    let run_file: String =
        PAGES.iter().map(|(id, slug, _)| format!("{id} Q0 doc-{slug} 1 1.0 t\n")).collect();
    home.write("other.run", run_file);
    let bare: String =
        PAGES.iter().map(|(id, slug, _)| format!("{id} Q0 {slug} 1 1.0 t\n")).collect();
    home.write("bare.run", &bare);
    let whole: String =
        PAGES.iter().map(|(id, slug, _)| format!("{id} Q0 default::{slug} 1 1.0 t\n")).collect();
    home.write("whole.run", whole);
    let target = |file: &str| json!({ "kind": "run", "file": file });
    let targets = json!({
        "other": target("other.run"), "bare": target("bare.run"), "whole": target("whole.run"),
    });
    let config = json!({ "format": "gbrain/1", "targets": targets });
    home.write("config.json", config.to_string());
    let judged = shapes(home.path(), str::to_owned);
    for judged in &judged {
        for command in [
            &["eval", "-k", "1", "--target", "other"][..],
            &["eval", "gate", "-k", "1", "--target", "other"],
        ] {
            let (ran, _) = run(&home, command, judged);
            assert_eq!(ran.code, Some(2), "{command:?} {judged:?}: {}", ran.stdout);
        }
        // A bare id in judgements is the same bare id of a target, and a page of the default source.
        for name in ["bare", "whole"] {
            for command in [
                &["eval", "-k", "1", "--target", name][..],
                &["eval", "gate", "-k", "1", "--target", name],
            ] {
                let (ran, _) = run(&home, command, judged);
                let said = format!("{} {}", ran.stdout, ran.stderr);
                assert_eq!(ran.code, Some(0), "{command:?} {judged:?}: {said}");
            }
        }
    }
    // The explicit shape names a source, and a bare id has none.
    let entries: Vec<Value> = PAGES
        .iter()
        .map(|(id, slug, text)| {
            let page = json!({ "source_id": "default", "slug": slug });
            json!({ "query_id": id, "query": text, "relevant": [page] })
        })
        .collect();
    let explicit = json!({ "schema_version": 1, "queries": entries }).to_string();
    home.write("explicit.json", explicit);
    let file = home.file("explicit.json");
    let (ran, _) =
        run(&home, &["eval", "-k", "1", "--target", "bare"], &["--qrels".to_owned(), file]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let gate = ["eval", "gate", "-k", "1", "--target", "other"];
    let (ran, report) = run(&home, &gate, &judged[0]);
    assert_eq!(report["verdict"], "inconclusive", "{}", ran.stderr);
    assert!(report.to_string().contains("none of the judged pages was retrieved"), "{report}");
}

#[test]
fn a_saved_run_whose_ids_match_nothing_is_not_scored() {
    let home = Home::sqlite();
    let write = |name: &str, text: &str| {
        home.write(name, text);
        home.file(name)
    };
    let qrels = write("q.qrels", "q1 0 people/ada 1\nq2 0 people/bo 1\n");
    let other = write("a.run", "q1 Q0 default::people/ada 1 1 t\nq2 Q0 default::people/bo 1 1 t\n");
    let good = write("b.run", "q1 Q0 people/ada 1 1 t\nq2 Q0 people/bo 1 1 t\n");
    let score = |run: &str| home.run(&["eval", "score", "--qrels", &qrels, "--run", run]);
    assert_eq!(score(&good).code, Some(0));
    score(&other).exits(2).stderr_has("no retrieved document is judged");
    let compare = |a: &str, b: &str| home.run(&["eval", "compare", a, b, "--qrels", &qrels]);
    assert_eq!(compare(&good, &good).code, Some(0));
    compare(&other, &good).exits(2);
    let ran = compare(&good, &other);
    assert!(ran.stdout.contains("no retrieved document is judged"), "{}", ran.stdout);
}

#[test]
fn the_explicit_shape_needs_the_source_of_every_page() {
    let home = home();
    let path = home.path().join("explicit.json");
    let run_file = home.write("r.run", "q1 Q0 default::people/ada 1 1 t\n");
    let file = path.to_str().unwrap();
    let page = json!({ "source_id": "default", "slug": "people/ada" });
    for bad in [
        json!({ "slug": "people/ada" }),
        json!({ "slug": "people/ada", "source_id": "" }),
        json!({ "slug": "people/ada", "source_id": null }),
    ] {
        for (relevant, top) in
            [(json!([bad]), Value::Null), (json!([page, bad]), Value::Null), (json!([page]), bad)]
        {
            let mut entry = json!({ "query_id": "q1", "query": "ada", "relevant": relevant });
            if !top.is_null() {
                entry["expected_top1"] = top;
            }
            let qrels = json!({ "schema_version": 1, "queries": [entry] });
            std::fs::write(&path, qrels.to_string()).unwrap();
            for args in [
                &["eval", "gate", "--qrels", file][..],
                &["eval", "--qrels", file],
                &["eval", "score", "--qrels", file, "--run", &run_file],
            ] {
                let ran = home.run(args);
                assert_eq!(ran.code, Some(2), "{args:?} {qrels}: {}", ran.stdout);
                assert!(ran.stderr.contains("has no source_id"), "{args:?}: {}", ran.stderr);
            }
        }
    }
}
