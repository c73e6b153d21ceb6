//! Models from the command line: who is asked, what it costs, answers to a benchmark.

use std::process::Command;
use std::time::Duration;

use gbrain_testkit::providers::{self, Asked, Fault, ProviderServer};
use serde_json::{Value, json};

use crate::benchmark::{dataset, rows};
use crate::support::{Home, Ran, assert_fields, find};

/// A key that must be seen nowhere but in a header.
const KEY: &str = "test-key-0c4e7a";

/// A home whose providers are a server of the test's.
pub(crate) struct Provided {
    pub(crate) home: Home,
    pub(crate) server: ProviderServer,
}

impl Provided {
    pub(crate) fn new(
        home: Home,
        says: impl Fn(&Asked) -> String + Send + Sync + 'static,
        faults: impl Fn(u64) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let server = ProviderServer::start(says, faults).unwrap();
        let provided = Self { home, server };
        provided.configure(json!({}));
        provided.home.write("prices.json", Value::Object(providers::prices()).to_string());
        provided
    }

    /// Writes config.json, with more than the providers in it.
    pub(crate) fn configure(&self, more: Value) {
        let mut config = json!({
            "format": "gbrain/1",
            "llm": { "providers": self.server.settings(), "timeout_seconds": 2, "attempts": 2 },
        });
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        self.home.write("config.json", config.to_string());
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// The binary, with the key.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("TEST_KEY", KEY);
        command
    }
}

fn repeats(asked: &Asked) -> String {
    match asked {
        Asked::Chat { user, .. } => {
            // LongMemEval's ids say which session holds the answer.
            if user.contains("answer_") {
                return "the prompt gives the answer's session away".to_owned();
            }
            let question = user.rsplit("Question: ").next().unwrap_or_default();
            format!("You asked: {}", question.trim())
        }
        _ => String::new(),
    }
}

#[test]
fn models_and_prices_are_listed_without_calling_a_model() {
    let provided = Provided::new(Home::sqlite(), repeats, |_| Fault::None);
    let home = &provided.home;
    home.ok(&["config", "set", "models.judge", "openai:m"]);
    let shown = provided.run(&["models", "--json"]).json();
    let model = |setting: &str| find(&shown["models"], "setting", setting).clone();
    let judge = model("models.eval.contradictions_judge");
    assert_eq!((&judge["model"], &judge["chosen_by"]), (&json!("openai:m"), &json!("family")));
    assert_eq!(judge["state"], "ready");
    assert_eq!(model("models.rerank")["model"], "none");
    let without = home.json(&["models"]);
    assert!(without["models"].as_array().unwrap().iter().all(|model| model["state"] != "ready"));
    let prices = home.json(&["models", "prices"]);
    let prices = prices["prices"].as_array().unwrap();
    assert!(prices.iter().all(|price| !price["source"].as_str().unwrap().is_empty()));
    assert!(prices.iter().any(|price| price["model"] == "openai:m"), "the user's own");
    assert_eq!(provided.server.requests(), 0);
    home.run(&["config", "set", "models.judge", "gpt"]).exits(2);
    home.write("prices.json", "{\"openai:m\": {\"input_usd_per_million\": 1}}");
    provided.run(&["models"]).exits(2).stderr_has("source");
}

#[test]
fn non_numeric_settings_are_stored_and_checked() {
    for home in Home::both() {
        let key = "autopilot.nightly_quality_probe.enabled";
        assert_eq!(home.json(&["config", "get", key])["value"], "false");
        home.ok(&["config", "set", key, "true"]);
        assert_eq!(home.json(&["config", "get", key])["value"], "true");
        assert_eq!(home.run(&["config", "set", key, "yes"]).code, Some(2));
        home.run(&["config", "set", "autopilot.nightly_quality_probe.enable", "true"])
            .exits(2)
            .stderr_has(key);
        let listed = home.json(&["config", "list"]);
        let others = listed["others"].as_array().unwrap();
        assert!(others.iter().any(|other| other["key"] == key && other["value"] == "true"));
        home.ok(&["config", "unset", key]);
        assert_eq!(home.json(&["config", "get", key])["value"], "false");
        assert!(!home.ok(&["config", "list"]).contains("not ours"));
    }
}

#[test]
fn a_model_answers_a_benchmark_and_it_is_charged() {
    for home in Home::both() {
        let provided = Provided::new(home, repeats, |number| match number {
            2 => Fault::Status(429, Some(0)),
            _ => Fault::None,
        });
        let home = &provided.home;
        let file = home.write("lme.json", dataset(6, str::to_owned).to_string());
        let out = home.file("rows.jsonl");
        let args = [
            "eval",
            "longmemeval",
            &file,
            "--model",
            "anthropic:m",
            "--max-usd",
            "1",
            "--output",
            &out,
        ];
        let ran = provided.run(&args).exits(0);
        let rows = rows(&std::fs::read_to_string(&out).unwrap());
        assert_eq!(rows.len(), 6);
        for row in &rows {
            let question = row["question"].as_str().unwrap();
            assert_eq!(row["hypothesis"], format!("You asked: {question}"));
            // Models cite sessions by number.
            assert_eq!(row["prompt_session_ids"][0], row["retrieved_session_ids"][0]);
        }
        assert_eq!(provided.server.requests(), 7, "one was asked again");
        let spent = home.json(&["spend"]);
        assert_eq!(spent["lines"][0]["purpose"], "longmemeval");
        assert_fields(&spent["lines"][0], &json!({ "calls": 7, "unsettled": 0 }));
        assert!(spent["usd"].as_f64().unwrap() > 0.0);
        assert!(!ran.stderr.contains(KEY) && !spent.to_string().contains(KEY));
    }
}

#[test]
fn model_failures_never_pass() {
    let file_of = |home: &Home| home.write("lme.json", dataset(4, str::to_owned).to_string());
    let check = |faults: fn(u64) -> Fault, more: &[&str], says: &str| {
        let provided = Provided::new(Home::sqlite(), repeats, faults);
        let file = file_of(&provided.home);
        let mut args = vec!["eval", "longmemeval", &file];
        if !more.contains(&"--model") {
            args.extend(["--model", "openai:m"]);
        }
        args.extend(more);
        let ran = provided.run(&args);
        assert_eq!(ran.code, Some(2), "{says}: {}", ran.stderr);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains(says), "{says}: {all}");
        provided
    };
    check(|_| Fault::Status(500, None), &[], "http_5xx");
    check(|_| Fault::Status(401, None), &[], "denied");
    check(|_| Fault::Garbage, &[], "parse_fail");
    check(|_| Fault::Hang(Duration::from_secs(4)), &[], "timeout");
    let poor = check(|_| Fault::None, &["--max-usd", "0.003", "--yes"], "over_budget");
    assert!(poor.server.requests() < 4, "it stopped at its budget");
    let refused = check(|_| Fault::None, &["--max-usd", "0.001"], "--yes");
    assert_eq!(refused.server.requests(), 0, "refused before anything was sent");
    let unpriced = check(|_| Fault::None, &["--model", "openai:other"], "openai:other");
    assert_eq!(unpriced.server.requests(), 0);
    let provided = Provided::new(Home::sqlite(), repeats, |_| Fault::None);
    let file = file_of(&provided.home);
    provided
        .home
        .run(&["eval", "longmemeval", &file, "--model", "openai:m"])
        .exits(2)
        .stderr_has("TEST_KEY");
}

#[test]
fn a_recorded_benchmark_needs_no_key_and_no_network() {
    let provided = Provided::new(Home::sqlite(), repeats, |_| Fault::None);
    let file = provided.home.write("lme.json", dataset(4, str::to_owned).to_string());
    let tape = provided.home.file("tape.ndjson");
    let args = ["eval", "longmemeval", &file, "--model", "openai:m", "--cassette", &tape];
    let recorded = provided.run(&args).exits(0);
    let Provided { home, server } = provided;
    drop(server);
    let args: Vec<&str> = args.iter().copied().chain(["--replay-only"]).collect();
    let replayed = home.run(&args).exits(0);
    let hypotheses = |text: &str| -> Vec<String> {
        rows(text).iter().map(|row| row["hypothesis"].to_string()).collect()
    };
    assert_eq!(hypotheses(&replayed.stdout), hypotheses(&recorded.stdout));
    let other = ["--top-k", "1"];
    let asked: Vec<&str> = args.iter().chain(&other).copied().collect();
    let changed = home.run(&asked);
    assert_eq!(changed.code, Some(2), "other excerpts are other questions");
    assert!(changed.stdout.contains("not_recorded"), "{}", changed.stdout);
}

/// A model that knows other words for one thing.
fn expands(asked: &Asked) -> String {
    match asked {
        Asked::Chat { user, .. } if user.contains("felines") => {
            "Sure! ```json\n{\"variants\": [\"cats\", \"cats and their food\",]}\n```".to_owned()
        }
        _ => "no".to_owned(),
    }
}

fn with_pages(home: &Home) {
    for (slug, text) in [
        ("pets/tom", "Tom likes cats and feeds them fish every morning."),
        ("pets/rex", "Rex is a dog who sleeps in the hall."),
        ("work/ledger", "The ledger is closed at the end of each month."),
    ] {
        assert_eq!(home.put(slug, text).code, Some(0));
    }
}

fn first(answer: &Value) -> &str {
    answer["hits"][0]["slug"].as_str().unwrap_or("nothing")
}

#[test]
fn a_query_is_put_in_other_words_once() {
    for home in Home::both() {
        let provided = Provided::new(home, expands, |_| Fault::None);
        with_pages(&provided.home);
        provided.home.ok(&["config", "set", "models.expansion", "anthropic:m"]);
        let ask = |flags: &[&str]| -> Value {
            let args = [&["query", "felines", "--no-vector", "--json"], flags].concat();
            let ran = provided.run(&args).exits(0);
            ran.json()
        };
        let plain = ask(&[]);
        assert_eq!((first(&plain), &plain["expansion_applied"]), ("nothing", &json!(false)));
        assert_eq!(provided.server.requests(), 0, "nobody is asked who was not asked for");
        let expanded = ask(&["--expand"]);
        assert_eq!(expanded["request"]["variants"], json!(["cats", "cats and their food"]));
        assert_eq!((first(&expanded), &expanded["expansion_applied"]), ("pets/tom", &json!(true)));
        assert_eq!(ask(&["--expand"])["hits"], expanded["hits"]);
        assert_eq!(provided.server.requests(), 1, "the second time it is known");
        let other = provided.run(&["query", "tulips", "--expand", "--json"]).json();
        let failed = json!([{ "stage": "expansion", "reason": "failed" }]);
        assert_eq!(other["degraded"], failed, "a reply of another form is none");
        let spent = provided.home.json(&["spend"]);
        assert_fields(&spent["lines"][0], &json!({ "purpose": "query", "calls": 2 }));
    }
}

#[test]
fn a_reranker_orders_or_is_left_out() {
    let provided = Provided::new(Home::sqlite(), expands, |number| match number {
        2 => Fault::Status(500, None),
        3 => Fault::Status(500, None),
        4 => Fault::Garbage,
        5 => Fault::Empty,
        _ => Fault::None,
    });
    let home = &provided.home;
    for n in 0..4 {
        let more = if n == 3 { " the blue lantern" } else { "" };
        home.put(&format!("notes/n{n}"), &format!("The lantern number {n} stands here.{more}"));
    }
    let ask = || -> Value {
        let ran = provided.run(&["query", "blue lantern stands", "--json"]).exits(0);
        ran.json()
    };
    let plain = ask();
    assert_eq!(plain["rerank_model"], Value::Null);
    home.ok(&["config", "set", "models.rerank", "jina:m"]);
    let reranked = ask();
    assert_eq!((&reranked["rerank_model"], first(&reranked)), (&json!("jina:m"), "notes/n3"));
    let reason = |answer: &Value| answer["degraded"][0]["reason"].as_str().unwrap().to_owned();
    let slugs = |answer: &Value| -> Vec<Value> {
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["slug"].clone()).collect()
    };
    for expected in ["failed", "bad_scores", "bad_scores"] {
        let answer = ask();
        assert_eq!(reason(&answer), expected);
        assert_eq!(slugs(&answer), slugs(&plain), "the order of the first stages");
    }
    assert_eq!(ask()["degraded"], json!([]));
}

#[test]
fn a_brain_moves_to_a_remote_embedder_and_lives_without_it() {
    let provided = Provided::new(Home::sqlite(), expands, |_| Fault::None);
    with_pages(&provided.home);
    let ask = |run: &dyn Fn(&[&str]) -> Ran| -> Value {
        let ran = run(&["query", "who feeds cats?", "--json"]).exits(0);
        ran.json()
    };
    let with_key = |args: &[&str]| provided.run(args);
    let before = ask(&with_key);
    provided.configure(json!({ "embedder": { "model": "voyage:m", "dims": 64 } }));
    let waiting = ask(&with_key);
    assert_eq!(waiting["hits"], before["hits"], "the old vectors answer until the switch");
    assert_eq!(provided.server.requests(), 0);
    provided.run(&["reembed", "--json"]).exits(0).stderr_has("3 of 3 texts");
    let after = ask(&with_key);
    assert_eq!((&after["vector_enabled"], first(&after)), (&json!(true), "pets/tom"));
    let requests = provided.server.requests();
    provided.run(&["reindex"]).exits(0);
    assert_eq!(provided.server.requests(), requests, "vectors are kept, and cost nothing again");
    assert_eq!(ask(&with_key)["hits"], after["hits"], "and are the same");
    // A new query, without a key.
    let keyless = provided.home.run(&["query", "where does the dog sleep?", "--json"]);
    let answer = keyless.json();
    assert_eq!((keyless.code, &answer["vector_enabled"]), (Some(0), &json!(false)));
    assert_eq!(answer["degraded"], json!([{ "stage": "vectors", "reason": "no_key" }]));
    assert_eq!(first(&answer), "pets/rex", "words answer");
}

#[test]
fn vectors_that_find_nothing_are_not_switched_to() {
    // A provider that gives every text the same vector but one that is asked for.
    let provided = Provided::new(Home::sqlite(), expands, |_| Fault::None);
    for n in 0..30 {
        provided.home.put(&format!("notes/n{n}"), &format!("Note {n} tells of thing {}.", n * 7));
    }
    provided.run(&["query", "thing"]);
    // Eight numbers can't tell thirty texts apart, and most of them are nowhere near their page.
    // One question is answered by its words; so few are enough for the floors.
    let judged = |at: usize, query: &str| {
        let slug = format!("notes/n{at}");
        json!({ "query_id": format!("q{at}"), "query": query, "relevant_slugs": [slug], "first_relevant_slug": slug })
    };
    let queries = [
        judged(1, "zzz"),
        judged(2, "yyy"),
        judged(3, "xxx"),
        judged(5, "Note 5 tells of thing 35."),
    ];
    let qrels = json!({ "schema_version": 1, "queries": queries });
    let file = provided.home.write("qrels.json", qrels.to_string());
    provided.configure(json!({ "embedder": { "model": "voyage:m", "dims": 64 } }));
    provided.run(&["reembed", "--qrels", &file]).exits(1).stderr_has("the old ones stay");
    let status = provided.run(&["reembed", "--status", "--json"]).json();
    assert_ne!(status["held"], "voyage:m/64");
    provided.run(&["reembed", "--qrels", &file, "--force", "--json"]).exits(0);
    let status = provided.run(&["reembed", "--status", "--json"]).json();
    assert_eq!(status["held"], "voyage:m/64");
}
