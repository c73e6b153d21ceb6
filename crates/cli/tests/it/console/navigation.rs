//! Deep links, back and forward in a real browser, and what a reader of a lower scope is refused.

use serde_json::json;

use super::site::{Visit, seeded, server};
use crate::capture::capturing;
use crate::serve::client::{Call, Server, token};
use crate::support::Home;

/// More than one page of rows.
const ROWS: usize = 205;

/// Stores a baseline with more rows than a page shows.
pub(super) fn long_baseline(server: &Server, token: &str) {
    let ask = |at: usize| {
        let body = json!({ "query": format!("boats {at}") });
        let reply = server.send(&Call::json("POST", "/v1/search", &body).token(token));
        assert_eq!(reply.status, 200, "{}", reply.whole());
    };
    (0..ROWS).for_each(ask);
    let begun = std::time::Instant::now();
    loop {
        let publish = Call::json("PUT", "/v1/baselines/long", &json!({})).token(token);
        let published = server.send(&publish);
        if published.is_done() && published.json()["row_count"] == json!(ROWS) {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}", published.whole());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Stores a gate of which nothing changed.
fn long_run(server: &Server, token: &str) {
    long_baseline(server, token);
    let run = json!({ "kind": "gate", "baseline": "long", "repeats": 1 });
    let started = server.send(&Call::json("POST", "/v1/runs", &run).token(token));
    assert_eq!(started.status, 202, "{}", started.whole());
    let events = server.send(&Call::get("/v1/runs/1/events").token(token)).text();
    assert!(events.contains(r#""state":"done""#), "{events}");
}

/// The rows that the page lists.
fn rows(visit: &Visit) -> u64 {
    visit.script("return document.querySelectorAll('[id^=row-]').length").as_u64().unwrap()
}

fn until_at(visit: &Visit, path: &str) {
    let expression = format!(
        "document.readyState === 'complete' && location.pathname + location.search === '{path}'"
    );
    visit.browser.until(&expression).unwrap();
}

#[test]
fn filters_and_pages_of_a_run_are_places() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "Ada paints boats.");
        let admin = token(&home, "admin");
        let server = Server::start(&home, &[]);
        long_run(&server, &admin);
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&admin);

        visit.open("/runs/1");
        assert_eq!(rows(&visit), 0, "nothing moved");
        visit.browser.click("select[name=show] option[value=unchanged]").unwrap();
        visit.browser.until("location.search.includes('show=unchanged') && document.querySelectorAll('[id^=row-]').length === 200").unwrap();
        let filtered = visit.path();
        visit.browser.follow("a[rel=next]").unwrap();
        let second = visit.path();
        assert!(second.contains("show=unchanged") && second.contains("page=2"), "{second}");
        assert_eq!(rows(&visit), ROWS as u64 - 200);
        visit.browser.click(".cases summary").unwrap();
        visit.browser.follow(".cases .links a").unwrap();
        let case = visit.path();
        assert!(case.starts_with("/runs/1/rows/"), "{case}");

        for (is_back, path, count) in [
            (true, second.as_str(), 5),
            (true, &filtered, 200),
            (true, "/runs/1", 0),
            (false, &filtered, 200),
            (false, &second, 5),
            (false, &case, 0),
        ] {
            if is_back { visit.browser.back() } else { visit.browser.forward() }.unwrap();
            until_at(&visit, path);
            let shown = format!("document.querySelectorAll('[id^=row-]').length === {count}");
            visit.browser.until(&shown).unwrap();
        }
        // The same places without a way to them.
        for (path, count) in [(second.as_str(), 5), (&filtered, 200)] {
            visit.open(path);
            assert_eq!((rows(&visit), visit.path().as_str()), (count, path));
            let chosen = visit.script("return document.querySelector('select[name=show]').value");
            assert_eq!(chosen, "unchanged", "the form shows the place");
        }
        visit.assert_clean("places");
        server.stop();
    }
}

#[test]
fn a_comparison_is_a_place() {
    let home = seeded(Home::sqlite());
    let admin = token(&home, "admin");
    let server = server(&home);
    let Some(visit) = Visit::start(&server) else { return };
    visit.sign_in_first(&admin);
    visit.open("/compare");
    visit.browser.fill("input[name=a]", "run:1").unwrap();
    visit.browser.fill("input[name=b]", "run:2").unwrap();
    visit.browser.follow(".controls button").unwrap();
    let compared = visit.path();
    assert!(compared.contains("a=run%3A1") && compared.contains("b=run%3A2"), "{compared}");
    assert!(visit.browser.text().unwrap().contains("recall_at_k"));
    visit.browser.back().unwrap();
    until_at(&visit, "/compare");
    visit.browser.forward().unwrap();
    until_at(&visit, &compared);
    assert!(visit.browser.text().unwrap().contains("recall_at_k"));
    // A setting of the explanation is a place too.
    visit.open("/explain?q=charge+floor&s.title_boost=1.8");
    let tried = visit.browser.text().unwrap();
    assert!(tried.contains("What moves"), "{tried}");
    visit.assert_clean("places");
    server.stop();
}

/// Pages that a token of a scope may not open.
const REFUSED: [(&str, &[&str]); 2] = [
    (
        "read",
        &[
            "/labels",
            "/captures",
            "/captures/1",
            "/runs/1",
            "/runs/1/rows/2",
            "/compare?a=run:1&b=run:2",
            "/incidents",
            "/incidents/1",
            "/spending",
            "/prompts",
            "/pages/new",
            "/pages/wiki%3A%3Ateams%2Frouting/edit",
            "/pages/wiki%3A%3Ateams%2Frouting/delete",
        ],
    ),
    ("write", &["/captures", "/captures/1", "/incidents", "/spending", "/prompts"]),
];

#[test]
fn a_page_above_the_scope_of_a_token_is_refused() {
    for home in Home::both().map(seeded) {
        let tokens = REFUSED.map(|(scope, _)| token(&home, scope));
        let server = server(&home);
        let Some(visit) = Visit::start(&server) else { return };
        for ((scope, paths), token) in REFUSED.iter().zip(&tokens) {
            visit.sign_in_first(token);
            for path in *paths {
                visit.open(path);
                assert_eq!((visit.status(), visit.path().as_str()), (403, *path), "{scope}");
                let text = visit.browser.text().unwrap();
                assert!(text.contains("token of scope"), "{scope} {path}: {text}");
                for word in ["Quayspark", "HRB-131", "links suite", "quality_probe"] {
                    assert!(!text.contains(word), "{scope} {path} shows {word}");
                }
            }
            // A page that it may open has no form that it may not send.
            let forms = "return [...document.querySelectorAll('.page form[method=post]')].map((form) => form.getAttribute('action'))";
            for path in [
                "/runs",
                "/suites/smoke",
                "/alerts",
                "/calibration",
                "/pages/wiki%3A%3Ateams%2Frouting",
            ] {
                visit.open(path);
                assert_eq!(visit.status(), 200, "{scope} {path}");
                if *scope == "read" {
                    assert_eq!(visit.script(forms), json!([]), "{path}");
                }
            }
            visit.assert_clean(scope);
        }
        server.stop();
    }
}
