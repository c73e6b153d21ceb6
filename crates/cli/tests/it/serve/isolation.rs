//! No request by any interface returns anything of another workspace or of a private page.

mod errands;
mod town;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use self::errands::{Caller, PROTOCOL, REFUSED};
use self::town::{Tenant, Town};
use super::client::{Call, Reply, Server};
use crate::support::Home;

const REQUESTS: usize = 1_000;
/// More are sent until every operation has succeeded once, at most this many.
const MAX_REQUESTS: usize = 10_000;

/// Everybody, and what they have said and heard.
struct Watch<'a> {
    town: &'a Town,
    server: &'a Server,
    /// By workspace: what it must not hear.
    forbidden: BTreeMap<&'a str, BTreeSet<String>>,
    /// By workspace: words that it has sent itself, and that may come back.
    spoken: BTreeMap<&'a str, BTreeSet<String>>,
    /// By kind of request: how often it was done.
    done: BTreeMap<String, usize>,
    /// By workspace: words of its own that it was told.
    told: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Watch<'a> {
    fn new(town: &'a Town, server: &'a Server) -> Self {
        let all = || town.tenants.iter().filter(|tenant| !tenant.tokens.is_empty());
        let empty = || all().map(|tenant| (tenant.name.as_str(), BTreeSet::new())).collect();
        Self {
            town,
            server,
            forbidden: all().map(|one| (one.name.as_str(), town.forbidden(one))).collect(),
            spoken: empty(),
            done: BTreeMap::new(),
            told: empty(),
        }
    }

    /// Sends a request, and searches everything that comes back.
    fn send(&mut self, tenant: &'a Tenant, scope: &str, kind: &str, call: Call) -> Reply {
        let name = tenant.name.as_str();
        let sent = format!("{call:?}").to_lowercase();
        let forbidden = &self.forbidden[name];
        let spoken = self.spoken.entry(name).or_default();
        spoken.extend(forbidden.iter().filter(|word| sent.contains(*word)).cloned());
        let reply = self.server.send(&call.clone().token(&tenant.tokens[scope]));
        let heard = reply.whole().to_lowercase();
        for word in forbidden.difference(spoken) {
            assert!(!heard.contains(word), "{name} {scope} heard {word}: {call:?}\n{heard}");
        }
        assert!(reply.status < 500, "{name} {scope}: {call:?}\n{heard}");
        if is_done(kind, &reply) {
            *self.done.entry(kind.to_owned()).or_default() += 1;
        }
        let own = tenant.pages.iter().filter(|page| !page.is_private);
        let told = own.map(|page| &page.text).filter(|word| heard.contains(*word)).cloned();
        self.told.entry(name).or_default().extend(told);
        reply
    }

    /// Gives every workspace something to look at: what was asked, judged and measured.
    fn prepare(&mut self) {
        for tenant in self.tenants() {
            for (kind, call) in first_calls(tenant) {
                let mut reply = self.send(tenant, "admin", kind, call.clone());
                // Captures are stored after the answer, and a baseline is made of them.
                for _ in 0..1200 {
                    if reply.is_done() || kind != "publish_baseline" {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    reply = self.send(tenant, "admin", kind, call.clone());
                }
                assert!(reply.is_done(), "{kind}: {}", reply.whole());
            }
        }
    }

    fn tenants(&self) -> Vec<&'a Tenant> {
        self.town.tenants.iter().filter(|tenant| !tenant.tokens.is_empty()).collect()
    }
}

fn first_calls(tenant: &Tenant) -> Vec<(&'static str, Call)> {
    let page = &tenant.pages[0];
    let question = json!({ "query": page.title });
    let label = json!({ "query": page.title, "page": page.slug, "grade": 1 });
    let judged = format!("q1 0 {} 1\n", page.slug);
    let replay = json!({ "kind": "replay", "against": { "baseline": "main" }, "verbose": true });
    let import =
        json!({ "kind": "import", "pages": [{ "slug": "made/0", "content": "A crane." }] });
    let mut calls = vec![
        ("query", Call::json("POST", "/v1/query", &question).header("x-request-id", "first")),
        ("search", Call::json("POST", "/v1/search", &question)),
        ("add_labels", Call::json("POST", "/v1/labels", &json!({ "labels": [label] }))),
        // A capture is stored soon, not at once; a job takes longer.
        ("start_job", Call::json("POST", "/v1/jobs", &import)),
        ("job_events", Call::get("/v1/jobs/1/events")),
    ];
    for name in ["main", "spare"] {
        let put = |kind: &str| Call::new("PUT", format!("/v1/{kind}/{name}"));
        calls.push(("put_qrels", put("qrels").body("text/plain", judged.clone())));
        calls.push(("publish_baseline", put("baselines").body("application/json", "{}")));
    }
    let vote = json!({ "request_id": "first", "vote": "up" });
    calls.push(("give_feedback", Call::json("POST", "/v1/feedback", &vote)));
    calls.push(("start_run", Call::json("POST", "/v1/runs", &replay)));
    calls.push(("run_events", Call::get("/v1/runs/2/events")));
    calls
}

/// A call of the protocol is answered with 200 even when it was refused.
fn is_done(kind: &str, reply: &Reply) -> bool {
    if !PROTOCOL.contains(&kind) || !reply.is_done() {
        return reply.is_done();
    }
    let message = reply.message();
    message.get("error").is_none() && message["result"]["isError"] != Value::Bool(true)
}

/// Every operation that the server says it has.
fn operations(server: &Server) -> Vec<String> {
    let document = server.send(&Call::get("/v1/openapi.json")).json();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    operations.map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect()
}

fn nobody_hears_of_others(home: Home, seed: u64) {
    let town = Town::build(home);
    let server = Server::start(&town.home, &["--jobs", "2", "--log", "debug"]);
    let mut watch = Watch::new(&town, &server);
    watch.prepare();
    let mut kinds = operations(&server);
    kinds.extend(PROTOCOL.iter().map(|kind| (*kind).to_owned()));
    let mut rng = Rng::with_seed(seed);
    // Operations that never succeed would be silent, not safe.
    let never = |watch: &Watch<'_>| -> Vec<String> {
        let is_never_done =
            |kind: &&String| !watch.done.contains_key(*kind) && !REFUSED.contains(&kind.as_str());
        kinds.iter().filter(is_never_done).cloned().collect()
    };
    let mut sent = 0;
    while sent < REQUESTS || (sent < MAX_REQUESTS && !never(&watch).is_empty()) {
        sent += 1;
        let tenant = rng.choice(watch.tenants()).unwrap();
        let scope = rng.choice(["read", "write", "write", "admin", "admin"]).unwrap();
        let kind = rng.choice(&kinds).unwrap();
        let call = Caller { town: &town, tenant, rng: &mut rng }.call(kind);
        watch.send(tenant, scope, kind, call);
    }
    let never = never(&watch);
    assert!(never.is_empty(), "never done: {never:?}");
    for (name, told) in &watch.told {
        assert_eq!(told.len(), 4, "{name} was told of its own pages: {told:?}");
    }
    drop(watch);
    let log = server.stop().stderr;
    written_down(&town, &log);
}

/// The log holds nothing that was asked or found, the audit no content, neither a token.
fn written_down(town: &Town, log: &str) {
    assert!(log.contains("request_id"), "there is a log: {log}");
    let audit: String = std::fs::read_dir(town.home.path().join("audit"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(audit.contains("put_page"), "there is an audit");
    let log = log.to_lowercase();
    for word in town.words() {
        let line = log.lines().find(|line| line.contains(&word));
        assert_eq!(line, None, "the log holds {word}");
        let is_name = word.starts_with("quill");
        assert!(is_name || !audit.contains(&word), "the audit holds {word}");
    }
    for token in town.tenants.iter().flat_map(|tenant| tenant.tokens.values()) {
        let secret = token.rsplit('_').next().unwrap();
        assert!(!log.contains(secret) && !audit.contains(secret), "a token is written down");
    }
}

#[test]
fn events_are_isolated_between_workspaces_on_sqlite() {
    nobody_hears_of_others(Home::sqlite(), 7);
}

#[test]
fn events_are_isolated_between_workspaces_on_postgres() {
    nobody_hears_of_others(Home::postgres(), 8);
}
