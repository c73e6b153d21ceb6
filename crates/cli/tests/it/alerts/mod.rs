//! Alerts as a user meets them: raised by runs, sent to receivers, kept where they can't be.

mod commands;
mod kills;
mod left_running;
mod runs;

use gbrain_testkit::receivers::{ReceivedMessage, Receivers};
use serde_json::{Value, json};

use crate::support::{Home, Ran, demo_home};

/// A secret that only its receiver may see.
const SECRETS: [(&str, &str); 3] =
    [("ALERT_PD", "pd-routing-key"), ("ALERT_HOOK", "hook-secret-7"), ("ALERT_CHAT", "")];
/// A part of the chat's address, which is a secret.
const CHAT: &str = "chat-path-secret";
/// The query text, which no message may contain.
const ASKED: &str = "a private question";

/// A home with a suite that fails, and channels at receivers.
fn failing(home: Home, receivers: &Receivers, more: &str) -> Home {
    let home = demo_home(home);
    let text = format!(
        "thresholds: {{ all: {{ latency_p95_ms: {{ target: 60000, alert: 60000 }} }} }}\n\
         channels:\n  pager: {{ kind: pagerduty, routing_key_env: ALERT_PD, url: '{}' }}\n  \
         hook: {{ kind: webhook, url: '{}', secret_env: ALERT_HOOK }}\n  chat: {{ kind: slack, url_env: ALERT_CHAT }}\n\
         suites:\n  - {{ name: s, type: smoke, owners: ['@search'], sample: {{ total: 1 }}{more} }}\n",
        receivers.url("/pagerduty"),
        receivers.url("/hook")
    );
    home.write("suites.yaml", text);
    home.ok(&["queries", "add", ASKED, "--expected", "nowhere"]);
    home
}

/// Makes the suite pass.
fn mend(home: &Home) {
    let number = home.json(&["queries", "list"])["queries"][0]["number"].to_string();
    home.ok(&["queries", "retire", &number]);
    home.ok(&["queries", "add", "charge floor", "--expected", "wiki::concepts/charge-floor"]);
}

/// A command that knows the secrets.
fn knowing(home: &Home, receivers: &Receivers, args: &[&str]) -> std::process::Command {
    let mut command = home.command(args);
    for (name, value) in SECRETS {
        command.env(name, value);
    }
    command.env("ALERT_CHAT", receivers.url(&format!("/chat/{CHAT}")));
    command
}

/// Runs it to its end.
fn known(home: &Home, receivers: &Receivers, args: &[&str]) -> Ran {
    let ran = Ran::of(knowing(home, receivers, args).output().unwrap());
    shows_nothing(&format!("{}{}", ran.stdout, ran.stderr));
    ran
}

/// The sent messages, by receiver and action.
fn sent(receivers: &Receivers) -> Vec<String> {
    let action = |one: &ReceivedMessage| {
        let body = &one.body;
        let word = body["event_action"].as_str().or(body["action"].as_str());
        let said = body["text"].as_str().and_then(|text| text.split(':').next());
        let path = one.path.split('/').nth(1).unwrap_or_default();
        format!("{path} {}", word.or(said).unwrap_or_default())
    };
    let mut all: Vec<String> = receivers.taken().iter().map(action).collect();
    all.sort();
    all
}

#[track_caller]
fn shows_nothing(text: &str) {
    for secret in ["pd-routing-key", "hook-secret-7", CHAT] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// Neither a secret in what is kept, nor what was asked in what is sent.
#[track_caller]
fn keeps_secrets(home: &Home, receivers: &Receivers) {
    for request in receivers.requests_kept() {
        assert!(!request.body.contains(ASKED), "{}", request.body);
    }
    let kept = home.json(&["alerts", "history"]).to_string() + &home.rows().join("\n");
    shows_nothing(&kept);
    if let Ok(bytes) = std::fs::read(home.path().join("brain.db")) {
        shows_nothing(&String::from_utf8_lossy(&bytes));
    }
    assert!(!home.json(&["alerts", "list", "--all"]).to_string().contains(ASKED));
}

fn deliveries(home: &Home) -> Vec<Value> {
    home.json(&["alerts", "history"])["deliveries"].as_array().unwrap().clone()
}
