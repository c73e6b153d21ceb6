//! Judged queries with their evidence: relevant, retrieved, missing.

use std::ops::Range;

use maud::{Markup, html};
use serde::Deserialize;

use super::row::{PAGES, score};
use super::rows::JudgedPages;
use super::span::Text;
use super::view::{RowView, Show};
use crate::part::{self, Tone, page_name, tag};

/// How many wrong queries are open.
const OPEN: usize = 3;

/// A query of a correctness gate.
#[derive(Debug, Deserialize)]
struct JudgedQuery<'a> {
    #[serde(borrow)]
    query_id: Text<'a>,
    #[serde(borrow, default)]
    query: Text<'a>,
    #[serde(borrow, default)]
    relevant: Vec<Text<'a>>,
    #[serde(borrow, default)]
    expected_top1: Option<Text<'a>>,
    #[serde(borrow, default)]
    retrieved: Vec<Text<'a>>,
    recall_at_k: Option<f64>,
    first_relevant_hit: Option<bool>,
    expected_top1_hit: Option<bool>,
    #[serde(borrow, default)]
    error_message: Option<Text<'a>>,
}

impl JudgedQuery<'_> {
    fn missing(&self) -> usize {
        self.relevant.iter().filter(|page| !self.retrieved.contains(page)).count()
    }

    fn rank_of(&self, page: &Text<'_>) -> Option<usize> {
        self.retrieved.iter().position(|one| one == page)
    }

    /// What was found, in a sentence.
    fn finding(&self) -> String {
        let Some(first) = self.retrieved.first() else { return "Nothing was found.".to_owned() };
        let best = self.relevant.iter().filter_map(|page| self.rank_of(page)).min();
        let expected = self.expected_top1.as_ref().map(|page| self.rank_of(page));
        match (best, expected) {
            (None, _) => "No relevant page was found; an unjudged page is first.".to_owned(),
            (Some(0), Some(None)) => {
                "A relevant page is first; the expected page is missing.".to_owned()
            }
            (Some(0), Some(Some(rank))) if rank > 0 => {
                format!("A relevant page is first; the expected page is at rank {}.", rank + 1)
            }
            (Some(0), _) if self.missing() == 0 => {
                "Every relevant page was found, one of them first.".to_owned()
            }
            (Some(0), _) => {
                let n =
                    part::count(self.missing() as u64, "relevant page is", "relevant pages are");
                format!("A relevant page is first; {n} missing.")
            }
            (Some(rank), _) if self.relevant.contains(first) => {
                format!("The first relevant page is at rank {}.", rank + 1)
            }
            (Some(rank), _) => format!(
                "An unjudged page is first; the first relevant page is at rank {}.",
                rank + 1
            ),
        }
    }
}

#[derive(Debug)]
struct JudgedEntry {
    range: Range<usize>,
    recall: Option<f64>,
    is_wrong: bool,
    is_errored: bool,
    is_first_unjudged: bool,
}

impl JudgedEntry {
    fn is_shown(&self, show: Show) -> bool {
        match show {
            Show::Moved | Show::All => true,
            Show::Regressed => self.is_wrong && !self.is_errored,
            Show::Improved => false,
            Show::Errored => self.is_errored,
            Show::Unchanged => !self.is_wrong,
            Show::Unjudged => self.is_first_unjudged,
        }
    }
}

/// All judged queries, wrong ones first.
#[derive(Debug, Default)]
pub(crate) struct JudgedIndex {
    entries: Vec<JudgedEntry>,
}

impl JudgedIndex {
    /// Reads the queries, and the pages that each finds relevant.
    pub(crate) fn read(
        text: &str,
        ranges: Vec<Range<usize>>,
    ) -> Result<(Self, JudgedPages), String> {
        let (mut entries, mut pages) = (Vec::with_capacity(ranges.len()), JudgedPages::new());
        for range in ranges {
            let judged: JudgedQuery<'_> = serde_json::from_str(&text[range.clone()])
                .map_err(|error| format!("judged query {}: {error}", entries.len() + 1))?;
            if !judged.query.as_str().is_empty() && !judged.relevant.is_empty() {
                let relevant =
                    judged.relevant.iter().map(|page| page.as_str().to_owned()).collect();
                pages.insert(judged.query.as_str().to_owned(), relevant);
            }
            entries.push(entry(&judged, range));
        }
        entries.sort_by(|a, b| {
            let rank = |one: &JudgedEntry| (!one.is_wrong, one.recall.unwrap_or(-1.0));
            let ((x, a_recall), (y, b_recall)) = (rank(a), rank(b));
            x.cmp(&y).then(if a.is_wrong {
                a_recall.total_cmp(&b_recall)
            } else {
                std::cmp::Ordering::Equal
            })
        });
        Ok((Self { entries }, pages))
    }

    /// The queries of a view. Filters of replayed rows leave none.
    pub(crate) fn list(&self, text: &str, view: &RowView) -> Markup {
        if !view.mode.is_empty()
            || !view.source.is_empty()
            || !view.tag.is_empty()
            || view.min_ms.is_some()
        {
            return html! {};
        }
        let shown: Vec<&JudgedEntry> =
            self.entries.iter().filter(|entry| entry.is_shown(view.show)).collect();
        let wrong = self.entries.iter().filter(|entry| entry.is_wrong).count();
        html! {
            @for (at, entry) in view.slice(&shown).iter().enumerate() {
                (item(text, entry, view.page == 0 && at < OPEN.min(wrong)))
            }
            (view.left_out(shown.len(), "query", "queries"))
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<JudgedEntry>()
    }
}

fn entry(judged: &JudgedQuery<'_>, range: Range<usize>) -> JudgedEntry {
    let first = judged.retrieved.first();
    JudgedEntry {
        range,
        recall: judged.recall_at_k,
        is_wrong: judged.recall_at_k.is_none_or(|recall| recall < 1.0)
            || judged.first_relevant_hit == Some(false)
            || judged.expected_top1_hit == Some(false),
        is_errored: judged.error_message.is_some(),
        is_first_unjudged: first.is_some_and(|page| !judged.relevant.contains(page)),
    }
}

fn item(text: &str, entry: &JudgedEntry, is_open: bool) -> Markup {
    let judged: JudgedQuery<'_> = match serde_json::from_str(&text[entry.range.clone()]) {
        Ok(judged) => judged,
        Err(error) => return html! { p { (part::text(&error.to_string())) } },
    };
    html! {
        details open[is_open] {
            summary {
                @match judged.recall_at_k { Some(value) => (score(value)), None => span { "-" } }
                bdi.query { (part::text(judged.query.as_str())) " " span.dim { (part::text(judged.query_id.as_str())) } }
                span.tags { (tags(&judged)) }
            }
            div.inside {
                @if let Some(message) = &judged.error_message {
                    p { "Failed: " (part::text(message.as_str())) }
                } @else {
                    p.change { (judged.finding()) }
                    (evidence(&judged))
                }
            }
        }
    }
}

fn tags(judged: &JudgedQuery<'_>) -> Markup {
    let is_error = judged.error_message.is_some();
    let missing = judged.missing();
    let first = judged.first_relevant_hit == Some(false);
    let expected = !first && judged.expected_top1_hit == Some(false);
    html! {
        @if is_error { (tag(Tone::Bad, "failed")) }
        @if missing > 0 { span.tag.lost { (missing) " missing" } }
        @if first { (tag(Tone::Warning, "first not relevant")) }
        @if expected { (tag(Tone::Warning, "first not expected")) }
        @if !is_error && missing == 0 && !first && !expected { (tag(Tone::Good, "right")) }
    }
}

fn evidence(judged: &JudgedQuery<'_>) -> Markup {
    let longest = judged.relevant.len().max(judged.retrieved.len());
    html! {
        table.ranks {
            caption.aloud { "Relevant and retrieved pages" }
            thead { tr { th scope="col" { "#" } th scope="col" { "Relevant" } th scope="col" { "Retrieved" } } }
            tbody {
                @for at in 0..longest.min(PAGES) {
                    tr {
                        th scope="row" { (at + 1) }
                        td { @if let Some(page) = judged.relevant.get(at) { (relevant(judged, page)) } }
                        td {
                            @if let Some(page) = judged.retrieved.get(at) {
                                (page_name(page.as_str()))
                                @if judged.relevant.contains(page) { span.tag.pass { "relevant" } }
                            }
                        }
                    }
                }
            }
        }
        @if longest > PAGES { p.more { (longest - PAGES) " more." } }
    }
}

fn relevant(judged: &JudgedQuery<'_>, page: &Text<'_>) -> Markup {
    html! {
        (page_name(page.as_str()))
        @if judged.expected_top1.as_ref() == Some(page) { span.tag { "expected first" } }
        @match judged.rank_of(page) {
            Some(at) => span.tag.pass { "at " (at + 1) },
            None => span.tag.lost { "missing" },
        }
    }
}
