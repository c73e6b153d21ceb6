//! The rows of a replay: a summary of each, kept beside the text, and the lists that a page shows.

use std::collections::HashMap;
use std::ops::Range;

use maud::{Markup, html};

use super::row::{Row, inside, item, reason};
use super::scatter::{Axes, scatter};
use super::span::{Names, Text};
use super::view::{Choices, RowView, Show, Sort, filters};
use crate::chart::bars::{histogram, shares};
use crate::chart::plot::figure;
use crate::part::{self, Tone, query, section, tag, url};

/// Number of bins from 0 to 1.
const BINS: usize = 10;
/// How many of the worst rows are open.
const OPEN: usize = 3;
/// What a row can depend on.
const FACTORS: [&str; 4] = ["code", "settings", "corpus", "model"];
const OTHER_FIRST: &str = "other_first_page";
const LOST: &str = "lost";
const NEW: &str = "new";

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Compared,
    Errored,
    Skipped,
    NotComparable,
}

/// The summary of one row.
#[derive(Debug)]
pub(crate) struct RowEntry {
    range: Range<usize>,
    line: u64,
    outcome: Outcome,
    jaccard: f64,
    rbo: f64,
    top1: Option<bool>,
    is_both_empty: bool,
    /// Recall of the captured and of the current ranking, where the query is judged.
    judged: Option<(f64, f64)>,
    pub(crate) captured_ms: Option<f64>,
    pub(crate) current_ms: Option<f64>,
    tags: u64,
    sources: u64,
    modes: u64,
}

impl RowEntry {
    fn is_compared(&self) -> bool {
        self.outcome == Outcome::Compared
    }

    pub(crate) fn is_not_comparable(&self) -> bool {
        self.outcome == Outcome::NotComparable
    }

    /// Whether the pages or the first page changed.
    fn is_moved(&self) -> bool {
        self.is_compared() && (self.jaccard < 1.0 || self.top1 == Some(false))
    }

    /// Better or worse by judgements, in one word; `None` without judgements or without a change.
    pub(crate) fn judged_word(&self) -> Option<&'static str> {
        let (then, now) = self.judged?;
        match now.total_cmp(&then) {
            std::cmp::Ordering::Less => Some("worse"),
            std::cmp::Ordering::Greater => Some("better"),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// The change of recall in a sentence.
    pub(crate) fn judged_change(&self) -> Option<String> {
        let (then, now) = self.judged?;
        self.judged_word().map(|_| format!("Recall of judged pages: {then:.2} to {now:.2}."))
    }

    fn is_shown(&self, show: Show) -> bool {
        match show {
            Show::Moved => self.is_moved(),
            Show::Regressed => self.is_moved() && self.judged_word() != Some("better"),
            Show::Improved => self.judged_word() == Some("better"),
            Show::Errored => !self.is_compared(),
            Show::Unchanged => self.is_compared() && !self.is_moved(),
            Show::Unjudged => self.is_moved() && self.judged.is_none(),
            Show::All => true,
        }
    }
}

/// Judged pages by the text of their query.
pub(crate) type JudgedPages = HashMap<String, Vec<String>>;

/// How many rows a factor changed, left the same, or does not say.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
pub(crate) struct FactorCounts {
    #[serde(default)]
    same: usize,
    #[serde(default)]
    differs: usize,
    #[serde(default)]
    unknown: usize,
}

pub(crate) type ChangedParts = HashMap<String, FactorCounts>;

/// All rows of a replay.
#[derive(Debug, Default)]
pub(crate) struct RowIndex {
    entries: Vec<RowEntry>,
    /// The moved rows, worst first.
    worst: Vec<u32>,
    without_result: Vec<u32>,
    tags: Names,
    sources: Names,
    modes: Names,
    blames: Vec<(String, usize)>,
}

impl RowIndex {
    pub(crate) fn read(
        text: &str,
        ranges: Vec<Range<usize>>,
        judged: &JudgedPages,
        k: usize,
    ) -> Result<Self, String> {
        let mut index = Self::default();
        index.entries.reserve_exact(ranges.len());
        for range in ranges {
            let row: Row<'_> = serde_json::from_str(&text[range.clone()])
                .map_err(|error| format!("row {}: {error}", index.entries.len() + 1))?;
            let entry = index.entry(&row, range, judged, k);
            index.entries.push(entry);
        }
        index.order();
        Ok(index)
    }

    fn entry(
        &mut self,
        row: &Row<'_>,
        range: Range<usize>,
        judged: &JudgedPages,
        k: usize,
    ) -> RowEntry {
        let pages = row.captured_slugs.iter().chain(&row.current_slugs);
        let sources = pages.filter_map(|page| page.as_str().split_once("::"));
        RowEntry {
            range,
            line: row.line,
            outcome: outcome(row),
            jaccard: row.jaccard.unwrap_or(0.0),
            rbo: row.rbo.unwrap_or(0.0),
            top1: row.top1,
            is_both_empty: row.captured_slugs.is_empty() && row.current_slugs.is_empty(),
            judged: judged.get(row.query.as_str()).filter(|_| row.jaccard.is_some()).map(
                |relevant| {
                    (
                        recall(&row.captured_slugs, relevant, k),
                        recall(&row.current_slugs, relevant, k),
                    )
                },
            ),
            captured_ms: row.captured_latency_ms,
            current_ms: row.current_latency_ms,
            sources: sources.fold(0, |all, (source, _)| all | self.sources.bit(source)),
            modes: self.modes.bit(row.tool_name.as_str()),
            tags: self.tags_of(row),
        }
    }

    fn tags_of(&mut self, row: &Row<'_>) -> u64 {
        let mut bits = 0;
        for (is_there, name) in [
            (row.top1 == Some(false), OTHER_FIRST),
            (row.lost_count() > 0, LOST),
            (row.new_count() > 0, NEW),
        ] {
            bits |= if is_there { self.tags.bit(name) } else { 0 };
        }
        if let Some(blame) = &row.blame {
            bits |= self.tags.bit(&format!("moved_by_{}", blame.as_str()));
            match self.blames.iter_mut().find(|(name, _)| name == blame.as_str()) {
                Some((_, n)) => *n += 1,
                None => self.blames.push((blame.as_str().to_owned(), 1)),
            }
        }
        row.caveats.iter().fold(bits, |all, caveat| all | self.tags.bit(caveat.as_str()))
    }

    fn order(&mut self) {
        let at = |is: &dyn Fn(&RowEntry) -> bool| -> Vec<u32> {
            (0..).zip(&self.entries).filter(|(_, entry)| is(entry)).map(|(at, _)| at).collect()
        };
        let (mut worst, without_result) =
            (at(&RowEntry::is_moved), at(&|entry| !entry.is_compared()));
        self.sort(&mut worst, Sort::Worst);
        self.blames.sort();
        (self.worst, self.without_result) = (worst, without_result);
    }

    /// Latencies that stand apart from the rows, by line.
    pub(crate) fn add_latencies(&mut self, latencies: &[RowTime]) {
        let of: HashMap<u64, &RowTime> = latencies.iter().map(|time| (time.line, time)).collect();
        for entry in &mut self.entries {
            if let Some(time) = of.get(&entry.line) {
                (entry.captured_ms, entry.current_ms) =
                    (time.captured_latency_ms, time.current_latency_ms);
            }
        }
    }

    fn sort(&self, rows: &mut [u32], sort: Sort) {
        let of = |at: &u32| &self.entries[*at as usize];
        match sort {
            Sort::Worst => rows.sort_unstable_by(|a, b| {
                let (a, b) = (of(a), of(b));
                let rank = |entry: &RowEntry| u8::from(entry.is_compared());
                let order = rank(a).cmp(&rank(b)).then(a.jaccard.total_cmp(&b.jaccard));
                order.then(a.rbo.total_cmp(&b.rbo)).then(a.line.cmp(&b.line))
            }),
            Sort::Line => rows.sort_unstable_by_key(|at| of(at).line),
            Sort::Latency => rows.sort_unstable_by(|a, b| {
                let (a, b) = (of(a), of(b));
                let ms = |entry: &RowEntry| entry.current_ms.unwrap_or(f64::NEG_INFINITY);
                ms(b).total_cmp(&ms(a)).then(a.line.cmp(&b.line))
            }),
        }
    }

    /// The rows of a view, in its order.
    fn select(&self, view: &RowView) -> Vec<u32> {
        if !view.is_filtered() {
            return self.worst.clone();
        }
        let bits =
            |names: &Names, name: &str| if name.is_empty() { u64::MAX } else { names.bit_of(name) };
        let (tags, sources) = (bits(&self.tags, &view.tag), bits(&self.sources, &view.source));
        let modes = bits(&self.modes, &view.mode);
        let has = |set: u64, wanted: u64, name: &str| name.is_empty() || set & wanted != 0;
        let is_shown = |entry: &RowEntry| {
            entry.is_shown(view.show)
                && has(entry.tags, tags, &view.tag)
                && has(entry.sources, sources, &view.source)
                && has(entry.modes, modes, &view.mode)
                && view.min_ms.is_none_or(|least| entry.current_ms.is_some_and(|ms| ms >= least))
        };
        let all = (0..).zip(&self.entries).filter(|(_, entry)| is_shown(entry));
        let mut rows: Vec<u32> = all.map(|(at, _)| at).collect();
        self.sort(&mut rows, view.sort);
        rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory of the index, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<RowEntry>()
            + 4 * (self.worst.capacity() + self.without_result.capacity())
    }

    fn has_latency(&self) -> bool {
        self.entries.iter().any(|entry| entry.current_ms.is_some())
    }

    pub(crate) fn filters(&self, view: &RowView) -> Markup {
        let choices = Choices {
            has_show: true,
            modes: &self.modes.sorted(),
            sources: &self.sources.sorted(),
            tags: &self.tags.sorted(),
            has_latency: self.has_latency(),
        };
        filters(view, choices)
    }

    /// The rows of a view as a list, with their number.
    pub(crate) fn list(&self, text: &str, view: &RowView) -> Markup {
        let rows = self.select(view);
        let shown = view.slice(&rows);
        html! {
            @for (at, row) in shown.iter().enumerate() { (self.item(text, *row, view.is_whole() && at < OPEN)) }
            (view.left_out(rows.len(), "row", "rows"))
        }
    }

    /// The section of the rows that a view shows.
    pub(crate) fn section(&self, text: &str, view: &RowView) -> Markup {
        let body = self.list(text, view);
        let (heading, lead) = match view.is_filtered() {
            false => ("Moved rows", "Worst first, by overlap of captured and current pages."),
            true => ("Rows", "The rows that the filters select."),
        };
        if body.0.is_empty() && !view.is_whole() {
            return part::section(
                "moved",
                heading,
                "",
                &html! { p.dim { "No row is like this." } },
            );
        }
        part::section("moved", heading, lead, &body)
    }

    fn item(&self, text: &str, at: u32, is_open: bool) -> Markup {
        let entry = &self.entries[at as usize];
        match serde_json::from_str::<Row<'_>>(&text[entry.range.clone()]) {
            Ok(row) => item(&row, entry, is_open),
            Err(error) => {
                html! { p { "line " (entry.line) ": " (part::text(&error.to_string())) } }
            }
        }
    }

    /// Links to the cases of a page and to the other pages of the list.
    pub(crate) fn pager(&self, view: &RowView) -> Markup {
        let rows = self.select(view);
        let cases: Vec<u64> =
            view.slice(&rows).iter().map(|at| self.entries[*at as usize].line).collect();
        html! {
            (view.pager(rows.len()))
            @if !view.base.is_empty() && !cases.is_empty() {
                details.cases {
                    summary { "Cases on pages of their own" }
                    ul.links { @for line in &cases { li { a href=(view.row(*line)) { "line " (line) } } } }
                }
            }
        }
    }

    /// The rows that failed, were skipped or cannot be compared.
    pub(crate) fn without_result(&self, text: &str, view: &RowView) -> Markup {
        let first = RowView { page: 0, ..view.clone() };
        let shown = first.slice(&self.without_result);
        html! {
            @if !shown.is_empty() {
                ul.plain { @for at in shown { li { (self.failed(text, *at)) } } }
                (first.left_out(self.without_result.len(), "row without a result", "rows without a result"))
            }
        }
    }

    fn failed(&self, text: &str, at: u32) -> Markup {
        let entry = &self.entries[at as usize];
        let Ok(row) = serde_json::from_str::<Row<'_>>(&text[entry.range.clone()]) else {
            return html! {};
        };
        html! {
            @match entry.outcome {
                Outcome::Errored => (tag(Tone::Bad, "failed")),
                Outcome::NotComparable => (tag(Tone::Warning, "not comparable")),
                Outcome::Skipped | Outcome::Compared => (tag(Tone::Neutral, "skipped")),
            }
            " line " (entry.line) " " (query(row.query.as_str()))
            span.note { (reason(&row).unwrap_or_default()) }
        }
    }

    /// One row by its line: its query and its content, with the lines before and after it.
    pub(crate) fn one<'t>(&self, text: &'t str, line: u64) -> Option<OneRow<'t>> {
        let entry = self.entries.iter().find(|entry| entry.line == line)?;
        let row: Row<'t> = serde_json::from_str(text.get(entry.range.clone())?).ok()?;
        let body = inside(&row, entry, usize::MAX);
        let place = self.worst.iter().position(|at| self.entries[*at as usize].line == line);
        let near = |at: Option<usize>| Some(self.entries[*self.worst.get(at?)? as usize].line);
        Some(OneRow {
            before: near(place.and_then(|at| at.checked_sub(1))),
            after: near(place.map(|at| at + 1)),
            row,
            body,
        })
    }

    /// Distributions of overlap, first pages and latency.
    pub(crate) fn plots(&self, mean: &str, measured: usize, percentiles: &Markup) -> Markup {
        if !self.entries.iter().any(RowEntry::is_compared) {
            return html! {};
        }
        let caption = format!("Rows by overlap; mean {mean}, n={measured}.");
        let title = "Overlap of captured and current pages (Jaccard)";
        let first = html! { (self.first_pages()) (percentiles) };
        html! {
            div.plots {
                (figure(title, &histogram(&self.jaccards(), "Jaccard"), &caption))
                (figure("First page and latency", &first, ""))
                (self.latencies())
            }
        }
    }

    fn jaccards(&self) -> [usize; BINS] {
        let mut bins = [0; BINS];
        for entry in self.entries.iter().filter(|entry| entry.is_compared() && !entry.is_both_empty)
        {
            bins[((entry.jaccard * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        bins
    }

    fn first_pages(&self) -> Markup {
        let compared = || self.entries.iter().filter(|entry| entry.is_compared());
        let n = |wanted: Option<bool>| compared().filter(|entry| entry.top1 == wanted).count();
        let parts = [
            ("kept", "same first page", n(Some(true))),
            ("lost", "other first page", n(Some(false))),
            ("rest", "none on either side", n(None)),
        ];
        shares(&parts, "First page")
    }

    fn latencies(&self) -> Markup {
        let pair = |entry: &RowEntry| Some((entry.captured_ms?, entry.current_ms?));
        let points: Vec<(f64, f64)> = self.entries.iter().filter_map(pair).collect();
        let over = points.iter().filter(|(then, now)| *now > 2.0 * then).count();
        let words =
            format!("{} rows, {over} of them over twice their captured latency", points.len());
        let caption = format!(
            "Across: captured. Up: now. Dashed: the same, and twice as long. Over twice: {over} of {}.",
            points.len()
        );
        match scatter(&points, Axes::Milliseconds, &words) {
            Some(drawing) => figure("Latency, row by row", &drawing, &caption),
            None => html! {},
        }
    }

    /// Changed rows by factor, and the factors that moved them.
    pub(crate) fn changes(&self, changed: &ChangedParts) -> Markup {
        if !self.entries.iter().any(RowEntry::is_compared) {
            return html! {};
        }
        let blames: Vec<String> =
            self.blames.iter().map(|(name, n)| format!("{} {n}", name.replace('_', " "))).collect();
        html! {
            div.plots.four {
                @for factor in FACTORS {
                    @let FactorCounts { same, differs, unknown } = changed.get(factor).copied().unwrap_or_default();
                    @let parts = [("now", "changed", differs), ("then", "same", same), ("rest", "not recorded", unknown)];
                    (figure(factor, &shares(&parts, factor), ""))
                }
            }
            @if !blames.is_empty() { p.more { "Rows moved by: " (part::text(&blames.join(", "))) "." } }
        }
    }

    /// Whether the report lists every row, so that distributions can be drawn.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// The latencies of a row, beside the rows.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub(crate) struct RowTime {
    line: u64,
    captured_latency_ms: Option<f64>,
    current_latency_ms: Option<f64>,
}

/// One row with its content and its neighbours among the worst.
pub(crate) struct OneRow<'t> {
    pub(crate) row: Row<'t>,
    pub(crate) body: Markup,
    before: Option<u64>,
    after: Option<u64>,
}

impl OneRow<'_> {
    /// The page of the row.
    pub(crate) fn page(&self, view: &RowView, what: &str) -> crate::shell::Page {
        let text = self.row.query.as_str();
        let explain = url("/explain", &[("q", text)]);
        let operation = if self.row.tool_name.as_str() == "search" { "search" } else { "query" };
        crate::shell::Page {
            title: format!("{what}, line {}", self.row.line),
            section: crate::shell::Section::Runs,
            command: format!(
                "gbrain {operation} {} --explain",
                gbrain_core::triage::shell_word(text)
            ),
            header: html! {
                p.what { a href=(view.base) { (what) } ", line " (self.row.line) }
                h1 { (query(text)) }
            },
            controls: html! {},
            main: section("case", "Captured and current ranking", "", &self.body),
            pager: html! {
                @if let Some(line) = self.before { a rel="prev" href=(view.row(line)) { "Previous case" } }
                @if let Some(line) = self.after { a rel="next" href=(view.row(line)) { "Next case" } }
                @if view.base != "/" { a href=(explain) { "Explain this query now" } }
            },
            scripts: Vec::new(),
        }
    }
}

fn outcome(row: &Row<'_>) -> Outcome {
    let skip = row.skip_reason.as_ref().map(Text::as_str);
    match (row.jaccard, row.errored, skip) {
        (Some(_), _, _) => Outcome::Compared,
        (None, true, _) => Outcome::Errored,
        (None, false, Some("empty query" | "no retrieved_slugs") | None) => Outcome::Skipped,
        (None, false, Some(_)) => Outcome::NotComparable,
    }
}

/// The share of the relevant pages among the first `k`.
fn recall(pages: &[Text<'_>], relevant: &[String], k: usize) -> f64 {
    let is_found = |page: &&String| pages.iter().take(k).any(|one| one.as_str() == page.as_str());
    relevant.iter().filter(is_found).count() as f64 / relevant.len().max(1) as f64
}
