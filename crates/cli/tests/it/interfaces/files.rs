//! Files that are exported or left behind: captures, baselines, runs, results and cassettes.

use std::fs;

use gbrain_testkit::providers::{Asked, Fault};
use serde_json::json;

use super::demo::store_id;
use super::mask::Mask;
use super::snapshot;
use crate::benchmark::dataset;
use crate::capture::configure;
use crate::models::Provided;
use crate::support::Home;

/// "Today" for every question.
const NOW: &str = "2026-05-14T12:00:00Z";

const OF_CAPTURES: &[&str] = &[
    "software.code",
    "latency_ms",
    "cpu_time.cpu_ms",
    "cpu_time.calibration_ms",
    "baseline_mean_latency_ms",
    "rows_hash",
];
const OF_BENCHMARKS: &[&str] = &[
    "code",
    "p50_ms",
    "p99_ms",
    "timings.import_ms",
    "timings.search_ms",
    // They cover the source code, and the last one durations too.
    "run",
    "row_hash",
    "result_hash",
];

/// A home with a few captured questions.
fn captured(mask: &mut Mask) -> Home {
    let home = Home::sqlite();
    mask.replace(home.path().to_str().unwrap(), "HOME");
    configure(&home, &json!({ "capture": true, "synthetic": true }));
    home.put("people/ada", "---\ntitle: Ada\ntype: person\ntags: [paint]\n---\nAda paints boats.");
    home.put("companies/slipway", "# Slipway\n\nSlipway builds boats for [[people/ada]].");
    mask.replace(&store_id(&home.path().join("brain.db")), "<store id>");
    home.ok(&["query", "who paints boats?", "--limit", "2", "--now", NOW]);
    home.ok(&["search", "boats of ada@example.org", "--untrusted", "--now", NOW]);
    home.ok(&[
        "query", "boats", "--type", "person", "--detail", "high", "--mode", "graph", "--now", NOW,
    ]);
    home
}

#[test]
fn captures_baseline_and_run() {
    let mut mask = Mask::new(OF_CAPTURES);
    let home = captured(&mut mask);
    let exported = home.ok(&["eval", "export", "--quiet"]);
    snapshot::check("files/captures.ndjson", &mask.lines(&exported));
    let run = home.ok(&["eval", "export", "--quiet", "--format", "trec"]);
    snapshot::check("files/captures.run", &run);
    let captures = home.write("captures.ndjson", &exported);
    let baseline = home.file("main.baseline.ndjson");
    for why in ["first", "again"] {
        let args =
            ["bench", "publish", "--from", &captures, "--to", &baseline, "--why", why, "--force"];
        home.ok(&args);
    }
    let text = fs::read_to_string(&baseline).unwrap();
    snapshot::check("files/baseline.ndjson", &mask.lines(&text));
}

#[test]
fn rows_and_results_of_a_benchmark() {
    let mut mask = Mask::new(OF_BENCHMARKS);
    let home = Home::sqlite();
    mask.replace(home.path().to_str().unwrap(), "HOME");
    let file = home.write("lme.json", dataset(3, str::to_owned).to_string());
    let (rows, log, result) =
        (home.file("rows.jsonl"), home.file("log.jsonl"), home.file("result.json"));
    let files = ["--by-type", "--output", &rows, "--retrieval-log", &log, "--result", &result];
    let args = ["eval", "longmemeval", &file, "--retrieval-only", "--quiet", "--concurrency", "1"];
    home.ok(&[&args[..], &files].concat());
    let read = |path: &str| fs::read_to_string(path).unwrap();
    snapshot::check("files/benchmark-rows.jsonl", &mask.lines(&read(&rows)));
    snapshot::check("files/benchmark-retrieval-log.jsonl", &mask.lines(&read(&log)));
    let result = mask.json(&serde_json::from_str(&read(&result)).unwrap());
    snapshot::check("files/benchmark-result.json", &format!("{result:#}\n"));
}

#[test]
fn a_cassette() {
    let mut mask = Mask::new(&[]);
    let answer = |asked: &Asked| match asked {
        Asked::Chat { .. } => "Seven coins.".to_owned(),
        _ => String::new(),
    };
    let provided = Provided::new(Home::sqlite(), answer, |_| Fault::None);
    mask.replace(&provided.server.url(), "PROVIDER");
    let file = provided.home.write("lme.json", dataset(2, str::to_owned).to_string());
    let cassette = provided.home.file("answers.cassette.ndjson");
    let args = ["eval", "longmemeval", &file, "--model", "openai:m", "--cassette", &cassette];
    provided.run(&[&args[..], &["--concurrency", "1", "--quiet"]].concat()).exits(0);
    let text = fs::read_to_string(&cassette).unwrap();
    snapshot::check("files/cassette.ndjson", &mask.lines(&text));
}
