//! Suites over HTTP: what a caller may see of them, and events that it tells.

use gbrain_core::format::schema::of_body;
use gbrain_core::format::suite::{EventBody, RecordedSuiteRun, SuiteRunsBody, SuitesBody};
use serde_json::json;

use super::*;
use crate::conforms::assert_conforms;
use crate::serve::client::{Call, Server, token};
use crate::support::{assert_fields, demo_home};

#[test]
fn runs_and_events_over_a_wire() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(&home, "suites: [{ name: s, type: smoke, owners: [x] }]\n");
        queries(&home, &[json!({ "query": "a secret question", "expected": ["nowhere"] })]);
        home.ok(&["suites", "create", "--from", "s"]);
        run(&home, &["s"]);
        run(&home, &["s", "--target", "mars"]);
        let write = token(&home, "write");
        let read = token(&home, "read");
        let server = Server::start(&home, &[]);
        let get = |path: &str| {
            let reply = server.send(&Call::get(path).token(&read));
            assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
            assert!(
                !reply.whole().contains("secret") && !reply.whole().contains("mars`"),
                "{}",
                reply.whole()
            );
            reply.json()
        };
        let list = get("/v1/suites");
        assert_conforms(of_body::<SuitesBody>().as_value(), &list);
        assert_fields(&list["suites"][0], &json!({ "name": "s", "enabled": false }));
        let runs = get("/v1/suites/s/runs?limit=1");
        assert_conforms(of_body::<SuiteRunsBody>().as_value(), &runs);
        assert_eq!(runs["runs"][0]["inconclusive_reasons"], json!(["broken"]));
        let older = get(&format!("/v1/suites/s/runs?before={}", runs["next"]));
        assert_eq!(older["runs"][0]["verdict"], "fail");
        for id in [&runs["runs"][0]["id"], &older["runs"][0]["id"]] {
            let shown = get(&format!("/v1/suite-runs/{id}"));
            assert_conforms(of_body::<RecordedSuiteRun>().as_value(), &shown);
            assert_eq!(shown["run"]["notes"], Value::Null, "why something broke is not told");
        }
        assert_eq!(server.send(&Call::get("/v1/suite-runs/99").token(&read)).status, 404);
        let event = json!({ "kind": "knowledge.persisted", "document": "d", "version": "3" });
        let tell =
            |token: &str| server.send(&Call::json("POST", "/v1/events", &event).token(token));
        assert_eq!(tell(&read).status, 403);
        let first = tell(&write).json();
        assert_conforms(of_body::<EventBody>().as_value(), &first);
        assert_eq!(
            (&first["is_new"], &tell(&write).json()["is_new"]),
            (&json!(true), &json!(false))
        );
        let odd = json!({ "kind": "tea.ready", "version": "3" });
        assert_eq!(server.send(&Call::json("POST", "/v1/events", &odd).token(&write)).status, 400);
        server.stop();
        assert_eq!(home.json(&["events", "list"])["events"].as_array().unwrap().len(), 1);
    }
}
