//! SIGTERM: what was begun is ended, what was asked is stored, what is left goes to others.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Call, Reply, Server};
use crate::capture::{capturing, exported};
use crate::support::{Home, wait_until};

/// How long a process is given to hear a signal, on a busy machine.
const HEARD: Duration = Duration::from_millis(700);

#[test]
fn begun_requests_are_answered_and_captured_and_streams_end() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "Ada paints boats.");
        // No worker runs, so the stream of the job's events would never end.
        let server = Server::start(&home, &["--jobs", "0"]);
        let job = Call::json("POST", "/v1/jobs", &json!({ "kind": "reindex" }));
        assert_eq!(server.send(&job).status, 202);
        for _ in 0..20 {
            let ask = Call::json("POST", "/v1/search", &json!({ "query": "boats" }));
            assert_eq!(server.send(&ask).status, 200);
        }
        let body = json!({ "query": "who paints boats?" }).to_string();
        let mut begun = server.connect();
        let head = format!(
            "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        begun.write_all(head.as_bytes()).unwrap();
        begun.write_all(&body.as_bytes()[..9]).unwrap();
        let mut events = server.connect();
        events.write_all(b"GET /v1/jobs/1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let idle = server.connect();
        std::thread::sleep(HEARD);
        let stopping = std::thread::spawn(move || server.stop());
        std::thread::sleep(HEARD);
        begun.write_all(&body.as_bytes()[9..]).unwrap();
        let answer = Reply::read(begun).expect("a request that was begun is answered");
        assert_eq!(answer.status, 200, "{}", answer.whole());
        assert_eq!(answer.json()["hits"][0]["slug"], "people/ada");
        let events = Reply::read(events).unwrap();
        assert!(events.text().contains("event: progress"), "{}", events.whole());
        assert!(Reply::read(idle).is_none());
        stopping.join().unwrap();
        assert_eq!(exported(&home).len(), 21, "every answer that was given is captured");
        assert_eq!(home.json(&["jobs", "show", "1"])["state"], "queued");
    }
}

#[test]
fn a_job_that_is_not_done_goes_to_another_worker() {
    for home in Home::both() {
        let pages: Vec<Value> = (0..3_000)
            .map(|n| json!({ "slug": format!("made/{n}"), "content": format!("# Page {n}\n\nBoats.") }))
            .collect();
        let server = Server::start(&home, &["--lease", "2"]);
        let import = json!({ "kind": "import", "pages": pages });
        assert_eq!(server.send(&Call::json("POST", "/v1/jobs", &import)).status, 202);
        wait_until("the job begins", || {
            server.send(&Call::get("/v1/jobs/1")).json()["done"] != json!(0)
        });
        server.stop();
        let left = home.json(&["jobs", "show", "1"]);
        // A fast machine may have done it all.
        assert!(left["state"] == "queued" || left["state"] == "done", "{left}");
        let server = Server::start(&home, &[]);
        let ended = server.send(&Call::get("/v1/jobs/1/events")).text();
        assert!(ended.contains("event: end"), "{ended}");
        let job = server.send(&Call::get("/v1/jobs/1")).json();
        assert_eq!((&job["state"], &job["done"]), (&json!("done"), &json!(3_000)), "{job}");
        let result = server.send(&Call::get("/v1/jobs/1/result")).json();
        assert_eq!(result["added"], json!(3_000), "each page is written once: {result}");
        server.stop();
    }
}
