//! One replayed row: what changed, in words, and both rankings side by side.

use gbrain_core::report::number::ms;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::rows::RowEntry;
use super::span::Text;
use crate::chart::plot::{px, rect, svg};
use crate::part::{self, Tone, page_name, query, tag};

/// Maximum number of pages per ranking in a list of rows.
pub(crate) const PAGES: usize = 20;

/// A row of a replay or of a regression gate.
#[derive(Debug, Deserialize)]
pub(crate) struct Row<'a> {
    pub(crate) line: u64,
    #[serde(borrow, default)]
    pub(crate) tool_name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) query: Text<'a>,
    #[serde(borrow, default)]
    query_hash: Text<'a>,
    #[serde(default)]
    weight: u64,
    #[serde(borrow, default)]
    pub(crate) skip_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) error_message: Option<Text<'a>>,
    #[serde(default)]
    pub(crate) errored: bool,
    #[serde(default)]
    pub(crate) skipped: bool,
    #[serde(default)]
    pub(crate) jaccard: Option<f64>,
    #[serde(default, rename = "top1Match")]
    pub(crate) top1: Option<bool>,
    #[serde(default)]
    pub(crate) rbo: Option<f64>,
    #[serde(borrow, default)]
    pub(crate) captured_slugs: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) current_slugs: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) caveats: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) blame: Option<Text<'a>>,
    #[serde(borrow, default)]
    lost: Vec<LostPage<'a>>,
    #[serde(default)]
    pub(crate) captured_latency_ms: Option<f64>,
    #[serde(default)]
    pub(crate) current_latency_ms: Option<f64>,
}

/// A captured page that is gone, with the stage that dropped it.
#[derive(Debug, Deserialize)]
struct LostPage<'a> {
    #[serde(borrow)]
    page: Text<'a>,
    #[serde(borrow)]
    stage: Text<'a>,
    #[serde(borrow)]
    why: Text<'a>,
}

impl Row<'_> {
    /// The rank that a captured page has now, from 0.
    fn rank_now(&self, page: &Text<'_>) -> Option<usize> {
        self.current_slugs.iter().position(|one| one == page)
    }

    fn rank_then(&self, page: &Text<'_>) -> Option<usize> {
        self.captured_slugs.iter().position(|one| one == page)
    }

    pub(crate) fn lost_count(&self) -> usize {
        self.captured_slugs.iter().filter(|page| self.rank_now(page).is_none()).count()
    }

    pub(crate) fn new_count(&self) -> usize {
        self.current_slugs.iter().filter(|page| self.rank_then(page).is_none()).count()
    }

    /// The change in a sentence.
    pub(crate) fn change(&self) -> String {
        match (self.captured_slugs.first(), self.current_slugs.first()) {
            (None, None) => "Nothing was found, then and now.".to_owned(),
            (Some(_), None) => {
                let n = self.captured_slugs.len() as u64;
                format!(
                    "Nothing is found any more; {} captured.",
                    part::count(n, "page was", "pages were")
                )
            }
            (None, Some(_)) => "Pages are found where nothing was captured.".to_owned(),
            (Some(_), Some(_)) if self.captured_slugs == self.current_slugs => {
                "The same pages in the same order.".to_owned()
            }
            (Some(then), Some(now)) if then == now => self.behind_the_first(),
            (Some(then), Some(now)) => {
                format!("{}; {}.", self.first_captured(then), self.first_now(now))
            }
        }
    }

    fn first_captured(&self, page: &Text<'_>) -> String {
        match self.rank_now(page) {
            Some(rank) => format!("The first page went from rank 1 to {}", rank + 1),
            None => match self.lost.iter().find(|lost| lost.page == *page) {
                Some(lost) => format!(
                    "The first page is gone, dropped by {}",
                    part::text(lost.stage.as_str())
                ),
                None => "The first page is gone".to_owned(),
            },
        }
    }

    fn first_now(&self, page: &Text<'_>) -> String {
        match self.rank_then(page) {
            Some(rank) => format!("the page of rank {} is now first", rank + 1),
            None => "an unjudged page is now first".to_owned(),
        }
    }

    /// What changed behind a first page that stayed.
    fn behind_the_first(&self) -> String {
        let (lost, new) = (self.lost_count() as u64, self.new_count() as u64);
        let mut changes = Vec::new();
        if lost > 0 {
            changes.push(format!("{} gone", part::count(lost, "page is", "pages are")));
        }
        if new > 0 {
            changes.push(format!("{} new", part::count(new, "page is", "pages are")));
        }
        let moves = self.captured_slugs.iter().enumerate();
        let mut moves =
            moves.filter_map(|(at, page)| Some((at, self.rank_now(page)?))).filter(|(a, b)| a != b);
        if let Some((then, now)) = moves.next() {
            let more = moves.count() as u64;
            let others = if more > 0 {
                format!(" and {} moved", part::count(more, "other", "others"))
            } else {
                String::new()
            };
            changes.push(format!("rank {} to {}{others}", then + 1, now + 1));
        }
        format!("The first page stayed; {}.", changes.join(", "))
    }
}

/// The row as an item of a list that opens.
pub(crate) fn item(row: &Row<'_>, entry: &RowEntry, is_open: bool) -> Markup {
    html! {
        details id={ "row-" (row.line) } open[is_open] {
            summary {
                @match row.jaccard { Some(value) => (score(value)), None => span { "-" } }
                (query(row.query.as_str()))
                span.tags { (tags(row, entry)) }
            }
            div.inside { (inside(row, entry, PAGES)) }
        }
    }
}

/// The content of a row: the sentence, the facts and the rankings.
pub(crate) fn inside(row: &Row<'_>, entry: &RowEntry, pages: usize) -> Markup {
    html! {
        @if let Some(message) = reason(row) {
            p.change { (message) }
            p.lead { "line " (row.line) }
        } @else {
            p.change { (row.change()) @if let Some(why) = entry.judged_change() { " " (why) } }
            p.lead { (facts(row, entry)) }
            (rankings(row, pages))
        }
    }
}

/// Why a row has no result.
pub(crate) fn reason(row: &Row<'_>) -> Option<String> {
    let message = row.error_message.as_ref().or(row.skip_reason.as_ref());
    message
        .map(|message| part::text(message.as_str()))
        .or_else(|| (row.errored || row.skipped).then(String::new))
}

/// A value from 0 to 1 as a number and a bar.
pub(crate) fn score(value: f64) -> Markup {
    let value = value.clamp(0.0, 1.0);
    let body = html! {
        (rect("bar rest", [0.0, 0.0, 48.0, 6.0]))
        (rect("bar", [0.0, 0.0, 48.0 * value, 6.0]))
    };
    html! { span.score { span { (format!("{value:.2}")) } (svg("", 48.0, 6.0, "", &body)) } }
}

fn tags(row: &Row<'_>, entry: &RowEntry) -> Markup {
    let (lost, new) = (row.lost_count(), row.new_count());
    html! {
        @if row.errored { (tag(Tone::Bad, "failed")) }
        @else if row.skipped { (tag(Tone::Warning, if entry.is_not_comparable() { "not comparable" } else { "skipped" })) }
        @if row.top1 == Some(false) { (tag(Tone::Warning, "other first page")) }
        @if lost > 0 { span.tag.lost { (lost) " lost" } }
        @if new > 0 { span.tag.new { (new) " new" } }
        @if let Some(word) = entry.judged_word() { (part::state(word)) }
        @if let Some(blame) = &row.blame { span.tag.moved { "moved by " (part::text(&blame.as_str().replace('_', " "))) } }
    }
}

fn facts(row: &Row<'_>, entry: &RowEntry) -> Markup {
    let captured = entry.captured_ms.map_or_else(|| "-".to_owned(), ms);
    let current = entry.current_ms.map_or_else(|| "-".to_owned(), ms);
    html! {
        "line " (row.line) " · " (part::text(row.tool_name.as_str())) " · "
        code { (part::text(row.query_hash.as_str())) }
        @if let Some(rbo) = row.rbo { " · RBO " (format!("{rbo:.2}")) }
        " · latency " (captured) " to " (current)
        @if row.weight > 1 { " · asked " (part::thousands(row.weight)) " times" }
        @for caveat in &row.caveats { " · " (part::text(&caveat.as_str().replace('_', " "))) }
    }
}

/// Both rankings, with lines between the places of the same page.
fn rankings(row: &Row<'_>, pages: usize) -> Markup {
    let longest = row.captured_slugs.len().max(row.current_slugs.len());
    let shown = longest.min(pages);
    html! {
        @if shown > 0 {
            table.ranks {
                caption.aloud { "The captured and the current ranking" }
                thead { tr { th scope="col" { "#" } th scope="col" { "Captured" } td.wires aria-hidden="true" {} th scope="col" { "Current" } } }
                tbody {
                    @for at in 0..shown {
                        tr {
                            th scope="row" { (at + 1) }
                            td { @if let Some(page) = row.captured_slugs.get(at) { (then(row, page)) } }
                            @if at == 0 { td.wires rowspan=(shown) { (wires(row, shown)) } }
                            td { @if let Some(page) = row.current_slugs.get(at) { (now(row, page, at)) } }
                        }
                    }
                }
            }
            @if longest > shown { p.more { (longest - shown) " more ranks." } }
            @for fell in &row.lost {
                p.note { (page_name(fell.page.as_str())) ", dropped by " (part::text(fell.stage.as_str())) ": " (part::text(fell.why.as_str())) }
            }
        }
    }
}

/// Lines from the captured to the current place of each page.
fn wires(row: &Row<'_>, shown: usize) -> Markup {
    let (mut moved, mut same) = (String::new(), String::new());
    for (at, page) in row.captured_slugs.iter().take(shown).enumerate() {
        let Some(now) = row.rank_now(page).filter(|now| *now < shown) else { continue };
        let path = if now == at { &mut same } else { &mut moved };
        let (from, to) = (at as f64 + 0.5, now as f64 + 0.5);
        path.push_str(&format!("M0 {}L10 {}", px(from), px(to)));
    }
    let (moved, same) = (PreEscaped(moved), PreEscaped(same));
    html! {
        svg viewBox={ "0 0 10 " (shown) } preserveAspectRatio="none" aria-hidden="true" {
            @if !same.0.is_empty() { path.wire d=(same) {} }
            @if !moved.0.is_empty() { path.wire.moved d=(moved) {} }
        }
    }
}

fn then(row: &Row<'_>, page: &Text<'_>) -> Markup {
    html! {
        (page_name(page.as_str()))
        @if row.rank_now(page).is_none() { span.tag.lost { "lost" } }
    }
}

fn now(row: &Row<'_>, page: &Text<'_>, at: usize) -> Markup {
    html! {
        (page_name(page.as_str()))
        @match row.rank_then(page) {
            None => span.tag.new { "new" },
            Some(before) if before == at => "",
            Some(before) => {
                @let (sign, word) = if before > at { ('▲', "up") } else { ('▼', "down") };
                @let by = before.abs_diff(at);
                span.tag title={ "was " (before + 1) } {
                    span aria-hidden="true" { (sign) (by) }
                    span.aloud { (word) " " (by) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(captured: &[&str], current: &[&str]) -> String {
        let document = serde_json::json!({
            "line": 2, "query": "q", "captured_slugs": captured, "current_slugs": current,
        });
        let text = document.to_string();
        serde_json::from_str::<Row<'_>>(&text).unwrap().change()
    }

    #[test]
    fn a_sentence_says_what_changed() {
        for (captured, current, expected) in [
            (
                &["a", "b", "c", "d"][..],
                &["b", "c", "d", "a"][..],
                "The first page went from rank 1 to 4; the page of rank 2 is now first.",
            ),
            (
                &["a", "b"],
                &["x", "a"],
                "The first page went from rank 1 to 2; an unjudged page is now first.",
            ),
            (&["a", "b"], &["x", "y"], "The first page is gone; an unjudged page is now first."),
            (
                &["a", "b", "c"],
                &["a", "c", "b"],
                "The first page stayed; rank 2 to 3 and 1 other moved.",
            ),
            (&["a", "b"], &["a", "x"], "The first page stayed; 1 page is gone, 1 page is new."),
            (&["a"], &["a"], "The same pages in the same order."),
            (&["a"], &[], "Nothing is found any more; 1 page was captured."),
            (&[], &["a"], "Pages are found where nothing was captured."),
            (&[], &[], "Nothing was found, then and now."),
        ] {
            assert_eq!(row(captured, current), expected);
        }
    }
}
