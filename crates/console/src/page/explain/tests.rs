use serde_json::{Value, json};

use super::*;
use crate::{Chrome, live};

fn step(stage: &str, rank: usize, score: f64, parts: Value) -> Value {
    json!({ "stage": stage, "rank": rank, "score": score, "note": "what <it> did", "parts": parts })
}

fn hit(rank: usize, slug: &str, score: f64, trace: &[Value]) -> Value {
    json!({ "rank": rank, "source_id": "wiki", "slug": slug, "title": format!("Title of <{slug}>"), "score": score, "evidence": "all_words", "trace": trace })
}

fn setting(name: &str, value: f64, live: f64) -> Value {
    json!({ "name": name, "reason": "a reason", "value": value, "live": live, "default": live, "min": 0.0, "max": 10.0 })
}

/// Words and meaning add .8, a title adds a tenth of it, and the ceiling takes half of that back.
fn explanation(live: Value, tried: f64) -> Explanation {
    let fused = step(
        "fuse",
        1,
        0.8,
        json!([{ "name": "words", "adds": 0.5 }, { "name": "vectors", "adds": 0.3 }]),
    );
    let boosted = step(
        "boost",
        1,
        0.84,
        json!([{ "name": "title", "times": 1.1 }, { "name": "boost_max", "times": 0.84 / 0.88 }]),
    );
    let second = step("fuse", 2, 0.4, json!([{ "name": "graph", "adds": 0.4 }]));
    serde_json::from_value(json!({
        "answer": {
            "intent": "general", "retrieval_mode_resolved": "hybrid", "grade": "moderate",
            "degraded": [{ "stage": "graph", "reason": "no_seed" }],
            "hits": [hit(1, "a", 0.84, &[fused, boosted]), hit(2, "b", 0.4, &[second])],
            "why_not": { "page": "wiki::c", "stage": "cut", "verdict": "it was at rank 9", "trace": [step("fuse", 9, 0.1, json!([]))] },
        },
        "live": live,
        "settings": [setting("title_boost", tried, 1.1), setting("words_weight", 1.0, 1.0)],
        "left_out": ["rerank"],
    }))
    .unwrap()
}

fn shown(view: &ExplainView<'_>) -> String {
    let html = live(
        &page(view),
        &Chrome { workspace: "w", reader: "r", is_signed_in: false, csrf: "token" },
    );
    assert!(!html.contains(" style=") && !html.contains("<it>"), "{html}");
    html
}

fn query() -> ExplainQuery {
    ExplainQuery { q: "night ferry".to_owned(), page: "c".to_owned(), ..ExplainQuery::default() }
}

#[track_caller]
fn has(html: &str, expected: &[&str]) {
    for one in expected {
        assert!(html.contains(one), "missing {one:?} in\n{html}");
    }
}

#[test]
fn the_parts_of_a_score_add_up() {
    let explanation = explanation(Value::Null, 1.1);
    for hit in &explanation.answer.hits {
        let sum: f64 = contributions(hit.score, &hit.trace).iter().map(|part| part.amount).sum();
        assert!((sum - hit.score).abs() < 1e-12, "{sum}");
    }
    let parts = contributions(0.84, &explanation.answer.hits[0].trace);
    assert!(
        (amount_of(&parts, &BOOSTS) - 0.04).abs() < 1e-12,
        "a boost less what the ceiling takes"
    );
    assert_eq!(
        contributions(7.5, &[]),
        [Contribution { amount: 7.5, ..WORDS }],
        "a search has no parts"
    );
}

#[test]
fn a_ranking_is_shown_in_parts() {
    let explanation = explanation(Value::Null, 1.1);
    let view =
        ExplainView { query: query(), explanation: Some(&explanation), ..ExplainView::default() };
    assert_eq!(page(&view).command, "gbrain query --untrusted --explain --why-not c 'night ferry'");
    let html = shown(&view);
    has(
        &html,
        &[
            "class=\"part words\"",
            "class=\"part meaning\"",
            "class=\"part boosts\"",
            "class=\"taken\"",
            "<td>0.5000</td>",
            "<td>0.0400</td>",
            "<strong>0.8400</strong>",
            "Title of &lt;a&gt;",
            "Why not this page",
            "not in the answer",
            "it was at rank 9",
            "left out",
            "it calls a paid model",
            "<li><i class=\"words\" aria-hidden=\"true\"></i><strong>W</strong> words</li>",
            "what &lt;it&gt; did",
            "name=\"s.title_boost\"",
            "(live 1.1)",
            "step=\"0.1\"",
        ],
    );
    assert!(!html.contains("What moves") && !html.contains("config set"), "nothing is tried");
}

#[test]
fn tried_settings_show_what_moves() {
    let explanation = explanation(
        json!([{ "page": "wiki::b", "title": "B", "rank": 1 }, { "page": "wiki::z", "title": "Z", "rank": 2 }]),
        1.5,
    );
    let trial: SettingsTrial = serde_json::from_value(json!({
        "baseline": "prod", "rows": 300, "compared": 200, "skipped": 3, "changed": 12, "first_changed": 2, "as_recorded_live": 190,
        "as_recorded_tried": 180, "is_complete": false, "worst": [{ "query": "a <b>", "live": ["wiki::a"], "tried": ["wiki::b", "wiki::a"] }],
    }))
    .unwrap();
    let baselines: BaselineList =
        serde_json::from_value(json!({ "documents": [{ "name": "prod" }] })).unwrap();
    let settings = vec![("title_boost".to_owned(), "1.5".to_owned())];
    let query = ExplainQuery { baseline: "prod".to_owned(), settings, ..query() };
    let html = shown(&ExplainView {
        query,
        explanation: Some(&explanation),
        trial: Some(&trial),
        baselines: &baselines.documents,
    });
    has(
        &html,
        &[
            "Ranking with the tried settings",
            "new, at rank 1",
            "rank 1 to 2",
            "no longer among the first 2; was at rank 2",
            "moves down",
            "not there",
            "gbrain config set search.title_boost 1.5",
            "This would change 12 of 200 rows of baseline prod.",
            "not all rows",
            "203 of 300",
            "href=\"/explain?q=a%20%3Cb%3E&amp;baseline=prod&amp;s.title_boost=1.5\"",
            "1 new, 1 moved",
            "<option value=\"prod\" selected>",
            "1 changed",
        ],
    );
}

#[test]
fn without_a_query_there_is_a_form() {
    let html = shown(&ExplainView::default());
    has(&html, &["Enter a query", "name=\"q\"", "action=\"/explain\""]);
    assert!(!html.contains("type=\"range\"") && !html.contains("Baseline to try on"), "{html}");
    let mut empty = explanation(Value::Null, 1.1);
    empty.answer.hits.clear();
    has(
        &shown(&ExplainView {
            query: query(),
            explanation: Some(&empty),
            ..ExplainView::default()
        }),
        &["Nothing found for", "night ferry"],
    );
}

#[test]
fn steps_hold_the_live_value() {
    let step = |min: f64, max: f64, live: f64| {
        let mut setting: TriedSetting = serde_json::from_value(setting("x", live, live)).unwrap();
        (setting.min, setting.max) = (min, max);
        setting.step()
    };
    assert_eq!(step(0.0, 10.0, 0.7), "0.1");
    assert_eq!(step(0.0, 1.0, 0.15), "0.01");
    assert_eq!(step(1.0, 3650.0, 30.0), "1");
    assert_eq!(step(0.0, 0.2, 0.002), "0.001");
    assert_eq!(step(0.0, 10.0, 0.4567), "any");
}
