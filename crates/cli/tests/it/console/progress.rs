//! Runs started from the form: their progress in a real browser, until the report takes its place.

use gbrain_testkit::process::Running;
use serde_json::json;

use super::navigation::long_baseline;
use super::site::Visit;
use crate::capture::capturing;
use crate::serve::client::{Call, Server, token};
use crate::support::Home;

/// Starts a replay of a baseline by the form of the list.
fn start_replay(visit: &Visit) {
    visit.open("/runs");
    visit.browser.click(".start summary").unwrap();
    visit.browser.click("select[name=kind] option[value=replay]").unwrap();
    visit.browser.click("select[name=baseline] option[value=long]").unwrap();
    visit.browser.follow(".start button.primary").unwrap();
}

/// A worker that is stopped in the middle of a run; `None` if the run was faster.
fn stopped_worker(home: &Home, server: &Server, token: &str, run: u32) -> Option<Running> {
    let state = || {
        let shown = server.send(&Call::get(format!("/v1/runs/{run}")).token(token)).json();
        shown["state"].as_str().unwrap().to_owned()
    };
    let worker = Running::start(home.command(&["worker", "--lease", "3600"]), "").unwrap();
    while state() == "queued" {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    worker.signal("STOP").unwrap();
    if state() == "running" {
        return Some(worker);
    }
    worker.signal("CONT").unwrap();
    worker.terminate().unwrap();
    worker.wait().unwrap();
    None
}

#[test]
fn a_replay_is_watched_until_its_report() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "Ada paints boats.");
        let admin = token(&home, "admin");
        // Without a worker of its own the server leaves runs in the queue.
        let server = Server::start(&home, &["--jobs", "0"]);
        long_baseline(&server, &admin);
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&admin);
        let mut run = 0;
        let worker = loop {
            run += 1;
            start_replay(&visit);
            assert_eq!(visit.path(), format!("/runs/{run}"));
            assert!(visit.browser.text().unwrap().contains("Queued"));
            visit.script("window.isWatched = true");
            if let Some(worker) = stopped_worker(&home, &server, &admin, run) {
                break worker;
            }
        };
        // The reader does nothing: the server sends the change, and at last the report.
        visit
            .browser
            .until("window.isWatched && document.getElementById('note').textContent.startsWith('running')")
            .unwrap();
        worker.signal("CONT").unwrap();
        visit
            .browser
            .until("!window.isWatched && document.body?.innerText.includes('gbrain eval replay')")
            .unwrap();
        assert_eq!(visit.path(), format!("/runs/{run}"));
        worker.terminate().unwrap();
        worker.wait().unwrap();
        visit.assert_clean("progress");
        server.stop();
    }
}

#[test]
fn a_queued_run_is_cancelled_and_another_is_taken_by_a_worker() {
    for home in Home::both() {
        home.put("people/ada", "Ada paints boats.");
        let admin = token(&home, "admin");
        let server = Server::start(&home, &["--jobs", "0"]);
        let qrels = json!({ "queries": [{ "id": "q", "query": "boats", "relevant": ["default::people/ada"] }] });
        let put = Call::new("PUT", "/v1/qrels/judged").body("text/plain", qrels.to_string());
        assert!(server.send(&put.token(&admin)).is_done());
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&admin);
        let start = || {
            visit.open("/runs");
            visit.browser.click(".start summary").unwrap();
            visit.browser.click("select[name=qrels] option[value=judged]").unwrap();
            visit.browser.follow(".start button.primary").unwrap();
            assert!(visit.browser.text().unwrap().contains("Queued"));
        };
        start();
        visit.browser.follow("button.danger").unwrap();
        visit
            .browser
            .until("document.body?.innerText.includes('This run has no result.')")
            .unwrap();
        let shown = server.send(&Call::get("/v1/runs/1").token(&admin)).json();
        assert_eq!(shown["state"], "cancelled", "{shown}");

        start();
        visit.script("window.isWatched = true");
        let worker = Running::start(home.command(&["worker"]), "").unwrap();
        visit
            .browser
            .until("!window.isWatched && document.body?.innerText.includes('Judged queries')")
            .unwrap();
        assert_eq!(visit.path(), "/runs/2");
        worker.terminate().unwrap();
        worker.wait().unwrap();
        visit.assert_clean("a queue");
        server.stop();
    }
}
