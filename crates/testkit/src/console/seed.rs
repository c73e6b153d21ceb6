//! The content of a brain with something on every page.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use gbrain_core::id::WorkspaceId;
use gbrain_store::NewSuiteRun;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{EMPTY, models};
use crate::http::Caller;
use crate::process::Gbrain;
use crate::served::Served;

/// Captures are on and marked as synthetic, so that they may be shared.
fn config() -> Value {
    json!({ "format": "gbrain/1", "eval": { "capture": true, "synthetic": true } })
}

const QUERIES: [&str; 8] = [
    "Who invested in Quayspark?",
    "What depends on Plug Gateway?",
    "HRB-131",
    "charge floor",
    "Who owns the berth planner?",
    "two boats at the same pier",
    "Kittle Island blackout",
    "smartphone program for boat drivers",
];

/// One suite has a channel that this machine cannot reach, so its messages stay queued.
const SUITES: &str = "\
thresholds: { all: { latency_p95_ms: { target: 60000, alert: 60000 } } }
channels:
  operations: { kind: webhook, url: 'https://operations.example/gbrain', secret_env: OPERATIONS_SECRET }
suites:
  - { name: smoke, type: smoke, owners: ['@search'], sample: { total: 9 }, triggers: [manual, { cron: '0 2 * * 0' }] }
  - { name: links, type: graph_qa, owners: ['@graph', '@search'], sample: { total: 2 }, triggers: [manual], alerts: { notify: [operations] } }
";
/// Days of runs before today.
const HISTORY_DAYS: i64 = 40;
/// Which of them failed.
const FAILED_DAYS: [i64; 4] = [3, 17, 18, 31];

/// Longer than any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Fills a brain from the demo corpus, with something for every page. No server may be at work on it, and there must
/// be no token yet; afterwards there are the tokens of two reviewers.
pub fn seed(brain: &Gbrain, corpus: &Path) -> Result<()> {
    std::fs::write(brain.home().join("config.json"), config().to_string())?;
    let below = |name: &str| corpus.join(name).display().to_string();
    for source in ["wiki", "journal"] {
        run(brain, &["import", &below(source), "--source", source, "--quiet"], &[0])?;
    }
    run(brain, &["workspaces", "add", EMPTY], &[0])?;
    runs(brain, &std::fs::read(corpus.join("qrels.json"))?)?;
    run(brain, &["queries", "import", &below("queries.jsonl"), "--quiet"], &[0])?;
    suites(brain)?;
    monitoring(brain)?;
    judged_queries(brain, corpus)?;
    modelled(brain)?;
    benchmark(brain)?;
    prompts(brain)?;
    memory(brain)?;
    reviews(brain)
}

/// Gates 1 (before the change), 2 (after it) and 4 (after another), replay 3, and two runs without a result.
fn runs(brain: &Gbrain, qrels: &[u8]) -> Result<()> {
    let gate = json!({ "kind": "gate", "baseline": "demo", "qrels": "demo", "repeats": 1 });
    serve(brain, &[], |caller| {
        capture(caller)?;
        send(caller, "PUT", "/v1/baselines/demo", &json!({ "why": "before the change" }))?;
        let stored = caller.call_with_type("PUT", "/v1/qrels/demo", "text/plain", qrels)?;
        ensure!(stored.status < 300, "qrels: {}", stored.text());
        end_run(caller, &gate, "done")
    })?;
    run(brain, &["config", "set", "search.cut_ratio", "0.9"], &[0])?;
    serve(brain, &[], |caller| {
        end_run(caller, &gate, "done")?;
        let replay =
            json!({ "kind": "replay", "against": { "baseline": "demo" }, "verbose": true });
        end_run(caller, &replay, "done")
    })?;
    run(brain, &["config", "set", "search.cut_ratio", "0.5"], &[0])?;
    serve(brain, &[], |caller| {
        end_run(caller, &gate, "done")?;
        end_run(caller, &json!({ "kind": "gate", "baseline": "retired" }), "failed")
    })?;
    run(brain, &["config", "unset", "search.cut_ratio"], &[0])?;
    // Without a worker of its own the server leaves the run in the queue.
    serve(brain, &["--jobs", "0"], |caller| {
        let id = start_run(caller, &gate)?;
        let cancelled = caller.call("POST", &format!("/v1/runs/{id}/cancel"), &[])?;
        ensure!(cancelled.status < 300, "run {id}: {}", cancelled.text());
        Ok(())
    })
}

/// Runs of the suite `smoke` on the days before today, one that fails and one that passes today, and one of `links`
/// that fails.
fn suites(brain: &Gbrain) -> Result<()> {
    let file = brain.home().join("suites.yaml");
    std::fs::write(&file, SUITES)?;
    for suite in ["smoke", "links"] {
        run(brain, &["suites", "enable", suite], &[0])?;
    }
    let other = brain.copy()?;
    run(&other, &["suites", "run", "smoke"], &[0])?;
    without(&other, "concepts/charge-floor", || run(&other, &["suites", "run", "smoke"], &[1]))?;
    let workspace = WorkspaceId::default();
    let (from, to) = (other.store()?, brain.store()?);
    let [passed, failed] = [1, 2].map(|id| from.suite_run(&workspace, id));
    let (passed, failed) =
        (passed?.context("no run that passes")?, failed?.context("no run that fails")?);
    for day in (1..=HISTORY_DAYS).rev() {
        let model = if FAILED_DAYS.contains(&day) { &failed } else { &passed };
        let at = Timestamp::now() - SignedDuration::from_hours(24 * day);
        let past = NewSuiteRun {
            suite: "smoke".to_owned(),
            key: None,
            trigger: "manual".to_owned(),
            started_at: at,
            verdict: model.info.verdict,
            summary: model.info.summary.clone(),
            report: model.report.clone().unwrap_or_default(),
        };
        to.add_suite_run(&workspace, &past, at)?;
    }
    drop(to);
    without(brain, "concepts/charge-floor", || run(brain, &["suites", "run", "smoke"], &[1]))?;
    run(brain, &["suites", "run", "smoke"], &[0])?;
    without(brain, "teams/routing", || run(brain, &["suites", "run", "links"], &[1]))?;
    // The file says something else than the registry now.
    Ok(std::fs::write(&file, SUITES.replace("total: 2", "total: 3"))?)
}

/// Does something while a page of the wiki is deleted.
fn without(brain: &Gbrain, page: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    run(brain, &["delete", page, "--source", "wiki"], &[0])?;
    work()?;
    run(brain, &["restore", page, "--source", "wiki"], &[0])
}

/// A silence, and two incidents, one of them resolved.
fn monitoring(brain: &Gbrain) -> Result<()> {
    serve(brain, &[], |caller| {
        let mut post = |path: &str, body: Value| send(caller, "POST", path, &body).map(drop);
        post(
            "/v1/silences",
            json!({ "key": "gbrain/default/smoke/*", "for": "8h", "reason": "pages are imported again" }),
        )?;
        post("/v1/incidents", json!({ "title": "The links suite fails", "run": 43 }))?;
        post(
            "/v1/incidents/1/notes",
            json!({ "text": "The page of the routing team was deleted at 09:12." }),
        )?;
        post("/v1/incidents", json!({ "title": "The charge floor was not found", "run": 41 }))?;
        post("/v1/incidents/2/notes", json!({ "text": "Restored from its history." }))?;
        post(
            "/v1/incidents/2/resolve",
            json!({
                "root_cause": "a page was deleted by a script that cleans up drafts",
                "fix": "the page was restored, and the script asks first",
                "follow_ups": ["add the page to the smoke suite", "restrict the token of the script to reading"],
            }),
        )
    })
}

/// The judged queries as canonical ones: a trial of a threshold takes twenty.
fn judged_queries(brain: &Gbrain, corpus: &Path) -> Result<()> {
    let qrels: Value = serde_json::from_slice(&std::fs::read(corpus.join("qrels.json"))?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |judged: &Value| {
        let pages = judged["relevant"].as_array().into_iter().flatten();
        let expected: Vec<String> = pages
            .map(|page| format!("{}::{}", text(&page["source_id"]), text(&page["slug"])))
            .collect();
        let source = expected.first()?.split("::").next()?.to_owned();
        let query = json!({
            "query": judged["query"], "source": source, "difficulty": "medium", "expected": expected,
        });
        Some(format!("{query}\n"))
    };
    let lines: String =
        qrels["queries"].as_array().into_iter().flatten().filter_map(line).collect();
    let file = brain.home().join("judged.jsonl");
    std::fs::write(&file, lines)?;
    run(brain, &["queries", "import", &file.display().to_string(), "--quiet"], &[0])
}

/// Everything that calls models: the probe, a calibration, and with them spending. The contradiction probe calls none.
fn modelled(brain: &Gbrain) -> Result<()> {
    let models = models::start(brain, config())?;
    run(brain, &["config", "set", "autopilot.nightly_quality_probe.enabled", "true"], &[0])?;
    run(brain, &["eval", "probe", "run"], &[0, 1])?;
    let pairs = brain.home().join("pairs.jsonl");
    let lines: String = judged_pairs().iter().map(|pair| format!("{pair}\n")).collect();
    std::fs::write(&pairs, lines)?;
    run(brain, &["config", "set", "models.rerank", models::RERANKER], &[0])?;
    run(brain, &["calibrate", "collect", "--from", &pairs.display().to_string()], &[0])?;
    run(brain, &["calibrate", "score"], &[0])?;
    run(brain, &["calibrate", "verify"], &[0, 1, 2])?;
    // Without the models nothing may wait for them.
    run(brain, &["config", "unset", "models.rerank"], &[0])?;
    drop(models);
    Ok(std::fs::write(brain.home().join("config.json"), config().to_string())?)
}

/// Pairs with the score that the reranker gives them: irrelevant ones low, relevant ones high, and some in between.
fn judged_pairs() -> Vec<Value> {
    // The sum of three uniform values is bell-shaped.
    let bell = |at: usize| {
        let part = |step: usize| (at * step % 17) as f64 / 16.0 - 0.5;
        (part(3) + part(5) + part(11)) / 3.0
    };
    let pair = |at: usize, label: &str, middle: f64, width: f64| {
        let score = (middle + width * bell(at)).clamp(0.01, 0.99);
        json!({
            "query": QUERIES[at % QUERIES.len()], "document": format!("{label}-{at}"), "label": label,
            "text": format!("passage {at} scored {score:.3} by the reranker"),
        })
    };
    let irrelevant = (0..30).map(|at| pair(at, "irrelevant", 0.16, 0.3));
    let borderline = (0..36).map(|at| pair(at, "borderline", 0.46, 0.4));
    let relevant = (0..24).map(|at| pair(at, "relevant", 0.82, 0.3));
    irrelevant.chain(borderline).chain(relevant).collect()
}

/// The result of a small benchmark in the folder that the server lists.
fn benchmark(brain: &Gbrain) -> Result<()> {
    let questions = brain.home().join("longmemeval.json");
    std::fs::write(&questions, conversations(12).to_string())?;
    let results = brain.home().join("runs/benchmarks");
    std::fs::create_dir_all(&results)?;
    let result = results.join("longmemeval.json").display().to_string();
    let arguments = ["eval", "longmemeval", &questions.display().to_string(), "--retrieval-only"];
    run(brain, &[&arguments[..], &["--by-type", "--quiet", "--result", &result]].concat(), &[0])
}

/// Questions in the layout of LongMemEval.
fn conversations(count: usize) -> Value {
    const TYPES: [&str; 3] = ["single-session-user", "multi-session", "temporal-reasoning"];
    const THINGS: [&str; 8] =
        ["kayak", "violin", "sourdough", "telescope", "bonsai", "origami", "beehive", "marathon"];
    let question = |at: usize| {
        let thing = THINGS[at % THINGS.len()];
        let turn = |role: &str, text: String, has_answer: bool| json!({ "role": role, "content": text, "has_answer": has_answer });
        // In every third question another session speaks of the same purchase.
        let bought = |n: usize| match at % 3 {
            1 => format!("that {thing} in the harbour market, which I bought for {n} coins"),
            _ => format!("a rack in the harbour market for {n} coins"),
        };
        let mut sessions = vec![json!([
            turn("user", format!("I bought a {thing} in the harbour market for {at} coins"), true),
            turn("assistant", format!("A {thing} is a fine thing to have."), false),
        ])];
        sessions.extend((0..7).map(|n| {
            json!([
                turn("user", format!("tell me about {}", bought(n + 40)), false),
                turn("assistant", format!("It is common, says chapter {n}."), false),
            ])
        }));
        let ids: Vec<String> = (0..sessions.len()).map(|n| format!("session_{at}_{n}")).collect();
        let dates: Vec<String> =
            (0..sessions.len()).map(|n| format!("2023/05/{:02} (Fri) 01:49", n + 1)).collect();
        json!({
            "question_id": format!("q{at}"), "question_type": TYPES[at % TYPES.len()], "answer": at,
            "question": format!("How many coins did I pay for the {thing} in the harbour market?"),
            "question_date": "2023/06/25 (Sun) 04:48", "haystack_dates": dates,
            "answer_session_ids": [ids[0].clone()], "haystack_session_ids": ids, "haystack_sessions": sessions,
        })
    };
    Value::Array((0..count).map(question).collect())
}

/// The root of the prompts of a seeded brain.
pub(super) fn library(brain: &Gbrain) -> PathBuf {
    brain.home().join("library")
}

/// Two prompts, one of them tested.
fn prompts(brain: &Gbrain) -> Result<()> {
    let root = library(brain);
    for (id, summary, text) in [
        ("answer", "Answers from the pages found.", "Answer {{question}} from the pages below.\n"),
        ("summarise", "Sums up a page in three sentences.", "Sum up {{question}}.\n"),
    ] {
        let folder = root.join("prompts").join(id);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("prompt.xml"), text)?;
        let meta = format!(
            "id: {id}\ntitle: {id}\nsummary: {summary}\nstatus: draft\nversion: 0.1.0\ncreated: 2026-05-01\n\
             updated: 2026-05-01\ninputs:\n  - name: question\n    required: true\n"
        );
        std::fs::write(folder.join("meta.yml"), meta)?;
    }
    let send = ["answer", "--var", "question=who owns the planner?", "--send", "-q"];
    for _ in 0..3 {
        beside(brain, "kick", &send)?;
    }
    beside(brain, "eva", &["promote", "answer"])
}

/// Runs a program of the prompts, with a model that repeats its prompt.
fn beside(brain: &Gbrain, program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = brain.beside(program, arguments);
    command.env("EVA_ROOT", library(brain)).env("EVA_SEND_CMD", "cat");
    let output = command.output().with_context(|| format!("{program} can't be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {arguments:?}: {said}");
    Ok(())
}

/// A page with two versions, a deleted page, and two pages that contradict each other.
fn memory(brain: &Gbrain) -> Result<()> {
    let put = |page: &str, text: &str| {
        let output = brain.run_with_input(&["put", page], text)?;
        ensure!(output.code == Some(0), "put {page}: {}", output.stderr);
        Ok(())
    };
    let routing = brain.run(&["get", "wiki::teams/routing"])?.stdout;
    let changed = routing.trim_end().to_owned()
        + "\n- **2026-05-15** | Takes over the [berth planner](services/berth-planner) for good\n";
    put("wiki::teams/routing", &changed)?;
    put("wiki::notes/harbour-party", "# Harbour party\n\nA draft without readers.\n")?;
    run(brain, &["delete", "notes/harbour-party", "--source", "wiki"], &[0])?;
    for (page, word) in [("wiki::notes/north-berth", "open"), ("journal::notes/pier-log", "closed")]
    {
        put(
            page,
            &format!(
                "---\ndate: 2026-05-01\n---\nThe north berth of Wrenmouth harbour is {word}.\n"
            ),
        )?;
    }
    let about = ["--query", "north berth of Wrenmouth harbour", "--canaries", "40"];
    run(brain, &[&["eval", "suspected-contradictions"], &about[..]].concat(), &[1])
}

/// Labels of two reviewers, who disagree about two pages.
fn reviews(brain: &Gbrain) -> Result<()> {
    let floor = "wiki::concepts/charge-floor";
    let both = [("HRB-131", "wiki::tickets/hrb-131", 3), ("charge floor", floor, 3)];
    let ada = [
        ("charge floor", "wiki::tickets/hrb-147", 2),
        ("What depends on Plug Gateway?", "wiki::services/charge-broker", 3),
        ("What depends on Plug Gateway?", "wiki::services/lookout", 2),
    ];
    let bo = [
        ("charge floor", "wiki::tickets/hrb-147", 0),
        ("What depends on Plug Gateway?", "wiki::services/charge-broker", 1),
    ];
    for (reviewer, own) in [("ada", &ada[..]), ("bo", &bo[..])] {
        let create = ["tokens", "create", "--name", reviewer, "--scope", "write", "--json"];
        let token = brain.run(&create)?.json()?["token"].as_str().map(str::to_owned);
        let token = token.context("no token")?;
        let labels: Vec<Value> = both
            .iter()
            .chain(own)
            .map(|(query, page, grade)| {
                let span = (*page == floor).then_some("thirty per cent");
                json!({ "query": query, "page": page, "grade": grade, "span": span, "borderline": *grade == 1 })
            })
            .collect();
        serve(brain, &[], |caller| {
            caller.set_token(&token);
            send(caller, "POST", "/v1/labels", &json!({ "labels": labels })).map(drop)
        })?;
    }
    Ok(())
}

/// Runs a command that must end with one of these codes.
fn run(brain: &Gbrain, arguments: &[&str], codes: &[i32]) -> Result<()> {
    let mut command = brain.command(arguments);
    command.env("TEST_KEY", "a-key-of-no-provider");
    let output = crate::process::Running::start(command, "")?.wait()?;
    let is_expected = output.code.is_some_and(|code| codes.contains(&code));
    ensure!(
        is_expected,
        "gbrain {arguments:?}: {:?}\n{}\n{}",
        output.code,
        output.stdout,
        output.stderr
    );
    Ok(())
}

fn serve(
    brain: &Gbrain,
    flags: &[&str],
    work: impl FnOnce(&mut Caller) -> Result<()>,
) -> Result<()> {
    let served = Served::start(brain.command(&[&["serve"], flags].concat()))?;
    work(&mut served.connect()?)?;
    served.stop().map(drop)
}

/// Asks the queries, and waits until their captures are stored.
fn capture(caller: &mut Caller) -> Result<()> {
    for query in QUERIES {
        send(caller, "POST", "/v1/query", &json!({ "query": query }))?;
    }
    let begun = Instant::now();
    loop {
        let stored = caller.get("/v1/captures")?.text().lines().count();
        if stored >= QUERIES.len() {
            return Ok(());
        }
        ensure!(begun.elapsed() < TIMEOUT, "{stored} of {} captures were stored", QUERIES.len());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start_run(caller: &mut Caller, body: &Value) -> Result<i64> {
    send(caller, "POST", "/v1/runs", body)?["id"].as_i64().context("a run without an id")
}

/// Starts a run, and follows its events to their end.
fn end_run(caller: &mut Caller, body: &Value, state: &str) -> Result<()> {
    let id = start_run(caller, body)?;
    let events = caller.get(&format!("/v1/runs/{id}/events"))?.text();
    ensure!(events.contains(&format!(r#""state":"{state}""#)), "run {id}: {events}");
    Ok(())
}

fn send(caller: &mut Caller, method: &str, path: &str, body: &Value) -> Result<Value> {
    let answer = caller.send(method, path, body)?;
    ensure!(
        (200..300).contains(&answer.status),
        "{method} {path}: {} {}",
        answer.status,
        answer.text()
    );
    Ok(answer.json())
}
