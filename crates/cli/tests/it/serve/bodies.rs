//! The body of an answer is what the command of the same name prints with `--json`.

use serde_json::{Value, json};

use super::client::{Call, Server};
use crate::capture::capturing;
use crate::support::{Home, demo_home, wait_for};

const NOW: &str = "2026-05-14T12:00:00Z";

/// A server of a home that the command line works on too.
struct Twins {
    home: Home,
    server: Server,
}

impl Twins {
    fn new(home: Home) -> Self {
        let home = capturing(demo_home(home));
        let server = Server::start(&home, &[]);
        Self { home, server }
    }

    #[track_caller]
    fn served(&self, call: &Call) -> Value {
        let reply = self.server.send(call);
        assert!(reply.is_done(), "{call:?}: {}", reply.whole());
        assert_eq!(reply.header("content-type"), Some("application/json"));
        reply.json()
    }

    /// The same body from both, but for what differs between two runs.
    #[track_caller]
    fn same(&self, args: &[&str], call: &Call) {
        let (mut printed, mut served) = (self.home.json(args), self.served(call));
        for body in [&mut printed, &mut served] {
            if let Some(body) = body.as_object_mut() {
                body.remove("served");
            }
        }
        assert_eq!(printed, served, "{args:?}");
    }

    /// The same body about two things, but for their names and when they were written.
    #[track_caller]
    fn alike(&self, args: &[&str], printed_name: &str, call: &Call, served_name: &str) {
        let printed = self.home.json(args).to_string();
        let served = self.served(call).to_string();
        assert!(served.contains(served_name), "{served}");
        let same = |text: &str, name: &str| {
            let mut body = serde_json::from_str(&text.replace(name, "NAME")).unwrap();
            forget_when(&mut body);
            body
        };
        assert_eq!(same(&printed, printed_name), same(&served, served_name), "{args:?}");
    }
}

fn forget_when(body: &mut Value) {
    match body {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "generation" && name != "updated_at");
            let deleted = fields.get_mut("deleted_at").filter(|at| at.is_string());
            deleted.into_iter().for_each(|at| *at = "then".into());
            fields.values_mut().for_each(forget_when);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_when),
        _ => {}
    }
}

fn questions_are_answered_alike(home: Home) {
    let twins = Twins::new(home);
    let asked: &[(&[&str], Value)] = &[
        (&[], json!({})),
        (&["--explain", "--limit", "3"], json!({ "explain": true, "limit": 3 })),
        (&["--why-not", "wiki::people/wen-jialu"], json!({ "why_not": "wiki::people/wen-jialu" })),
        (
            &["--source", "wiki", "--detail", "high"],
            json!({ "sources": ["wiki"], "detail": "high" }),
        ),
        (
            &["--type", "person", "--since", "2026-01-01"],
            json!({ "types": ["person"], "since": "2026-01-01" }),
        ),
    ];
    for verb in ["search", "query"] {
        for text in ["who owns the berth planner?", "charge floor", "\"quoted\" -dash: colon"] {
            for (flags, fields) in asked {
                let mut args = vec![verb, text, "--untrusted", "--now", NOW];
                args.extend_from_slice(flags);
                let mut body = json!({ "query": text, "now": NOW });
                body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
                twins.same(&args, &Call::json("POST", format!("/v1/{verb}"), &body));
            }
        }
    }
    let graph = json!({ "query": "who works at Quayspark?", "now": NOW, "retrieval_mode": "graph", "vectors": false });
    let args = [
        "query",
        "who works at Quayspark?",
        "--untrusted",
        "--now",
        NOW,
        "--mode",
        "graph",
        "--no-vector",
    ];
    twins.same(&args, &Call::json("POST", "/v1/query", &graph));
    // Over a wire only a model that the settings name is asked; here it has no key either way.
    twins.home.ok(&["config", "set", "models.expansion", "anthropic:claude-haiku-4-5"]);
    let expanded = json!({ "query": "charge floor", "now": NOW, "expand": true });
    let args = ["query", "charge floor", "--untrusted", "--now", NOW, "--expand"];
    twins.same(&args, &Call::json("POST", "/v1/query", &expanded));
    twins.server.stop();
}

#[test]
fn questions_are_answered_alike_on_sqlite() {
    questions_are_answered_alike(Home::sqlite());
}

#[test]
fn questions_are_answered_alike_on_postgres() {
    questions_are_answered_alike(Home::postgres());
}

fn pages_are_shown_alike(home: Home) {
    let twins = Twins::new(home);
    let page = "wiki::people/wen-jialu";
    let path = "/v1/pages/wiki::people%2Fwen-jialu";
    twins.same(&["get", page], &Call::get(path));
    twins.same(&["get", page, "--version", "1"], &Call::get(format!("{path}?version=1")));
    twins.same(&["history", page], &Call::get(format!("{path}/history")));
    twins.same(&["links", page], &Call::get(format!("{path}/links")));
    // One page of the wiki is private: its owner sees it.
    twins.same(&["list", "--source", "journal"], &Call::get("/v1/pages?source=journal"));
    twins.same(
        &["list", "--source", "wiki", "--type", "person", "--limit", "3"],
        &Call::get("/v1/pages?source=wiki&type=person&limit=3"),
    );
    let (mut printed, served) =
        (twins.home.json(&["sources", "list"]), twins.served(&Call::get("/v1/sources")));
    let wiki = &mut printed["sources"].as_array_mut().unwrap().last_mut().unwrap()["pages"];
    *wiki = (wiki.as_u64().unwrap() - 1).into();
    assert_eq!(printed, served, "pages are counted as far as they may be seen");
    let added = Call::json("POST", "/v1/sources", &json!({ "id": "web-b" }));
    twins.alike(&["sources", "add", "web-a", "--untrusted"], "web-a", &added, "web-b");
    pages_change_alike(&twins);
    twins.server.stop();
}

fn pages_change_alike(twins: &Twins) {
    let (a, b) = ("notes/a", "notes/b");
    let path = "/v1/pages/notes%2Fb";
    let file = twins.home.path().join("note.md");
    for text in ["# Note\n\nOne.", "# Note\n\nTwo.", "# Note\n\nTwo."] {
        std::fs::write(&file, text).unwrap();
        let args = ["put", a, file.to_str().unwrap()];
        twins.alike(&args, a, &Call::json("PUT", path, &json!({ "content": text })), b);
    }
    twins.alike(&["delete", a], a, &Call::new("DELETE", path), b);
    twins.alike(
        &["list", "--deleted", "--prefix", a],
        a,
        &Call::get(format!("/v1/pages?deleted=true&prefix={b}")),
        b,
    );
    twins.alike(&["restore", a], a, &Call::new("POST", format!("{path}/restore")), b);
    let gone = twins.server.send(&Call::get("/v1/pages/no%2Fwhere"));
    let printed = twins.home.run(&["get", "no/where", "--json"]).json();
    assert_eq!((gone.status, &gone.json()["error"]["kind"]), (404, &printed["error"]["kind"]));
}

#[test]
fn pages_are_shown_alike_on_sqlite() {
    pages_are_shown_alike(Home::sqlite());
}

#[test]
fn pages_are_shown_alike_on_postgres() {
    pages_are_shown_alike(Home::postgres());
}

fn measurements_are_shown_alike(home: Home) {
    let twins = Twins::new(home);
    for text in ["charge floor", "who owns the berth planner?"] {
        twins.served(&Call::json("POST", "/v1/query", &json!({ "query": text })));
    }
    twins.home.ok(&["query", "what the owner asks"]);
    let captures = captured(&twins);
    let rows = twins.home.path().join("rows.ndjson");
    std::fs::write(&rows, &captures).unwrap();
    let rows = rows.to_str().unwrap();
    let published = twins.served(&Call::json("PUT", "/v1/baselines/main", &json!({})));
    let to = twins.home.path().join("main.baseline.ndjson");
    let args = ["bench", "publish", "--from", rows, "--to", to.to_str().unwrap(), "--allow-real"];
    let printed = twins.home.json(&args);
    for key in ["source_hash", "row_count", "thresholds", "weight_total"] {
        assert_eq!(published[key], printed[key], "{key}");
    }
    assert_eq!(keys(&published), keys(&printed));
    runs_are_shown_alike(&twins, rows);
    comparisons_are_alike(&twins);
    twins.server.stop();
}

/// The captures of callers over the wire, when both are there, as both doors give them.
fn captured(twins: &Twins) -> String {
    let served = wait_for("two captures", || {
        let served = twins.server.send(&Call::get("/v1/captures")).text();
        Some(served).filter(|served| served.lines().count() == 2)
    });
    let printed = twins.home.ok(&["eval", "export", "--remote", "--quiet"]);
    assert_eq!(served, printed);
    served
}

fn runs_are_shown_alike(twins: &Twins, rows: &str) {
    let replay = json!({ "kind": "replay", "against": { "baseline": "main" }, "verbose": true });
    let queued = twins.served(&Call::json("POST", "/v1/runs", &replay));
    assert_eq!((&queued["id"], &queued["state"]), (&json!(1), &json!("queued")));
    let events = twins.server.send(&Call::get("/v1/runs/1/events")).text();
    assert!(events.contains("event: end"), "{events}");
    let (mut printed, served) =
        (twins.home.json(&["jobs", "show", "1"]), twins.served(&Call::get("/v1/runs/1")));
    assert!(printed["worker"].is_string(), "its owner knows which process worked on it");
    printed["worker"] = Value::Null;
    assert_eq!(printed, served);
    assert_eq!((&served["done"], &served["total"]), (&json!(2), &json!(2)), "however short it was");
    let listed = json!({ "jobs": [served], "next_before": null });
    assert_eq!(twins.served(&Call::get("/v1/jobs")), listed);
    assert_eq!(keys(&twins.home.json(&["jobs", "list"])), keys(&listed));
    twins.same(&["jobs", "show", "1", "--result"], &Call::get("/v1/runs/1/result"));
    twins.same(&["jobs", "cancel", "1"], &Call::new("POST", "/v1/runs/1/cancel"));
    let printed = twins.home.json(&["eval", "replay", "--against", rows, "--verbose"]);
    let served = twins.served(&Call::get("/v1/runs/1/result"));
    assert_eq!(keys(&served), keys(&printed));
    assert_eq!(served["summary"]["rows_replayed"], printed["summary"]["rows_replayed"]);
    assert_eq!(served["summary"]["mean_jaccard"], json!(1.0), "{}", served["summary"]);
}

fn comparisons_are_alike(twins: &Twins) {
    let runs = ["q1 Q0 a 1 2.0 r\nq1 Q0 b 2 1.0 r\n", "q1 Q0 b 1 2.0 r\nq1 Q0 a 2 1.0 r\n"];
    let judged = "q1 0 a 1\n";
    let names = ["one.run", "two.run"].map(|name| twins.home.path().join(name));
    for (path, run) in names.iter().zip(runs) {
        std::fs::write(path, run).unwrap();
    }
    let qrels = twins.home.path().join("main.qrels");
    std::fs::write(&qrels, judged).unwrap();
    twins.served(&Call::new("PUT", "/v1/qrels/main").body("text/plain", judged));
    let [one, two] = [0, 1].map(|at| names[at].to_str().unwrap());
    let args = ["eval", "compare", one, two, "--qrels", qrels.to_str().unwrap()];
    let results = json!([{ "name": one, "body": runs[0] }, { "name": two, "body": runs[1] }]);
    let body = json!({ "results": results, "qrels": "main" });
    twins.same(&args, &Call::json("POST", "/v1/compare", &body));
}

fn keys(body: &Value) -> Vec<&String> {
    body.as_object().unwrap().keys().collect()
}

#[test]
fn measurements_are_shown_alike_on_sqlite() {
    measurements_are_shown_alike(Home::sqlite());
}

#[test]
fn measurements_are_shown_alike_on_postgres() {
    measurements_are_shown_alike(Home::postgres());
}
