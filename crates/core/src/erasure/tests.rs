use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::capture::chunk_number;
use crate::id::{PageId, PageKey, SourceId};
use crate::identity::{IdentityKey, KEY_BYTES};

const CHUNK: &str = "0123456789abcdef";

fn key(text: &str) -> PageKey {
    PageKey::parse(text, &SourceId::default()).unwrap()
}

fn identity() -> IdentityKey {
    IdentityKey::new([3; KEY_BYTES])
}

fn page(name: &str, others: &[&str]) -> ErasedPage {
    let key = key(name);
    ErasedPage::new(ErasedPageParts {
        hash: Some(IdentityHash::new(&identity(), &key)),
        key,
        id: PageId(17),
        chunk_ids: BTreeSet::from([CHUNK.to_owned()]),
        others: others.iter().map(|other| self::key(other)).collect(),
        own_names: BTreeSet::from(["Ada Lovelace".to_owned()]),
        texts: vec!["Ada wrote\nthe first program.".to_owned()],
    })
}

#[track_caller]
fn check(page: &ErasedPage, text: &str, expected: Option<&str>) {
    assert_eq!(page.record(text).as_deref(), expected, "{text}");
}

#[test]
fn identifiers_are_matched_and_words_are_not() {
    let e = page("e", &["default::e/f", "default::every", "wiki::e"]);
    check(
        &e,
        r#"{"results":["default::e","default::every"]}"#,
        Some(r#"{"results":["default::[purged-17]","default::every"]}"#),
    );
    check(&e, r#"["e"]"#, None);
    check(&e, r#"["wiki::e","default::e/f","my-default::e"]"#, None);
    check(&e, r#"{"default::e":[1]}"#, Some(r#"{"default::[purged-17]":[1]}"#));
    check(
        &e,
        r#"["default::e#3","0123456789abcdef"]"#,
        Some(r#"["default::[purged-17]#3","[purged-17]"]"#),
    );
    check(&e, "see default::e.", Some("see default::[purged-17]."));
    check(
        &e,
        "default::e -owned_by-> default::every",
        Some("default::[purged-17] -owned_by-> default::every"),
    );
    check(&e, "default::e.md, xdefault::e, default::e-f and default::é", None);
    check(
        &e,
        "default::e: there is no such link",
        Some("default::[purged-17]: there is no such link"),
    );
    check(&e, "default::e::f and default::e:f", None);
    check(&e, "the letter e is everywhere", None);
}

#[test]
fn a_page_whose_slug_looks_like_a_passage_is_another_page() {
    let a = page("a", &["default::a#3", "default::a b"]);
    check(&a, r#"["default::a#3","default::a b"]"#, None);
    check(&a, "default::a b and default::a", Some("default::a b and default::[purged-17]"));
    check(&a, "default::a because", Some("default::[purged-17] because"));
    check(&a, r#"["default::a#4"]"#, Some(r#"["default::[purged-17]#4"]"#));
}

#[test]
fn a_bare_passage_of_another_page_is_not_this_page() {
    let a = page("a", &["default::a#3", "wiki::a#4"]);
    let found: Vec<bool> =
        ["a", "a#3", "a#4", "a#5", "default::a#3"].map(|id| a.is_document(id)).to_vec();
    assert_eq!(found, [true, false, false, true, false]);
}

#[test]
fn odd_slugs_are_slugs() {
    for slug in ["100%_done", "größe/日本", "a\"b\\c", "it's", "a::b"] {
        let erased = page(&format!("default::{slug}"), &[]);
        let body = json!({ "results": [format!("default::{slug}")] }).to_string();
        assert_eq!(erased.record(&body).unwrap(), r#"{"results":["default::[purged-17]"]}"#);
    }
    check(&page("a_b", &[]), r#"["default::axb"]"#, None);
}

#[test]
fn scrubbed_names_are_matched_by_their_hash() {
    let ada = page("people/ada", &[]);
    let hash = identity().keyed_page_hash(&key("people/ada"));
    let shown = format!(r#"["default::people/[REDACTED]#{}"]"#, &hash[..16]);
    check(&ada, &shown, Some(r#"["default::[purged-17]"]"#));
    check(&ada, r#"["default::people/[REDACTED]#0000000000000000"]"#, None);
}

fn capture(row: Value) -> (CaptureErasure, Value) {
    let Value::Object(mut row) = row else { unreachable!() };
    let found = page("e", &["wiki::e"]).erase_from_capture(&mut row);
    (found, row.into())
}

#[test]
fn a_capture_keeps_its_ranks() {
    let (found, row) = capture(json!({
        "retrieved_slugs": ["a", "e"], "retrieved_chunk_ids": [5, chunk_number(CHUNK)],
        "source_ids": ["default", "wiki"],
        "retrieved": [{"source_id":"default","slug":"a"}, {"source_id":"default","slug":"e"},
            {"source_id":"wiki","slug":"e"}],
    }));
    assert_eq!(found, CaptureErasure::Erased);
    assert_eq!(row["retrieved_slugs"], json!(["a", "[purged-17]", "e"]));
    assert_eq!(row["retrieved_chunk_ids"], json!([5, 0]));
    assert_eq!(row["retrieved"][1], json!({"source_id":"default","slug":"[purged-17]"}));
    assert_eq!(row["retrieved"][2]["slug"], "e");
}

#[test]
fn the_source_of_a_capture_decides() {
    let of = |sources: Value| json!({"retrieved_slugs":["e"], "source_ids": sources});
    assert_eq!(capture(of(json!(["wiki"]))).0, CaptureErasure::Unnamed);
    assert_eq!(capture(of(json!(["default"]))).0, CaptureErasure::Erased);
    assert_eq!(capture(of(json!(["default", "wiki"]))).0, CaptureErasure::Unnamed, "either's");
    let elsewhere = json!({"retrieved_slugs":["e"],"retrieved":[{"source_id":"wiki","slug":"e"}]});
    assert_eq!(capture(elsewhere).0, CaptureErasure::Unnamed);
}

#[test]
fn a_scrubbed_capture_is_matched_by_its_key() {
    let hash = identity().keyed_page_hash(&key("e"));
    let of = |id: &str, hash: &str| {
        json!({"retrieved_slugs":["[REDACTED]"],"identity_key_id":id,
            "retrieved":[{"source_id":"default","slug":"[REDACTED]","key_hash":hash}]})
    };
    let (found, row) = capture(of(&identity().id(), &hash));
    assert_eq!(found, CaptureErasure::Erased);
    assert_eq!(row["retrieved"], json!([{"source_id":"default","slug":"[purged-17]"}]));
    assert_eq!(capture(of(&identity().id(), "00")).0, CaptureErasure::Unnamed);
    assert_eq!(capture(of("0000000000000000", &hash)).0, CaptureErasure::AnotherKey);
}

fn query(body: Value) -> Option<(Value, bool)> {
    let erased =
        page("people/ada", &["wiki::go"]).erase_from_query(&body.to_string(), &|_, _| false)?;
    Some((serde_json::from_str(&erased.body).unwrap(), erased.is_retired))
}

#[test]
fn a_query_stays_while_it_has_a_key() {
    let (left, is_retired) = query(json!({
        "query": "who?", "expected": ["default::people/ada", "b"], "state": "active",
        "expected_snippets": ["wrote the first", "of another page"],
    }))
    .unwrap();
    assert!(!is_retired);
    assert_eq!(left["expected"], json!(["b"]));
    assert_eq!(left["expected_snippets"], json!(["of another page"]));
    assert_eq!(left["state"], "active");
}

#[test]
fn a_query_without_a_key_is_retired() {
    let body = json!({"query":"q","expected":["people/ada",{"kind":"chunk","id":CHUNK}],
        "expected_snippets":["anything"],"state":"active"});
    let (left, is_retired) = query(body).unwrap();
    assert!(is_retired && left["state"] == "retired");
    assert_eq!((&left["expected"], &left["expected_snippets"]), (&json!([]), &json!([])));
    let (left, is_retired) =
        query(json!({"query":"q","expected":["people/ada"],"entities":["Grace","ada lovelace"]}))
            .unwrap();
    assert_eq!((left["entities"].clone(), is_retired), (json!(["Grace"]), false));
    assert_eq!(query(json!({"query":"people/ada","id":"people/ada","tags":["people/ada"]})), None);
}

#[test]
fn a_bare_key_of_two_sources_is_not_one_page() {
    let body = json!({"query":"q","expected":["go"]}).to_string();
    let none = |_: &[String], _: &str| false;
    assert_eq!(page("notes::go", &["wiki::go"]).erase_from_query(&body, &none), None);
    assert!(page("notes::go", &["wiki::gone"]).erase_from_query(&body, &none).unwrap().is_retired);
}

#[track_caller]
fn check_qrels(text: &str, expected: Option<(&str, u64)>) {
    let found = page("e", &[]).erase_from_qrels(text);
    let found = found.as_ref().map(|found| (found.text.as_str(), found.without_answer));
    assert_eq!(found, expected, "{text}");
}

#[test]
fn judgements_go_and_the_last_one_can_not_pass() {
    check_qrels(
        r#"{"schema_version":1,"queries":[{"query":"q","relevant":[{"source_id":"default","slug":"e"},{"source_id":"wiki","slug":"e"}]}]}"#,
        Some((
            r#"{"schema_version":1,"queries":[{"query":"q","relevant":[{"source_id":"wiki","slug":"e"}]}]}"#,
            0,
        )),
    );
    check_qrels(
        r#"[{"query":"e","relevant":["e"],"grades":{"e":2}},{"query":"r","relevant":["wiki::e","every"]}]"#,
        Some((
            r#"[{"query":"e","relevant":["default::[purged-17]"],"grades":{}},{"query":"r","relevant":["wiki::e","every"]}]"#,
            1,
        )),
    );
    check_qrels(r#"[{"query":"e","relevant":["wiki::e"]}]"#, None);
    check_qrels(
        "e 0 e 1\ne 0 f 1\nq2 0 default::e 1\n",
        Some(("e 0 f 1\nq2 0 default::[purged-17] 1\n", 1)),
    );
    check_qrels(
        "query-id\tcorpus-id\tscore\ne\te\t1\ne\tf\t1\n",
        Some(("query-id\tcorpus-id\tscore\ne\tf\t1\n", 0)),
    );
    check_qrels("e 0 every 1\n", None);
}

#[test]
fn a_contradiction_keeps_its_figures() {
    let member = |slug: &str| json!({"source_id":"default","slug":slug,"chunk_id":"c","holder":null,"text":"says","effective_date":"2026-01-01"});
    let report = json!({"verdict":"fail","total_contradictions_flagged":2,
        "findings":[{"pair_id":"p1","a":member("e"),"b":member("f"),"axis":"doors","resolution_command":"gbrain get 'default::e'"},
            {"pair_id":"p2","a":member("every"),"b":member("f"),"axis":"days","resolution_command":null}],
        "per_query":[{"query":"e","contradictions":["p1","p2"]}],
        "hot_pages":[{"source_id":"default","slug":"e","appearances":1}]});
    let erased = page("e", &[]).erase_from_contradiction_report(&report.to_string()).unwrap();
    let erased: Value = serde_json::from_str(&erased).unwrap();
    assert_eq!(erased["findings"][0]["a"]["text"], PURGED);
    assert_eq!(erased["findings"][0]["a"]["effective_date"], Value::Null);
    assert_eq!(
        erased["findings"][0]["b"], report["findings"][0]["b"],
        "the other page keeps its statement"
    );
    assert_eq!(erased["findings"][0]["axis"], PURGED);
    assert_eq!(erased["findings"][1], report["findings"][1]);
    assert_eq!(erased["per_query"][0]["contradictions"], json!(["[purged-17].1", "p2"]));
    assert_eq!(erased["hot_pages"][0]["slug"], "[purged-17]");
    assert_eq!(
        (&erased["verdict"], &erased["total_contradictions_flagged"]),
        (&json!("fail"), &json!(2))
    );
    assert_eq!(
        page("says", &[]).erase_from_contradiction_report(&report.to_string()),
        None,
        "a word is no page"
    );
}

#[test]
fn an_import_names_pages_in_its_source() {
    let spec = r#"{"source":"wiki","pages":[{"slug":"e","content":"x"},{"slug":"default::f","content":"y"}]}"#;
    assert!(page("wiki::e", &[]).is_in_import(spec) && page("f", &[]).is_in_import(spec));
    assert!(!page("e", &[]).is_in_import(spec) && !page("wiki::f", &[]).is_in_import(spec));
    assert!(!page("e", &[]).is_in_import(""));
}
