//! Captures: the list with its filters, one capture, and its promotion.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::reader::Reader;
use crate::serve::client::{Call, Server, token, token_of};
use crate::support::Home;

const PATIENCE: Duration = Duration::from_secs(60);

/// A home with pages, of which one is private, and another workspace.
fn filled(home: &Home) {
    home.put("people/ada", "# Ada\n\nAda paints boats on the quay.");
    home.put("people/bo", "# Bo\n\nBo mends nets and paints oars.");
    home.put(
        "secret/lair",
        "---\nvisibility: private\n---\n# Lair\n\nThe lair where Ada paints at night.",
    );
    home.ok(&["workspaces", "add", "team"]);
}

fn server(home: &Home) -> Server {
    let mut command = home.command(&["serve"]);
    command.env("GBRAIN_CONTRIBUTOR_MODE", "1");
    Server::of(command, &[])
}

#[track_caller]
fn ask(server: &Server, token: &str, path: &str, body: &Value) {
    let reply = server.send(&Call::json("POST", path, body).token(token));
    assert_eq!(reply.status, 200, "{}", reply.whole());
}

#[track_caller]
fn list(server: &Server, token: &str, query: &str) -> Value {
    let reply = server.send(&Call::get(format!("/v1/captures/list?{query}")).token(token));
    assert_eq!(reply.status, 200, "{}", reply.whole());
    reply.json()
}

fn queries(list: &Value) -> Vec<&str> {
    list["captures"].as_array().unwrap().iter().map(|one| one["query"].as_str().unwrap()).collect()
}

/// Waits until so many captures are stored: that happens after the answers.
fn stored(server: &Server, token: &str, count: usize) -> Value {
    let begun = Instant::now();
    loop {
        let found = list(server, token, "");
        if found["captures"].as_array().unwrap().len() >= count {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn captures_are_filtered_paged_and_promoted() {
    for home in Home::both() {
        filled(&home);
        let (admin, write, other) =
            (token(&home, "admin"), token(&home, "write"), token_of(&home, "team", "admin"));
        let server = server(&home);
        ask(&server, &admin, "/v1/query", &json!({ "query": "who paints boats?" }));
        ask(
            &server,
            &admin,
            "/v1/query",
            &json!({ "query": "WHO mends <b>nets</b>?", "retrieval_mode": "knowledge" }),
        );
        ask(&server, &admin, "/v1/search", &json!({ "query": "brambleknot" }));
        ask(&server, &other, "/v1/search", &json!({ "query": "foreignword" }));
        let all = stored(&server, &admin, 3);
        stored(&server, &other, 1);
        assert_eq!(queries(&all), ["brambleknot", "WHO mends <b>nets</b>?", "who paints boats?"]);
        // The rows are those of the export.
        let export = server.send(&Call::get("/v1/captures").token(&admin)).text();
        let exported: Vec<Value> =
            export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(all["captures"].as_array().unwrap(), &exported);
        for (filter, expected) in [
            ("text=who", &["WHO mends <b>nets</b>?", "who paints boats?"][..]),
            ("tool=search", &["brambleknot"]),
            ("mode=knowledge&tool=query", &["WHO mends <b>nets</b>?"]),
            ("results=without", &["brambleknot"]),
            ("results=with&text=boats", &["who paints boats?"]),
            ("source=default&text=nets", &["WHO mends <b>nets</b>?"]),
            ("source=nosuch", &[]),
            ("since=2999-01-01T00:00:00Z", &[]),
            ("until=2001-01-01T00:00:00Z", &[]),
        ] {
            assert_eq!(queries(&list(&server, &admin, filter)), expected, "{filter}");
        }
        let first = list(&server, &admin, "limit=2");
        let next = first["next_before"].as_str().unwrap();
        let second = list(&server, &admin, &format!("limit=2&before={next}"));
        assert_eq!(queries(&second), ["who paints boats?"]);
        assert_eq!(second["next_before"], Value::Null);
        assert_eq!(queries(&list(&server, &other, "")), ["foreignword"]);
        for refused in ["before=x", "limit=0", "limit=201", "results=some", "nosuch=1"] {
            let reply =
                server.send(&Call::get(format!("/v1/captures/list?{refused}")).token(&admin));
            assert_eq!(reply.status, 400, "{refused}: {}", reply.whole());
        }
        let id = second["captures"][0]["id"].to_string();
        for call in [
            Call::get("/v1/captures/list"),
            Call::get("/v1/captures/failures"),
            Call::get(format!("/v1/captures/{id}")),
            Call::json("POST", format!("/v1/captures/{id}/promote"), &json!({})),
        ] {
            assert_eq!(server.send(&call.clone().token(&write)).status, 403, "{call:?}");
        }
        pages(&server, &admin, &write, &id);
        // The first result is the expected page, as `gbrain queries promote` suggests.
        let shown = server.send(&Call::get(format!("/v1/captures/{id}")).token(&admin)).json();
        assert_eq!(shown["canonical"]["state"], "candidate", "{shown}");
        let listed = home.json(&["queries", "list"]);
        assert_eq!(listed["queries"][0]["expected"], json!(["default::people/ada"]), "{listed}");
        assert_eq!(server.send(&Call::get("/v1/captures/999").token(&admin)).status, 404);
        server.stop();
    }
}

/// The pages of the list and of a capture, and the form that promotes it.
fn pages(server: &Server, admin: &str, write: &str, id: &str) {
    let reader = Reader::sign_in(server, admin);
    let text = reader.page("/captures?text=NETS");
    assert!(
        text.contains("WHO mends &lt;b&gt;nets&lt;/b&gt;?") && !text.contains("boats?"),
        "{text}"
    );
    assert!(!text.contains("foreignword") && !text.contains("secret/lair"), "{text}");
    let refused = Reader::sign_in(server, write).open("/captures");
    assert_eq!(refused.status, 403);
    assert!(!refused.text().contains("boats"), "{}", refused.whole());
    let page = format!("/captures/{id}");
    let text = reader.page(&page);
    assert!(text.contains("default%3A%3Apeople%2Fada"), "{text}");
    assert!(!text.contains("lair"), "{text}");
    let (form, fields) = (format!("{page}/promote"), [("expected", "default::people/ada")]);
    assert_eq!(reader.send_without_token(&form, &fields).status, 403);
    let lost = reader.send(&page, &form, &[("expected", "default::secret/lair")]);
    assert_eq!(lost.status, 404, "a private page does not exist");
    let sent = reader.send(&page, &form, &fields);
    assert_eq!(
        (sent.status, sent.header("location")),
        (303, Some(page.as_str())),
        "{}",
        sent.whole()
    );
    assert!(reader.page(&page).contains("candidate"));
    assert_eq!(reader.open("/captures/999").status, 404);
}
