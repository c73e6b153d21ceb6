//! Explained rankings, tried settings, and what they must not leave behind.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::captures;
use super::reader::{Reader, has, lacks};
use crate::capture::capturing;
use crate::serve::client::{Call, Reply, Server, token, token_of};
use crate::support::Home;

const NOW: &str = "2026-05-14T12:00:00Z";

fn furnish(home: &Home) {
    home.put("people/ada", "# Ada Quill\n\nAda runs the night ferry and its winch.");
    home.put(
        "projects/night-ferry",
        "# Night ferry\n\nThe night ferry crosses the bay. See [[people/ada]].",
    );
    home.put(
        "notes/winch",
        "# Winch\n\nA winch pulls. The ferry has one, for the night and the day.",
    );
    home.put(
        "notes/secret",
        "---\nvisibility: private\n---\n# Night ferry secret\n\nThe night ferry is Zanzibar.",
    );
}

fn explain(server: &Server, token: &str, body: &Value) -> Reply {
    server.send(&Call::json("POST", "/v1/explain", body).token(token))
}

fn names(hits: &Value) -> Vec<String> {
    hits.as_array().unwrap().iter().map(|hit| hit["slug"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_explanation_is_the_live_ranking_in_parts() {
    for home in Home::both() {
        furnish(&home);
        let read = token(&home, "read");
        let server = Server::start(&home, &[]);
        let ask = json!({ "query": "what is the night ferry?", "now": NOW });
        let answer = server.send(&Call::json("POST", "/v1/query", &ask).token(&read)).json();
        let explained = explain(&server, &read, &json!({ "ask": ask })).json();
        assert_eq!(names(&explained["answer"]["hits"]), names(&answer["hits"]));
        assert_eq!(explained["live"], Value::Null, "nothing was tried");
        for hit in explained["answer"]["hits"].as_array().unwrap() {
            let parts = hit["trace"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|step| step["parts"].as_array().cloned().unwrap_or_default());
            let score = parts.fold(0.0, |score, part| match part["adds"].as_f64() {
                Some(share) => score + share,
                None => score * part["times"].as_f64().unwrap(),
            });
            let whole = hit["score"].as_f64().unwrap();
            assert!((score - whole).abs() < 1e-9, "{hit}");
        }
        // With other settings both rankings come back.
        let tried =
            json!({ "ask": ask, "settings": { "words_weight": 0.0, "vectors_weight": 0.0 } });
        let tried = explain(&server, &read, &tried).json();
        assert_eq!(tried["live"].as_array().unwrap().len(), names(&answer["hits"]).len());
        let value = tried["settings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == "words_weight")
            .unwrap();
        assert_eq!((&value["value"], &value["live"]), (&json!(0.0), &json!(1.0)));
        // Settings that spend money or time, or do not exist, are refused.
        for settings in [
            json!({ "expand": 1.0 }),
            json!({ "rerank_depth": 1.0 }),
            json!({ "nope": 1.0 }),
            json!({ "title_boost": 99.0 }),
            json!({ "vectors_depth": 9999.0 }),
        ] {
            let refused = explain(&server, &read, &json!({ "ask": ask, "settings": settings }));
            assert_eq!(refused.status, 400, "{settings}: {}", refused.whole());
        }
        let why = json!({ "query": "night ferry", "why_not": "notes/secret" });
        let hidden = explain(&server, &read, &json!({ "ask": why }));
        assert_eq!(hidden.json()["answer"]["why_not"]["verdict"], "the corpus has no such page");
        lacks(&hidden.text(), &["Zanzibar"]);
        server.stop();
    }
}

#[test]
fn the_page_shows_parts_moves_and_commands() {
    for home in Home::both() {
        furnish(&home);
        let (read, other) = (token(&home, "read"), {
            home.ok(&["workspaces", "add", "other"]);
            token_of(&home, "other", "read")
        });
        let server = Server::start(&home, &[]);
        let browser = Reader::sign_in(&server, &read);
        has(&browser.page("/explain"), &["Enter a query"]);
        let page = browser.page("/explain?q=what+is+the+night+ferry%3F&page=notes%2Fwinch");
        has(
            &page,
            &[
                "Night ferry",
                "class=\"part words\"",
                "What each stage did",
                "Why not this page",
                "in the answer",
                "name=\"s.title_boost\"",
                "gbrain query --untrusted --explain",
            ],
        );
        lacks(&page, &["Zanzibar", "What moves", "Baseline to try on", "notes/secret"]);
        let tried =
            browser.page("/explain?q=what+is+the+night+ferry%3F&s.words_weight=0&s.title_boost=2");
        has(
            &tried,
            &[
                "What moves",
                "gbrain config set search.words_weight 0",
                "gbrain config set search.title_boost 2",
                "Live rank",
            ],
        );
        for (path, status) in [
            ("/explain?q=x&s.expand=1", 400),
            ("/explain?q=x&s.pool=many", 400),
            ("/explain?q=x&limit=0", 400),
            ("/explain?q=%20", 200),
        ] {
            assert_eq!(browser.open(path).status, status, "{path}");
        }
        has(
            &browser.page("/explain?q=zanzibar&page=notes%2Fsecret"),
            &["the corpus has no such page"],
        );
        let elsewhere = Reader::sign_in(&server, &other).page("/explain?q=night+ferry");
        has(&elsewhere, &["Nothing found"]);
        lacks(&elsewhere, &["people/ada", "projects/night-ferry"]);
        server.stop();
    }
}

#[test]
fn a_baseline_shows_how_many_rows_would_change() {
    for home in Home::both().map(capturing) {
        furnish(&home);
        let (read, admin) = (token(&home, "read"), token(&home, "admin"));
        let server = Server::start(&home, &[]);
        for query in ["night ferry", "what pulls?", "who runs the ferry?"] {
            let ask = json!({ "query": query, "now": NOW });
            assert_eq!(
                server.send(&Call::json("POST", "/v1/query", &ask).token(&read)).status,
                200
            );
        }
        let begun = Instant::now();
        while captures(&server, &admin).len() < 3 {
            assert!(begun.elapsed() < Duration::from_secs(30), "captures are stored");
            std::thread::sleep(Duration::from_millis(50));
        }
        let published =
            server.send(&Call::json("PUT", "/v1/baselines/main", &json!({})).token(&admin));
        assert_eq!(published.status, 200, "{}", published.whole());

        let trial = |token: &str, settings: Value| {
            server.send(
                &Call::json("POST", "/v1/baselines/main/try", &json!({ "settings": settings }))
                    .token(token),
            )
        };
        let none = trial(&admin, json!({})).json();
        assert_eq!(
            (&none["compared"], &none["changed"], &none["as_recorded_live"]),
            (&json!(3), &json!(0), &json!(3)),
            "{none}"
        );
        assert_eq!(none["is_complete"], true);
        let some = trial(&admin, json!({ "cut_ratio": 1.0 })).json();
        assert!(
            some["changed"].as_u64().unwrap() > 0 && !some["worst"].as_array().unwrap().is_empty(),
            "{some}"
        );
        assert_eq!(trial(&read, json!({})).status, 403);

        let browser = Reader::sign_in(&server, &admin);
        let page = browser.page("/explain?q=night+ferry&baseline=main&s.cut_ratio=1");
        has(
            &page,
            &["This would change", "rows of baseline main.", "<option value=\"main\" selected>"],
        );
        let reader = Reader::sign_in(&server, &read)
            .page("/explain?q=night+ferry&baseline=main&s.cut_ratio=1");
        lacks(&reader, &["This would change", "Baseline to try on", "what pulls?"]);

        // None of this was captured.
        assert_eq!(captures(&server, &admin).len(), 3);
        server.stop();
        let server = Server::start(&home, &[]);
        assert_eq!(captures(&server, &admin).len(), 3);
        server.stop();
    }
}
