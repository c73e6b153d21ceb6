//! One capture: the request, its ranking, latency, provenance and caveats, and its promotion to a
//! canonical query.

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::captures::{DegradedStage, document_url};
use crate::part::{self, Tone, csrf_field, facts, heading, moment, section, state, tag};
use crate::shell::{Page, Section};

/// The marker of a name that is hidden from this reader.
const HIDDEN: &str = "[REDACTED";

/// `GET /v1/captures/{id}`.
#[derive(Debug, Deserialize)]
pub struct ShownCapture {
    pub capture: Capture,
    pub canonical: Option<CanonicalName>,
}

/// The canonical query with the same text.
#[derive(Debug, Deserialize)]
pub struct CanonicalName {
    pub number: i64,
    pub id: String,
    pub state: String,
}

/// A row of the export.
#[derive(Debug, Deserialize)]
pub struct Capture {
    pub id: i64,
    pub created_at: String,
    pub tool_name: String,
    pub query: String,
    #[serde(default)]
    pub retrieved_slugs: Vec<String>,
    #[serde(default)]
    pub retrieved: Option<Vec<CapturedPage>>,
    #[serde(default)]
    pub retrieval_mode: Option<String>,
    #[serde(default)]
    pub limit: Option<u64>,
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub detail_resolved: Option<String>,
    #[serde(default)]
    pub source_scope: Vec<String>,
    #[serde(default)]
    pub filters: Filters,
    #[serde(default)]
    pub filters_scrubbed: bool,
    #[serde(default)]
    pub trust: Option<String>,
    #[serde(default)]
    pub now: Option<String>,
    #[serde(default)]
    pub vector_enabled: bool,
    #[serde(default)]
    pub expansion_applied: bool,
    #[serde(default)]
    pub expansion_variants: Vec<String>,
    #[serde(default)]
    pub latency_ms: f64,
    #[serde(default)]
    pub cpu_time: Option<CpuTime>,
    #[serde(default)]
    pub cache_hit: bool,
    #[serde(default)]
    pub degraded: Vec<DegradedStage>,
    #[serde(default)]
    pub scrubbed: bool,
    #[serde(default)]
    pub synthetic: bool,
    #[serde(default)]
    pub embedder: Option<String>,
    #[serde(default)]
    pub rerank_model: Option<String>,
    #[serde(default)]
    pub settings_hash: Option<String>,
    #[serde(default)]
    pub settings: serde_json::Map<String, Value>,
    #[serde(default)]
    pub software: Option<Software>,
    #[serde(default)]
    pub corpus: Option<Corpus>,
    #[serde(default)]
    pub job_id: Option<i64>,
    #[serde(default)]
    pub subagent_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct CapturedPage {
    pub source_id: String,
    pub slug: String,
}

#[derive(Debug, Default, Deserialize)]
pub struct Filters {
    #[serde(default)]
    pub types: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub since: Option<String>,
    #[serde(default)]
    pub until: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct CpuTime {
    pub cpu_ms: f64,
    pub calibration_ms: f64,
}

#[derive(Debug, Deserialize)]
pub struct Software {
    pub version: String,
    pub code: String,
}

#[derive(Debug, Deserialize)]
pub struct Corpus {
    pub generation: i64,
    pub pages: u64,
    pub chunks: u64,
    pub root: String,
}

impl Capture {
    /// The ranking by full names; bare slugs in rows without sources.
    fn pages(&self) -> Vec<String> {
        match &self.retrieved {
            Some(pages) => {
                pages.iter().map(|page| format!("{}::{}", page.source_id, page.slug)).collect()
            }
            None => self.retrieved_slugs.clone(),
        }
    }
}

pub fn page(shown: &ShownCapture) -> Page {
    let ShownCapture { capture, canonical } = shown;
    let id = capture.id;
    let found = capture.pages().len();
    let why = match found {
        0 => "This request found nothing.".to_owned(),
        n => format!("This request got {}.", part::count(n as u64, "page", "pages")),
    };
    Page {
        title: format!("Capture {id}"),
        section: Section::Captures,
        command: format!(
            "gbrain eval export --remote --after-id {} | jq 'select(.id == {id})'",
            id - 1
        ),
        header: html! {
            (heading(&format!("Capture {id}"), &part::text(&capture.query), None, &why))
            (facts(&[
                ("Stored", moment(&capture.created_at)),
                ("Operation", html! { (part::text(&capture.tool_name)) }),
                ("Latency", html! { (format!("{:.1} ms", capture.latency_ms)) }),
                ("Canonical query", canonical_fact(canonical.as_ref())),
            ]))
        },
        main: html! {
            (section("caveats", "Caveats", "Why a replay of this row may differ, or cannot be made.", &caveats(capture)))
            (section("ranking", "Ranking", "", &ranking(capture)))
            (section("promote", "Make it a canonical query", PROMOTE, &promotion(capture)))
            (section("request", "Request", "", &request(capture)))
            (section("provenance", "Latency and provenance", "", &provenance(capture)))
        },
        pager: html! { a href="/captures" { "All captures" } },
        ..Page::default()
    }
}

const PROMOTE: &str = "Suites measure canonical queries. Choose the pages that a good answer has: the first is expected, \
    the others are as good.";

fn canonical_fact(canonical: Option<&CanonicalName>) -> Markup {
    html! {
        @match canonical {
            Some(query) => { (query.number) " " code { (part::text(&query.id)) } " " (state(&query.state)) }
            None => "not yet",
        }
    }
}

fn caveats(capture: &Capture) -> Markup {
    let mut found: Vec<Markup> = Vec::new();
    let mut add = |is_so: bool, word: &str, meaning: &str| {
        if is_so {
            found.push(html! { (tag(Tone::Warning, word)) " " (meaning) });
        }
    };
    add(
        capture.scrubbed,
        "scrubbed",
        "Scrubbing changed the query: the ranking is that of the original text.",
    );
    add(
        capture.filters_scrubbed,
        "filters scrubbed",
        "Scrubbing changed a filter, so the request cannot be repeated.",
    );
    add(
        capture.cache_hit,
        "from cache",
        "The answer came from the cache: its latency is not that of a retrieval.",
    );
    add(capture.synthetic, "synthetic", "The brain is made up.");
    add(
        capture.retrieved.is_none(),
        "no sources",
        "The row does not say which source each page is of.",
    );
    let has_hidden = capture.pages().iter().any(|page| page.contains(HIDDEN));
    add(
        has_hidden,
        "hidden names",
        "Names of pages were scrubbed, or are of pages that are private now.",
    );
    for DegradedStage { stage, reason } in &capture.degraded {
        found.push(html! {
            (tag(Tone::Warning, "degraded")) " The stage " code { (part::text(stage)) } " could not do its work: "
            code { (part::text(reason)) } "."
        });
    }
    html! {
        @if found.is_empty() { p { "None: the row has everything that a replay needs." } }
        @else { ul.plain { @for one in &found { li { (one) } } } }
    }
}

fn ranking(capture: &Capture) -> Markup {
    let pages = capture.pages();
    html! {
        @if pages.is_empty() { p { "No page was returned." } }
        @else { ol.ranking { @for page in &pages { li { (page_link(page)) } } } }
    }
}

fn page_link(page: &str) -> Markup {
    html! {
        @if page.contains(HIDDEN) { (part::page_name(page)) }
        @else { a href=(document_url(page)) { (part::page_name(page)) } }
    }
}

fn promotion(capture: &Capture) -> Markup {
    let pages = capture.pages();
    let choices = pages.iter().filter(|page| !page.contains(HIDDEN) && page.contains("::"));
    html! {
        @if capture.scrubbed || capture.query.contains(HIDDEN) {
            p { "The query was scrubbed: its text stands for several queries, so it is not promoted. Write one without personal data:" }
            (part::command("gbrain queries add TEXT --expected PAGE"))
        } @else {
            form method="post" action={ "/captures/" (capture.id) "/promote" } {
                (csrf_field())
                fieldset.choices {
                    legend { "Pages of a good answer" }
                    @for (at, page) in choices.enumerate() {
                        label.inline { input type="checkbox" name="expected" value=(page) checked[at == 0]; (part::page_name(page)) }
                    }
                    label { "Another page" input type="text" name="expected" placeholder="source::slug" maxlength="546"; }
                }
                label.inline { input type="checkbox" name="active" value="true"; "Suites ask it from now on; otherwise it is a candidate" }
                p { button.primary type="submit" { "Make a canonical query" } }
            }
        }
    }
}

fn request(capture: &Capture) -> Markup {
    let Filters { types, tags, since, until } = &capture.filters;
    let words = |words: &[String]| html! { (part::text(&words.join(", "))) };
    let mut rows: Vec<(&str, Markup)> = vec![("Query", part::query(&capture.query))];
    let mut add = |name, value: Option<Markup>| rows.extend(value.map(|value| (name, value)));
    let text = |text: &Option<String>| text.as_ref().map(|text| html! { (part::text(text)) });
    add("Mode", text(&capture.retrieval_mode));
    add("Pages asked for", capture.limit.map(|limit| html! { (limit) }));
    add("Detail", text(&capture.detail_resolved.clone().or_else(|| capture.detail.clone())));
    for (name, list) in [("Sources", &capture.source_scope), ("Types", types), ("Tags", tags)] {
        add(name, (!list.is_empty()).then(|| words(list)));
    }
    add("Dated since", text(since));
    add("Dated until", text(until));
    add("Seen as", text(&capture.trust));
    add("Recency measured against", capture.now.as_deref().map(moment));
    add(
        "Vectors",
        Some(html! { @if capture.vector_enabled { "searched" } @else { "not searched" } }),
    );
    if capture.expansion_applied {
        add("Variants", Some(words(&capture.expansion_variants)));
    }
    add("Job", capture.job_id.map(|id| html! { (id) }));
    add("Subagent", capture.subagent_id.map(|id| html! { (id) }));
    facts(&rows)
}

fn provenance(capture: &Capture) -> Markup {
    let mut rows: Vec<(&str, Markup)> =
        vec![("Wall clock", html! { (format!("{:.3} ms", capture.latency_ms)) })];
    let mut add = |name, value: Option<Markup>| rows.extend(value.map(|value| (name, value)));
    let code = |text: &str| html! { code { (part::text(text)) } };
    add("CPU time", capture.cpu_time.as_ref().map(|cpu| {
        html! { (format!("{:.3} ms", cpu.cpu_ms)) " (calibration " (format!("{:.3} ms", cpu.calibration_ms)) ")" }
    }));
    add(
        "Version",
        capture
            .software
            .as_ref()
            .map(|software| html! { (part::text(&software.version)) " " (code(&software.code)) }),
    );
    add("Settings", capture.settings_hash.as_deref().map(code));
    add("Corpus", capture.corpus.as_ref().map(|corpus| html! {
        "generation " (corpus.generation) ", " (part::count(corpus.pages, "page", "pages")) ", "
        (part::count(corpus.chunks, "chunk", "chunks")) " " (code(corpus.root.get(..16).unwrap_or(&corpus.root)))
    }));
    add("Embedder", capture.embedder.as_deref().map(code));
    add("Reranker", capture.rerank_model.as_deref().map(code));
    html! {
        (facts(&rows))
        @if !capture.settings.is_empty() {
            details {
                summary { span.query.title { "All settings" } }
                dl.facts { @for (name, value) in &capture.settings { div { dt { (part::text(name)) } dd { (part::text(&value.to_string())) } } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = r#"{"capture":{"id":42,"tool_name":"query","query":"who <b>paints</b>?","retrieved_slugs":["people/ada","[REDACTED]"],
        "created_at":"2026-05-01T10:00:00.000Z","retrieved":[{"source_id":"wiki","slug":"people/ada"},{"source_id":"wiki","slug":"[REDACTED]","key_hash":"ab"}],
        "limit":10,"retrieval_mode":"hybrid","filters":{"types":["person"],"tags":[],"since":null,"until":null},"latency_ms":12.25,
        "cpu_time":{"cpu_ms":1.5,"calibration_ms":0.1,"repeats":5,"method":"m"},"settings":{"bm25_b":0.75},"settings_hash":"12e0",
        "software":{"version":"0.1.0","code":"86"},"corpus":{"store":"s","generation":7,"pages":101,"chunks":181,"root":"138109f94c3b50e1058e"},
        "degraded":[{"stage":"vectors","reason":"no_model"}],"cache_hit":false,"scrubbed":false},
        "canonical":{"number":3,"id":"who-paints","state":"candidate"}}"#;

    fn shown() -> ShownCapture {
        serde_json::from_str(SHOWN).unwrap()
    }

    #[test]
    fn a_capture_shows_request_ranking_and_provenance() {
        let page = page(&shown());
        let main = page.main.into_string();
        assert!(main.contains("href=\"/pages/wiki%3A%3Apeople%2Fada\""), "{main}");
        assert!(!main.contains("REDACTED%5D") && main.contains("hidden names"), "{main}");
        assert!(main.contains("generation 7, 101 pages, 181 chunks"), "{main}");
        assert!(main.contains("no_model") && main.contains("bm25_b"), "{main}");
        assert!(
            main.contains("action=\"/captures/42/promote\"") && main.contains("name=\"csrf\""),
            "{main}"
        );
        assert!(main.contains("value=\"wiki::people/ada\" checked"), "{main}");
        let header = page.header.into_string();
        assert!(
            header.contains("who &lt;b&gt;paints&lt;/b&gt;?") && header.contains("candidate"),
            "{header}"
        );
        assert_eq!(
            page.command,
            "gbrain eval export --remote --after-id 41 | jq 'select(.id == 42)'"
        );
    }

    #[test]
    fn a_scrubbed_query_is_not_promoted() {
        let mut shown = shown();
        shown.capture.scrubbed = true;
        shown.canonical = None;
        let main = page(&shown).main.into_string();
        assert!(!main.contains("/promote") && main.contains("gbrain queries add TEXT"), "{main}");
    }

    #[test]
    fn a_row_of_the_oldest_schema_is_shown() {
        let json = r#"{"capture":{"id":1,"tool_name":"search","query":"q","retrieved_slugs":["a/b"],
            "created_at":"2026-05-01T10:00:00.000Z","latency_ms":1},"canonical":null}"#;
        let main = page(&serde_json::from_str(json).unwrap()).main.into_string();
        assert!(main.contains("a/b") && main.contains("no sources"), "{main}");
    }
}
