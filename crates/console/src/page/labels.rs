//! The labelling queue: one query with its current results, what the labels measure, and the queue.
//!
//! Every change is a form, so the page works without JavaScript. With it, `label.js` sends the same
//! forms by keys and puts in the sections that the server rendered.

use maud::{Markup, html};
use serde::Deserialize;

use super::captures::document_url;
use crate::assets::label_script;
use crate::part::{
    self, Tone, count, csrf_field, empty, facts, heading, query, section, state, table, tag, url,
};
use crate::shell::{Page, Section};

/// Most queries of the queue that the page lists.
const LISTED: usize = 50;
/// Maximum length of a snippet, in characters.
const SNIPPET: usize = 2_000;

/// The grades that keys give, with their words.
pub(crate) const GRADES: [(i64, &str); 4] =
    [(0, "irrelevant"), (1, "related"), (2, "relevant"), (3, "perfect")];

/// `GET /v1/labels/queue`.
#[derive(Debug, Deserialize)]
pub struct LabelQueue {
    pub rule: String,
    pub queries: Vec<QueueEntry>,
    pub left_out: u64,
    pub scrubbed: u64,
    pub has_captured: bool,
}

/// A query of the queue.
#[derive(Debug, Deserialize)]
pub struct QueueEntry {
    pub id: String,
    pub query: String,
    pub origins: Vec<String>,
    pub captured: u64,
    pub results: u64,
    pub unjudged: u64,
    pub judged: u64,
    pub possible_change: f64,
}

/// `GET /v1/labels/queue/{id}`.
#[derive(Debug, Deserialize)]
pub struct QueuedQuery {
    #[serde(flatten)]
    pub entry: QueueEntry,
    pub place: u64,
    pub of: u64,
    pub previous: Option<String>,
    pub next: Option<String>,
    pub reviewer: String,
    pub hits: Vec<QueuedResult>,
    pub elsewhere_judged: Vec<JudgedPage>,
}

/// A result with its label.
#[derive(Debug, Deserialize)]
pub struct QueuedResult {
    pub rank: u64,
    pub page: String,
    pub title: String,
    #[serde(rename = "type")]
    pub page_type: String,
    pub evidence: String,
    pub snippet: String,
    pub highlights: Vec<(u32, u32)>,
    pub label: Option<ResultLabel>,
}

/// A judged page that is not among the results.
#[derive(Debug, Deserialize)]
pub struct JudgedPage {
    pub page: String,
    pub label: ResultLabel,
}

#[derive(Debug, Deserialize)]
pub struct ResultLabel {
    pub id: i64,
    pub grade: i64,
    pub settled_by: Option<String>,
    pub reviews: Vec<Review>,
}

/// The judgement of one reviewer.
#[derive(Debug, Deserialize)]
pub struct Review {
    pub reviewer: String,
    pub grade: i64,
    pub borderline: bool,
    pub span: Option<String>,
}

/// `GET /v1/labels/measures`.
#[derive(Debug, Deserialize)]
pub struct LabelMeasures {
    pub verdict: String,
    pub k: u64,
    pub queries: u64,
    pub queries_left_out: u64,
    pub checks: Vec<Check>,
    pub missing: Vec<String>,
    pub queue: u64,
    pub results: u64,
    pub judged_results: u64,
}

/// A measure with its floor.
#[derive(Debug, Deserialize)]
pub struct Check {
    pub metric: String,
    pub status: String,
    pub observed: Option<f64>,
    pub threshold: f64,
    pub n: u64,
    pub interval: Option<(f64, f64)>,
    pub smallest_detectable_drop: Option<f64>,
}

/// `GET /v1/labels/agreement`.
#[derive(Debug, Deserialize)]
pub struct Agreement {
    pub labels: u64,
    pub conflicts: u64,
    pub borderline: u64,
    pub pages: u64,
    pub agreed: u64,
    pub raw: Option<f64>,
    pub krippendorff_alpha: Option<f64>,
    pub reviewers: Vec<ReviewerCount>,
}

#[derive(Debug, Deserialize)]
pub struct ReviewerCount {
    pub reviewer: String,
    pub judged: u64,
    pub shared: u64,
    pub agreed: u64,
}

/// Everything that the page shows.
#[derive(Debug)]
pub struct LabelPage {
    pub queue: LabelQueue,
    /// `None` if the queue is empty.
    pub query: Option<QueuedQuery>,
    pub measures: LabelMeasures,
    pub agreement: Agreement,
    /// The query to open next, where the page was opened with one: labels change the order.
    pub next: Option<String>,
    /// The query that was open before.
    pub previous: Option<String>,
    /// What the last form did.
    pub notice: Option<String>,
}

pub fn page(shown: &LabelPage) -> Page {
    let LabelPage { queue, query, measures, agreement, notice, .. } = shown;
    Page {
        title: "Labels".to_owned(),
        section: Section::Labels,
        scripts: vec![label_script()],
        header: heading(
            "",
            "Labels",
            None,
            "Judge how well results answer. Queries whose labels can still change the verdict come first.",
        ),
        main: html! {
            p.aloud #label-said role="status" aria-live="polite" {}
            @if let Some(notice) = notice { p.notice role="status" { (tag(Tone::Good, "done")) " " (notice) } }
            @match query {
                Some(query) => div.labelling {
                    (labelling(shown, query))
                    (measured(measures))
                }
                None => (none(queue)),
            }
            (queue_section(queue, query.as_ref()))
            (reviewers(agreement))
            (uses(agreement))
        },
        ..Page::default()
    }
}

fn none(queue: &LabelQueue) -> Markup {
    let what = match queue.has_captured {
        true => {
            "There are no queries to label: none is canonical, none was captured, none is labelled."
        }
        false => {
            "There are no queries to label: none is canonical and none is labelled. Captured queries need a token of scope admin."
        }
    };
    empty(what, "gbrain queries add \"who owns the planner?\" --expected PAGE")
}

/// The query with its results; replaced as a whole after a label.
fn labelling(shown: &LabelPage, queued: &QueuedQuery) -> Markup {
    let QueuedQuery { entry, place, of, .. } = queued;
    let next = shown.next.as_ref().or(queued.next.as_ref());
    let previous = shown.previous.as_ref().or(queued.previous.as_ref());
    let leaf = |id: &String| url("/labels", &[("query", id), ("from", &entry.id)]);
    html! {
        section #labelling aria-labelledby="labelling-query" data-query=(entry.id) {
            p.what { "Query " (place) " of " (of) " · " (part::text(&entry.origins.join(", "))) @if entry.captured > 0 { " · asked " (count(entry.captured, "time", "times")) } }
            h2 #labelling-query { (query(&entry.query)) }
            nav.row aria-label="Queries" {
                @if let Some(id) = previous { a.button data-previous href=(url("/labels", &[("query", id)])) { "Previous query " kbd { "p" } } }
                @if let Some(id) = next { a.button data-next href=(leaf(id)) { "Next query " kbd { "n" } } }
            }
            @if queued.hits.is_empty() { (empty("The brain returns no page for this query.", "")) }
            @else {
                ol.judged aria-label="Results of the query" {
                    @for hit in &queued.hits { (result(shown, queued, hit)) }
                }
            }
            @if !queued.elsewhere_judged.is_empty() { (elsewhere(queued)) }
            (keys())
        }
    }
}

/// Judged pages that the brain does not return: relevant ones cost recall.
fn elsewhere(queued: &QueuedQuery) -> Markup {
    let rows: Vec<Vec<Markup>> = queued
        .elsewhere_judged
        .iter()
        .map(|one| {
            let by: Vec<&str> =
                one.label.reviews.iter().map(|review| review.reviewer.as_str()).collect();
            vec![
                document(&one.page),
                html! { (grade_tag(one.label.grade)) },
                html! { (part::text(&by.join(", "))) },
            ]
        })
        .collect();
    html! {
        h3 { "Judged, but not among the results" }
        (table("Judged pages that are not among the results", "", &["Page", "Grade", "By"], &rows))
    }
}

fn document(page: &str) -> Markup {
    html! { a href=(document_url(page)) { (part::page_name(page)) } }
}

fn result(shown: &LabelPage, queued: &QueuedQuery, hit: &QueuedResult) -> Markup {
    let own = hit.label.as_ref().and_then(|label| own_review(label, &queued.reviewer));
    let id = format!("result-{}", hit.rank);
    let title = if hit.title.is_empty() { &hit.page } else { &hit.title };
    html! {
        li.result id=(id) tabindex="-1" data-page=(hit.page) aria-labelledby={ (id) "-title" } {
            h3 id={ (id) "-title" } { span.rank { (hit.rank) } " " bdi { (part::text(title)) } }
            p.note { (document(&hit.page)) " · " (part::text(&hit.page_type)) " · " (part::text(&hit.evidence.replace('_', " "))) }
            blockquote.snippet { (snippet(&hit.snippet, &hit.highlights)) }
            @if let Some(span) = own.and_then(|own| own.span.as_ref()) {
                p.marked { "Answering text: " mark.span { (part::text(span)) } }
            }
            (judgements(hit, &queued.reviewer))
            (grade_form(shown, queued, hit, own))
        }
    }
}

fn own_review<'a>(label: &'a ResultLabel, reviewer: &str) -> Option<&'a Review> {
    label.reviews.iter().find(|review| review.reviewer == reviewer)
}

/// What counts, and the judgements of others.
fn judgements(hit: &QueuedResult, reviewer: &str) -> Markup {
    html! {
        p.tags.left {
            @match &hit.label {
                None => (tag(Tone::Neutral, "not judged")),
                Some(label) => {
                    (grade_tag(label.grade))
                    @if let Some(by) = &label.settled_by { (tag(Tone::Accent, &format!("settled by {}", part::text(by)))) }
                    @for review in &label.reviews {
                        @if review.borderline { (tag(Tone::Warning, "borderline")) }
                        @if review.reviewer != reviewer {
                            (tag(Tone::Neutral, &format!("{}: {}", part::text(&review.reviewer), review.grade)))
                        }
                    }
                    @if label.settled_by.is_none() && label.reviews.iter().any(|review| review.grade != label.grade) {
                        (tag(Tone::Bad, "reviewers disagree"))
                    }
                }
            }
        }
    }
}

pub(crate) fn grade_tag(grade: i64) -> Markup {
    let tone = if grade > 0 { Tone::Good } else { Tone::Bad };
    tag(tone, &grade_words(grade))
}

/// A grade with its word.
pub(crate) fn grade_words(grade: i64) -> String {
    match GRADES.iter().find(|(one, _)| *one == grade) {
        Some((_, word)) => format!("{grade} {word}"),
        None => grade.to_string(),
    }
}

/// The form of a result: each button is a change. The script sends it with other values.
fn grade_form(
    shown: &LabelPage,
    queued: &QueuedQuery,
    hit: &QueuedResult,
    own: Option<&Review>,
) -> Markup {
    let hidden = |name: &str, value: &str| html! { input type="hidden" name=(name) value=(value); };
    let label_id = hit.label.as_ref().map(|label| label.id.to_string()).unwrap_or_default();
    let own_grade = own.map(|own| own.grade.to_string()).unwrap_or_default();
    let is_borderline = own.is_some_and(|own| own.borderline);
    let span = own.and_then(|own| own.span.as_deref()).unwrap_or_default();
    html! {
        form.grades method="post" action="/labels/grade" {
            (csrf_field())
            (hidden("query", &queued.entry.id)) (hidden("text", &queued.entry.query))
            (hidden("page", &hit.page)) (hidden("rank", &hit.rank.to_string()))
            (hidden("label", &label_id)) (hidden("own", &own_grade))
            (hidden("borderline", if is_borderline { "true" } else { "" }))
            (hidden("next", shown.next.as_ref().or(queued.next.as_ref()).map_or("", String::as_str)))
            (hidden("previous", shown.previous.as_ref().or(queued.previous.as_ref()).map_or("", String::as_str)))
            div.buttons role="group" aria-label={ "Grade of result " (hit.rank) } {
                @for (grade, word) in GRADES {
                    button type="submit" name="grade" value=(grade) aria-pressed=(is_pressed(own.map(|own| own.grade) == Some(grade))) {
                        kbd { (grade) } " " (word)
                    }
                }
                button type="submit" name="action" value="borderline" aria-pressed=(is_pressed(is_borderline)) { kbd { "b" } " borderline" }
                @if own.is_some() { button type="submit" name="action" value="undo" { "Undo " kbd { "u" } } }
            }
            details.span {
                summary { span.query.title { "Mark the text that answers " kbd { "s" } } }
                label { "Answering text, from the page" textarea name="span" rows="3" maxlength="4000" data-snippet=(one_line(&hit.snippet)) { (span) } }
                button type="submit" name="action" value="span" { "Save the text" }
            }
        }
    }
}

fn is_pressed(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

/// Line breaks become spaces, one for one.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).collect()
}

/// A snippet with its matching words marked. Ranges count characters and ascend.
fn snippet(text: &str, highlights: &[(u32, u32)]) -> Markup {
    let chars: Vec<char> = one_line(text).chars().take(SNIPPET).collect();
    let piece = |from: usize, to: usize| {
        let (to, from) = (to.min(chars.len()), from.min(chars.len()));
        let text: String = chars.get(from..to).unwrap_or_default().iter().collect();
        gbrain_core::report::visible(&text, SNIPPET)
    };
    let mut at = 0;
    let mut pieces = Vec::new();
    for (start, end) in highlights {
        let (start, end) = (*start as usize, *end as usize);
        if start < at || end < start {
            continue;
        }
        pieces.push(html! { (piece(at, start)) mark { (piece(start, end)) } });
        at = end;
    }
    html! { bdi { @for one in &pieces { (one) } (piece(at, chars.len())) } }
}

fn keys() -> Markup {
    let keys = [
        ("0-3", "grade the focused result"),
        ("arrows, j, k", "move between results"),
        ("n, p", "next or previous query"),
        ("s", "mark the selected text of the snippet as the answer; without a selection, type it"),
        ("b", "mark as borderline, or take that back"),
        ("u", "undo the last change"),
        ("?", "show the keys"),
    ];
    html! {
        p.keys {
            @for (key, what) in keys {
                span data-key=(key) data-key-help=(what) { kbd { (key) } " " (what) } " "
            }
        }
    }
}

/// The measures; replaced as a whole after a label.
fn measured(measures: &LabelMeasures) -> Markup {
    let LabelMeasures {
        verdict, queries, queries_left_out, queue, results, judged_results, ..
    } = measures;
    html! {
        section #label-measures aria-labelledby="measures" data-announce=(announcement(measures)) {
            h2 #measures { "What the labels say" }
            p { (state(verdict)) " " (verdict_words(verdict)) }
            dl.measures { @for check in &measures.checks { (measure(check, measures.k)) } }
            @for missing in &measures.missing { p.note { (part::text(missing)) } }
            p.more {
                (count(*queries, "query", "queries")) " measured of " (part::thousands(*queue)) " in the queue"
                @if *queries_left_out > 0 { "; " (count(*queries_left_out, "query has", "queries have")) " no relevant page yet" }
                ". " (part::thousands(*judged_results)) " of " (count(*results, "result", "results")) " judged."
            }
        }
    }
}

/// What a screen reader hears after each label.
fn announcement(measures: &LabelMeasures) -> String {
    let checks: Vec<String> = measures
        .checks
        .iter()
        .map(|check| format!("{} {}", metric(&check.metric, measures.k), value(check.observed)))
        .collect();
    format!("Verdict {}. {}.", measures.verdict, checks.join(", "))
}

fn verdict_words(verdict: &str) -> &'static str {
    match verdict {
        "pass" => "Every floor holds on these labels.",
        "fail" => "A floor does not hold on these labels.",
        _ => "These labels do not decide yet.",
    }
}

fn measure(check: &Check, k: u64) -> Markup {
    let Check { status, observed, threshold, n, interval, smallest_detectable_drop, .. } = check;
    html! {
        div {
            dt { (metric(&check.metric, k)) " " (state(status)) }
            dd {
                strong { (value(*observed)) }
                @if let Some((low, high)) = interval { " (" (number(*low)) " to " (number(*high)) ")" }
                span.note { "floor " (number(*threshold)) ", n " (n) }
                span.note {
                    @match smallest_detectable_drop {
                        Some(drop) => { "smallest detectable drop " (number(*drop)) }
                        None => "no drop is detectable yet",
                    }
                }
            }
        }
    }
}

fn metric(name: &str, k: u64) -> String {
    match name {
        "mean_recall_at_k" => format!("recall@{k}"),
        "mean_ndcg_at_k" => format!("nDCG@{k}"),
        "first_relevant_hit_rate" => "first page relevant".to_owned(),
        "expected_top1_hit_rate" => "expected page first".to_owned(),
        other => other.replace('_', " "),
    }
}

fn value(value: Option<f64>) -> String {
    value.map_or_else(|| "not measured".to_owned(), number)
}

fn number(value: f64) -> String {
    format!("{value:.3}")
}

fn queue_section(queue: &LabelQueue, open: Option<&QueuedQuery>) -> Markup {
    let rows: Vec<Vec<Markup>> =
        queue.queries.iter().take(LISTED).map(|one| queue_row(one, open)).collect();
    let head = ["Query", "Unjudged", "Judged", "Possible change", "From"];
    let body = html! {
        (table("Queries to label", "queue", &head, &rows))
        @if queue.queries.len() > LISTED { p.more { "The first " (LISTED) " of " (count(queue.queries.len() as u64, "query", "queries")) "." } }
        @if queue.left_out > 0 { p.more { (count(queue.left_out, "more query is", "more queries are")) " not in the queue: it is limited." } }
        @if queue.scrubbed > 0 { p.more { (count(queue.scrubbed, "query was", "queries were")) " left out because scrubbing changed the text." } }
        @if !queue.has_captured { p.more { "Captured queries are in the queue of a token of scope admin." } }
    };
    html! {
        @if !rows.is_empty() {
            div #label-queue { (section("queue", "Queue", &format!("The order: {}.", queue.rule), &body)) }
        }
    }
}

fn queue_row(entry: &QueueEntry, open: Option<&QueuedQuery>) -> Vec<Markup> {
    let is_open = open.is_some_and(|open| open.entry.id == entry.id);
    vec![
        html! {
            a href=(url("/labels", &[("query", &entry.id)])) aria-current=[is_open.then_some("true")] { (query(&entry.query)) }
            @if is_open { " " (tag(Tone::Accent, "open")) }
        },
        html! { (entry.unjudged) " of " (entry.results) },
        html! { (entry.judged) },
        html! { (number(entry.possible_change)) },
        html! { (part::text(&entry.origins.join(", "))) },
    ]
}

fn reviewers(agreement: &Agreement) -> Markup {
    let rows: Vec<Vec<Markup>> = agreement
        .reviewers
        .iter()
        .map(|one| {
            vec![
                html! { bdi { (part::text(&one.reviewer)) } },
                html! { (one.judged) },
                html! { (one.shared) },
                html! { @if one.shared > 0 { (one.agreed) " of " (one.shared) } @else { "-" } },
            ]
        })
        .collect();
    let alpha = agreement.krippendorff_alpha.map_or_else(|| "not defined".to_owned(), number);
    let body = html! {
        @if rows.is_empty() { p { "No page has a label yet." } }
        @else {
            (facts(&[
                ("Labels", html! { (part::thousands(agreement.labels)) }),
                ("Same grade", html! { (agreement.agreed) " of " (count(agreement.pages, "page", "pages")) " judged by several" @if let Some(raw) = agreement.raw { " (" (number(raw)) ")" } }),
                ("Krippendorff's alpha", html! { (alpha) ", n " (agreement.pages) }),
                ("Conflicts", html! { a href="/labels/conflicts" { (count(agreement.conflicts, "conflict", "conflicts")) } }),
            ]))
            (table("Reviewers", "reviewers", &["Reviewer", "Judged", "Judged by others too", "Same grade"], &rows))
        }
    };
    section(
        "reviewers",
        "Reviewers",
        "A reviewer is the name of a token. The latest judgement counts until a conflict is settled.",
        &body,
    )
}

fn uses(agreement: &Agreement) -> Markup {
    let promote = |what: &str, words: &str, active: bool| {
        html! {
            form method="post" action="/labels/promote" {
                (csrf_field())
                input type="hidden" name="what" value=(what);
                @if active { label.inline { input type="checkbox" name="active" value="true"; "suites ask them from now on" } }
                button type="submit" { (words) }
            }
        }
    };
    let body = html! {
        ul.plain.uses {
            li { h3 { "Judgements (qrels)" } p { "For " code { "gbrain eval gate --qrels" } "." } a.button href="/labels/qrels.json" download { "Download qrels" } }
            li { h3 { "Canonical queries" } p { "Labelled queries with their relevant pages; marked texts become expected snippets." } (promote("queries", "Make canonical queries", true)) }
            li {
                h3 { "Borderline pairs" }
                p { (count(agreement.borderline, "page is", "pages are")) " marked as borderline, for " code { "gbrain calibrate" } "." }
                a.button href="/labels/borderline.jsonl" download { "Download pairs" } " "
                (promote("pairs", "Add to the calibration pairs", false))
            }
        }
    };
    html! { @if agreement.labels > 0 { (section("uses", "Use the labels", "", &body)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = r#"{"k":10,"rule":"most first","queries":[
        {"id":"aa","query":"who <i>paints</i>?","origins":["labelled","captured"],"captured":3,"results":2,"unjudged":1,"judged":1,"possible_change":0.31},
        {"id":"bb","query":"berths","origins":["canonical"],"captured":0,"results":0,"unjudged":0,"judged":0,"possible_change":0.0}],
        "left_out":2,"scrubbed":1,"has_captured":true}"#;
    const QUERY: &str = r#"{"id":"aa","query":"who <i>paints</i>?","origins":["labelled","captured"],"captured":3,"results":2,"unjudged":1,"judged":1,"possible_change":0.31,
        "place":1,"of":2,"previous":null,"next":"bb","reviewer":"ada","hits":[
        {"rank":1,"page":"default::people/ada","title":"Ada <script>","type":"person","evidence":"all_words","snippet":"Ada paints\nboats.","highlights":[[4,10]],
         "label":{"id":7,"grade":2,"settled_by":null,"reviews":[
            {"reviewer":"ada","grade":2,"borderline":true,"span":"paints boats","created_at":"2026-05-01T10:00:00Z"},
            {"reviewer":"bo","grade":0,"borderline":false,"span":null,"created_at":"2026-05-01T09:00:00Z"}]}},
        {"rank":2,"page":"wiki::x","title":"","type":"note","evidence":"meaning","snippet":"","highlights":[],"label":null}],
        "elsewhere_judged":[{"page":"wiki::lost","label":{"id":9,"grade":3,"settled_by":"cy","reviews":[]}}]}"#;
    const MEASURES: &str = r#"{"verdict":"inconclusive","k":10,"queries":3,"queries_left_out":1,"checks":[
        {"metric":"mean_recall_at_k","status":"too_few_rows","baseline":null,"observed":0.95,"threshold":0.7,"bound":"floor","n":3,"interval":[0.4,1.0],"smallest_detectable_drop":0.21},
        {"metric":"mean_ndcg_at_k","status":"not_measured","baseline":null,"observed":null,"threshold":0.7,"bound":"floor","n":0,"interval":null,"smallest_detectable_drop":null}],
        "missing":["needs 4 rows"],"queue":2,"results":12,"judged_results":5}"#;
    const AGREEMENT: &str = r#"{"labels":4,"conflicts":1,"borderline":1,"pages":2,"agreed":1,"raw":0.5,"krippendorff_alpha":0.1,"undefined":null,
        "reviewers":[{"reviewer":"ada","judged":4,"shared":2,"agreed":1}]}"#;

    fn shown() -> LabelPage {
        LabelPage {
            queue: serde_json::from_str(QUEUE).unwrap(),
            query: Some(serde_json::from_str(QUERY).unwrap()),
            measures: serde_json::from_str(MEASURES).unwrap(),
            agreement: serde_json::from_str(AGREEMENT).unwrap(),
            next: None,
            previous: None,
            notice: None,
        }
    }

    #[test]
    fn results_have_a_form_with_every_grade() {
        let page = page(&shown());
        assert_eq!(page.scripts.len(), 1);
        let main = page.main.into_string();
        assert!(!main.contains("<script>") && main.contains("Ada &lt;script&gt;"), "{main}");
        assert_eq!(main.matches("action=\"/labels/grade\"").count(), 2);
        assert_eq!(main.matches("name=\"grade\"").count(), 8);
        assert!(main.contains("name=\"grade\" value=\"2\" aria-pressed=\"true\""), "{main}");
        assert!(main.contains("Ada <mark>paints</mark> boats."), "{main}");
        assert!(main.contains("reviewers disagree") && main.contains("bo: 0"), "{main}");
        assert!(main.contains("<mark class=\"span\">paints boats</mark>"), "{main}");
        assert_eq!(main.matches("value=\"undo\"").count(), 1, "only of one's own judgement");
        assert!(main.contains("href=\"/labels?query=bb&amp;from=aa\""), "{main}");
    }

    #[test]
    fn the_measures_are_shown_and_announced() {
        let main = page(&shown()).main.into_string();
        assert!(
            main.contains(
                "data-announce=\"Verdict inconclusive. recall@10 0.950, nDCG@10 not measured.\""
            ),
            "{main}"
        );
        assert!(
            main.contains("(0.400 to 1.000)") && main.contains("smallest detectable drop 0.210"),
            "{main}"
        );
        assert!(main.contains("needs 4 rows") && main.contains("5 of 12 results judged"), "{main}");
        assert!(
            main.contains("Judged, but not among the results") && main.contains("3 perfect"),
            "{main}"
        );
    }

    #[test]
    fn an_empty_queue_says_how_to_fill_it() {
        let mut shown = shown();
        shown.query = None;
        shown.queue.queries.clear();
        shown.queue.has_captured = false;
        shown.agreement.reviewers.clear();
        shown.agreement.labels = 0;
        let main = page(&shown).main.into_string();
        assert!(main.contains("gbrain queries add") && main.contains("scope admin"), "{main}");
        assert!(!main.contains("labels/grade") && !main.contains("Use the labels"), "{main}");
    }

    #[test]
    fn ranges_outside_of_a_snippet_mark_nothing() {
        for ranges in [&[(90, 95)][..], &[(3, 1)], &[(0, 2), (1, 3)]] {
            let shown = snippet("größe", ranges).into_string();
            let text: String = shown
                .replace("<bdi>", "")
                .replace("</bdi>", "")
                .replace("<mark>", "")
                .replace("</mark>", "");
            assert_eq!(text, "größe", "{ranges:?}");
        }
    }
}
