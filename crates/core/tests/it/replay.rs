//! Replay: what is asked again, how it compares, what it adds up to.

use gbrain_core::capture::{CapturedPage, CapturedRow};
use gbrain_core::format::capture::read_row;
use gbrain_core::id::SourceId;
use gbrain_core::latency::{CPU_METHOD, CpuTime};
use gbrain_core::provenance::{FactorDifference, FactorDifferences};
use gbrain_core::replay::{
    Caveat, LiveContext, MetricHealth, PageMatcher, RankingPair, ReplaySummary, ReplayedRow,
    RowComparison, RowOutcome, SettingsSource, SkipReason, ask, compare, diagnose,
    first_page_without_source, healths, summarise,
};
use gbrain_core::request::{Expansion, RetrievalMode, Viewer};
use gbrain_core::scrub::Scrubber;
use gbrain_core::search::Settings;
use proptest::prelude::*;
use serde_json::{Value, json};

fn live() -> LiveContext {
    LiveContext { settings: Settings::default(), now: "2026-06-01T00:00:00Z".parse().unwrap() }
}

fn captured(members: Value) -> CapturedRow {
    let mut row = json!({ "schema_version": 1, "tool_name": "query", "query": "a" });
    let (Value::Object(row), Value::Object(members)) = (&mut row, members) else { panic!() };
    row.extend(members);
    read_row(Value::Object(row.clone()), 1).unwrap()
}

fn page(source: &str, slug: &str) -> CapturedPage {
    CapturedPage::new(source, slug)
}

fn sides(row: &CapturedRow, current: &[CapturedPage], cut: usize) -> RankingPair {
    PageMatcher { scrubber: &Scrubber::default(), key: None }.comparable_rankings(row, current, cut)
}

#[test]
fn an_answer_without_sources_is_no_match_for_a_row_that_has_them() {
    let row = captured(json!({ "retrieved": [{ "source_id": "a", "slug": "x" }] }));
    let bare = [CapturedPage::parse("x")];
    assert_eq!(first_page_without_source(&row, &bare), Some(&bare[0]));
    let both = sides(&row, &bare, 5);
    assert_ne!(both.captured, both.current);
    let both = sides(&row, &[CapturedPage::parse("a::x")], 5);
    assert_eq!(both.captured, both.current);
    // One result without a source does not let another one's source pass.
    let evil = [CapturedPage::parse("evil::x"), CapturedPage::parse("y")];
    let both = sides(&row, &evil, 5);
    assert_eq!(both.current, ["evil::x", "y"]);
    assert!(!both.current.contains(&both.captured[0]));
}

#[test]
fn rows_without_sources_take_pages_of_their_own_sources_only() {
    let row = captured(json!({ "retrieved_slugs": ["x", "y"], "source_ids": ["a", "b"] }));
    let both = sides(&row, &[page("a", "x"), page("b", "y"), page("a", "y")], 5);
    assert_eq!(both.captured, both.current);
    let both = sides(&row, &[page("evil", "x"), page("b", "y")], 5);
    assert_eq!((both.captured, both.current), (strings(&["x", "y"]), strings(&["evil::x", "y"])));
    let bare = [CapturedPage::parse("x")];
    assert!(first_page_without_source(&row, &bare).is_some());
    // Where neither says whose a page is, there is nothing to check.
    let row = captured(json!({ "retrieved_slugs": ["x"] }));
    assert_eq!(first_page_without_source(&row, &bare), None);
    let both = sides(&row, &[page("any", "x")], 5);
    assert_eq!(both.captured, both.current);
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_whole_row_is_asked_exactly_as_it_was() {
    let row = captured(json!({
        "tool_name": "search", "limit": 3, "detail": "high", "retrieval_mode": "graph",
        "vectors": false, "vector_enabled": false, "trust": "untrusted", "remote": true,
        "source_scope": ["wiki"], "now": "2025-01-01T00:00:00Z",
        "filters": { "types": ["person"], "tags": ["t"], "since": "2024-01-01", "until": null },
        "retrieved": [{ "source_id": "wiki", "slug": "x" }], "settings": { "pool": 77.0 },
    }));
    let asked = ask(&row, &live(), SettingsSource::Capture).unwrap();
    let request = asked.request;
    assert_eq!((request.limit, request.mode), (3, RetrievalMode::Graph));
    assert_eq!(request.filter.sources, [SourceId::new("wiki").unwrap()]);
    assert_eq!(
        (request.filter.types, request.filter.trust),
        (vec!["person".to_owned()], Viewer::Untrusted)
    );
    assert_eq!(request.filter.since.unwrap().to_string(), "2024-01-01");
    assert_eq!(request.now.to_string(), "2025-01-01T00:00:00Z");
    assert_eq!((request.vectors, request.settings.pool), (false, 77.0));
    assert_eq!(asked.caveats, []);
    let asked = ask(&row, &live(), SettingsSource::Live).unwrap();
    assert_eq!(asked.request.settings, Settings::default());
}

#[test]
fn rows_of_schema_1_alone_say_what_is_not_known() {
    let row = captured(json!({ "retrieved_slugs": ["x", "y"], "vector_enabled": false }));
    let asked = ask(&row, &live(), SettingsSource::Live).unwrap();
    assert_eq!((asked.request.limit, asked.cut, asked.request.vectors), (2, 2, false));
    assert_eq!(asked.caveats, [Caveat::BySlug, Caveat::CutAtCaptured]);
    assert_eq!(asked.request.filter.trust, Viewer::Trusted);
    let remote = captured(json!({ "retrieved_slugs": ["x"], "remote": true, "source_ids": ["w"] }));
    let asked = ask(&remote, &live(), SettingsSource::Capture).unwrap();
    assert_eq!(asked.request.filter.trust, Viewer::Untrusted);
    assert_eq!(asked.caveats, [Caveat::CutAtCaptured, Caveat::SettingsUnknown]);
}

#[test]
fn rows_without_query_or_ranking_are_skipped_with_the_reason() {
    let skip = |members| ask(&captured(members), &live(), SettingsSource::Live).unwrap_err();
    assert_eq!(skip(json!({ "query": "  ", "retrieved_slugs": ["x"] })), SkipReason::EmptyQuery);
    assert_eq!(skip(json!({ "query": "x" })), SkipReason::NoRanking);
}

#[test]
fn unreproducible_rows_are_named() {
    let caveats = |members: Value| {
        let asked = ask(&captured(members), &live(), SettingsSource::Live).unwrap();
        assert!(asked.caveats.iter().any(|caveat| caveat.is_confounding()));
        asked.caveats
    };
    let pages = json!([{ "source_id": "w", "slug": "x" }]);
    let with = |name: &str, value: Value| {
        let mut members = json!({ "retrieved": pages, "limit": 5 });
        members[name] = value;
        members
    };
    assert_eq!(caveats(with("expansion_applied", true.into())), [Caveat::ExpansionNotReproduced]);
    assert_eq!(caveats(with("cache_hit", true.into())), [Caveat::FromCache]);
    assert_eq!(caveats(with("query", "to [REDACTED]".into())), [Caveat::QueryScrubbed]);
    assert_eq!(caveats(with("rerank_model", "judge-1".into())), [Caveat::RerankNotReproduced]);
    let degraded = json!([{ "stage": "vectors", "reason": "no_model" }]);
    assert_eq!(caveats(with("degraded", degraded)), [Caveat::CaptureDegraded]);
}

#[test]
fn model_variants_are_replayed() {
    let asked = |members: Value| {
        let mut row = json!({ "retrieved": [{ "source_id": "w", "slug": "x" }], "limit": 5 });
        let (Value::Object(row), Value::Object(members)) = (&mut row, members) else { panic!() };
        row.extend(members);
        ask(&captured(Value::Object(row.clone())), &live(), SettingsSource::Live).unwrap()
    };
    let given = |variants: &[&str]| {
        Expansion::Variants(variants.iter().map(|text| (*text).to_owned()).collect())
    };
    let check = |members: Value, expected: Expansion| {
        let asked = asked(members);
        assert_eq!((asked.request.expansion, asked.caveats), (expected, vec![]));
    };
    check(
        json!({ "expansion_applied": true, "expansion_variants": ["b", "a"] }),
        given(&["b", "a"]),
    );
    // Variants that took no part then are given again, to take none again.
    check(json!({ "expansion_applied": false, "expansion_variants": ["b"] }), given(&["b"]));
    check(json!({ "expansion_variants": null }), Expansion::Off);
    // The query alone was asked, and is asked again.
    let failed = json!([{ "stage": "expansion", "reason": "timeout" }]);
    check(json!({ "expand_enabled": true, "degraded": failed }), Expansion::Off);
    // The cache of this gbrain gives what would be found; the latency is not one of a retrieval.
    check(json!({ "cache_hit": true, "cache": "hit", "latency_ms": 0.1 }), Expansion::Off);
    let scrubbed = json!([{ "source_id": "w", "slug": "y" }]);
    check(json!({ "rerank_model": "judge-1", "scrubbed_retrieved": scrubbed }), Expansion::Off);
}

#[test]
fn a_row_may_not_ask_for_any_number_of_searches() {
    let row = |count: usize| {
        let variants = vec!["a"; count];
        let row = json!({
            "schema_version": 1, "tool_name": "query", "expansion_variants": variants,
        });
        read_row(row, 1)
    };
    assert_eq!(row(10).unwrap().variants.len(), 10);
    assert!(row(11).unwrap_err().to_string().contains("`expansion_variants` is a list of 11"));
    let cache = json!({ "schema_version": 1, "tool_name": "query", "cache": "warm" });
    assert!(read_row(cache, 1).unwrap_err().to_string().contains("`cache`"));
}

#[test]
fn a_scrubbed_query_is_compared_with_what_the_scrubbed_text_found() {
    let row = captured(json!({
        "query": "mail [REDACTED]", "limit": 5, "scrubbed": true,
        "retrieved": [{ "source_id": "w", "slug": "x" }],
        "scrubbed_retrieved": [{ "source_id": "w", "slug": "y" }],
    }));
    assert_eq!(row.expected().unwrap()[0].slug, "y");
    assert_eq!(ask(&row, &live(), SettingsSource::Live).unwrap().caveats, []);
}

#[test]
fn pages_are_compared_with_their_source_where_it_is_known() {
    let row = captured(json!({ "retrieved": [{ "source_id": "a", "slug": "x" }] }));
    let both = sides(&row, &[page("b", "x")], 5);
    assert_ne!(both.captured, both.current);
    let row = captured(json!({ "retrieved_slugs": ["x"], "source_ids": ["a", "b"] }));
    let both = sides(&row, &[page("b", "x"), page("a", "x")], 5);
    assert_eq!(both.captured, both.current);
}

fn same() -> FactorDifferences {
    let same = FactorDifference::Same;
    FactorDifferences { code: same, settings: same, corpus: same, model: same }
}

/// A compared row with these pages.
pub(crate) fn compared(
    captured: &[&str],
    current: &[&str],
    ms: (Option<f64>, f64),
) -> RowComparison {
    let pages = |pages: &[&str]| pages.iter().map(|page| format!("w::{page}")).collect();
    let sides = RankingPair { captured: pages(captured), current: pages(current) };
    compare(sides, ms, Vec::new(), same())
}

pub(crate) fn replayed(outcome: RowOutcome) -> ReplayedRow {
    ReplayedRow::new(&captured(json!({ "retrieved_slugs": ["x"] })), outcome)
}

fn summary(rows: &[RowComparison]) -> ReplaySummary {
    let rows: Vec<ReplayedRow> =
        rows.iter().map(|row| replayed(RowOutcome::Compared(Box::new(row.clone())))).collect();
    summarise(&rows)
}

#[test]
fn a_cpu_time_is_read_only_if_it_was_measured_as_it_is_now() {
    let read = |cpu_time: Value| captured(json!({ "cpu_time": cpu_time })).cpu_time;
    let time = |method: &str| json!({ "cpu_ms": 1.5, "calibration_ms": 0.25, "repeats": 5, "method": method });
    let expected = CpuTime { cpu_ms: 1.5, calibration_ms: 0.25, repeats: 5 };
    assert_eq!(read(time(CPU_METHOD)), Some(expected));
    for other in [time("another"), json!(3), json!({ "user": 2 }), Value::Null] {
        assert_eq!(read(other.clone()), None, "{other}");
    }
    let foreign = captured(json!({ "target": { "a": 1 }, "latency_repeats": "often" }));
    assert_eq!((foreign.provenance.target, foreign.latency_repeats), (None, None));
}

#[test]
fn latencies_past_all_numbers_still_compare() {
    let ratio = |before: f64, after: f64| {
        summary(&[compared(&["x"], &["x"], (Some(before), after))]).latency.ratio
    };
    assert_eq!(ratio(5e-324, 1000.0), Some(f64::MAX));
    assert_eq!(ratio(2.0, 1.0), Some(0.5));
}

#[test]
fn measures_by_hand() {
    let row = compared(&["a", "b", "c"], &["a", "d"], (Some(10.0), 25.0));
    assert_eq!((row.jaccard, row.top1, row.kendall), (0.25, Some(true), None));
    assert!(row.is_twice_as_slow() && row.is_moved());
    let swapped = compared(&["a", "b"], &["b", "a"], (Some(0.0), 1.0));
    assert_eq!((swapped.jaccard, swapped.top1, swapped.kendall), (1.0, Some(false), Some(-1.0)));
    assert_eq!((swapped.captured_ms, swapped.is_twice_as_slow()), (None, false));
}

#[test]
fn rows_where_nothing_was_found_are_in_no_mean() {
    let empty = compared(&[], &[], (Some(1.0), 1.0));
    let summary = summary(&[empty.clone(), compared(&["a"], &["b"], (None, 1.0))]);
    assert_eq!((summary.both_empty, summary.measured), (1, 1));
    assert_eq!((summary.mean_jaccard, summary.top1_rate), (Some(0.0), Some(0.0)));
    let nothing = summarise(&[replayed(RowOutcome::Compared(Box::new(empty)))]);
    assert_eq!((nothing.mean_jaccard, nothing.top1_rate), (None, None));
    assert_eq!(healths(&nothing).jaccard, MetricHealth::NotMeasured);
}

#[test]
fn latencies_that_were_not_captured_are_not_compared() {
    let summary = summary(&[
        compared(&["a"], &["a"], (Some(10.0), 30.0)),
        compared(&["a"], &["a"], (Some(20.0), 30.0)),
        compared(&["a"], &["a"], (None, 500.0)),
    ]);
    assert_eq!(summary.latency.compared, 2);
    assert_eq!((summary.latency.mean_delta_ms, summary.latency.ratio), (Some(15.0), Some(2.0)));
    assert_eq!(summary.latency.over_twice, 1);
}

#[test]
fn the_usual_causes_are_named() {
    let lost = compared(&["deals/a", "deals/b", "deals/c"], &["x"], (None, 1.0));
    let rows = vec![replayed(RowOutcome::Compared(Box::new(lost)))];
    assert!(diagnose(&rows, &summarise(&rows))[0].contains("`w::deals/`"));
    let shuffled = compared(&["a", "b"], &["b", "a"], (None, 1.0));
    let rows = vec![replayed(RowOutcome::Compared(Box::new(shuffled)))];
    assert!(diagnose(&rows, &summarise(&rows))[0].contains("another order"));
    let rows = vec![
        replayed(RowOutcome::Errored("x".into())),
        replayed(RowOutcome::Skipped(SkipReason::EmptyQuery)),
    ];
    assert_eq!(diagnose(&rows, &summarise(&rows)).len(), 2);
}

proptest! {
    #[test]
    fn measures_stay_in_range_and_identity_is_perfect(
        a in prop::collection::vec(0u8..12, 0..12), b in prop::collection::vec(0u8..12, 0..12)
    ) {
        let keys = |list: &[u8]| list.iter().map(|n| page("w", &format!("p{n}"))).collect::<Vec<_>>();
        let row = captured(json!({
            "retrieved": a.iter().map(|n| json!({ "source_id": "w", "slug": format!("p{n}") })).collect::<Vec<_>>(),
        }));
        let both = sides(&row, &keys(&b), 100);
        let found = compare(both, (None, 1.0), Vec::new(), same());
        prop_assert!((0.0..=1.0).contains(&found.jaccard));
        prop_assert!((0.0..=1.0 + 1e-9).contains(&found.rbo));
        prop_assert!(found.kendall.is_none_or(|tau| (-1.0..=1.0).contains(&tau)));
        let both = sides(&row, &keys(&a), 100);
        let same = compare(both, (None, 1.0), Vec::new(), found.differences);
        prop_assert_eq!(same.jaccard, 1.0);
        prop_assert!((same.rbo - 1.0).abs() < 1e-9);
        prop_assert!(!same.is_moved());
    }
}
