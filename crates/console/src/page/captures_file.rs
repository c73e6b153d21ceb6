//! A file of captured requests with their rankings.

use std::ops::Range;

use gbrain_core::report::number::ms;
use maud::{Markup, html};
use serde::Deserialize;

use super::row::PAGES;
use super::span::{Names, Text};
use super::view::{Choices, RowView, Sort, filters};
use crate::part::{self, empty, heading, page_name, query, section};
use crate::shell::{Page, Section};

/// A captured request.
#[derive(Debug, Deserialize)]
struct Capture<'a> {
    #[serde(borrow, default)]
    tool_name: Text<'a>,
    #[serde(borrow, default)]
    query: Text<'a>,
    #[serde(borrow, default)]
    retrieved_slugs: Vec<Text<'a>>,
    #[serde(borrow, default)]
    retrieved: Vec<RetrievedPage<'a>>,
    #[serde(default)]
    latency_ms: serde_json::Value,
    #[serde(borrow, default)]
    created_at: Option<Text<'a>>,
    #[serde(borrow, default)]
    retrieval_mode: Option<Text<'a>>,
    #[serde(default)]
    weight: Option<u64>,
    #[serde(default)]
    scrubbed: bool,
}

#[derive(Debug, Deserialize)]
struct RetrievedPage<'a> {
    #[serde(borrow)]
    source_id: Text<'a>,
    #[serde(borrow)]
    slug: Text<'a>,
}

impl Capture<'_> {
    /// The pages with their sources, where they are known.
    fn pages(&self) -> Vec<String> {
        match self.retrieved.is_empty() {
            true => self.retrieved_slugs.iter().map(|slug| slug.as_str().to_owned()).collect(),
            false => self
                .retrieved
                .iter()
                .map(|one| format!("{}::{}", one.source_id.as_str(), one.slug.as_str()))
                .collect(),
        }
    }
}

#[derive(Debug)]
struct CaptureEntry {
    range: Range<usize>,
    line: u64,
    latency: Option<f64>,
    pages: usize,
    modes: u64,
    sources: u64,
}

/// Captures that were read.
#[derive(Debug, Default)]
pub(crate) struct CaptureFile {
    entries: Vec<CaptureEntry>,
    modes: Names,
    sources: Names,
}

impl CaptureFile {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut read = Self::default();
        for (at, line) in (1..).zip(text.split_inclusive('\n')) {
            let row = line.trim();
            if row.is_empty() || is_metadata(row) {
                continue;
            }
            let start = row.as_ptr() as usize - text.as_ptr() as usize;
            let capture: Capture<'_> =
                serde_json::from_str(row).map_err(|error| format!("line {at}: {error}"))?;
            let entry = read.entry(&capture, at, start..start + row.len());
            read.entries.push(entry);
        }
        Ok(read)
    }

    fn entry(&mut self, capture: &Capture<'_>, line: u64, range: Range<usize>) -> CaptureEntry {
        CaptureEntry {
            range,
            line,
            latency: capture.latency_ms.as_f64(),
            pages: capture.retrieved_slugs.len(),
            modes: self.modes.bit(capture.tool_name.as_str()),
            sources: capture
                .retrieved
                .iter()
                .fold(0, |all, one| all | self.sources.bit(one.source_id.as_str())),
        }
    }

    pub(crate) fn page(&self, text: &str, view: &RowView) -> Page {
        let without = self.entries.iter().filter(|entry| entry.pages == 0).count() as u64;
        let facts = [
            ("Captures", html! { (part::thousands(self.len() as u64)) }),
            ("Without results", html! { (part::thousands(without)) }),
        ];
        Page {
            title: "Captures".to_owned(),
            section: Section::Captures,
            command: "gbrain eval replay --against FILE".to_owned(),
            header: html! { (heading("file of captures", "Captures", None, "Requests with the rankings that they got.")) (part::facts(&facts)) },
            controls: self.filters(view),
            main: self.section(text, view),
            pager: self.pager(view),
            scripts: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn filters(&self, view: &RowView) -> Markup {
        filters(
            view,
            Choices {
                modes: &self.modes.sorted(),
                sources: &self.sources.sorted(),
                has_latency: true,
                ..Choices::default()
            },
        )
    }

    pub(crate) fn pager(&self, view: &RowView) -> Markup {
        view.pager(self.select(view).len())
    }

    /// The captures that a view shows.
    pub(crate) fn section(&self, text: &str, view: &RowView) -> Markup {
        if self.entries.is_empty() {
            return empty("This file has no captures.", "gbrain eval export > captured.ndjson");
        }
        let rows = self.select(view);
        section(
            "captures",
            "Captured requests",
            "",
            &html! {
                @if rows.is_empty() { p.dim { "No capture is like this." } }
                @for entry in view.slice(&rows) { (item(text, entry)) }
                (view.left_out(rows.len(), "capture", "captures"))
            },
        )
    }

    fn select(&self, view: &RowView) -> Vec<&CaptureEntry> {
        let has =
            |names: &Names, set: u64, name: &str| name.is_empty() || set & names.bit_of(name) != 0;
        let is_shown = |entry: &&CaptureEntry| {
            has(&self.modes, entry.modes, &view.mode)
                && has(&self.sources, entry.sources, &view.source)
                && view.min_ms.is_none_or(|least| entry.latency.is_some_and(|took| took >= least))
        };
        let mut rows: Vec<&CaptureEntry> = self.entries.iter().filter(is_shown).collect();
        if view.sort == Sort::Latency {
            let took = |entry: &CaptureEntry| entry.latency.unwrap_or(f64::NEG_INFINITY);
            rows.sort_by(|a, b| took(b).total_cmp(&took(a)).then(a.line.cmp(&b.line)));
        }
        rows
    }
}

fn is_metadata(row: &str) -> bool {
    row.get(..200.min(row.len())).unwrap_or(row).contains("\"_kind\"")
}

fn item(text: &str, entry: &CaptureEntry) -> Markup {
    let capture: Capture<'_> = match serde_json::from_str(&text[entry.range.clone()]) {
        Ok(capture) => capture,
        Err(error) => return html! { p { (part::text(&error.to_string())) } },
    };
    let pages = capture.pages();
    html! {
        details id={ "row-" (entry.line) } {
            summary {
                span { (part::count(pages.len() as u64, "page", "pages")) }
                (query(capture.query.as_str()))
                span.tags {
                    span.tag { (part::text(capture.tool_name.as_str())) }
                    @if capture.scrubbed { span.tag { "scrubbed" } }
                }
            }
            div.inside {
                p.lead {
                    "line " (entry.line)
                    @if let Some(mode) = &capture.retrieval_mode { " · mode " (part::text(mode.as_str())) }
                    @if let Some(took) = entry.latency { " · " (ms(took)) }
                    @if let Some(weight) = capture.weight.filter(|weight| *weight > 1) { " · asked " (part::thousands(weight)) " times" }
                    @if let Some(at) = &capture.created_at { " · " (part::moment(&part::text(at.as_str()))) }
                }
                @if pages.is_empty() { p { "Nothing was found." } }
                @else { ol.results { @for page in pages.iter().take(PAGES) { li { (page_name(page)) } } } }
                @if pages.len() > PAGES { p.more { (pages.len() - PAGES) " more ranks." } }
            }
        }
    }
}
