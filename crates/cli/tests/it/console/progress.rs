//! Runs started from the form: their progress in a real browser, until the report takes its place.

use std::sync::{Arc, Condvar, Mutex};

use gbrain_testkit::process::Running;
use gbrain_testkit::providers::{Asked, Fault};
use serde_json::json;

use super::site::Visit;
use crate::models::Provided;
use crate::serve::client::{Call, Server, token};
use crate::support::Home;

const QUERIES: [&str; 4] =
    ["who paints the boats?", "who mends the nets?", "who rows the ferry?", "who rings the bell?"];

/// Where the embeddings of queries wait.
#[derive(Default)]
struct Barrier {
    /// How many requests may pass.
    open_for: Mutex<usize>,
    changed: Condvar,
}

impl Barrier {
    fn pass(&self) {
        let closed = self.open_for.lock().unwrap();
        let mut open = self.changed.wait_while(closed, |open| *open == 0).unwrap();
        *open -= 1;
    }

    fn open_for(&self, requests: usize) {
        *self.open_for.lock().unwrap() = requests;
        self.changed.notify_all();
    }
}

/// A home whose queries are embedded by a model that waits at the barrier.
fn held(home: Home, barrier: &Arc<Barrier>) -> Provided {
    let at = barrier.clone();
    let says = move |asked: &Asked| {
        let is_query = |text: &String| QUERIES.iter().any(|query| text.ends_with(query));
        if matches!(asked, Asked::Embed { texts, .. } if texts.len() == 1 && texts.iter().all(is_query))
        {
            at.pass();
        }
        String::new()
    };
    let provided = Provided::new(home, says, |_| Fault::None);
    let config = json!({
        "format": "gbrain/1", "eval": { "capture": true }, "embedder": { "model": "voyage:m", "dims": 64 },
        "llm": { "providers": provided.server.settings(), "timeout_seconds": 60, "attempts": 1 },
    });
    provided.home.write("config.json", config.to_string());
    // `init` made an index before the embedder was named.
    let _ = std::fs::remove_dir_all(provided.home.path().join("index"));
    let pages = provided.home.path().join("pages");
    std::fs::create_dir(&pages).unwrap();
    for (at, query) in QUERIES.iter().enumerate() {
        std::fs::write(
            pages.join(format!("p{at}.md")),
            format!("# P{at}\n\nThis one knows {query} In full.\n"),
        )
        .unwrap();
    }
    let imported = provided.run(&["import", pages.to_str().unwrap(), "--quiet"]);
    assert_eq!(imported.code, Some(0), "{imported}");
    provided
}

/// Captures every query and stores them as a baseline.
fn capture(server: &Server, token: &str) {
    for query in QUERIES {
        let ask = Call::json("POST", "/v1/query", &json!({ "query": query })).token(token);
        assert_eq!(server.send(&ask).status, 200);
    }
    let begun = std::time::Instant::now();
    loop {
        let publish = Call::json("PUT", "/v1/baselines/main", &json!({})).token(token);
        let published = server.send(&publish);
        if published.is_done() && published.json()["row_count"] == json!(QUERIES.len()) {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}", published.whole());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Starts a replay of the baseline by the form of the list.
fn start(visit: &Visit) {
    visit.open("/runs");
    visit.browser.click(".start summary").unwrap();
    visit.browser.click("select[name=kind] option[value=replay]").unwrap();
    visit.browser.click("select[name=baseline] option[value=main]").unwrap();
    visit.browser.follow(".start button.primary").unwrap();
}

#[test]
fn a_replay_is_watched_until_its_report_and_another_is_cancelled() {
    for home in Home::both() {
        let barrier = Arc::new(Barrier::default());
        let provided = held(home, &barrier);
        let admin = token(&provided.home, "admin");
        let server = Server::of(provided.command(&["serve"]), &[]);
        barrier.open_for(usize::MAX);
        capture(&server, &admin);
        server.stop();
        // What a server has embedded it does not ask for again.
        let server = Server::of(provided.command(&["serve"]), &[]);
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&admin);

        barrier.open_for(2);
        start(&visit);
        assert_eq!(visit.path(), "/runs/1");
        // Neither the page nor the reader asks again: the server sends the change.
        visit.browser.until("document.querySelector('progress').value >= 1").unwrap();
        assert_eq!(visit.script("return document.querySelector('progress').max"), QUERIES.len());
        assert!(visit.browser.text().unwrap().contains("Running"));
        visit.script("window.isWatched = true");
        barrier.open_for(usize::MAX);
        visit.browser.until("!window.isWatched && document.querySelector('h1.pass, .pass h1, h1.fail, .fail h1, h1.inconclusive, .inconclusive h1')").unwrap();
        assert_eq!(visit.path(), "/runs/1");
        assert!(visit.browser.text().unwrap().contains("gbrain eval replay"));

        barrier.open_for(1);
        start(&visit);
        assert_eq!(visit.path(), "/runs/2");
        visit.browser.until("document.querySelector('progress').value >= 1").unwrap();
        visit.browser.follow("button.danger").unwrap();
        assert_eq!(visit.path(), "/runs/2");
        barrier.open_for(usize::MAX);
        visit.browser.until("document.body.innerText.includes('This run has no result.')").unwrap();
        let shown = server.send(&Call::get("/v1/runs/2").token(&admin)).json();
        assert_eq!(shown["state"], "cancelled", "{shown}");
        visit.assert_clean("progress");
        server.stop();
    }
}

#[test]
fn a_queued_run_is_cancelled_and_another_is_taken_by_a_worker() {
    for home in Home::both() {
        home.put("people/ada", "Ada paints boats.");
        let admin = token(&home, "admin");
        // Without a worker of its own the server leaves runs in the queue.
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
        visit.browser.until("document.body.innerText.includes('This run has no result.')").unwrap();

        start();
        visit.script("window.isWatched = true");
        let worker = Running::start(home.command(&["worker"]), "").unwrap();
        visit
            .browser
            .until("!window.isWatched && document.body.innerText.includes('Judged queries')")
            .unwrap();
        assert_eq!(visit.path(), "/runs/2");
        worker.terminate().unwrap();
        worker.wait().unwrap();
        visit.assert_clean("a queue");
        server.stop();
    }
}
