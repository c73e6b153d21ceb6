//! The labelling queue by keyboard alone, in a real browser.

use std::collections::BTreeMap;

use serde_json::Value;

use super::site::{DOWN, ENTER, ESCAPE, UP, Visit};
use crate::serve::client::{Call, Server, token};
use crate::support::Home;

/// How many results are labelled.
const RESULTS: usize = 30;

/// Grades by query and page, as the API has them or as they were given.
type Grades = BTreeMap<(String, String), i64>;

/// A home with three queries, each with ten results.
fn queued(home: Home) -> Home {
    for at in 0..12 {
        home.put(
            &format!("boats/b{at}"),
            &format!("# Boat {at}\n\nA boat of the quay with a painted mast and {at} oars."),
        );
    }
    for query in ["boats of the quay", "painted mast of a boat", "oars of a boat"] {
        home.ok(&["queries", "add", query, "--expected", "default::boats/b1"]);
    }
    home
}

#[test]
fn thirty_results_are_labelled_by_keyboard() {
    for home in Home::both().map(queued) {
        let write = token(&home, "write");
        let server = Server::start(&home, &[]);
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&write);
        visit.open("/labels");
        let mut given = Grades::new();
        while given.len() < RESULTS {
            grade_results(&visit, &mut given);
            let before = open_query(&visit);
            visit.browser.press("n").unwrap();
            let next = format!(
                "document.readyState === 'complete' && document.activeElement.closest('.result') \
                 && document.querySelector('#labelling').dataset.query !== '{before}'"
            );
            visit.browser.until(&next).unwrap();
        }
        assert_eq!(stored(&server, &write), given);
        visit.browser.press("p").unwrap();
        visit
            .browser
            .until("document.querySelectorAll('#labelling [value=undo]').length > 0")
            .unwrap();
        visit.assert_clean("labelling");
        server.stop();
    }
}

/// Grades every result of the open query, and checks that the measures follow.
fn grade_results(visit: &Visit, given: &mut Grades) {
    let query = visit.script("return document.querySelector('#labelling input[name=text]').value");
    let query = query.as_str().unwrap().to_owned();
    let pages = visit.script("return [...document.querySelectorAll('#labelling .result')].map((one) => one.dataset.page)");
    let pages: Vec<String> =
        pages.as_array().unwrap().iter().map(|page| page.as_str().unwrap().to_owned()).collect();
    // The page opens at the first result without a grade.
    for _ in 0..pages.len() {
        visit.browser.press(UP).unwrap();
    }
    let judged = judged_results(visit);
    let unjudged = visit.script(UNJUDGED).as_u64().unwrap();
    for (at, page) in pages.into_iter().enumerate() {
        assert_eq!(focused(visit), at as u64 + 1, "{query}");
        let grade = (given.len() % 4) as i64;
        visit.browser.press(&grade.to_string()).unwrap();
        said(visit, &format!("Result {}: graded {grade}. Verdict ", at + 1));
        given.insert((query.clone(), page), grade);
        visit.browser.press(DOWN).unwrap();
    }
    assert_eq!(judged_results(visit), judged + unjudged, "the measures follow");
}

/// Results of the open query without a judgement.
const UNJUDGED: &str = "return [...document.querySelectorAll('#labelling .result')]
    .filter((one) => one.querySelector('input[name=label]').value === '').length";

/// How many results of the queue are judged, as the region of the measures says.
fn judged_results(visit: &Visit) -> u64 {
    let text = visit.script("return document.querySelector('#label-measures .more').textContent.match(/(\\d+) of [\\d,]+ results? judged/)[1]");
    text.as_str().unwrap().parse().unwrap()
}

fn open_query(visit: &Visit) -> String {
    let id = visit.script("return document.querySelector('#labelling').dataset.query");
    id.as_str().unwrap().to_owned()
}

/// The rank of the focused result.
fn focused(visit: &Visit) -> u64 {
    let rank = visit.script(
        "return document.activeElement.closest('.result').querySelector('.rank').textContent",
    );
    rank.as_str().unwrap().parse().unwrap()
}

/// Waits until a change was stored and announced.
fn said(visit: &Visit, start: &str) {
    let expression =
        format!("document.getElementById('label-said').textContent.startsWith('{start}')");
    visit.browser.until(&expression).unwrap();
}

/// The grades that the reviewer of a token gave.
fn stored(server: &Server, token: &str) -> Grades {
    let reply = server.send(&Call::get("/v1/labels/queue").token(token));
    let queue = reply.json();
    let mut grades = Grades::new();
    for query in queue["queries"].as_array().unwrap() {
        let path = format!("/v1/labels/queue/{}", query["id"].as_str().unwrap());
        let shown = server.send(&Call::get(path).token(token)).json();
        for hit in shown["hits"].as_array().unwrap() {
            let own = own_review(hit, shown["reviewer"].as_str().unwrap());
            if let Some(grade) = own.and_then(|review| review["grade"].as_i64()) {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                grades.insert((text(&shown["query"]), text(&hit["page"])), grade);
            }
        }
    }
    grades
}

fn own_review<'a>(hit: &'a Value, reviewer: &str) -> Option<&'a Value> {
    hit["label"]["reviews"].as_array()?.iter().find(|review| review["reviewer"] == reviewer)
}

#[test]
fn texts_borderlines_and_undo_by_keyboard() {
    for home in Home::both().map(queued) {
        let write = token(&home, "write");
        let server = Server::start(&home, &[]);
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&write);
        visit.open("/labels");
        let path = format!("/v1/labels/queue/{}", open_query(&visit));
        let rank = focused(&visit);
        let review = || {
            let shown = server.send(&Call::get(path.as_str()).token(&write)).json();
            let hit = &shown["hits"][usize::try_from(rank).unwrap() - 1];
            own_review(hit, shown["reviewer"].as_str().unwrap()).cloned()
        };
        assert_eq!(review(), None);

        visit.browser.press("?").unwrap();
        visit.browser.until("document.querySelector('dialog[open]')").unwrap();
        let help = visit.browser.text().unwrap();
        for what in ["grade the focused result", "mark as borderline", "undo the last change"] {
            assert!(help.contains(what), "{what}: {help}");
        }
        visit.browser.press("3").unwrap();
        visit.browser.press(ESCAPE).unwrap();
        visit.browser.until("!document.querySelector('dialog[open]')").unwrap();
        assert_eq!(review(), None, "a key over the list of keys is no grade");
        assert_eq!(focused(&visit), rank, "back where the reviewer was");

        visit.browser.press("b").unwrap();
        said(&visit, &format!("Result {rank}: borderline changed"));
        let borderline = review().unwrap();
        assert_eq!((&borderline["borderline"], &borderline["grade"]), (&true.into(), &1.into()));

        // Without a selection the text is chosen in a field.
        visit.browser.press("s").unwrap();
        visit.browser.until("document.activeElement.matches('.result textarea')").unwrap();
        visit.browser.press(ENTER).unwrap();
        said(&visit, &format!("Result {rank}: answering text marked"));
        let snippet = format!(
            "return document.querySelector('#result-{rank} textarea').dataset.snippet.trim()"
        );
        let whole = visit.script(&snippet);
        let text = |value: &Value| value.as_str().unwrap().replace(char::is_whitespace, "");
        assert_eq!(text(&review().unwrap()["span"]), text(&whole));

        // With one, at once.
        visit.script(&format!("getSelection().selectAllChildren(document.querySelector('#result-{rank} .snippet bdi'))"));
        visit.script("document.getElementById('label-said').textContent = ''");
        visit.browser.press("s").unwrap();
        said(&visit, &format!("Result {rank}: answering text marked"));

        visit.browser.press("2").unwrap();
        said(&visit, &format!("Result {rank}: graded 2"));
        assert_eq!(review().unwrap()["grade"], 2);
        visit.browser.press("u").unwrap();
        said(&visit, &format!("Result {rank}: undone"));
        assert_eq!(review().unwrap()["grade"], 1, "the grade before");
        for _ in 0..3 {
            visit.script("document.getElementById('label-said').textContent = ''");
            visit.browser.press("u").unwrap();
            said(&visit, &format!("Result {rank}: undone"));
        }
        assert_eq!(review(), None, "as it was in the beginning");
        visit.browser.press("u").unwrap();
        said(&visit, "There is nothing to undo.");
        visit.assert_clean("labelling");
        server.stop();
    }
}
