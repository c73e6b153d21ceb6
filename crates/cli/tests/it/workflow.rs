//! The workflow in the documentation does what it says: its steps are run as they stand.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::capture::configure;
use crate::gate::publish;
use crate::support::{Home, demo, find};

/// The script of a step of the workflow.
fn script(step: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci/gbrain-eval-gate.yml");
    let text = std::fs::read_to_string(path).unwrap();
    let workflow: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    let step = find(&workflow["jobs"]["gate"]["steps"], "name", step);
    step["run"].as_str().unwrap().to_owned()
}

fn run(step: &str, checkout: &Path, home: &Path) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_gbrain")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    Command::new("bash")
        .args(["-e", "-c", &script(step)])
        .current_dir(checkout)
        .env_remove("DATABASE_URL")
        .env("PATH", path)
        .env("GBRAIN_HOME", home)
        .env("GITHUB_STEP_SUMMARY", checkout.join("summary.md"))
        .output()
        .unwrap()
}

#[test]
fn the_workflow_passes_and_fails_as_it_should() {
    let checkout = tempfile::tempdir().unwrap();
    let eval = checkout.path().join("eval");
    std::fs::create_dir_all(&eval).unwrap();
    std::os::unix::fs::symlink(demo("wiki"), eval.join("corpus")).unwrap();
    // Created by the fixture's maintainer on a synthetic brain.
    let author = Home::sqlite();
    configure(&author, &json!({ "capture": true, "synthetic": true }));
    author.ok(&["import", demo("wiki").to_str().unwrap(), "--source", "wiki", "-q"]);
    for question in [
        "who owns the berth planner?",
        "charge floor",
        "night charging",
        "What depends on Plug Gateway?",
        "first port abroad",
        "berth minute",
        "Captain Pell",
        "mobile phone program for captains",
    ] {
        author.ok(&["query", question]);
    }
    std::fs::copy(publish(&author), eval.join("main.baseline.ndjson")).unwrap();
    let query = |(n, text): (usize, &str)| {
        json!({
            "query_id": format!("q{n}"), "query": text,
            "relevant": [{ "source_id": "wiki", "slug": "concepts/charge-floor" }],
        })
    };
    let texts = ["charge floor", "the charge floor", "least charge", "charge floor of a boat"];
    let queries: Vec<Value> = texts.into_iter().enumerate().map(query).collect();
    let qrels = json!({ "schema_version": 1, "queries": queries });
    std::fs::write(eval.join("main.qrels.json"), qrels.to_string()).unwrap();

    let runner = tempfile::tempdir().unwrap();
    let home = runner.path().join("gbrain");
    assert!(run("import", checkout.path(), &home).status.success());
    let gate = run("gate", checkout.path(), &home);
    assert_eq!(gate.status.code(), Some(0), "{}", String::from_utf8_lossy(&gate.stdout));
    assert!(
        checkout.path().join("gate.html").exists() && checkout.path().join("gate.xml").exists()
    );
    assert!(std::fs::read_to_string(checkout.path().join("summary.md")).unwrap().contains("PASS"));

    let wrong = qrels.to_string().replace("concepts/charge-floor", "concepts/berth-minute");
    std::fs::write(eval.join("main.qrels.json"), wrong).unwrap();
    let gate = run("gate", checkout.path(), &home);
    assert_eq!(gate.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gate.stdout).contains("::error"));
}
