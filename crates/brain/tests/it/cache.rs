//! Answers that are given again: never another answer than the one that would have been found.

use std::cell::Cell;
use std::sync::Arc;

use gbrain_brain::capture::QueryService;
use gbrain_brain::{Brain, IndexKind, QueryOptions, RerankPassage, Reranker};
use gbrain_core::hook::HookError;
use gbrain_core::id::SourceId;
use gbrain_core::ranking::CacheUse;
use gbrain_core::request::{Caller, Detail, Expansion, Filter, Request, RetrievalMode, Viewer};
use gbrain_index::Models;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::expand::{door, rows};
use super::remote::Remote;
use super::{NOW, brain, empty_brain, put, request, slugs};

fn judge(query: &str, judged: &[RerankPassage]) -> Result<Vec<f64>, HookError> {
    let score = |judged: &RerankPassage| (judged.text.len() * 7 + query.len()) % 13;
    Ok(judged.iter().map(|judged| score(judged) as f64 / 13.0).collect())
}

const JUDGE: Reranker<'_> = Reranker { id: "judge-1", judge: &judge };

fn judged() -> QueryOptions<'static> {
    QueryOptions { rerank: Some(JUDGE), ..QueryOptions::default() }
}

fn used(door: &QueryService, request: &Request, ask: &QueryOptions<'_>) -> CacheUse {
    let answered = door.answer(request, ask, Caller::default()).unwrap();
    let fresh = door.brain().answer(request, ask).unwrap();
    assert_eq!(answered.ranking, fresh.ranking, "{request:?}");
    assert_eq!(answered.request, fresh.request);
    answered.served.cache
}

#[test]
fn only_answers_of_remote_models_are_cached() {
    let dir = tempfile::tempdir().unwrap();
    let door = QueryService::new(Arc::new(brain(dir.path())), None);
    let check = |request: &Request, ask: &QueryOptions<'_>, expected: [CacheUse; 2]| {
        assert_eq!([used(&door, request, ask), used(&door, request, ask)], expected);
    };
    use CacheUse::{Hit, Miss, Off};
    check(&request("ferry"), &QueryOptions::default(), [Off, Off]);
    check(&request("ferry"), &judged(), [Miss, Hit]);
    check(&request("ferry"), &QueryOptions { explain: true, ..judged() }, [Off, Off]);
    let mut without = request("ferry");
    without.settings.set("cache_mb", "0").unwrap();
    check(&without, &judged(), [Off, Off]);
    let remote = tempfile::tempdir().unwrap();
    let models = Models::new(Remote::new());
    let door =
        QueryService::new(Arc::new(empty_brain(remote.path(), IndexKind::Memory, models)), None);
    put(door.brain(), "a", "the ferry");
    let with = Request { vectors: true, ..request("ferry") };
    assert_eq!(
        [
            used(&door, &with, &QueryOptions::default()),
            used(&door, &with, &QueryOptions::default())
        ],
        [Miss, Hit]
    );
    assert_eq!(used(&door, &request("ferry"), &QueryOptions::default()), Off);
}

#[test]
fn degraded_answers_are_not_cached_and_cached_answers_call_no_model() {
    let dir = tempfile::tempdir().unwrap();
    let door = QueryService::new(Arc::new(brain(dir.path())), None);
    let calls = Cell::new(0);
    let flaky = |query: &str, passages: &[RerankPassage]| {
        calls.set(calls.get() + 1);
        if calls.get() == 1 { Err(HookError::Timeout) } else { judge(query, passages) }
    };
    let ask = QueryOptions {
        rerank: Some(Reranker { id: "flaky", judge: &flaky }),
        ..QueryOptions::default()
    };
    let answer = || door.answer(&request("ferry quay"), &ask, Caller::default()).unwrap();
    let uses = [answer(), answer(), answer()].map(|answered| answered.served.cache);
    assert_eq!(uses, [CacheUse::Miss, CacheUse::Miss, CacheUse::Hit]);
    assert_eq!(calls.get(), 2);
    let other = QueryOptions {
        rerank: Some(Reranker { id: "other", judge: &judge }),
        ..QueryOptions::default()
    };
    assert_eq!(used(&door, &request("ferry quay"), &other), CacheUse::Miss);
}

#[test]
fn rows_say_what_the_cache_did() {
    let dir = tempfile::tempdir().unwrap();
    let brain = Arc::new(brain(dir.path()));
    let door = door(&brain, dir.path());
    for ask in [&judged(), &judged(), &QueryOptions::default()] {
        door.answer(&request("ferry quay"), ask, Caller::default()).unwrap();
    }
    assert_eq!(door.close().stored, 3);
    let rows = rows(&brain);
    let field = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("cache"), ["miss", "hit", "off"]);
    assert_eq!(field("cache_hit"), [false, true, false]);
    assert_eq!(field("rerank_model")[..2], ["judge-1", "judge-1"]);
    assert_eq!(rows[0]["retrieved"], rows[1]["retrieved"]);
    let read = |at: usize| gbrain_core::format::capture::read_row(rows[at].clone(), 1).unwrap();
    assert!(!read(1).cache_hit, "what our cache gives is what would have been found");
    assert_eq!((read(0).latency_ms.is_some(), read(1).latency_ms), (true, None));
}

/// One step of a random session.
#[derive(Debug, Clone)]
enum Step {
    QueryOptions(Box<Request>),
    Write { page: u8, words: u8 },
    Believe { is_trusted: bool },
}

fn questions() -> impl Strategy<Value = Request> {
    let words = prop::sample::select(vec!["ferry quay", "ferry", "lighthouse", "pier 1", "pier"]);
    let expansion = prop_oneof![
        3 => Just(Expansion::Off),
        1 => Just(Expansion::Variants(vec!["pier".to_owned()])),
        1 => Just(Expansion::Variants(vec!["quay".to_owned(), "pier".to_owned()])),
    ];
    let sources = prop_oneof![
        2 => Just(Vec::new()),
        1 => Just(vec![SourceId::default()]),
        1 => Just(vec![SourceId::new("elsewhere").unwrap()]),
    ];
    let filter = (sources, any::<bool>()).prop_map(|(sources, is_trusted)| Filter {
        sources,
        trust: if is_trusted { Viewer::Trusted } else { Viewer::Untrusted },
        ..Filter::default()
    });
    let detail = prop::sample::select(vec![None, Some(Detail::Low), Some(Detail::High)]);
    let modes = vec![RetrievalMode::Knowledge, RetrievalMode::Hybrid];
    let settings = prop::sample::select(vec!["0.1", "0.5"]);
    let rest = (detail, prop::sample::select(modes), settings, any::<bool>(), 1..3usize, 0..48i64);
    (words, expansion, filter, rest).prop_map(|(words, expansion, filter, rest)| {
        let (detail, mode, threshold, vectors, limit, hours) = rest;
        let now: Timestamp = NOW + SignedDuration::from_hours(hours);
        let mut request =
            Request { expansion, filter, detail, mode, vectors, limit, now, ..request(words) };
        request.settings.set("rerank_threshold", threshold).unwrap();
        request
    })
}

fn days() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => questions().prop_map(|request| Step::QueryOptions(Box::new(request))),
        1 => (0..4u8, 0..3u8).prop_map(|(page, words)| Step::Write { page, words }),
        1 => any::<bool>().prop_map(|is_trusted| Step::Believe { is_trusted }),
    ];
    // People ask the same again: every day is lived twice.
    prop::collection::vec(step, 1..30).prop_map(|day| [day.clone(), day].concat())
}

fn live(door: &QueryService, day: &[Step]) -> usize {
    let brain: &Brain = door.brain();
    let elsewhere = SourceId::new("elsewhere").unwrap();
    let mut hits = 0;
    for step in day {
        match step {
            Step::QueryOptions(request) => {
                hits += usize::from(used(door, request, &judged()) == CacheUse::Hit);
            }
            Step::Write { page, words } => {
                let private = if *words == 1 { "---\nvisibility: private\n---\n" } else { "" };
                let text =
                    format!("{private}pier {words} and a ferry{}", " quay".repeat(*words as usize));
                let source = if *page % 2 == 0 { "elsewhere::" } else { "" };
                put(brain, &format!("{source}page-{page}"), &text);
            }
            Step::Believe { is_trusted } => {
                let trust = match is_trusted {
                    true => gbrain_store::SourceTrust::Trusted,
                    false => gbrain_store::SourceTrust::Untrusted,
                };
                brain.store().set_source_trust(brain.workspace(), &elsewhere, trust, NOW).unwrap();
            }
        }
    }
    hits
}

fn whole_days(index: IndexKind, cases: u32) {
    let hits = Cell::new(0);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&days(), |day| {
            let dir = tempfile::tempdir().unwrap();
            let brain = empty_brain(dir.path(), index, Models::new(Remote::new()));
            let elsewhere = SourceId::new("elsewhere").unwrap();
            brain.ensure_source(&elsewhere, NOW).unwrap();
            super::fill(&brain);
            put(&brain, "elsewhere::page-0", "pier 0 and a ferry");
            hits.set(hits.get() + live(&QueryService::new(Arc::new(brain), None), &day));
            Ok(())
        })
        .unwrap();
    assert!(hits.get() > 0, "the property holds of nothing");
}

#[test]
fn cached_answers_equal_fresh_ones_in_memory() {
    whole_days(IndexKind::Memory, 64);
}

#[test]
fn cached_answers_equal_fresh_ones_on_disk() {
    whole_days(IndexKind::Disk, 16);
}

#[test]
fn a_write_is_seen_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let door = QueryService::new(Arc::new(brain(dir.path())), None);
    let answer = || door.answer(&request("ferry"), &judged(), Caller::default()).unwrap();
    assert_eq!(slugs(&answer()).len(), 3);
    put(door.brain(), "new", "a ferry that is new");
    let after = answer();
    assert_eq!((slugs(&after).len(), after.served.cache), (4, CacheUse::Miss));
}
