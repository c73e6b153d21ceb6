//! Where pairs come from, and who is believed.

use super::*;
use crate::support::find;

#[test]
fn texts_are_looked_up_in_the_brain() {
    for lab in Lab::both() {
        harbour(&lab);
        lab.home().put(
            "secret",
            "---\nvisibility: private\n---\n# Secret\n\nThe lighthouse key is here.",
        );
        let pair = |document: &str| json!({ "query": "which lighthouse zubro03 keeps a lamp", "document": document, "label": "borderline" });
        let body =
            lab.collect(&[pair("good-03"), pair("wiki::low-03"), pair("secret"), pair("nowhere")]);
        assert_eq!((&body["added"], &body["missing"]), (&json!(2), &json!(28)), "{body:#}");
        let passed: Vec<&Value> =
            body["passed_over"].as_array().unwrap().iter().map(|one| &one["document"]).collect();
        assert_eq!(passed, ["secret", "nowhere"]);
        let (_, listed) = lab.json(&["calibrate", "pairs"]);
        let good = find(&listed["pairs"], "document", "wiki::good-03");
        // The reranker's input: the title and the passage.
        let text = good["text"].as_str().unwrap();
        assert!(text.starts_with("Good 3\n") && text.contains("scored 0.90"), "{text}");
        assert!(!listed.to_string().contains("key is here"));
        // By its own id it is the same pair.
        let mut named = pair("wiki::good-03");
        named["chunk"] = good["chunk"].clone();
        assert_eq!(lab.collect(&[named])["unchanged"], 1);
        let id = good["id"].to_string();
        lab.ok(&["calibrate", "pairs", "--remove", &id]);
        assert_eq!(lab.json(&["calibrate", "pairs"]).1["pairs"].as_array().unwrap().len(), 1);
        // A page that is purged takes its pairs along.
        lab.ok(&["purge", "wiki::low-03", "--yes"]);
        assert_eq!(lab.json(&["calibrate", "pairs"]).1["pairs"], json!([]));
    }
}

#[test]
fn a_person_is_believed_more_than_a_key() {
    let lab = Lab::new(Home::sqlite());
    harbour(&lab);
    let query = "which lighthouse zubro03 keeps a lamp";
    let pair = |label: &str| json!({ "query": query, "document": "wiki::good-03", "label": label });
    lab.collect(&[pair("borderline")]);
    let (code, body) = lab.json(&["calibrate", "collect", "--canonical"]);
    assert_eq!(code, Some(0), "{body:#}");
    let counts = &body["pairs"];
    assert_eq!((&counts["borderline"], &counts["relevant"]), (&json!(1), &json!(19)), "{body:#}");
    assert!(body["passed_over"].to_string().contains("overridden by a manual pair"), "{body:#}");
    // An irrelevant result is one that another query expects and that is not among this query's first results.
    let far = counts["irrelevant"].as_u64().unwrap();
    assert!((10..=20).contains(&far), "{body:#}");
    let (_, again) = lab.json(&["calibrate", "collect", "--canonical"]);
    assert_eq!((&again["added"], &again["changed"]), (&json!(0), &json!(0)), "{again:#}");
    assert_eq!(lab.collect(&[pair("irrelevant")])["changed"], 1, "a later word of a person counts");
}

#[test]
fn queries_are_scrubbed_and_lines_are_checked() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&[json!({
        "query": "what did ada@example.com ask?", "document": "d", "label": "irrelevant", "text": "t",
    })]);
    let (_, listed) = lab.json(&["calibrate", "pairs"]);
    let query = listed["pairs"][0]["query"].as_str().unwrap();
    assert!(!query.contains("ada@example.com") && query.contains("what did"), "{query}");
    let path = lab.home().path().join("bad.jsonl");
    std::fs::write(&path, "{\"query\":\"q\",\"document\":\"d\",\"label\":null}\n").unwrap();
    lab.run(&["calibrate", "collect", "--from", path.to_str().unwrap()])
        .exits(2)
        .stderr_has("line 1")
        .stderr_has("borderline");
}

/// A pair whose text changed is the same pair, whichever label it has now.
#[test]
fn a_pair_whose_text_changed_is_counted_once() {
    for lab in Lab::both() {
        let pair = |text: &str, label: &str| json!({ "query": "a query", "document": "d", "label": label, "text": text });
        lab.collect(&[pair("first", "borderline")]);
        let body = lab.collect(&[pair("second", "borderline")]);
        assert_eq!(
            (&body["changed"], &body["pairs"]["borderline"]),
            (&json!(1), &json!(1)),
            "{body:#}"
        );
        let body = lab.collect(&[pair("first", "relevant")]);
        assert_eq!(body["pairs"], json!({ "borderline": 0, "relevant": 1, "irrelevant": 0 }));
        let (_, list) = lab.json(&["calibrate", "pairs"]);
        assert_eq!(list["pairs"].as_array().unwrap().len(), 1, "{list:#}");
        assert_eq!(list["pairs"][0]["text"], "first");
        // Passages that are named are two.
        let named = |chunk: &str| json!({ "query": "a query", "document": "d", "chunk": chunk, "label": "borderline", "text": "t" });
        let body = lab.collect(&[named("c1"), named("c2")]);
        assert_eq!(body["pairs"]["borderline"], 2, "{body:#}");
    }
}
