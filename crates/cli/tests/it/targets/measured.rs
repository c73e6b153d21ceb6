//! Replay, gate, judged queries and collections, asked of a target.

use std::path::Path;

use gbrain_testkit::retrieval::{Fault, Reply, RetrievalServer};
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use super::describe;
use crate::serve::client::token;
use crate::support::{Home, Ran, demo_home};

const QUERIES: [&str; 4] =
    ["Captain Pell", "blackout on the island", "who owns the berth planner?", "HRB-131"];

/// A brain that captured, and its server.
struct Site {
    home: Home,
    served: Served,
    token: String,
    captured: String,
}

impl Site {
    fn new() -> Self {
        let home = demo_home(Home::sqlite());
        describe(&home, &json!({}));
        for query in QUERIES {
            home.ok(&["query", query, "--untrusted"]);
        }
        let captured = home.file("captured.ndjson");
        std::fs::write(&captured, home.ok(&["eval", "export", "--quiet"])).unwrap();
        let served = Served::start(home.command(&["serve"])).unwrap();
        let token = token(&home, "read");
        let url = format!("http://{}", served.address());
        describe(
            &home,
            &json!({
                "prod": { "kind": "http", "api": "gbrain", "url": url, "key_env": "TOKEN" },
                // It neither knows sources nor modes; one mapping says whose its ids are.
                "mapped": { "kind": "http", "api": "custom", "url": format!("{url}/v1/query"), "key_env": "TOKEN",
                            "ids": { "source_of_result": true },
                            "body": { "query": "{{query}}", "limit": "{{k}}", "now": "{{now}}" },
                            "response": { "results": "$.hits[*]", "document": "$.slug", "source": "$.source_id" } },
                "evil": { "kind": "http", "api": "custom", "url": format!("{url}/v1/query"), "key_env": "TOKEN",
                          "ids": { "source": "evil" },
                          "body": { "query": "{{query}}", "limit": "{{k}}", "now": "{{now}}" },
                          "response": { "results": "$.hits[*]", "document": "$.slug" } },
                "plain": { "kind": "http", "api": "custom", "url": format!("{url}/v1/query"), "key_env": "TOKEN",
                           "body": { "query": "{{query}}", "limit": "{{k}}", "now": "{{now}}" },
                           "response": { "results": "$.hits[*]", "document": "$.slug" } },
                "gone": { "kind": "http", "api": "gbrain", "url": "http://127.0.0.1:1" },
            }),
        );
        Self { home, served, token, captured }
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.home.command(args).env("TOKEN", &self.token).output().unwrap())
    }

    #[track_caller]
    fn json(&self, args: &[&str], code: i32) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = self.run(&args);
        assert_eq!(ran.code, Some(code), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.json()
    }
}

#[test]
fn captures_are_replayed_on_a_target() {
    let site = Site::new();
    let replay = |target: &str, code: i32| {
        let against =
            ["eval", "replay", "--against", &site.captured, "--verbose", "--repeats", "1"];
        let args: Vec<&str> = against.into_iter().chain(["--target", target]).collect();
        site.json(&args, code)
    };
    let local = replay("local", 0);
    assert_eq!(local["summary"]["mean_jaccard"], 1.0, "{local}");
    let prod = replay("prod", 0);
    assert_eq!(prod["summary"]["mean_jaccard"], 1.0, "{prod}");
    assert_eq!(prod["summary"]["top1_stability_rate"], 1.0, "{prod}");
    assert_eq!(caveats(&prod), Vec::<String>::new());
    // A bare id is an error unless the target's mapping says whose it is.
    let plain = replay("plain", 2);
    assert_eq!(plain["summary"]["rows_errored"], json!(QUERIES.len()), "{plain}");
    assert!(
        plain["errors"][0]["error_message"].as_str().unwrap().contains("ids.source"),
        "{plain}"
    );
    let mapped = replay("mapped", 0);
    assert_eq!(mapped["summary"]["mean_jaccard"], 1.0, "{mapped}");
    let evil = replay("evil", 0);
    assert_eq!(evil["summary"]["mean_jaccard"], 0.0, "{evil}");
    let gone = replay("gone", 2);
    assert_eq!(gone["summary"]["rows_errored"], json!(QUERIES.len()), "{gone}");
    site.served.stop().unwrap();
}

fn caveats(report: &Value) -> Vec<String> {
    let rows = report["results"].as_array().unwrap();
    let caveats =
        rows.iter().flat_map(|row| row["caveats"].as_array().cloned().unwrap_or_default());
    caveats.map(|caveat| caveat.as_str().unwrap().to_owned()).collect()
}

#[test]
fn options_of_the_local_brain_are_refused_for_targets() {
    let site = Site::new();
    let check = |more: &[&str], flag: &str| {
        let args: Vec<&str> = more.iter().copied().chain(["--target", "prod"]).collect();
        let ran = site.run(&args);
        let said = format!("{flag} can't be combined with --target prod");
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(&said), "{args:?}: {}", ran.stderr);
    };
    let replay = ["eval", "replay", "--against", &site.captured];
    check(&[&replay[..], &["--as-of", "capture"]].concat(), "--as-of capture");
    check(&[&replay[..], &["--settings", "capture"]].concat(), "--settings capture");
    check(&[&replay[..], &["--blame"]].concat(), "--blame");
    let qrels = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/qrels.json");
    let qrels = qrels.to_str().unwrap();
    check(&["eval", "--qrels", qrels, "--config-a", "{}"], "--config-a");
    check(&["eval", "beir", "nowhere", "--keyword-only"], "--keyword-only");
    site.served.stop().unwrap();
}

#[test]
fn judged_queries_are_asked_of_a_target() {
    let site = Site::new();
    // Remote callers see no private pages; for the local owner they change the results.
    for page in site.home.json(&["list", "--limit", "1000"])["pages"].as_array().unwrap() {
        let field = |name: &str| page[name].as_str().unwrap();
        if field("visibility") == "private" {
            site.home.ok(&["delete", field("slug"), "--source", field("source_id")]);
        }
    }
    let qrels = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/qrels.json");
    let qrels = qrels.to_str().unwrap();
    let score = |target: &str| {
        let run = site.home.path().join(format!("{target}.run"));
        let output = ["--run-output", run.to_str().unwrap(), "--target", target];
        let score = site.json(&[&["eval", "--qrels", qrels, "-k", "5"], &output[..]].concat(), 0);
        (score["summary"].clone(), std::fs::read_to_string(run).unwrap())
    };
    let (local, prod) = (score("local"), score("prod"));
    assert_eq!(local, prod);
    // A saved run gives the same figures again.
    describe(&site.home, &json!({ "saved": { "kind": "run", "file": "prod.run" } }));
    assert_eq!(score("saved").0, local.0);
    site.served.stop().unwrap();
}

#[test]
fn a_gate_holds_a_target_to_account() {
    let site = Site::new();
    let baseline = site.home.file("b.baseline.ndjson");
    let publish =
        ["bench", "publish", "--from", &site.captured, "--to", &baseline, "--label", "mine"];
    site.home.ok(&[&publish[..], &["--allow-real"]].concat());
    let qrels = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/qrels.json");
    let gate = ["eval", "gate", "--baseline", &baseline, "--qrels", qrels.to_str().unwrap()];
    // So few rows can be held against 1 only.
    let all = ["--threshold-jaccard", "1", "--threshold-top1", "1"];
    let gated = |target: &str, code: i32| {
        let more = ["--repeats", "1", "--target", target, "--concurrency", "4"];
        site.json(&[&gate[..], &all, &more].concat(), code)
    };
    let passed = gated("prod", 0);
    assert_eq!(passed["verdict"], "pass", "{passed}");
    // The time of a remote answer was not captured remotely.
    let times = &passed["timing"]["like_with_like"];
    assert_eq!(times["rows_not_compared"], json!({ "other_target": QUERIES.len() }), "{passed}");
    assert_eq!(passed["timing"]["latency"]["status"], "not_compared", "{passed}");
    assert!(passed.to_string().contains("prod (127.0.0.1:"), "{passed}");
    assert!(!passed.to_string().contains(&site.token));
    // Nobody there is never green.
    let gone = gated("gone", 1);
    assert_eq!(gone["verdict"], "fail", "{gone}");
    site.served.stop().unwrap();
}

#[test]
fn a_target_is_timed_against_captures_of_itself() {
    let site = Site::new();
    let file = |name: &str| site.home.file(name);
    let (recorded, baseline) = (file("prod.ndjson"), file("prod.baseline.ndjson"));
    let record = ["eval", "record", "--against", &site.captured, "--output", &recorded];
    let made = site.json(&[&record[..], &["--target", "prod"]].concat(), 0);
    assert_eq!((&made["recorded"], &made["not_recorded"]), (&json!(QUERIES.len()), &json!(0)));
    let text = std::fs::read_to_string(&recorded).unwrap();
    for row in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        assert!(row["target"].as_str().unwrap().starts_with("prod ("), "{row}");
        assert_eq!((&row["latency_repeats"], &row["cpu_time"]), (&json!(3), &Value::Null));
        assert!(row["latency_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
    let publish = ["bench", "publish", "--from", &recorded, "--to", &baseline, "--label", "prod"];
    site.home.ok(&[&publish[..], &["--allow-real"]].concat());
    let replay = |more: &[&str]| {
        let against = ["eval", "replay", "--against", &baseline];
        let report = site.json(&[&against[..], more].concat(), 0);
        assert_eq!(report["summary"]["mean_jaccard"], 1.0, "{report}");
        report["summary"]["latency"]["like_with_like"].clone()
    };
    let times = replay(&["--target", "prod"]);
    assert_eq!((&times["clock"], &times["rows_compared"]), (&json!("wall"), &json!(QUERIES.len())));
    assert!(times["interval"][0].as_f64().unwrap() > 0.0, "{times}");
    let not_compared = |more: &[&str], why: &str| {
        let times = replay(more);
        assert_eq!(times["rows_not_compared"], json!({ why: QUERIES.len() }), "{times}");
        assert_eq!((&times["ratio"], &times["rows_compared"]), (&Value::Null, &json!(0)));
    };
    not_compared(&["--target", "prod", "--repeats", "2"], "other_repeats");
    not_compared(&["--target", "mapped"], "other_target");
    not_compared(&[], "other_target");
    // The mutant waits: nothing else is slow here.
    let gate = ["eval", "gate", "--baseline", &baseline, "--target", "prod", "--selftest"];
    let report = site.run(&[&gate[..], &["--json"]].concat()).json();
    let slowed = report["mutants"].as_array().unwrap().iter();
    let slowed = slowed.clone().find(|one| one["mutant"] == "slow_down").unwrap();
    assert_eq!(slowed["killed"], true, "{report}");
    // Without a target there is nothing to record.
    site.run(&record).exits(2).stderr_has("--target");
    site.served.stop().unwrap();
}

#[test]
fn a_collection_is_asked_of_a_target() {
    let home = Home::sqlite();
    let folder = home.path().join("collection");
    std::fs::create_dir_all(folder.join("qrels")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "queries.jsonl",
        "{\"_id\":\"q1\",\"text\":\"one\"}\n{\"_id\":\"q2\",\"text\":\"two\"}\n",
    );
    write("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n");
    let server = RetrievalServer::start(
        |question| Reply::of(if question.text == "one" { &["d1", "d9"] } else { &["d9", "d2"] }),
        |_| Fault::None,
    )
    .unwrap();
    let target = json!({ "kind": "http", "api": "lightfast-2026", "url": server.url() });
    describe(
        &home,
        &json!({ "prod": target, "v1": { "kind": "http", "api": "lightfast-v1", "url": server.url() } }),
    );
    let folder = folder.to_str().unwrap();
    let beir = home.json(&["eval", "beir", folder, "--target", "prod", "--top-k", "2"]);
    assert_eq!(beir["summary"]["R@2"], 1.0, "{beir}");
    assert_eq!(beir["summary"]["RR"], 0.75, "{beir}");
    // As many as the API gives, and no more.
    assert_eq!(server.asked()[0].k, 100);
    let (queries, qrels) = (format!("{folder}/queries.jsonl"), format!("{folder}/qrels/test.tsv"));
    let trec = ["eval", "trec", "--queries", &queries, "--qrels", &qrels, "--target", "v1"];
    let trec = home.json(&trec);
    assert_eq!(trec["summary"]["RR"], 0.75, "{trec}");
    assert_eq!(server.asked().pop().unwrap().k, 50);
    let ran = home.run(&["eval", "--qrels", folder, "-k", "60", "--target", "v1"]);
    assert!(ran.stderr.contains("gives at most 50 results"), "{}", ran.stderr);
    let ran = home.run(&["eval", "trec", "--queries", &queries, "--qrels", &qrels]);
    assert_eq!(ran.code, Some(2), "a corpus is needed: {}", ran.stderr);
}
