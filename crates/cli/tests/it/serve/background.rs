//! Work in the background: started here, done there, watched and cancelled from anywhere.

use gbrain_testkit::process::Running;
use serde_json::{Value, json};

use super::client::{Call, Server};
use crate::support::{Home, demo, find, wait_for};

/// Waits until a job is in a state.
#[track_caller]
fn until(home: &Home, id: &str, state: &str) -> Value {
    let what = format!("job {id} is {state}");
    wait_for(&what, || Some(home.json(&["jobs", "show", id])).filter(|job| job["state"] == state))
}

#[test]
fn files_are_imported_by_a_worker_of_its_own() {
    for home in Home::both() {
        let wiki = demo("wiki");
        let args = ["import", wiki.to_str().unwrap(), "--source", "wiki", "--background"];
        let queued = home.json(&args);
        assert_eq!(queued, json!({ "id": 1, "kind": "import_files", "state": "queued" }));
        let listed = home.json(&["jobs", "list", "--state", "queued"]);
        assert_eq!(listed["jobs"][0]["created_by"], "command line");
        assert_eq!(home.run(&["jobs", "show", "1", "--result"]).code, Some(2), "not done yet");
        let worker = Running::start(home.command(&["worker"]), "").unwrap();
        let job = until(&home, "1", "done");
        assert!(job["worker"].is_string() && job["attempt"] == json!(1), "{job}");
        worker.terminate().unwrap();
        assert_eq!(worker.wait().unwrap().code, Some(0));
        let result: Value =
            serde_json::from_str(&home.ok(&["jobs", "show", "1", "--result"])).unwrap();
        let pages = home.json(&["list", "--source", "wiki", "--limit", "500"]);
        assert_eq!(result["added"], json!(pages["pages"].as_array().unwrap().len()));
        assert_eq!(result["failed"], json!([]));
    }
}

#[test]
fn a_file_of_the_server_cannot_be_imported_over_the_wire() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    let job = json!({ "kind": "import_files", "source": "default", "paths": ["/etc"] });
    assert_eq!(server.send(&Call::json("POST", "/v1/jobs", &job)).status, 400);
    assert_eq!(server.send(&Call::get("/v1/jobs")).json()["jobs"], json!([]));
    server.stop();
}

#[test]
fn a_job_is_followed_to_its_end() {
    for home in Home::both() {
        let server = Server::start(&home, &[]);
        let pages: Vec<Value> = (0..500)
            .map(|n| json!({ "slug": format!("made/{n}"), "content": format!("Boats {n}.") }))
            .collect();
        let import = json!({ "kind": "import", "pages": pages });
        assert_eq!(server.send(&Call::json("POST", "/v1/jobs", &import)).status, 202);
        let reply = server.send(&Call::get("/v1/jobs/1/events"));
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        let text = reply.text();
        let events: Vec<(&str, Value)> = text
            .split("\n\n")
            .filter_map(|event| event.split_once("\ndata: "))
            .map(|(name, data)| {
                (name.trim_start_matches("event: "), serde_json::from_str(data).unwrap())
            })
            .collect();
        let (name, last) = events.last().unwrap();
        assert_eq!((*name, &last["state"], &last["done"]), ("end", &json!("done"), &json!(500)));
        assert!(events[..events.len() - 1].iter().all(|(name, _)| *name == "progress"), "{text}");
        let done: Vec<u64> = events.iter().map(|(_, job)| job["done"].as_u64().unwrap()).collect();
        assert!(done.is_sorted(), "{done:?}");
        let again = server.send(&Call::get("/v1/jobs/1/events")).text();
        assert!(again.starts_with("event: end\n"), "what is over is told at once: {again}");
        assert_eq!(server.send(&Call::get("/v1/jobs/9/events")).status, 404);
        assert_eq!(server.send(&Call::get("/v1/runs/1/events")).status, 404, "no run");
        server.stop();
    }
}

#[test]
fn a_job_is_cancelled_while_it_waits_and_while_it_runs() {
    for home in Home::both() {
        let server = Server::start(&home, &["--lease", "1"]);
        let pages: Vec<Value> = (0..10_000)
            .map(|n| json!({ "slug": format!("made/{n}"), "content": format!("Boats {n}.") }))
            .collect();
        let import = json!({ "kind": "import", "pages": pages });
        let reindex = json!({ "kind": "reindex" });
        assert_eq!(server.send(&Call::json("POST", "/v1/jobs", &import)).status, 202);
        assert_eq!(server.send(&Call::json("POST", "/v1/jobs", &reindex)).status, 202);
        until(&home, "1", "running");
        // There is one worker, and it is busy.
        assert_eq!(home.json(&["jobs", "cancel", "2"])["state"], "cancelled");
        let cancelled = server.send(&Call::new("POST", "/v1/jobs/1/cancel"));
        assert_eq!(cancelled.status, 200, "{}", cancelled.whole());
        let end = server.send(&Call::get("/v1/jobs/1/events")).text();
        assert!(end.contains("event: end"), "{end}");
        let job = until(&home, "1", "cancelled");
        let written = job["done"].as_u64().unwrap();
        assert!(written < 10_000, "{job}");
        assert_eq!(server.send(&Call::get("/v1/jobs/1/result")).status, 409);
        assert_eq!(home.run(&["jobs", "cancel", "9"]).code, Some(2));
        server.stop();
        home.ok(&["reindex", "--verify"]);
    }
}

#[test]
fn the_doctor_sees_keys_that_are_gone_and_jobs_that_failed() {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    let status = |name: &str| {
        let report = home.run(&["doctor", "--json"]).json();
        find(&report["checks"], "name", name).clone()
    };
    assert_eq!([&status("tokens")["status"], &status("jobs")["status"]], ["ok", "ok"]);
    let server = Server::start(&home, &[]);
    let gate = json!({ "kind": "gate", "baseline": "nowhere" });
    assert_eq!(server.send(&Call::json("POST", "/v1/runs", &gate)).status, 202);
    let end = server.send(&Call::get("/v1/runs/1/events")).text();
    assert!(end.contains("\"state\":\"failed\""), "{end}");
    assert_eq!(server.send(&Call::get("/v1/runs/1/result")).status, 409);
    server.stop();
    let jobs = status("jobs");
    assert_eq!((&jobs["status"], &jobs["details"]["failed_last_24h"]), (&json!("warn"), &json!(1)));
    home.ok(&["tokens", "create", "--name", "ci"]);
    assert_eq!(status("tokens")["status"], "ok");
    std::fs::remove_file(home.path().join("token.key")).unwrap();
    let tokens = status("tokens");
    assert_eq!(tokens["status"], "warn", "{tokens}");
    assert!(tokens.to_string().contains("GBRAIN_TOKEN_KEY"), "{tokens}");
}
