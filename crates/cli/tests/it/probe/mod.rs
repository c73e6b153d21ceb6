//! The nightly quality probe as it is run by hand, by the autopilot and by a server.

mod cassette;
mod claims;
mod outcomes;
mod watched;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gbrain_core::format::probe::ProbeReport;
use gbrain_testkit::providers::{Asked, Fault};
use serde_json::{Value, json};

use crate::models::Provided;
use crate::support::{Home, Ran, find};

const RUN: [&str; 3] = ["eval", "probe", "run"];
const ENABLED: &str = "autopilot.nightly_quality_probe.enabled";
const MAX_USD: &str = "autopilot.nightly_quality_probe.max_usd";

/// The calls of a run in which all goes well: ten answers, and three votes on each.
const CALLS: u64 = 40;

/// The questions of the probe with their answers.
static ANSWERS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let questions: Value =
        serde_json::from_str(include_str!("../../../../eval/src/probe/mini.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let questions = questions.as_array().unwrap().iter();
    questions.map(|one| (text(&one["question"]), text(&one["answer"]))).collect()
});

/// The models' replies: a reader that answers, and judges that score an answer.
#[derive(Clone, Copy)]
struct Play {
    answer: fn(question: &str) -> String,
    vote: fn(judge: &str, task: &str) -> String,
}

/// Everything as it should be: right answers, and judges that compare them with the expected ones.
const GOOD: Play = Play { answer: right, vote: |_, task| score(compared(task)) };

fn right(question: &str) -> String {
    ANSWERS.get(question).cloned().unwrap_or_else(|| "I do not know.".to_owned())
}

fn score(score: u8) -> String {
    json!({ "scores": { "correctness": score, "directness": score }, "improvements": [] })
        .to_string()
}

/// 9 if the output is the expected answer, 2 otherwise.
fn compared(task: &str) -> u8 {
    let inside = |tag: &str| {
        let (_, rest) = task.split_once(&format!("<{tag}>")).unwrap();
        rest.split_once(&format!("</{tag}>")).unwrap().0.trim().to_owned()
    };
    if inside("expected_answer") == inside("output") { 9 } else { 2 }
}

impl Play {
    fn says(self, asked: &Asked) -> String {
        let Asked::Chat { model, system, user } = asked else { return String::new() };
        if system.starts_with("You are one judge") {
            return (self.vote)(model, user);
        }
        let question = user.rsplit("Question: ").next().unwrap_or_default();
        (self.answer)(question.trim())
    }
}

/// A home with a reader and three judges, whose probe is on.
fn staged(
    home: Home,
    play: Play,
    faults: impl Fn(u64) -> Fault + Send + Sync + 'static,
) -> Provided {
    let provided = Provided::new(home, move |asked| play.says(asked), faults);
    let price = json!({
        "input_usd_per_million": 1, "output_usd_per_million": 2,
        "source": "a test", "date": "2026-01-01",
    });
    let models = ["anthropic:reader", "openai:a", "anthropic:b", "google:c", "voyage:m", "jina:m"];
    let prices: serde_json::Map<String, Value> =
        models.iter().map(|model| ((*model).to_owned(), price.clone())).collect();
    provided.home.write("prices.json", Value::Object(prices).to_string());
    for (key, value) in [
        ("models.eval.longmemeval", "anthropic:reader"),
        ("models.eval.cross_modal.slot_a", "openai:a"),
        ("models.eval.cross_modal.slot_b", "anthropic:b"),
        ("models.eval.cross_modal.slot_c", "google:c"),
        (ENABLED, "true"),
    ] {
        provided.home.ok(&["config", "set", key, value]);
    }
    provided
}

/// Runs the probe and reads its report.
#[track_caller]
fn probe(provided: &Provided, more: &[&str]) -> (ProbeReport, Ran) {
    let ran = provided.run(&[&RUN, more, &["--json"]].concat());
    (report(&ran), ran)
}

#[track_caller]
fn report(ran: &Ran) -> ProbeReport {
    ran.read()
}

/// Runs the probe, which must come to this.
#[track_caller]
fn comes_to(provided: &Provided, more: &[&str], outcome: &str, code: i32) -> ProbeReport {
    let (report, ran) = probe(provided, more);
    assert_eq!(report.event.outcome.name(), outcome, "{:?}\n{}", report.event, ran.stderr);
    assert_eq!((ran.code, i32::from(report.event.exit_code)), (Some(code), code));
    report
}

/// The runs that are known, newest first, as outcomes.
fn known(home: &Home) -> Vec<String> {
    let history = home.json(&["eval", "probe", "history"]);
    let runs = history["runs"].as_array().unwrap().iter();
    runs.map(|run| run["event"]["outcome"].as_str().unwrap().to_owned()).collect()
}

/// The lines of the audit files, with the names of the files.
fn audited(home: &Home) -> Vec<(String, Value)> {
    let Ok(entries) = std::fs::read_dir(home.path().join("audit")) else { return Vec::new() };
    let mut lines = Vec::new();
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("quality-probe-") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            assert!(text.ends_with('\n'), "{text:?}");
            lines.extend(
                text.lines().map(|line| (name.clone(), serde_json::from_str(line).unwrap())),
            );
        }
    }
    lines
}

fn doctor(home: &Home) -> Value {
    let report = home.run(&["doctor", "--json"]).json();
    find(&report["checks"], "name", "nightly_quality_probe_health").clone()
}
