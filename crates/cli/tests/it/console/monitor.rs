//! Overview and monitoring: suites, alerts, incidents, calibration, the probe, spending.

use std::time::{Duration, Instant};

use gbrain_core::format::schema::of_body;
use gbrain_core::format::{activity, alert, benchmark, incident, suite};
use serde_json::{Value, json};

use super::reader::{Reader, encoded};
use crate::conforms::assert_conforms;
use crate::serve::client::{Call, Server, token, token_of};
use crate::suites::{queries, run, suites};
use crate::support::{Home, demo_home};

/// How long a queued run may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home with a failing suite, and another workspace with a suite and a run of its own.
fn monitored(home: Home) -> Home {
    let home = demo_home(home);
    home.ok(&["workspaces", "add", "other"]);
    suites(
        &home,
        "suites: [{ name: weekly, type: smoke, owners: ['@search'], triggers: [manual, { cron: '0 2 * * 0' }] }, \
         { name: foreign, type: smoke, workspace: other, owners: ['@other'] }]\n",
    );
    queries(&home, &[json!({ "query": "a secret question", "expected": ["nowhere"] })]);
    home.ok(&["suites", "create", "--from", "weekly"]);
    home.ok(&["suites", "enable", "weekly"]);
    home.ok(&["--workspace", "other", "suites", "create", "--from", "foreign"]);
    run(&home, &["weekly"]);
    home
}

const PAGES: [&str; 7] =
    ["/", "/suites", "/suites/weekly", "/alerts", "/calibration", "/probe", "/benchmarks"];

#[test]
fn pages_show_what_the_reader_may_see() {
    for home in Home::both() {
        let home = monitored(home);
        let [read, admin] = ["read", "admin"].map(|scope| token(&home, scope));
        let other = token_of(&home, "other", "admin");
        let server = Server::start(&home, &[]);
        let [read, admin, other] =
            [read, admin, other].map(|token| Reader::sign_in(&server, &token));
        read.shows(
            "/",
            &[
                "Needs attention",
                "1 suite fails",
                "/suites/weekly",
                "/suite-runs/1",
                "Recent changes",
            ],
        );
        read.shows("/suites", &["weekly", "0 2 * * 0", "Next run", "1 failed"]);
        let suite = read.shows(
            "/suites/weekly",
            &["recall@5", "gbrain suites disable weekly", "run 1", "&quot;cron&quot;"],
        );
        assert!(!suite.contains("/suites/weekly/runs"), "a reader starts no run: {suite}");
        read.shows("/alerts", &["gbrain/default/weekly/", "No message"]);
        read.shows("/calibration", &["No reranker", "No pair has been scored"]);
        read.shows("/probe", &["has not run"]);
        read.shows("/benchmarks", &["no folder runs/benchmarks"]);
        read.shows("/contradictions", &["No contradiction probe ran"]);
        for path in ["/incidents", "/incidents/1", "/spending", "/prompts"] {
            assert_eq!(read.open(path).status, 403, "{path}");
        }
        admin.shows("/incidents", &["No incidents"]);
        admin.shows("/spending", &["No model was called"]);
        admin.shows("/prompts", &["EVA_ROOT="]);
        admin.shows("/", &["Spending", "Incidents open"]);
        assert_eq!(admin.open("/suites/none").status, 404);
        assert_eq!(admin.open("/incidents/9").status, 404);
        for path in PAGES.iter().filter(|path| **path != "/suites/weekly") {
            let html = read.page(path);
            assert!(
                !html.contains("foreign") && !html.contains("a secret question"),
                "{path}: {html}"
            );
            let html = other.page(path);
            assert!(!html.contains("weekly"), "{path}: {html}");
        }
        assert_eq!(other.open("/suites/weekly").status, 404);
        server.stop();
    }
}

#[test]
fn an_empty_workspace_gets_first_steps() {
    let home = Home::sqlite();
    home.ok(&["init"]);
    let server = Server::start(&home, &[]);
    let reader = Reader::sign_in(&server, &token(&home, "admin"));
    reader.shows("/", &["Nothing is here yet", "gbrain import DIR"]);
    reader.shows("/suites", &["There are no suites"]);
    reader.shows("/alerts", &["No suite has raised an alert"]);
    server.stop();
}

#[test]
fn private_pages_and_hostile_titles() {
    for home in Home::both() {
        home.ok(&["init"]);
        let dir = home.path().join("pages");
        std::fs::create_dir(&dir).unwrap();
        let page = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
        page("open.md", "---\ntitle: '<script>alert(1)</script>'\n---\n# x\n");
        page("hidden.md", "---\ntitle: a hidden title\nvisibility: private\n---\n# x\n");
        home.ok(&["import", dir.to_str().unwrap()]);
        let server = Server::start(&home, &[]);
        let admin = token(&home, "admin");
        let html =
            Reader::sign_in(&server, &admin).shows("/", &["&lt;script&gt;alert(1)", "added"]);
        let main = html.split_once("<main").unwrap().1;
        assert!(!main.contains("hidden") && !html.contains("<script>alert"), "{html}");
        let changes = server.send(&Call::get("/v1/changes").token(&admin)).json();
        assert_eq!(changes["changes"].as_array().unwrap().len(), 1, "{changes}");
        server.stop();
    }
}

#[test]
fn a_suite_is_run_from_its_page() {
    for home in Home::both() {
        let home = monitored(home);
        let [read, write] = ["read", "write"].map(|scope| token(&home, scope));
        let server = Server::start(&home, &[]);
        let [read, write] = [read, write].map(|token| Reader::sign_in(&server, &token));
        write.shows("/suites/weekly", &["Run now"]);
        assert_eq!(
            write.send_without_token("/suites/weekly/runs", &[("csrf", "forged")]).status,
            403,
            "another site's form"
        );
        assert_eq!(read.send("/suites/weekly", "/suites/weekly/runs", &[]).status, 403);
        assert_eq!(write.submit("/suites/weekly", "/suites/weekly/runs", &[]), "/suites/weekly");
        let begin = Instant::now();
        while !write.page("/suites/weekly").contains("/suite-runs/2") {
            assert!(begin.elapsed() < PATIENCE, "the run was not recorded");
            std::thread::sleep(Duration::from_millis(200));
        }
        assert_eq!(write.send("/suites/weekly", "/suites/none/runs", &[]).status, 404);
        server.stop();
    }
}

#[test]
fn alerts_are_silenced_and_closed_and_become_incidents() {
    for home in Home::both() {
        let home = monitored(home);
        let [write, admin, other] =
            [token(&home, "write"), token(&home, "admin"), token_of(&home, "other", "admin")];
        let server = Server::start(&home, &[]);
        let list = server.send(&Call::get("/v1/alerts?state=firing").token(&admin)).json();
        let [write, admin, other] =
            [write, admin, other].map(|token| Reader::sign_in(&server, &token));
        let key = list["alerts"][0]["key"].as_str().unwrap().to_owned();
        let page = format!("/alerts?key={}", encoded(&key));
        admin.shows(&page, &["Firing", "action=\"/alerts/close\"", "/suite-runs/1"]);
        assert!(!write.page(&page).contains("method=\"post\" action=\"/alerts/close\""));
        let silence = [("key", "gbrain/default/*"), ("for", "2h"), ("reason", "<reindexing>")];
        assert_eq!(admin.submit("/alerts", "/silences", &silence), "/alerts");
        admin.shows("/alerts", &["&lt;reindexing&gt;", "/silences/1/end", "silenced"]);
        assert_eq!(admin.submit("/alerts", "/silences/1/end", &[]), "/alerts");
        assert_eq!(admin.send("/alerts", "/silences/1/end", &[]).status, 404);
        let opened = admin.submit(&page, "/incidents", &[("title", "recall <fell>"), ("run", "1")]);
        assert_eq!(opened, "/incidents/1");
        admin.shows(
            &opened,
            &["recall &lt;fell&gt;", "opened", "/suite-runs/1", "What triage found"],
        );
        let note = [("text", "call me at +49 151 23456789")];
        assert_eq!(admin.submit(&opened, "/incidents/1/notes", &note), opened);
        assert!(!admin.page(&opened).contains("23456789"), "notes are scrubbed");
        let end = [
            ("root_cause", "the disk was full"),
            ("fix", "imported again"),
            ("follow_ups", "alert\nmeasure"),
        ];
        assert_eq!(admin.submit(&opened, "/incidents/1/resolve", &end), opened);
        admin.shows(&opened, &["Resolved", "the disk was full", "<li>measure</li>"]);
        assert_eq!(admin.send("/incidents/1", "/incidents/1/resolve", &end).status, 409);
        assert_eq!(other.open(&opened).status, 404);
        assert_eq!(
            admin.submit(&page, "/alerts/close", &[("key", &key), ("reason", "known")]),
            "/alerts"
        );
        admin.shows(&page, &["Resolved"]);
        server.stop();
    }
}

#[test]
fn the_operations_conform_and_refuse() {
    for home in Home::both() {
        let home = monitored(home);
        let [read, write, admin] = ["read", "write", "admin"].map(|scope| token(&home, scope));
        let server = Server::start(&home, &[]);
        let get = |path: &str| {
            let reply = server.send(&Call::get(path).token(&read));
            assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
            reply.json()
        };
        assert_conforms(of_body::<suite::SuiteShown>().as_value(), &get("/v1/suites/weekly"));
        let days = get("/v1/suite-days?days=7");
        assert_conforms(of_body::<suite::SuiteDaysBody>().as_value(), &days);
        assert_eq!(days["suites"][0]["days"][0]["verdict"], "fail", "{days}");
        let trends = get("/v1/suite-trends?suite=weekly");
        assert_conforms(of_body::<suite::SuiteTrendsBody>().as_value(), &trends);
        assert!(trends["suites"][0]["measures"].as_array().unwrap().len() > 1, "{trends}");
        assert_conforms(
            of_body::<activity::CaptureDaysBody>().as_value(),
            &get("/v1/capture-days"),
        );
        assert_conforms(
            of_body::<activity::PageChangesBody>().as_value(),
            &get("/v1/changes?limit=3"),
        );
        assert_conforms(of_body::<alert::DeliveryPageBody>().as_value(), &get("/v1/deliveries"));
        assert_conforms(of_body::<benchmark::BenchmarksBody>().as_value(), &get("/v1/benchmarks"));
        get("/v1/calibration");
        get("/v1/calibration/thresholds");
        let spend = server.send(&Call::get("/v1/spend").token(&admin)).json();
        assert_conforms(of_body::<activity::SpendBody>().as_value(), &spend);
        assert_eq!(spend["usd"], home.json(&["spend", "--since", "30d"])["usd"]);
        let opened = json!({ "title": "t" });
        let opened =
            server.send(&Call::json("POST", "/v1/incidents", &opened).token(&admin)).json();
        assert_conforms(of_body::<incident::IncidentBody>().as_value(), &opened);
        let changes: [(&str, &str, Value); 6] = [
            ("POST", "/v1/alerts/close", json!({ "key": "gbrain/x", "reason": "r" })),
            ("POST", "/v1/silences", json!({ "key": "gbrain/x", "for": "1h", "reason": "r" })),
            ("POST", "/v1/incidents", json!({ "title": "t" })),
            ("POST", "/v1/incidents/1/notes", json!({ "text": "t" })),
            (
                "POST",
                "/v1/incidents/1/resolve",
                json!({ "root_cause": "a", "fix": "b", "follow_ups": ["none"] }),
            ),
            ("POST", "/v1/calibration/deploy", json!({ "id": 1 })),
        ];
        for (method, path, body) in &changes {
            let status =
                |token: &str| server.send(&Call::json(method, *path, body).token(token)).status;
            assert_eq!((status(&read), status(&write)), (403, 403), "{path}");
        }
        let refused = |path: &str, body: Value, status: u16| {
            let reply = server.send(&Call::json("POST", path, &body).token(&admin));
            assert_eq!(reply.status, status, "{path} {body}: {}", reply.whole());
        };
        refused(
            "/v1/alerts/close",
            json!({ "key": "gbrain/default/none/run", "reason": "r" }),
            404,
        );
        refused("/v1/alerts/close", json!({ "key": "gbrain/x", "reason": " " }), 400);
        refused("/v1/silences", json!({ "key": "weekly", "for": "1h", "reason": "r" }), 400);
        refused("/v1/silences", json!({ "key": "gbrain/", "for": "soon", "reason": "r" }), 400);
        refused("/v1/incidents/99/notes", json!({ "text": "t" }), 404);
        refused(
            "/v1/incidents/1/resolve",
            json!({ "root_cause": "a", "fix": "b", "follow_ups": [] }),
            400,
        );
        refused("/v1/calibration/deploy", json!({ "id": 1 }), 404);
        server.stop();
    }
}
