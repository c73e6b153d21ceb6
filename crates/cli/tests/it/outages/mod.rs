//! Outages: each remote dependency down while every command that can touch it runs. A command answers without the
//! stage and says so, or fails clearly; `doctor` is not ok; nothing that was written is lost.

mod server;

use gbrain_core::defect::reports_panic;
use gbrain_testkit::outage::Outage;
use gbrain_testkit::providers::{Asked, Fault};
use serde_json::{Value, json};

use crate::models::Provided;
use crate::support::{Home, Ran, find};

/// The reason that a stage gives.
fn reason(outage: Outage) -> &'static str {
    if outage == Outage::Hanging { "timeout" } else { "failed" }
}

/// A home whose providers are well, with limits that end an outage soon.
pub(super) fn provided(home: Home) -> Provided {
    let says = |asked: &Asked| match asked {
        Asked::Chat { .. } => "{\"variants\": [\"a boat\"]}".to_owned(),
        _ => String::new(),
    };
    let provided = Provided::new(home, says, |_| Fault::None);
    provided.configure(limits(json!({})));
    provided
}

fn limits(more: Value) -> Value {
    let mut all = json!({ "eval": { "capture": true, "synthetic": true } });
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    all
}

/// Every provider at an address that is down, and more settings.
pub(super) fn take_down(provided: &Provided, outage: Outage, more: Value) {
    let address = outage.address().unwrap();
    let names = ["anthropic", "openai", "google", "cohere", "voyage", "jina"];
    let providers: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "base_url": address, "key_env": "TEST_KEY" })))
        .collect();
    let llm = json!({ "providers": providers, "timeout_seconds": 1, "attempts": 1 });
    let mut config = json!({ "format": "gbrain/1", "llm": llm });
    for (key, value) in limits(more).as_object().unwrap() {
        config[key] = value.clone();
    }
    provided.home.write("config.json", config.to_string());
}

/// The expected behaviour of a command during an outage.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// Exit 0 and name these degraded stages in its JSON.
    Degraded(&'static [&'static str]),
    /// Exit 0, untouched by the outage.
    Whole,
    /// Exit 2 with a message that names what failed.
    Fails(&'static str),
}

#[track_caller]
fn check(provided: &Provided, words: &[&str], expected: Expected, outage: Outage) {
    let mut args = words.to_vec();
    if matches!(expected, Expected::Degraded(_)) {
        args.push("--json");
    }
    let ran = provided.run(&args);
    let told = format!("{outage:?}: gbrain {args:?}\n{}\n{}", ran.stdout, ran.stderr);
    assert!(!reports_panic(&ran.stderr), "{told}");
    match expected {
        Expected::Whole => assert_eq!(ran.code, Some(0), "{told}"),
        Expected::Fails(what) => {
            assert_eq!(ran.code, Some(2), "{told}");
            assert!(format!("{}{}", ran.stderr, ran.stdout).contains(what), "{told}");
        }
        Expected::Degraded(stages) => {
            assert_eq!(ran.code, Some(0), "{told}");
            let answer = ran.json();
            let named: Vec<(&str, &str)> = answer["degraded"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| (one["stage"].as_str().unwrap(), one["reason"].as_str().unwrap()))
                .collect();
            let wanted: Vec<(&str, &str)> =
                stages.iter().map(|stage| (*stage, reason(outage))).collect();
            assert_eq!(named, wanted, "{told}");
        }
    }
}

/// The status of one of doctor's checks, and its exit code.
pub(super) fn doctor(provided: &Provided, name: &str, more: &[&str]) -> (String, Ran) {
    let ran = provided.run(&[&["doctor", "--json"], more].concat());
    let report = ran.json();
    let found = find(&report["checks"], "name", name);
    (found["status"].as_str().unwrap().to_owned(), ran)
}

fn embedder() -> Value {
    json!({ "embedder": { "model": "voyage:m", "dims": 64 } })
}

fn put(provided: &Provided, slug: &str, text: &str) {
    provided.home.write("new.md", text);
    let file = provided.home.path().join("new.md");
    let mut command = provided.command(&["put", slug]);
    command.stdin(std::fs::File::open(file).unwrap());
    Ran::of(command.output().unwrap()).exits(0);
}

fn with_embedder_down(home: Home, outage: Outage) -> Provided {
    let provided = provided(home);
    provided.configure(limits(embedder()));
    // `init` made an index before the embedder was named.
    let _ = std::fs::remove_dir_all(provided.home.path().join("index"));
    put(&provided, "harbour/ferry", "The ferry leaves the quay.");
    check(&provided, &["query", "ferry"], Expected::Degraded(&[]), outage);
    take_down(&provided, outage, embedder());
    put(&provided, "harbour/berth", "A ferry that is new.");
    provided
}

#[test]
fn the_embedder() {
    for outage in Outage::ALL {
        let provided = with_embedder_down(Home::sqlite(), outage);
        let pages = provided.home.path().join("pages");
        std::fs::create_dir(&pages).unwrap();
        std::fs::write(pages.join("boat.md"), "A boat.").unwrap();
        let pages = pages.to_str().unwrap();
        let table: &[(&[&str], Expected)] = &[
            (&["query", "a new ferry"], Expected::Degraded(&["index", "vectors"])),
            (&["query", "ferry", "--no-vector"], Expected::Degraded(&["index"])),
            (&["search", "ferry"], Expected::Degraded(&["index"])),
            (&["import", pages], Expected::Whole),
            (&["list"], Expected::Whole),
            (&["get", "harbour/berth"], Expected::Whole),
            (&["history", "harbour/berth"], Expected::Whole),
            (&["links", "harbour/ferry"], Expected::Whole),
            (&["stats"], Expected::Whole),
            (&["eval", "export"], Expected::Whole),
            (&["models"], Expected::Whole),
            (&["reindex"], Expected::Fails("did not answer")),
            (
                &["eval", "suspected-contradictions", "--query", "ferry"],
                Expected::Fails("search_failed"),
            ),
        ];
        for (words, expected) in table {
            check(&provided, words, *expected, outage);
        }
        for more in [&[][..], &["--fix"]] {
            assert_eq!(doctor(&provided, "index", more).0, "warn", "{outage:?}");
            assert_eq!(doctor(&provided, "embedder", more).0, "warn", "{outage:?}");
        }
        let (status, _) = doctor(&provided, "embedder", &["--offline"]);
        assert_eq!(status, "ok", "nobody is asked");
        // Nothing is lost, and everything catches up.
        provided.configure(limits(embedder()));
        check(&provided, &["query", "ferry"], Expected::Degraded(&[]), outage);
        let hits = provided.run(&["query", "ferry", "--json"]).stdout;
        assert!(hits.contains("harbour/berth"), "{hits}");
        assert_eq!(doctor(&provided, "index", &[]).0, "ok");
        assert_eq!(doctor(&provided, "embedder", &[]).0, "ok");
    }
}

#[test]
fn the_embedder_on_postgresql() {
    let provided = with_embedder_down(Home::postgres(), Outage::Refusing);
    for (words, expected) in [
        (&["query", "a new ferry"][..], Expected::Degraded(&["index", "vectors"])),
        (&["search", "ferry"], Expected::Degraded(&["index"])),
        (&["reindex"], Expected::Fails("did not answer")),
    ] {
        check(&provided, words, expected, Outage::Refusing);
    }
    assert_eq!(doctor(&provided, "index", &[]).0, "warn");
    provided.configure(limits(embedder()));
    check(&provided, &["search", "new"], Expected::Degraded(&[]), Outage::Refusing);
}

/// A capture of a degraded answer says so, is not published, and is not gated as equal.
#[test]
fn captures_of_an_outage_are_not_gated() {
    let provided = with_embedder_down(Home::sqlite(), Outage::Refusing);
    check(&provided, &["search", "ferry"], Expected::Degraded(&["index"]), Outage::Refusing);
    let exported = provided.run(&["eval", "export"]).stdout;
    provided.home.write("captured.ndjson", &exported);
    let captured = provided.home.path().join("captured.ndjson");
    let rows: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let degraded = rows.iter().filter(|row| row["degraded"][0]["stage"] == "index").count();
    assert_eq!(degraded, 1, "{exported}");
    let baseline = provided.home.path().join("b.baseline.ndjson");
    let publish = provided.run(&[
        "bench",
        "publish",
        "--from",
        captured.to_str().unwrap(),
        "--to",
        baseline.to_str().unwrap(),
        "--label",
        "outage",
    ]);
    assert!(publish.stderr.contains("a stage could not do its work"), "{}", publish.stderr);
    // A gate that is asked during the outage does not pass on what was captured before it.
    let gate = provided.run(&["eval", "gate", "--baseline", baseline.to_str().unwrap()]);
    assert_ne!(gate.code, Some(0), "{}{}", gate.stdout, gate.stderr);
}

#[test]
fn the_reranker() {
    for outage in Outage::ALL {
        let provided = provided(Home::sqlite());
        put(&provided, "harbour/ferry", "The ferry leaves the quay.");
        put(&provided, "harbour/boat", "A ferry is a boat.");
        provided.home.ok(&["config", "set", "models.rerank", "jina:m"]);
        check(&provided, &["query", "where is the ferry"], Expected::Degraded(&[]), outage);
        take_down(&provided, outage, json!({}));
        for (words, expected) in [
            (&["query", "where is the ferry"][..], Expected::Degraded(&["rerank"])),
            (&["search", "ferry"], Expected::Degraded(&[])),
            (&["reindex"], Expected::Whole),
        ] {
            check(&provided, words, expected, outage);
        }
        let (status, ran) = doctor(&provided, "models", &[]);
        assert_eq!((status.as_str(), ran.code), ("warn", Some(0)), "{outage:?}");
        assert!(ran.stdout.contains("models.rerank"), "{}", ran.stdout);
        provided.configure(limits(json!({})));
        check(&provided, &["query", "where is the ferry"], Expected::Degraded(&[]), outage);
        assert_eq!(doctor(&provided, "models", &[]).0, "ok");
    }
}

#[test]
fn the_expander() {
    for outage in Outage::ALL {
        let provided = provided(Home::sqlite());
        put(&provided, "harbour/ferry", "The ferry leaves the quay.");
        provided.home.ok(&["config", "set", "models.expansion", "openai:m"]);
        take_down(&provided, outage, json!({}));
        for (words, expected) in [
            (&["query", "ferry", "--expand"][..], Expected::Degraded(&["expansion"])),
            (&["query", "ferry"], Expected::Degraded(&[])),
            (&["search", "ferry"], Expected::Degraded(&[])),
        ] {
            check(&provided, words, expected, outage);
        }
        let (status, ran) = doctor(&provided, "models", &[]);
        assert_eq!((status.as_str(), ran.code), ("warn", Some(0)), "{outage:?}");
    }
}

#[test]
fn the_judge() {
    for outage in Outage::ALL {
        let provided = provided(Home::sqlite());
        put(&provided, "a", "The ferry leaves at 8:15.");
        put(&provided, "b", "The ferry leaves at 9:40.");
        provided.home.ok(&["config", "set", "models.judge", "openai:m"]);
        for slot in [["slot_a", "openai:m"], ["slot_b", "anthropic:m"], ["slot_c", "google:m"]] {
            let key = format!("models.eval.cross_modal.{}", slot[0]);
            provided.home.ok(&["config", "set", &key, slot[1]]);
        }
        provided.home.write("answer.md", "An answer.");
        let answer = provided.home.path().join("answer.md");
        take_down(&provided, outage, json!({}));
        let probe = ["eval", "suspected-contradictions", "--query", "ferry", "--canaries", "3"];
        let panel =
            ["eval", "cross-modal", "--task", "say it", "--output", answer.to_str().unwrap()];
        check(&provided, &probe, Expected::Fails("no judgement"), outage);
        check(&provided, &panel, Expected::Fails("INCONCLUSIVE"), outage);
        check(&provided, &["query", "ferry"], Expected::Degraded(&[]), outage);
        let (status, ran) = doctor(&provided, "models", &[]);
        assert_eq!((status.as_str(), ran.code), ("fail", Some(1)), "{outage:?}");
    }
}

#[test]
fn a_target() {
    for outage in Outage::ALL {
        let provided = provided(Home::sqlite());
        put(&provided, "harbour/ferry", "The ferry leaves the quay.");
        check(&provided, &["query", "ferry"], Expected::Degraded(&[]), outage);
        let captured = provided.home.path().join("captured.ndjson");
        std::fs::write(&captured, provided.run(&["eval", "export"]).stdout).unwrap();
        let target = json!({
            "kind": "http", "api": "gbrain", "url": outage.address().unwrap(),
            "timeout_seconds": 1, "attempts": 1,
        });
        provided.configure(limits(json!({ "targets": { "prod": target } })));
        let captured = captured.to_str().unwrap();
        for (words, expected) in [
            (&["targets", "check", "prod"][..], Expected::Fails("error")),
            (&["eval", "replay", "--against", captured, "--target", "prod"], Expected::Fails("")),
            (&["query", "ferry"], Expected::Degraded(&[])),
            (&["targets", "list"], Expected::Whole),
        ] {
            check(&provided, words, expected, outage);
        }
        let (status, ran) = doctor(&provided, "targets", &[]);
        assert_eq!((status.as_str(), ran.code), ("fail", Some(1)), "{outage:?}");
        assert_eq!(doctor(&provided, "targets", &["--offline"]).0, "ok");
    }
}

#[test]
fn a_channel() {
    for outage in [Outage::Refusing, Outage::Failing] {
        let provided = provided(Home::sqlite());
        let suites = format!(
            "channels:\n  hook: {{ kind: webhook, url: '{}', secret_env: TEST_KEY }}\nsuites:\n  - {{ name: s, type: smoke, owners: ['@x'] }}\n",
            outage.address().unwrap()
        );
        provided.home.write("suites.yaml", &suites);
        put(&provided, "harbour/ferry", "The ferry leaves the quay.");
        provided.home.ok(&["queries", "add", "where is it?", "--expected", "nowhere"]);
        provided.run(&["alerts", "test", "hook"]).exits(1);
        let suite = provided.run(&["suites", "run", "s"]);
        assert_ne!(suite.code, Some(0), "{}", suite.stdout);
        let delivered = provided.run(&["alerts", "deliver"]);
        assert!(!reports_panic(&delivered.stderr), "{}", delivered.stderr);
        check(&provided, &["query", "ferry"], Expected::Degraded(&[]), outage);
        let (status, _) = doctor(&provided, "alerts", &[]);
        assert_ne!(status, "ok", "{outage:?}");
    }
}
