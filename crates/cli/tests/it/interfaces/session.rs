//! A session of commands and requests that fills as many tables as it can.

use std::process::Command;
use std::time::Duration;

use gbrain_testkit::providers::{Asked, Fault};
use gbrain_testkit::receivers::{Receivers, Refusal};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::demo::store_id;
use super::mask::Mask;
use crate::models::Provided;
use crate::serve::client::{Call, Reply, Server};
use crate::support::{Home, Ran, args_of, wait_until};

/// "Today" for every question.
const NOW: &str = "2026-05-14T12:00:00Z";
/// Pages with links, aliases, takes, dates, a private one, a chat, and two that disagree.
const PAGES: [(&str, &str); 7] = [
    (
        "wiki/people/ada.md",
        "---\ntitle: Ada Marlow\ntype: person\naliases: [The Painter]\ntags: [boats, paint]\n\
         works_at: wiki::companies/slipway\ntakes:\n  - claim: Ada paints boats only.\n    holder: Bob\n    \
         weight: 0.8\n    since: 2026-01-02\n---\n\nAda paints boats at [[companies/slipway]].\n",
    ),
    (
        "wiki/companies/slipway.md",
        "---\ntitle: Slipway\ntype: company\n---\n\nSlipway builds boats.\n",
    ),
    ("wiki/notes/secret.md", "---\nvisibility: private\n---\n\nA private note about boats.\n"),
    (
        "wiki/notes/harbour.md",
        "---\ndate: 2024-05-01\n---\nThe north berth of the harbour is open.\n",
    ),
    (
        "wiki/notes/log.md",
        "---\ndate: 2024-05-01\n---\nThe north berth of the harbour is closed.\n",
    ),
    ("wiki/notes/gone.md", "This note about a lost anchor goes for good.\n"),
    ("journal/2026-05-01.md", "# Friday\n\nThe boat of [[wiki::people/ada]] was painted.\n"),
];

/// A suite that fails: one of its queries expects a page that does not exist.
const SUITES: &str = "thresholds: { all: { latency_p95_ms: { target: 600000, alert: 600000 } } }
channels:
  hook: { kind: webhook, url: 'RECEIVER/hook', secret_env: ALERT_HOOK }
  pager: { kind: pagerduty, routing_key_env: ALERT_PD, url: 'RECEIVER/pagerduty' }
suites:
  - { name: daily, type: regression, owners: ['@search'], sample: { total: 2 }, debounce: { quiet: 0s, max_wait: 1s }, alerts: { notify: [hook], page: [pager] } }
";

/// A home that was worked with, its providers of models and its receivers of alerts.
pub(super) struct Session {
    provided: Provided,
    receivers: Receivers,
}

impl Session {
    /// Runs the session; the mask learns the random values of it.
    pub(super) fn run(mask: &mut Mask) -> Self {
        let session = Self::new(mask);
        session.write_pages();
        mask.replace(&store_id(&session.home().path().join("brain.db")), "<store id>");
        session.ask();
        session.serve();
        session.calibrate();
        session.judge();
        session.measure();
        session.schedule();
        session
    }

    pub(super) fn home(&self) -> &Home {
        &self.provided.home
    }

    fn new(mask: &mut Mask) -> Self {
        wait_past_midnight();
        let provided = Provided::new(Home::sqlite(), answer, |_| Fault::None);
        provided.configure(json!({ "eval": { "capture": true, "synthetic": true } }));
        // Output is abandoned when the pager ends.
        let refusal = |_, path: &str| match path {
            "/pagerduty" => Refusal::Status(400, None),
            _ => Refusal::None,
        };
        let receivers = Receivers::start_with(refusal).unwrap();
        let session = Self { provided, receivers };
        // Budgets are of a day.
        let day = Timestamp::now().to_string()[..10].to_owned();
        mask.replace(&format!("day:{day}"), "day:<day>");
        let home = session.home().path().to_str().unwrap();
        mask.replace(home, "HOME");
        mask.replace(&session.provided.server.url(), "PROVIDER");
        mask.replace(&session.receivers.url(""), "RECEIVER");
        session
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.provided.command(args);
        command.env("ALERT_HOOK", "hook-secret").env("ALERT_PD", "routing-key");
        command
    }

    /// Runs a command that must end with this code.
    #[track_caller]
    fn ends(&self, args: &[&str], code: i32) -> String {
        let ran = Ran::of(self.command(args).output().unwrap());
        assert_eq!(ran.code, Some(code), "gbrain {args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        self.ends(args, 0)
    }

    fn write(&self, name: &str, text: &str) -> String {
        self.home().write(name, text)
    }

    /// Pages in two sources; one has two versions, one was deleted and restored, one was purged.
    fn write_pages(&self) {
        for (name, text) in PAGES {
            self.write(&format!("files/{name}"), text);
        }
        for source in ["wiki", "journal"] {
            let dir = self.home().path().join("files").join(source);
            self.ok(&["import", dir.to_str().unwrap(), "--source", source, "--quiet"]);
        }
        let again = self.write("again.md", "Slipway builds and mends boats.\n");
        self.ok(&["put", "companies/slipway", &again, "--source", "wiki"]);
        self.ok(&["delete", "people/ada", "--source", "wiki"]);
        self.ok(&["restore", "people/ada", "--source", "wiki"]);
        self.ok(&["purge", "notes/gone", "--source", "wiki", "--yes"]);
        self.ok(&["sources", "add", "slack", "--untrusted"]);
        self.ok(&["sources", "add", "old"]);
        self.ok(&["sources", "remove", "old"]);
        self.ok(&["workspaces", "add", "team"]);
        self.ok(&["config", "set", "search.cut_ratio", "0.2"]);
    }

    /// Captures of every kind, one that can't be stored, feedback, an exported window, an expanded query.
    fn ask(&self) {
        self.ok(&["query", "who paints boats?", "--limit", "3", "--now", NOW]);
        self.ok(&["search", "boats", "--source", "wiki", "--untrusted", "--now", NOW]);
        self.ok(&[
            "query", "boats", "--type", "person", "--tag", "paint", "--detail", "high", "--now",
            NOW,
        ]);
        self.ok(&["query", &"å".repeat(25_601), "--now", NOW]);
        self.ok(&["config", "set", "models.expansion", "anthropic:m"]);
        self.ok(&["query", "felines", "--expand", "--now", NOW]);
        self.ok(&["query", "who works at Slipway?", "--mode", "graph", "--now", NOW]);
        self.ok(&["feedback", "--last", "--vote", "up", "--comment", "good, says ada@example.org"]);
        self.ok(&["feedback", "--last", "--borderline", "people/ada"]);
        self.ok(&["eval", "export", "--quiet", "--until", "1d"]);
    }

    /// Rows that only a server writes: remote captures, documents, labels, jobs.
    fn serve(&self) {
        let created = self.ok(&["tokens", "create", "--name", "ci", "--scope", "admin", "--json"]);
        let created: Value = serde_json::from_str(&created).unwrap();
        let token = created["token"].as_str().unwrap().to_owned();
        let other = self.ok(&args_of("tokens create --name old --scope read --expires 30d --json"));
        let other: Value = serde_json::from_str(&other).unwrap();
        self.ok(&["tokens", "revoke", other["id"].as_str().unwrap()]);
        let server = Server::of(self.command(&["serve"]), &[]);
        let send = |call: Call| -> Reply {
            let reply = server.send(&call.clone().token(&token));
            assert!(reply.is_done(), "{call:?}\n{}", reply.whole());
            reply
        };
        let question = json!({ "query": "what does Slipway do?", "limit": 2, "now": NOW });
        send(Call::json("POST", "/v1/query", &question));
        // A capture is stored after its answer was sent.
        wait_until("the capture", || self.remote_captures() > 0);
        send(Call::json("PUT", "/v1/baselines/main", &json!({ "limit": 5 })));
        let judged = "q1 0 wiki::people/ada 1\n";
        send(Call::new("PUT", "/v1/qrels/main").body("text/plain", judged));
        let label = json!({ "query": "who paints boats?", "page": "wiki::people/ada", "grade": 2, "note": "sure" });
        send(Call::json("POST", "/v1/labels", &json!({ "labels": [label] })));
        let event = json!({ "kind": "deploy.finished", "document": "api", "version": "7" });
        send(Call::json("POST", "/v1/events", &event));
        let pages = json!([{ "slug": "made/by-a-job", "content": "A crane." }]);
        let import = json!({ "kind": "import", "pages": pages });
        let gate = json!({ "kind": "gate", "baseline": "main", "repeats": 1 });
        for (path, body) in
            [("/v1/jobs", import), ("/v1/runs", gate), ("/v1/jobs", json!({ "kind": "reindex" }))]
        {
            let id = send(Call::json("POST", path, &body)).json()["id"].to_string();
            wait_until("the job", || ["done", "failed"].contains(&self.state_of(&id).as_str()));
        }
        server.stop();
    }

    /// Counted in the database: an export would leave a row of its own.
    fn remote_captures(&self) -> i64 {
        let db = rusqlite::Connection::open(self.home().path().join("brain.db")).unwrap();
        let sql = "SELECT count(*) FROM eval_candidates WHERE remote";
        db.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn state_of(&self, id: &str) -> String {
        let job: Value = serde_json::from_str(&self.ok(&["jobs", "show", id, "--json"])).unwrap();
        job["state"].as_str().unwrap().to_owned()
    }

    /// Pairs with labels, their scores, and a threshold in force.
    fn calibrate(&self) {
        self.ok(&["config", "set", "models.rerank", "jina:m"]);
        let pair = |at: usize| {
            let label = ["borderline", "borderline", "relevant", "irrelevant"][at % 4];
            let score = [0.4, 0.45, 0.9, 0.1][at % 4] + at as f64 / 1000.0;
            json!({
                "query": format!("query {}", at % 3), "document": format!("doc-{at}"), "label": label,
                "text": format!("passage {at}, scored {score:.3}"),
            })
        };
        let lines: String = (0..12).map(|at| format!("{}\n", pair(at))).collect();
        let file = self.write("pairs.jsonl", &lines);
        self.ok(&["calibrate", "collect", "--from", &file]);
        self.ok(&["calibrate", "score", "--force", "few pairs"]);
        self.ok(&["calibrate", "deploy", "--force", "no trial"]);
        self.ok(&["query", "who mends boats?", "--now", NOW]);
        self.ok(&["config", "unset", "models.rerank"]);
    }

    /// Runs that ask models: contradictions and the nightly probe.
    fn judge(&self) {
        let verb = "suspected-contradictions";
        let query = "north berth harbour";
        self.ends(
            &["eval", verb, "--query", query, "--judge", "anthropic:m", "--canaries", "0"],
            2,
        );
        for (key, model) in [
            ("models.eval.longmemeval", "openai:m"),
            ("models.eval.cross_modal.slot_a", "openai:m"),
            ("models.eval.cross_modal.slot_b", "anthropic:m"),
            ("models.eval.cross_modal.slot_c", "google:m"),
        ] {
            self.ok(&["config", "set", key, model]);
        }
        self.ends(&["eval", "probe", "run", "--force"], 1);
    }

    /// Queries, a run of a suite that fails, its alerts, a silence and an incident.
    fn measure(&self) {
        self.write("suites.yaml", &SUITES.replace("RECEIVER", &self.receivers.url("")));
        self.ok(&args_of(
            "queries add 'who paints boats?' --expected wiki::people/ada --difficulty easy",
        ));
        self.ok(&args_of("queries add 'a lost anchor' --expected wiki::notes/gone --source wiki"));
        self.ok(&["suites", "create", "--from", "daily"]);
        self.ends(&["suites", "run", "daily"], 1);
        self.ends(&["triage", "1"], 1);
        self.ok(&["incident", "open", "recall fell", "--run", "1", "--author", "eve"]);
        self.ok(&["incident", "note", "1", "looking at it"]);
        let end =
            ["--root-cause", "it was purged", "--fix", "retired the query", "--follow-up", "none"];
        self.ok(&[&["incident", "resolve", "1"], &end[..]].concat());
        self.ok(&["queries", "retire", "2"]);
        self.ok(&args_of(
            "queries add 'what does Slipway build?' --expected wiki::companies/slipway",
        ));
        self.ok(&["suites", "run", "daily"]);
        self.ok(&args_of("alerts silence gbrain/default/daily/* --for 2h --reason reindexing"));
    }

    /// Jobs that wait: an import, and a suite that an event made due.
    fn schedule(&self) {
        let dir = self.home().path().join("files/journal");
        for _ in 0..2 {
            self.ok(&["import", dir.to_str().unwrap(), "--source", "journal", "--background"]);
        }
        self.ok(&["jobs", "cancel", "5"]);
        self.ok(&["suites", "enable", "daily"]);
        self.ok(&["autopilot", "--once"]);
        self.ok(&["events", "emit", "knowledge.persisted", "--document", "d", "--version", "1"]);
        std::thread::sleep(Duration::from_millis(1100));
        self.ok(&["autopilot", "--once"]);
    }
}

/// A session belongs to one day: budgets and the files of an audit are named after it.
fn wait_past_midnight() {
    const DAY: i64 = 24 * 60 * 60;
    let left = DAY - Timestamp::now().as_second().rem_euclid(DAY);
    if left < 120 {
        std::thread::sleep(Duration::from_secs(left.unsigned_abs() + 1));
    }
}

/// The models' replies.
fn answer(asked: &Asked) -> String {
    match asked {
        Asked::Rerank { documents, .. } => {
            let scores: Vec<f64> = documents.iter().map(|text| score_in(text)).collect();
            json!({ "scores": scores }).to_string()
        }
        Asked::Chat { system, .. } if system.starts_with("You are one judge") => {
            json!({ "scores": { "correctness": 4, "directness": 8 }, "improvements": ["be right"] })
                .to_string()
        }
        Asked::Chat { user, .. } if user.contains("felines") => {
            json!({ "variants": ["cats", "kittens"] }).to_string()
        }
        Asked::Chat { user, .. } if user.contains("is open.") => json!({
            "verdict": "contradiction", "severity": "high", "axis": "whether the berth is open",
            "confidence": 0.9, "resolution_kind": "manual_review",
        })
        .to_string(),
        _ => "I do not know.".to_owned(),
    }
}

/// The score that stands in a text.
fn score_in(text: &str) -> f64 {
    let number = text.split("scored ").nth(1).and_then(|rest| rest.trim().parse().ok());
    number.unwrap_or(0.5)
}
