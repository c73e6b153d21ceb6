//! The labelling queue: its order, forms, measures, several reviewers, and uses of labels.

use serde_json::{Value, json};

use super::reader::Reader;
use crate::serve::client::{Call, Reply, Server, token, token_of};
use crate::support::Home;

const QUERY: &str = "who paints boats?";

fn filled(home: &Home) {
    home.put("people/ada", "# Ada\n\nAda paints boats on the quay.");
    home.put("people/bo", "# Bo\n\nBo mends nets and paints oars.");
    home.put(
        "secret/lair",
        "---\nvisibility: private\n---\n# Lair\n\nThe lair where Ada paints boats.",
    );
    home.ok(&["queries", "add", QUERY, "--expected", "default::people/ada"]);
    home.ok(&["queries", "add", "who mends nets?", "--expected", "default::people/bo"]);
    home.ok(&["workspaces", "add", "team"]);
}

/// A token of a reviewer with this name.
fn reviewer(home: &Home, name: &str) -> String {
    let args = ["tokens", "create", "--name", name, "--scope", "write", "--rate", "1000000"];
    home.json(&args)["token"].as_str().unwrap().to_owned()
}

#[track_caller]
fn get(server: &Server, token: &str, path: &str) -> Value {
    let reply = server.send(&Call::get(path).token(token));
    assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
    reply.json()
}

fn label(server: &Server, token: &str, query: &str, page: &str, grade: i64) -> i64 {
    let label = json!({ "query": query, "page": page, "grade": grade });
    let reply =
        server.send(&Call::json("POST", "/v1/labels", &json!({ "labels": [label] })).token(token));
    assert_eq!(reply.status, 200, "{}", reply.whole());
    reply.json()["ids"][0].as_i64().unwrap()
}

fn check<'a>(measures: &'a Value, metric: &str) -> &'a Value {
    let checks = measures["checks"].as_array().unwrap();
    checks.iter().find(|check| check["metric"] == metric).unwrap()
}

#[test]
fn the_queue_is_ordered_by_what_labels_can_change() {
    for home in Home::both() {
        filled(&home);
        let (write, other) = (token(&home, "write"), token_of(&home, "team", "write"));
        let server = Server::start(&home, &[]);
        let order = || -> Vec<String> {
            let queue = get(&server, &write, "/v1/labels/queue");
            let queries = queue["queries"].as_array().unwrap().iter();
            queries.map(|one| one["query"].as_str().unwrap().to_owned()).collect()
        };
        let before = order();
        assert_eq!(
            (before.clone(), before.len()),
            (order(), 2),
            "the order is the same every time"
        );
        let first = get(&server, &write, "/v1/labels/queue/next");
        assert_eq!(first["query"], before[0].as_str());
        assert!(!first.to_string().contains("lair"), "{first}");
        let pages: Vec<&str> = first["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["page"].as_str().unwrap())
            .collect();
        for page in pages {
            label(&server, &write, &before[0], page, 1);
        }
        assert_eq!(order(), [before[1].clone(), before[0].clone()], "what is judged goes back");
        let shown =
            get(&server, &write, &format!("/v1/labels/queue/{}", first["id"].as_str().unwrap()));
        assert_eq!((shown["place"].clone(), shown["unjudged"].clone()), (json!(2), json!(0)));
        assert_eq!(get(&server, &other, "/v1/labels/queue")["queries"], json!([]));
        let read = token(&home, "read");
        for path in ["/v1/labels/queue", "/v1/labels/queue/next", "/v1/labels/measures"] {
            assert_eq!(server.send(&Call::get(path).token(&read)).status, 403, "{path}");
        }
        for refused in ["queue?k=0", "queue?k=21", "queue?limit=501", "measures?floor=1.5"] {
            let reply = server.send(&Call::get(format!("/v1/labels/{refused}")).token(&write));
            assert_eq!(reply.status, 400, "{refused}: {}", reply.whole());
        }
        server.stop();
    }
}

#[test]
fn captured_queries_are_for_admin() {
    let home = Home::sqlite();
    filled(&home);
    let (write, admin) = (token(&home, "write"), token(&home, "admin"));
    let mut command = home.command(&["serve"]);
    command.env("GBRAIN_CONTRIBUTOR_MODE", "1");
    let server = Server::of(command, &[]);
    let asked = Call::json("POST", "/v1/query", &json!({ "query": "oars of whom?" })).token(&write);
    assert_eq!(server.send(&asked).status, 200);
    let begun = std::time::Instant::now();
    while !get(&server, &admin, "/v1/labels/queue").to_string().contains("oars of whom?") {
        assert!(begun.elapsed().as_secs() < 60, "the capture is not in the queue");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let queue = get(&server, &write, "/v1/labels/queue");
    assert!(
        !queue.to_string().contains("oars of whom?") && queue["has_captured"] == false,
        "{queue}"
    );
    // Ranking the queue captures nothing.
    let captured = get(&server, &admin, "/v1/captures/list");
    assert_eq!(captured["captures"].as_array().unwrap().len(), 1, "{captured}");
    server.stop();
}

#[test]
fn measures_follow_the_labels() {
    for home in Home::both() {
        filled(&home);
        let write = token(&home, "write");
        let server = Server::start(&home, &[]);
        let measures = || get(&server, &write, "/v1/labels/measures?k=2&floor=0.5");
        assert_eq!(
            (measures()["verdict"].clone(), measures()["queries"].clone()),
            (json!("inconclusive"), json!(0))
        );
        label(&server, &write, QUERY, "people/ada", 3);
        label(&server, &write, "who mends nets?", "people/bo", 2);
        let good = measures();
        let recall = check(&good, "mean_recall_at_k");
        assert_eq!(
            (recall["n"].clone(), recall["observed"].clone()),
            (json!(2), json!(1.0)),
            "{good}"
        );
        assert!(
            recall["interval"].is_array() && recall["smallest_detectable_drop"].is_number(),
            "{good}"
        );
        assert_eq!(check(&good, "mean_ndcg_at_k")["observed"], 1.0, "{good}");
        // A relevant page that is not found costs recall.
        home.put("people/cy", "# Cy\n\nUnrelated words about kites.");
        let id = label(&server, &write, QUERY, "people/cy", 2);
        let worse = measures();
        assert_eq!(check(&worse, "mean_recall_at_k")["observed"], 0.75, "{worse}");
        let removed =
            server.send(&Call::new("DELETE", format!("/v1/labels/{id}?own=true")).token(&write));
        assert_eq!(removed.json()["outcome"], "removed");
        assert_eq!(measures()["checks"], good["checks"]);
        server.stop();
    }
}

#[test]
fn reviewers_disagree_and_settle() {
    for home in Home::both() {
        filled(&home);
        let (ada, bo, read) = (reviewer(&home, "ada"), reviewer(&home, "bo"), token(&home, "read"));
        let other = token_of(&home, "team", "write");
        let server = Server::start(&home, &[]);
        let id = label(&server, &ada, QUERY, "people/ada", 3);
        assert_eq!(label(&server, &bo, QUERY, "people/ada", 0), id);
        label(&server, &ada, QUERY, "people/bo", 1);
        label(&server, &bo, QUERY, "people/bo", 1);
        let agreement = get(&server, &read, "/v1/labels/agreement");
        assert_eq!(
            (agreement["pages"].clone(), agreement["agreed"].clone()),
            (json!(2), json!(1)),
            "{agreement}"
        );
        assert_eq!(agreement["conflicts"], 1);
        let conflicts = get(&server, &read, "/v1/labels/conflicts");
        assert_eq!(conflicts["conflicts"][0]["reviews"][1]["reviewer"], "bo", "{conflicts}");
        let settle = |token: &str, id: i64| {
            server.send(
                &Call::json("POST", format!("/v1/labels/{id}/settle"), &json!({ "grade": 2 }))
                    .token(token),
            )
        };
        assert_eq!(settle(&read, id).status, 403);
        assert_eq!(settle(&other, id).status, 404, "not of that workspace");
        assert_eq!(settle(&bo, 99).status, 404);
        let open = Reader::sign_in(&server, &bo);
        assert!(open.page("/labels/conflicts").contains("1 page was graded differently"));
        let form = format!("/labels/conflicts/{id}");
        assert_eq!(open.send_without_token(&form, &[("grade", "2")]).status, 403);
        assert_eq!(open.send("/labels/conflicts", &form, &[("grade", "2")]).status, 303);
        assert!(open.page("/labels/conflicts").contains("Reviewers agree"));
        let labels = get(&server, &read, "/v1/labels");
        let settled = &labels["labels"][0];
        assert_eq!(
            (settled["grade"].clone(), settled["settled_by"].clone()),
            (json!(2), json!("bo"))
        );
        // Withdrawing takes one's own judgement only.
        let withdrawn = |token: &str| {
            server.send(&Call::new("DELETE", format!("/v1/labels/{id}?own=true")).token(token))
        };
        assert_eq!(withdrawn(&other).status, 404);
        assert_eq!(withdrawn(&bo).json()["outcome"], "withdrawn");
        assert_eq!(withdrawn(&bo).status, 404);
        assert_eq!(withdrawn(&ada).json()["outcome"], "removed");
        assert_eq!(get(&server, &other, "/v1/labels/agreement")["labels"], 0);
        server.stop();
    }
}

/// The fields of the form of a result, as its page has them.
fn fields<'a>(page: &'a str, of: &'a str) -> Vec<(&'a str, String)> {
    let form = page
        .split("<form class=\"grades\"")
        .find(|form| form.contains(&format!("name=\"page\" value=\"{of}\"")));
    let form =
        form.unwrap_or_else(|| panic!("no form of {of}: {page}")).split("</form>").next().unwrap();
    let value = |name: &str| {
        let rest = form.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    ["query", "text", "page", "rank", "label", "own", "borderline", "next", "previous"]
        .map(|name| (name, value(name)))
        .to_vec()
}

/// Sends the form of a result with another value.
fn press(reader: &Reader<'_>, page: &str, of: &str, changed: &[(&str, &str)]) -> Reply {
    let text = reader.page(page);
    let all = fields(&text, of);
    let own = all.iter().map(|(name, value)| (*name, value.as_str()));
    let own: Vec<(&str, &str)> = own.chain(changed.iter().copied()).collect();
    reader.send(page, "/labels/grade", &own)
}

#[test]
fn forms_grade_without_javascript() {
    for home in Home::both() {
        filled(&home);
        let ada = reviewer(&home, "ada");
        let server = Server::start(&home, &[]);
        let reader = Reader::sign_in(&server, &ada);
        let queue = get(&server, &ada, "/v1/labels/queue");
        let id =
            queue["queries"].as_array().unwrap().iter().find(|one| one["query"] == QUERY).unwrap();
        let page = format!("/labels?query={}", id["id"].as_str().unwrap());
        let text = reader.page(&page);
        assert!(text.contains("who paints boats?") && text.contains("not judged"), "{text}");
        assert!(!text.contains("lair"), "{text}");
        assert!(text.contains("script type=\"module\" src=\"/assets/label-"), "{text}");
        let plain = fields(&text, "default::people/ada");
        let plain: Vec<(&str, &str)> =
            plain.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(reader.send_without_token("/labels/grade", &plain).status, 403);
        let sent = press(&reader, &page, "default::people/ada", &[("grade", "2"), ("span", "")]);
        assert_eq!(sent.status, 303, "{}", sent.whole());
        assert!(sent.header("location").unwrap().starts_with(&page), "{}", sent.whole());
        assert!(sent.header("location").unwrap().ends_with("#result-1"), "{}", sent.whole());
        let own = || get(&server, &ada, "/v1/labels/queue/next?k=20").to_string();
        let review = || {
            let shown =
                get(&server, &ada, &format!("/v1/labels/queue/{}", id["id"].as_str().unwrap()));
            shown["hits"][0]["label"]["reviews"][0].clone()
        };
        assert_eq!(
            (review()["reviewer"].clone(), review()["grade"].clone()),
            (json!("ada"), json!(2)),
            "{}",
            own()
        );
        press(
            &reader,
            &page,
            "default::people/ada",
            &[("action", "span"), ("span", "Ada paints boats")],
        );
        press(
            &reader,
            &page,
            "default::people/ada",
            &[("action", "borderline"), ("span", "Ada paints boats")],
        );
        let found = review();
        assert_eq!(
            (found["grade"].clone(), found["borderline"].clone(), found["span"].clone()),
            (json!(2), json!(true), json!("Ada paints boats"))
        );
        let text = reader.page(&page);
        assert!(
            text.contains("Answering text: <mark class=\"span\">Ada paints boats</mark>"),
            "{text}"
        );
        assert!(text.contains("value=\"2\" aria-pressed=\"true\""), "{text}");
        uses(&home, &server, &reader, &ada);
        press(&reader, &page, "default::people/ada", &[("action", "undo")]);
        assert_eq!(review(), Value::Null);
        assert!(get(&server, &ada, "/v1/labels")["labels"].as_array().unwrap().is_empty());
        server.stop();
    }
}

/// Downloads, canonical queries and calibration pairs.
fn uses(home: &Home, server: &Server, reader: &Reader<'_>, token: &str) {
    let qrels = reader.open("/labels/qrels.json");
    assert_eq!(qrels.header("content-disposition"), Some("attachment; filename=\"qrels.json\""));
    assert_eq!(qrels.json()["queries"][0]["grades"], json!({ "default::people/ada": 2 }));
    let pairs = reader.open("/labels/borderline.jsonl").json();
    assert_eq!(
        (pairs["label"].clone(), pairs["document"].clone()),
        (json!("borderline"), json!("default::people/ada"))
    );
    let made = reader.send("/labels", "/labels/promote", &[("what", "queries")]);
    assert_eq!(made.status, 303, "{}", made.whole());
    let shown = reader.page(made.header("location").unwrap());
    assert!(shown.contains("canonical queries: 0 added, 1 changed, 0 left out"), "{shown}");
    let listed = home.json(&["queries", "list"]);
    assert!(listed.to_string().contains("Ada paints boats"), "{listed}");
    let collected = reader.send("/labels", "/labels/promote", &[("what", "pairs")]);
    assert_eq!(collected.status, 303, "{}", collected.whole());
    let known = home.json(&["calibrate", "pairs", "--label", "borderline"]);
    assert_eq!(known["pairs"][0]["document"], "default::people/ada", "{known}");
    // Queries without a relevant page would make the file unreadable for the gate.
    let id = label(server, token, "who mends nets?", "people/ada", 0);
    let qrels = reader.open("/labels/qrels.json").json();
    assert_eq!(
        (qrels["queries"].as_array().unwrap().len(), qrels["queries_left_out"].clone()),
        (1, json!(1))
    );
    server.send(&Call::new("DELETE", format!("/v1/labels/{id}")).token(token));
}

#[test]
fn labels_are_for_write() {
    let home = Home::sqlite();
    filled(&home);
    let (read, other) = (token(&home, "read"), token_of(&home, "team", "write"));
    let ada = reviewer(&home, "ada");
    let server = Server::start(&home, &[]);
    label(&server, &ada, QUERY, "people/ada", 2);
    let refused = Reader::sign_in(&server, &read).open("/labels");
    assert_eq!(refused.status, 403);
    assert!(!refused.text().contains("boats"), "{}", refused.whole());
    let text = Reader::sign_in(&server, &other).page("/labels");
    assert!(!text.contains("boats") && text.contains("There are no queries to label"), "{text}");
    let error = json!({ "labels": [{ "query": QUERY, "page": "secret/lair", "grade": 1 }] });
    assert_eq!(server.send(&Call::json("POST", "/v1/labels", &error).token(&ada)).status, 404);
    server.stop();
}
