//! Runs in the console: started from a form, watched, read, filtered, compared.

use std::io::Read as _;

use serde_json::{Value, json};

use super::reader::Reader;
use crate::capture::configure;
use crate::serve::client::{Call, Reply, Server, token_of};
use crate::support::Home;

/// A server with a few pages, captures of a remote caller, a baseline of them, and judgements.
fn served(home: &Home) -> Server {
    configure(home, &json!({ "capture": true }));
    home.put("people/ada", "Ada paints boats.");
    home.put("people/ben", "Ben sails boats to the island.");
    home.put("places/pier", "The pier is where boats land.");
    let server = Server::start(home, &[]);
    for query in ["boats", "island", "who paints?", "pier"] {
        let answer = server.send(&Call::json("POST", "/v1/query", &json!({ "query": query })));
        assert_eq!(answer.status, 200, "{}", answer.whole());
    }
    let qrels = json!({ "queries": [
        { "id": "q1", "query": "boats", "relevant": ["default::people/ada"] },
        { "id": "q2", "query": "pier", "relevant": ["default::people/ada"] },
    ] });
    let stored =
        server.send(&Call::new("PUT", "/v1/qrels/judged").body("text/plain", qrels.to_string()));
    assert!(stored.is_done(), "{}", stored.whole());
    let begun = std::time::Instant::now();
    // Captures are stored after the answer.
    loop {
        let published = server.send(&Call::json("PUT", "/v1/baselines/main", &json!({})));
        if published.is_done() && published.json()["row_count"] == json!(4) {
            return server;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}", published.whole());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

fn main_of(html: &str) -> &str {
    &html[html.find("<main").expect("a main")..html.find("</main>").unwrap()]
}

/// Starts a run from the form of the list and waits for its end; the path of its page.
fn run(server: &Server, fields: &[(&str, &str)]) -> String {
    let path = Reader::local(server).submit("/runs", "/runs", fields);
    let events = server.send(&Call::get(format!("/live{path}/events"))).text();
    assert!(events.contains("\"state\":\"done\""), "{events}");
    path
}

fn unpacked(reply: &Reply) -> String {
    assert_eq!(reply.header("content-encoding"), Some("gzip"), "{}", reply.whole());
    let mut text = String::new();
    flate2::read::GzDecoder::new(reply.body.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_run_is_started_watched_and_read_and_its_file_has_the_same_main() {
    for home in Home::both() {
        let server = served(&home);
        let reader = Reader::local(&server);
        assert!(reader.open("/runs").text().contains("No replay or gate has run"));
        let path = run(
            &server,
            &[("kind", "gate"), ("baseline", "main"), ("qrels", "judged"), ("k", "5")],
        );
        let id = path.strip_prefix("/runs/").unwrap().to_owned();
        let shown = reader.open(&path);
        assert_eq!(shown.status, 200, "{}", shown.whole());
        let html = shown.text();
        assert!(html.contains("gbrain eval gate") && html.contains("Judged queries"), "{html}");
        assert!(reader.open("/runs").text().contains(&format!("href=\"{path}\"")));

        // The same document, as a file.
        let result = home.path().join("gate.json");
        std::fs::write(&result, home.ok(&["jobs", "show", &id, "--result"])).unwrap();
        let file = home.path().join("gate.html");
        home.ok(&["view", result.to_str().unwrap(), "--html", file.to_str().unwrap()]);
        let written = std::fs::read_to_string(&file).unwrap();
        assert_eq!(main_of(&html), main_of(&written));
        home.ok(&["view", result.to_str().unwrap(), "--html", file.to_str().unwrap()]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
        assert!(!written.contains("<form") && !written.contains("<nav"));

        let packed = server.send(&Call::get(&path).header("accept-encoding", "br, gzip"));
        assert_eq!(main_of(&unpacked(&packed)), main_of(&html));
        assert_eq!(shown.header("content-encoding"), None);

        let unchanged = reader.open(&format!("{path}?show=unchanged")).text();
        assert!(unchanged.contains("island") && unchanged.contains("id=\"row-"), "{unchanged}");
        assert_eq!(reader.open(&format!("{path}?show=nonsense")).status, 400);
        assert_eq!(reader.open(&format!("{path}?page=0")).status, 400);
        let row = reader.open(&format!("{path}/rows/2"));
        assert!(
            row.status == 200 && row.text().contains("Captured and current ranking"),
            "{}",
            row.whole()
        );
        assert_eq!(reader.open(&format!("{path}/rows/99")).status, 404);
        assert_eq!(reader.open(&format!("{path}/rows/x")).status, 400);
        assert_eq!(reader.open("/runs/99").status, 404);

        let other = run(&server, &[("kind", "replay"), ("baseline", "main")]);
        assert!(reader.open(&other).text().contains("gbrain eval replay"));
        let first = run(&server, &[("kind", "gate"), ("baseline", "main")]);
        let second = first.strip_prefix("/runs/").unwrap();
        let compared = reader.open(&format!("/compare?a=run:{second}&b=run:{second}"));
        assert!(
            compared.status == 200 && compared.text().contains("gbrain eval compare"),
            "{}",
            compared.whole()
        );
        let measured = reader.open("/compare?a=baseline:main&b=baseline:main&qrels=judged");
        assert!(
            measured.status == 200 && measured.text().contains("nDCG@10"),
            "{}",
            measured.whole()
        );
        assert_eq!(reader.open("/compare?a=baseline:main&b=baseline:main").status, 400);
        assert!(reader.open("/compare").text().contains("run:1"));
        server.stop();
    }
}

#[test]
fn a_form_without_its_token_starts_nothing() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    let form =
        Call::new("POST", "/runs").body("application/x-www-form-urlencoded", "kind=gate&qrels=x");
    assert_eq!(server.send(&form).status, 403);
    let other = form.header("origin", "https://elsewhere.example");
    assert_eq!(server.send(&other).status, 403);
    assert_eq!(server.send(&Call::get("/v1/runs")).json()["jobs"], json!([]));
    server.stop();
}

#[test]
fn a_run_is_shown_to_admins_of_its_workspace_alone() {
    let home = Home::sqlite();
    let server = served(&home);
    let path = run(&server, &[("kind", "gate"), ("baseline", "main")]);
    home.ok(&["workspaces", "add", "other"]);
    let tokens = [("default", "read"), ("default", "admin"), ("other", "admin")]
        .map(|(workspace, scope)| token_of(&home, workspace, scope));
    let [reader, admin, stranger] = tokens.map(|token| Reader::sign_in(&server, &token));
    // What the admin sees is cached; nobody else gets it from there.
    assert_eq!(admin.open(&path).status, 200);
    for path in [path.clone(), format!("{path}/rows/2")] {
        assert_eq!(reader.open(&path).status, 403, "{path}");
        assert_eq!(stranger.open(&path).status, 404, "{path}");
        assert!(!reader.open(&path).text().contains("island"));
    }
    assert!(!reader.open("/runs").text().contains("action=\"/runs\""));
    assert_eq!(stranger.open(&format!("/live{path}/events")).status, 404);
    assert_eq!(reader.open("/compare?a=run:1&b=run:1").status, 403);
    server.stop();
}

#[test]
fn a_run_of_a_suite_is_shown_with_its_causes() {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    let suites = "suites:\n  - name: smoke\n    type: smoke\n    sample: { total: 1 }\n    owners: [\"@you\"]\n";
    let file = home.path().join("suites.yaml");
    std::fs::write(&file, suites).unwrap();
    let queries = home.path().join("queries.jsonl");
    let query = json!({ "query": "who sails?", "expected": ["default::people/ben"], "source": "default", "difficulty": "easy" });
    std::fs::write(&queries, format!("{query}\n")).unwrap();
    home.run(&["queries", "import", queries.to_str().unwrap()]);
    home.run(&["suites", "enable", "smoke", "--file", file.to_str().unwrap()]);
    let html = home.path().join("suite.html");
    let ran = home.run(&["suites", "run", "smoke", "--json", "--html", html.to_str().unwrap()]);
    let ran: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let written = std::fs::read_to_string(&html).unwrap();
    assert!(written.contains("suite smoke"), "{written}");
    let server = Server::start(&home, &[]);
    let reader = Reader::local(&server);
    let shown = reader.open(&format!("/suite-runs/{}", ran["id"]));
    assert!(shown.status == 200 && shown.text().contains("suite smoke"), "{}", shown.whole());
    assert_eq!(reader.open("/suite-runs/99").status, 404);
    server.stop();
}
