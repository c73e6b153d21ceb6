//! Variants of a query: what they bring, what becomes of a model that gives none, and how they are
//! kept and asked again.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use gbrain_brain::capture::{AuditLog, CaptureOptions, QueryService, software};
use gbrain_brain::{Brain, Expand, QueryOptions};
use gbrain_core::capture::{CapturePolicy, keys, write_line};
use gbrain_core::format::capture::{read_object, read_row};
use gbrain_core::hook::HookError;
use gbrain_core::ranking::MatchEvidence;
use gbrain_core::replay::{LiveContext, SettingsSource};
use gbrain_core::request::{Caller, Expansion, Operation, Request, RetrievalMode};
use gbrain_core::scrub::Scrubber;
use gbrain_core::search::Settings;
use gbrain_store::CaptureFilter;
use serde_json::Value;

use super::{NOW, brain, degraded, plain, put, request, slugs};

fn wanted(query: &str) -> Request {
    Request { expansion: Expansion::Requested, ..request(query) }
}

fn given(query: &str, variants: &[&str]) -> Request {
    let variants = variants.iter().map(|text| (*text).to_owned()).collect();
    Request { expansion: Expansion::Variants(variants), ..request(query) }
}

fn with<'a>(expand: &'a Expand<'a>) -> QueryOptions<'a> {
    QueryOptions { expand: Some(expand), ..QueryOptions::default() }
}

/// The query finds `a`; its variants find more.
fn harbour(dir: &std::path::Path) -> Brain {
    let brain = brain(dir);
    put(&brain, "d", "a landing stage for small boats, with a crane");
    put(&brain, "e", "small boats");
    brain
}

#[test]
fn variants_bring_what_the_query_misses() {
    let dir = tempfile::tempdir().unwrap();
    let brain = harbour(dir.path());
    assert_eq!(slugs(&plain(&brain, "quay")), ["a", "b"]);
    let expand = |_: &str| Ok(vec!["small boats".to_owned(), "Quay".to_owned()]);
    let answered = brain.answer(&wanted("quay"), &with(&expand)).unwrap();
    assert_eq!(answered.request.expansion, Expansion::Variants(vec!["small boats".to_owned()]));
    assert!(answered.ranking.expansion_applied && answered.ranking.degraded.is_empty());
    let scores: Vec<(&str, f64)> =
        answered.ranking.hits.iter().map(|hit| (hit.key.slug.as_str(), hit.score)).collect();
    // The best of a variant counts half of the best of the query.
    assert_eq!((scores[0].0, scores[2].0), ("a", "e"));
    assert!((scores[0].1 / scores[2].1 - 2.0).abs() < 0.02, "{scores:?}");
    assert_eq!(answered.ranking.hits[2].evidence, MatchEvidence::Meaning);
    assert_eq!(answered.ranking.hits[2].passages[0].snippet, "small boats");
    assert_eq!(answered.ranking.arms[0].found, 4);
    // Asked again with what the model said, the model is not asked, and the answer is the same.
    let never = |_: &str| -> Result<Vec<String>, HookError> { panic!("the model was asked") };
    let again = brain.answer(&answered.request, &with(&never)).unwrap();
    assert_eq!((again.ranking, &again.request), (answered.ranking, &answered.request));
}

#[test]
fn a_weight_of_nothing_is_no_expansion() {
    let dir = tempfile::tempdir().unwrap();
    let brain = harbour(dir.path());
    let mut request = given("quay", &["small boats"]);
    request.settings.set("expand_weight", "0").unwrap();
    let answered = brain.answer(&request, &QueryOptions::default()).unwrap();
    assert_eq!((slugs(&answered), answered.ranking.expansion_applied), (vec!["a", "b"], false));
    request.settings.set("expand_weight", "1").unwrap();
    let answered = brain.answer(&request, &QueryOptions::default()).unwrap();
    assert_eq!(answered.ranking.hits.len(), 4);
    assert_eq!(slugs(&answered)[0], "a", "the query's own order wins ties");
}

#[test]
fn names_go_by_what_was_typed() {
    let dir = tempfile::tempdir().unwrap();
    let brain = harbour(dir.path());
    let answered = brain.answer(&given("quay", &["lighthouse"]), &QueryOptions::default()).unwrap();
    let evidence = answered.ranking.hits.iter().map(|hit| hit.evidence);
    assert!(evidence.clone().all(|evidence| evidence != MatchEvidence::ExactName));
    assert_eq!(slugs(&answered)[0], "a");
    // A variant of stop words says nothing to the words, and there are no vectors here.
    let nothing = brain.answer(&given("quay", &["…"]), &QueryOptions::default()).unwrap();
    assert_eq!((slugs(&nothing), nothing.ranking.expansion_applied), (vec!["a", "b"], false));
}

#[test]
fn an_expander_that_fails_leaves_the_plain_ranking() {
    let dir = tempfile::tempdir().unwrap();
    let brain = harbour(dir.path());
    let expected = plain(&brain, "quay").ranking;
    let check = |ask: &QueryOptions<'_>, reason: &str| {
        let answered = brain.answer(&wanted("quay"), ask).unwrap();
        assert_eq!(degraded(&answered), [("expansion", reason)]);
        assert!(!answered.ranking.expansion_applied);
        assert_eq!(answered.ranking.hits, expected.hits);
    };
    for error in HookError::ALL {
        check(&with(&|_: &str| Err(*error)), error.name());
    }
    check(&with(&|_: &str| Ok(vec![" ".to_owned(), "QUAY".to_owned()])), "empty");
    check(&QueryOptions::default(), "no_provider");
}

#[test]
fn a_model_is_asked_only_where_it_can_help() {
    let dir = tempfile::tempdir().unwrap();
    let brain = harbour(dir.path());
    let calls = Cell::new(0);
    let expand = |_: &str| {
        calls.set(calls.get() + 1);
        Ok(vec!["small boats".to_owned()])
    };
    let check = |request: Request, expected: u32| {
        let answered = brain.answer(&request, &with(&expand)).unwrap();
        assert_eq!(calls.replace(0), expected, "{request:?}");
        assert_eq!(
            degraded(&answered).iter().filter(|(stage, _)| *stage == "expansion").count(),
            0
        );
    };
    check(wanted("quay"), 1);
    check(request("quay"), 0);
    check(given("quay", &["boats"]), 0);
    check(Request { mode: RetrievalMode::Graph, ..wanted("quay") }, 0);
    check(Request { operation: Operation::Search, ..wanted("quay") }, 0);
}

pub(super) fn door(brain: &Arc<Brain>, dir: &std::path::Path) -> QueryService {
    let (scrubber, software) = (Some(Scrubber::default()), software());
    let options = CaptureOptions {
        policy: Ok(CapturePolicy { scrubber, identity: None, synthetic: true, software }),
        sample_rate: 1.0,
        retention_days: None,
        queue: 64,
        audit: AuditLog { dir: dir.join("audit") },
        observer: None,
    };
    QueryService::new(brain.clone(), Some(options))
}

/// The rows of a brain as an export has them, oldest first.
pub(super) fn rows(brain: &Brain) -> Vec<Value> {
    let mut lines = Vec::new();
    let filter = CaptureFilter::default();
    let ws = brain.workspace();
    let store = brain.store();
    store
        .captures(ws, &filter, &mut |row| {
            let mut line = Vec::new();
            write_line(&row, &mut line);
            lines.push(read_object(std::str::from_utf8(&line).unwrap()).unwrap());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    lines.sort_by_key(|row| row["id"].as_i64());
    lines
}

#[test]
fn captured_variants_are_scrubbed_and_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let brain = Arc::new(harbour(dir.path()));
    let door = door(&brain, dir.path());
    let leaking = |query: &str| Ok(vec![format!("{query} of ada@example.com"), "boats".to_owned()]);
    let clean = |_: &str| Ok(vec!["small boats".to_owned()]);
    let failing = |_: &str| Err(HookError::OverBudget);
    let expanders: [&Expand<'_>; 3] = [&leaking, &clean, &failing];
    for expand in expanders {
        door.answer(&wanted("quay"), &with(expand), Caller::default()).unwrap();
    }
    door.answer(&request("quay"), &QueryOptions::default(), Caller::default()).unwrap();
    assert_eq!(door.close().stored, 4);
    let rows = rows(&brain);
    let text = serde_json::to_string(&rows).unwrap();
    assert!(!text.contains("ada@example.com"));
    let field = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<Value>>();
    assert_eq!(
        field("expansion_variants"),
        [
            serde_json::json!(["quay of [REDACTED]", "boats"]),
            serde_json::json!(["small boats"]),
            serde_json::json!([]),
            serde_json::json!([]),
        ]
    );
    assert_eq!(field("expansion_scrubbed"), [true.into(), Value::Null, Value::Null, Value::Null]);
    assert_eq!(field("scrubbed"), [true, false, false, false]);
    assert_eq!(field("expansion_applied"), [true, true, false, false]);
    assert_eq!(field("expand_enabled"), [true, true, true, false]);
    assert_eq!(
        field("degraded")[2],
        serde_json::json!([{ "stage": "expansion", "reason": "over_budget" }])
    );
    let live = LiveContext { settings: Settings::default(), now: NOW };
    for row in rows {
        let row = read_row(row, 1).unwrap();
        let asked = gbrain_core::replay::ask(&row, &live, SettingsSource::Capture).unwrap();
        assert_eq!(asked.caveats, []);
        let again = brain.answer(&asked.request, &QueryOptions::default()).unwrap();
        let again: Vec<String> =
            keys(&again.ranking.hits).iter().map(ToString::to_string).collect();
        let expected: Vec<String> =
            row.expected().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(again, expected);
    }
}
