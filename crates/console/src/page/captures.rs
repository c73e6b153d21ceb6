//! Captured requests: a filtered list, and capture failures with their reasons.

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{
    self, Tone, count, empty, facts, heading, moment, percent_encoded, query, section, table, tag,
    url,
};
use crate::shell::{Page, Section};

/// `GET /v1/captures/list`.
#[derive(Debug, Deserialize)]
pub struct CaptureList {
    pub captures: Vec<CaptureEntry>,
    pub next_before: Option<String>,
    pub read: u64,
}

/// One capture of the list.
#[derive(Debug, Deserialize)]
pub struct CaptureEntry {
    pub id: i64,
    pub created_at: String,
    pub tool_name: String,
    pub query: String,
    #[serde(default)]
    pub retrieved_slugs: Vec<String>,
    #[serde(default)]
    pub source_ids: Vec<String>,
    #[serde(default)]
    pub latency_ms: f64,
    #[serde(default)]
    pub retrieval_mode: Option<String>,
    #[serde(default)]
    pub scrubbed: bool,
    #[serde(default)]
    pub cache_hit: bool,
    #[serde(default)]
    pub degraded: Vec<DegradedStage>,
}

/// A stage that could not do its work.
#[derive(Debug, Deserialize)]
pub struct DegradedStage {
    pub stage: String,
    pub reason: String,
}

/// `GET /v1/captures/failures`.
#[derive(Debug, Deserialize)]
pub struct FailureList {
    pub failures: Vec<CaptureFailure>,
    pub total: u64,
}

#[derive(Debug, Deserialize)]
pub struct CaptureFailure {
    pub at: String,
    pub reason: String,
}

/// The filters as the reader typed them; empty for none.
#[derive(Debug, Default)]
pub struct CaptureFilters {
    pub text: String,
    pub tool: String,
    pub mode: String,
    pub source: String,
    pub results: String,
    pub since: String,
    pub until: String,
    pub before: String,
}

impl CaptureFilters {
    fn pairs(&self) -> [(&'static str, &str); 7] {
        [
            ("text", &self.text),
            ("tool", &self.tool),
            ("mode", &self.mode),
            ("source", &self.source),
            ("results", &self.results),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }

    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.pairs().iter().all(|(_, value)| value.is_empty())
    }

    fn url(&self, before: &str) -> String {
        let mut pairs = self.pairs().to_vec();
        pairs.push(("before", before));
        url("/captures", &pairs)
    }

    /// The command that prints the same rows. Filters that the export does not have are those of jq.
    fn command(&self) -> String {
        let mut command = "gbrain eval export --remote".to_owned();
        for (flag, value) in
            [("--tool", &self.tool), ("--since", &self.since), ("--until", &self.until)]
        {
            if !value.is_empty() {
                command.push_str(&format!(" {flag} {}", shell_quoted(&instant(value))));
            }
        }
        let mut conditions = Vec::new();
        let json = |text: &str| serde_json::to_string(text).unwrap_or_default();
        if !self.text.is_empty() {
            conditions.push(format!(
                "(.query | ascii_downcase | contains({}))",
                json(&self.text.to_lowercase())
            ));
        }
        if !self.mode.is_empty() {
            conditions.push(format!(".retrieval_mode == {}", json(&self.mode)));
        }
        if !self.source.is_empty() {
            conditions.push(format!("(.source_ids | index({}))", json(&self.source)));
        }
        match self.results.as_str() {
            "with" => conditions.push("(.retrieved_slugs != [])".to_owned()),
            "without" => conditions.push("(.retrieved_slugs == [])".to_owned()),
            _ => (),
        }
        if !conditions.is_empty() {
            let filter = format!("select({})", conditions.join(" and "));
            command.push_str(&format!(" | jq -c {}", shell_quoted(&filter)));
        }
        command
    }
}

/// The time of a field of a form, which is in UTC and ends with the minute, as an instant.
pub fn instant(text: &str) -> String {
    match text.len() {
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{text}:00Z"),
        _ => text.to_owned(),
    }
}

/// A word of a shell command.
pub(crate) fn shell_quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

pub fn page(list: &CaptureList, filters: &CaptureFilters, failures: Option<&FailureList>) -> Page {
    let next = list.next_before.as_deref().map(|before| filters.url(before));
    Page {
        title: "Captures".to_owned(),
        section: Section::Captures,
        command: filters.command(),
        header: html! {
            (heading("", "Captures", None, "Requests of remote callers with what they got, newest first."))
            (facts(&header_facts(list, failures)))
        },
        controls: form(filters),
        main: html! {
            @if list.captures.is_empty() { (none(list, filters, next.as_deref())) }
            @else { (section("captures", "Requests", "", &rows(list))) }
            @if let Some(failures) = failures { (failed(failures)) }
        },
        pager: html! {
            @if !filters.before.is_empty() { a href=(filters.url("")) { "Newest" } }
            (part::next_page(next.as_deref()))
        },
        ..Page::default()
    }
}

fn header_facts(list: &CaptureList, failures: Option<&FailureList>) -> Vec<(&'static str, Markup)> {
    let mut found = vec![(
        "On this page",
        html! { (count(list.captures.len() as u64, "capture", "captures")) " of " (count(list.read, "row", "rows")) " read" },
    )];
    if let Some(failures) = failures {
        let tone = if failures.total == 0 { Tone::Good } else { Tone::Warning };
        let words = count(failures.total, "failure", "failures");
        found.push(("Not captured", html! { a href="#failures" { (tag(tone, &words)) } }));
    }
    found
}

fn form(filters: &CaptureFilters) -> Markup {
    let CaptureFilters { text, tool, mode, source, results, since, until, .. } = filters;
    html! {
        form method="get" action="/captures" role="search" aria-label="Filter captures" {
            label { "Query contains" input type="search" name="text" value=(text) maxlength="1000"; }
            (select("Operation", "tool", tool, &[("query", "query"), ("search", "search")]))
            (select("Mode", "mode", mode, &[("knowledge", "knowledge"), ("graph", "graph"), ("hybrid", "hybrid")]))
            (select("Results", "results", results, &[("with", "with results"), ("without", "without results")]))
            label { "Source" input type="text" name="source" value=(source) size="12" maxlength="100"; }
            label { "Since (UTC)" input type="datetime-local" name="since" value=(local(since)); }
            label { "Until (UTC)" input type="datetime-local" name="until" value=(local(until)); }
            button.primary type="submit" { "Filter" }
            @if !filters.is_empty() { a.button href="/captures" { "Clear" } }
        }
    }
}

/// The value of a field for a date and a time.
fn local(text: &str) -> &str {
    text.get(..16).unwrap_or(text)
}

fn select(label: &str, name: &str, chosen: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        label {
            (label)
            select name=(name) {
                option value="" selected[chosen.is_empty()] { "all" }
                @for (value, words) in options {
                    option value=(value) selected[*value == chosen] { (words) }
                }
            }
        }
    }
}

fn none(list: &CaptureList, filters: &CaptureFilters, next: Option<&str>) -> Markup {
    html! {
        @if let Some(next) = next {
            div.empty {
                p { "None of the last " (count(list.read, "row", "rows")) " matches. Older rows were not read yet." }
                p { a rel="next" href=(next) { "Search older captures" } }
            }
        } @else if filters.is_empty() {
            (empty("No request was captured yet. Capture is on when config.json says so (eval.capture), or with this variable; then ask something over HTTP or MCP.", "GBRAIN_CONTRIBUTOR_MODE=1 gbrain serve"))
        } @else {
            (empty("No capture matches these filters.", ""))
        }
    }
}

fn rows(list: &CaptureList) -> Markup {
    let rows: Vec<Vec<Markup>> = list.captures.iter().map(row).collect();
    let head = ["Query", "Results", "First result", "Asked with", "Latency", "Notes", "Stored"];
    table("Captured requests", "captures", &head, &rows)
}

fn row(capture: &CaptureEntry) -> Vec<Markup> {
    let CaptureEntry {
        id, created_at, tool_name, retrieved_slugs, latency_ms, retrieval_mode, ..
    } = capture;
    vec![
        html! { a href={ "/captures/" (id) } { (query(&capture.query)) } },
        html! {
            @if retrieved_slugs.is_empty() { (tag(Tone::Warning, "none")) } @else { (retrieved_slugs.len()) }
        },
        html! { @if let Some(first) = retrieved_slugs.first() { (part::page_name(first)) } },
        html! { (part::text(tool_name)) @if let Some(mode) = retrieval_mode { span.note { (part::text(mode)) } } },
        html! { (format!("{latency_ms:.1} ms")) },
        notes(capture),
        moment(created_at),
    ]
}

fn notes(capture: &CaptureEntry) -> Markup {
    html! {
        span.tags {
            @if capture.scrubbed { (tag(Tone::Neutral, "scrubbed")) }
            @if capture.cache_hit { (tag(Tone::Neutral, "from cache")) }
            @for stage in &capture.degraded { (tag(Tone::Warning, &format!("{} failed", part::text(&stage.stage)))) }
        }
    }
}

fn failed(failures: &FailureList) -> Markup {
    let rows: Vec<Vec<Markup>> = failures
        .failures
        .iter()
        .map(|one| {
            vec![
                moment(&one.at),
                html! { code { (part::text(&one.reason)) } },
                html! { (reason(&one.reason)) },
            ]
        })
        .collect();
    let body = html! {
        @if rows.is_empty() { p.more { "Every request was captured." } }
        (table("Requests that were not captured", "failures", &["When", "Reason", "Meaning"], &rows))
        @if failures.total > rows.len() as u64 {
            p.more { "The newest " (rows.len()) " of " (part::thousands(failures.total)) "." }
        }
        @if !rows.is_empty() { p.more { "Messages are on the server: " code { "gbrain doctor" } "." } }
    };
    section("failures", "Not captured", "Queries of failed captures are never stored.", &body)
}

/// What a reason means and what to do.
fn reason(reason: &str) -> &'static str {
    match reason {
        "db_down" => "The database could not be reached or was too busy.",
        "rls_reject" => "Row-level security refused the row: check the role of the database URL.",
        "check_violation" => "The row broke a limit, such as the length of the query.",
        "scrubber_exception" => "Scrubbing failed, so nothing was stored.",
        _ => "Another error, such as a full queue.",
    }
}

/// The URL of the page of a document.
pub(crate) fn document_url(document: &str) -> String {
    format!("/pages/{}", percent_encoded(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(json: &str) -> CaptureList {
        serde_json::from_str(json).unwrap()
    }

    const LIST: &str = r#"{"captures":[
        {"schema_version":1,"id":42,"tool_name":"query","query":"<script>alert(1)</script> \u202e who?",
         "retrieved_slugs":["people/ada","a/b"],"source_ids":["default"],"latency_ms":12.25,"remote":true,
         "created_at":"2026-05-01T10:00:00.000Z","retrieval_mode":"hybrid","scrubbed":true,
         "degraded":[{"stage":"vectors","reason":"no_model"}]},
        {"id":41,"tool_name":"search","query":"berths","retrieved_slugs":[],"latency_ms":1,
         "created_at":"2026-05-01T09:00:00.000Z"}],
        "next_before":"1777629600000-41","read":200}"#;

    #[test]
    fn the_list_links_to_captures_and_to_its_next_page() {
        let filters = CaptureFilters {
            text: "who & what".to_owned(),
            tool: "query".to_owned(),
            ..Default::default()
        };
        let failures = FailureList {
            failures: vec![CaptureFailure {
                at: "2026-05-01T08:00:00Z".to_owned(),
                reason: "db_down".to_owned(),
            }],
            total: 3,
        };
        let page = page(&list(LIST), &filters, Some(&failures));
        let main = page.main.into_string();
        assert!(main.contains("href=\"/captures/42\""), "{main}");
        assert!(main.contains("&lt;script&gt;alert(1)&lt;/script&gt; \\u{202e} who?"), "{main}");
        assert!(!main.contains("<script>"));
        assert!(main.contains("vectors failed") && main.contains(">none<"), "{main}");
        assert!(main.contains("The database could not be reached"), "{main}");
        assert!(main.contains("The newest 1 of 3"), "{main}");
        let pager = page.pager.into_string();
        assert!(
            pager.contains("text=who%20%26%20what&amp;tool=query&amp;before=1777629600000-41"),
            "{pager}"
        );
        let controls = page.controls.into_string();
        assert!(
            controls.contains("value=\"who &amp; what\"")
                && controls.contains("<option value=\"query\" selected>")
        );
    }

    #[test]
    fn an_empty_list_says_what_is_missing() {
        let empty = list(r#"{"captures":[],"next_before":null,"read":0}"#);
        let main = |filters: &CaptureFilters| page(&empty, filters, None).main.into_string();
        assert!(
            main(&CaptureFilters::default()).contains("GBRAIN_CONTRIBUTOR_MODE=1 gbrain serve")
        );
        let filters = CaptureFilters { results: "without".to_owned(), ..Default::default() };
        assert!(main(&filters).contains("No capture matches these filters."));
        let partial = list(r#"{"captures":[],"next_before":"1-2","read":5000}"#);
        let main = page(&partial, &filters, None).main.into_string();
        assert!(
            main.contains("None of the last 5,000 rows matches")
                && main.contains("results=without&amp;before=1-2")
        );
    }

    #[test]
    fn the_command_is_quoted_for_a_shell() {
        let filters = CaptureFilters {
            text: "it's".to_owned(),
            tool: "query".to_owned(),
            results: "with".to_owned(),
            since: "2026-05-01T10:00".to_owned(),
            ..Default::default()
        };
        assert_eq!(
            filters.command(),
            "gbrain eval export --remote --tool query --since 2026-05-01T10:00:00Z | jq -c \
             'select((.query | ascii_downcase | contains(\"it'\\''s\")) and (.retrieved_slugs != []))'"
        );
        assert_eq!(CaptureFilters::default().command(), "gbrain eval export --remote");
    }
}
