//! Runs in the console: started from a form, watched, read, filtered, compared.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::serve::client::{Call, Reply, Server};
use crate::support::Home;

/// A server with a few pages, captures of a remote caller, a baseline of them, and judgements.
fn served(home: &Home) -> Server {
    home.ok(&["config", "set", "eval.capture", "true"]);
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

fn page(server: &Server, path: &str) -> Reply {
    server.send(&Call::get(path).header("accept", "text/html"))
}

/// Sends a form of a page with its token.
fn submit(server: &Server, from: &str, to: &str, fields: &str) -> Reply {
    let html = page(server, from).text();
    let (_, token) = html.split_once("name=\"csrf\" value=\"").expect("a form");
    let token = &token[..token.find('"').unwrap()];
    let form = format!("csrf={token}&{fields}");
    server.send(&Call::new("POST", to).body("application/x-www-form-urlencoded", form))
}

fn main_of(html: &str) -> &str {
    &html[html.find("<main").expect("a main")..html.find("</main>").unwrap()]
}

/// Starts a run from the form of the list and waits for its end; the path of its page.
fn run(server: &Server, fields: &str) -> String {
    let started = submit(server, "/runs", "/runs", fields);
    assert_eq!(started.status, 303, "{}", started.whole());
    let path = started.header("location").unwrap().to_owned();
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
        assert!(page(&server, "/runs").text().contains("No replay or gate has run"));
        let path = run(&server, "kind=gate&baseline=main&qrels=judged&k=5");
        let id = path.strip_prefix("/runs/").unwrap().to_owned();
        let shown = page(&server, &path);
        assert_eq!(shown.status, 200, "{}", shown.whole());
        let html = shown.text();
        assert!(html.contains("gbrain eval gate") && html.contains("Judged queries"), "{html}");
        assert!(page(&server, "/runs").text().contains(&format!("href=\"{path}\"")));

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

        let unchanged = page(&server, &format!("{path}?show=unchanged")).text();
        assert!(unchanged.contains("island") && unchanged.contains("id=\"row-"), "{unchanged}");
        assert_eq!(page(&server, &format!("{path}?show=nonsense")).status, 400);
        assert_eq!(page(&server, &format!("{path}?page=0")).status, 400);
        let row = page(&server, &format!("{path}/rows/2"));
        assert!(
            row.status == 200 && row.text().contains("Captured and current ranking"),
            "{}",
            row.whole()
        );
        assert_eq!(page(&server, &format!("{path}/rows/99")).status, 404);
        assert_eq!(page(&server, &format!("{path}/rows/x")).status, 400);
        assert_eq!(page(&server, "/runs/99").status, 404);

        let other = run(&server, "kind=replay&baseline=main");
        assert!(page(&server, &other).text().contains("gbrain eval replay"));
        let first = run(&server, "kind=gate&baseline=main");
        let second = first.strip_prefix("/runs/").unwrap();
        let compared = page(&server, &format!("/compare?a=run:{second}&b=run:{second}"));
        assert!(compared.status == 200 && compared.text().contains("SAME"), "{}", compared.whole());
        let measured = page(&server, "/compare?a=baseline:main&b=baseline:main&qrels=judged");
        assert!(
            measured.status == 200 && measured.text().contains("nDCG@10"),
            "{}",
            measured.whole()
        );
        assert_eq!(page(&server, "/compare?a=baseline:main&b=baseline:main").status, 400);
        assert!(page(&server, "/compare").text().contains("run:1"));
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

/// The cookie of a session with a new token of this scope.
fn session(home: &Home, server: &Server, name: &str, scope: &str, workspace: &str) -> String {
    let made = home.json(&[
        "tokens",
        "create",
        "--name",
        name,
        "--scope",
        scope,
        "--workspace",
        workspace,
    ]);
    let token = made["token"].as_str().unwrap();
    let form = Call::new("POST", "/sign-in")
        .body("application/x-www-form-urlencoded", format!("token={token}"));
    let reply = server.send(&form);
    let cookie = reply.header("set-cookie").unwrap_or_else(|| panic!("{}", reply.whole()));
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn a_run_is_shown_to_admins_of_its_workspace_alone() {
    let home = Home::sqlite();
    let server = served(&home);
    let path = run(&server, "kind=gate&baseline=main");
    home.ok(&["workspaces", "add", "other"]);
    let reader = session(&home, &server, "reader", "read", "default");
    let admin = session(&home, &server, "admin", "admin", "default");
    let stranger = session(&home, &server, "stranger", "admin", "other");
    let of = |cookie: &str, path: &str| {
        server.send(&Call::get(path).header("accept", "text/html").header("cookie", cookie))
    };
    // What the admin sees is cached; nobody else gets it from there.
    assert_eq!(of(&admin, &path).status, 200);
    for path in [path.clone(), format!("{path}/rows/2")] {
        assert_eq!(of(&reader, &path).status, 403, "{path}");
        assert_eq!(of(&stranger, &path).status, 404, "{path}");
        assert!(!of(&reader, &path).text().contains("island"));
    }
    assert!(!of(&reader, "/runs").text().contains("action=\"/runs\""));
    assert_eq!(of(&stranger, &format!("/live{path}/events")).status, 404);
    assert_eq!(of(&reader, "/compare?a=run:1&b=run:1").status, 403);
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
    let shown = page(&server, &format!("/suite-runs/{}", ran["id"]));
    assert!(shown.status == 200 && shown.text().contains("suite smoke"), "{}", shown.whole());
    assert_eq!(page(&server, "/suite-runs/99").status, 404);
    server.stop();
}
