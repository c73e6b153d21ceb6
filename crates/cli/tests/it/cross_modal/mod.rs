//! A panel of models as a user asks it: one output, a file of rows, and whatever goes wrong.

mod attacks;
mod cassettes;
mod faults;
mod money;
mod refusals;
mod rows;
mod single;

use std::collections::HashMap;
use std::sync::Mutex;

use gbrain_core::format::cross_modal::{Receipt, Summary};
use gbrain_testkit::providers::{Asked, Fault};
use serde_json::{Value, json};

use crate::models::Provided;
use crate::support::{Home, Ran};

const VERB: [&str; 2] = ["eval", "cross-modal"];
/// Three makers, each with a model that has a name of its own.
const SEATS: [&str; 6] =
    ["--slot-a-model", "openai:a", "--slot-b-model", "anthropic:b", "--slot-c-model", "google:c"];
const TASK: [&str; 2] = ["--task", "Say when the ferry leaves."];

/// A home whose models are judges of the test's.
fn court(home: Home, faults: impl Fn(u64) -> Fault + Send + Sync + 'static) -> Provided {
    judged_by(home, told(), faults)
}

fn judged_by(
    home: Home,
    says: impl Fn(&Asked) -> String + Send + Sync + 'static,
    faults: impl Fn(u64) -> Fault + Send + Sync + 'static,
) -> Provided {
    let provided = Provided::new(home, says, faults);
    let entry = json!({
        "input_usd_per_million": 1, "output_usd_per_million": 2,
        "source": "a test", "date": "2026-01-01",
    });
    let prices = json!({ "openai:a": entry, "anthropic:b": entry, "google:c": entry });
    provided.home.write("prices.json", prices.to_string());
    provided
}

/// Judges that give what the output says they give: `a=9 b=8,4 c=?`. A comma is the next time they are
/// asked the same, a dash the next dimension, and what is no score is said as it is.
fn told() -> impl Fn(&Asked) -> String + Send + Sync {
    let times: Mutex<HashMap<(String, String), usize>> = Mutex::default();
    move |asked| {
        let Asked::Chat { model, system, user } = asked else { return String::new() };
        let mut times = times.lock().unwrap();
        let time = times.entry((model.clone(), user.clone())).or_default();
        *time += 1;
        let given =
            user.split_whitespace().find_map(|word| word.strip_prefix(&format!("{model}=")));
        let given: Vec<&str> = given.unwrap_or("?").split(',').collect();
        let given = given[(*time - 1).min(given.len() - 1)];
        if given == "?" { "I would rather not say.".to_owned() } else { vote(system, given) }
    }
}

/// A vote on every dimension that the prompt asks for.
fn vote(system: &str, given: &str) -> String {
    let example = &system[system.rfind("{\"scores\"").unwrap()..];
    let mut parts: Vec<&str> = example.split("\": <1-10>").collect();
    parts.pop();
    let keys: Vec<&str> = parts.iter().map(|part| part.rsplit('"').next().unwrap()).collect();
    let scores: Vec<&str> = given.split('-').collect();
    let scores = keys.iter().enumerate().map(|(at, key)| {
        let score = scores[at.min(scores.len() - 1)];
        (json!(key), serde_json::from_str::<Value>(score).unwrap())
    });
    let scores: Vec<String> = scores.map(|(key, score)| format!("{key}: {score}")).collect();
    format!("{{\"scores\": {{{}}}, \"improvements\": [\"Name the pier\"]}}", scores.join(", "))
}

/// The panel with another model in a slot.
fn seats_with<'a>(slot: &str, model: &'a str) -> Vec<&'a str> {
    let flag = format!("--slot-{slot}-model");
    let mut seats = SEATS.to_vec();
    let at = seats.iter().position(|word| *word == flag).unwrap();
    seats[at + 1] = model;
    seats
}

fn words<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

/// Has one output judged.
fn judge(provided: &Provided, output: &str, more: &[&str]) -> Ran {
    let file = provided.home.write("output.md", output);
    provided.run(&words(&[&VERB, &TASK, &["--output", &file, "--json"], &SEATS, more]))
}

/// Rows with an expected answer each, of these outputs.
fn rows_of(outputs: &[&str]) -> String {
    let row = |(at, output): (usize, &&str)| {
        let row = json!({
            "question_id": format!("q{at}"), "question": "When does the ferry leave?",
            "question_type": "single-session-user", "answer": "at nine", "hypothesis": output,
        });
        format!("{row}\n")
    };
    outputs.iter().enumerate().map(row).collect()
}

fn judge_rows(provided: &Provided, rows: &str, more: &[&str]) -> Ran {
    let file = provided.home.write("run.jsonl", rows);
    provided.run(&words(&[&VERB, &["--batch", &file, "--json"], &SEATS, more]))
}

#[track_caller]
fn receipt(ran: &Ran) -> Receipt {
    ran.read()
}

#[track_caller]
fn summary(ran: &Ran) -> Summary {
    ran.read()
}

/// The error of each call, by its first word.
fn troubles(receipt: &Receipt) -> Vec<String> {
    let word = |text: &String| text.split(':').next().unwrap().to_owned();
    let calls = receipt.judgement.slots.iter();
    calls.filter_map(|call| call.error.as_ref().or(call.not_made.as_ref()).map(word)).collect()
}
