//! A replay: how far rankings moved since they were captured.

use gbrain_core::report::number::{NONE, Unit, maybe, ms, value};
use maud::{Markup, html};
use serde::Deserialize;

use super::gate::list;
use super::rows::{ChangedParts, JudgedPages, RowIndex};
use super::span::Spans;
use super::view::RowView;
use crate::part::{self, Tone, heading, section, state, table};
use crate::shell::{Page, Section};

const WHAT: &str = "gbrain eval replay";

/// The JSON of `gbrain eval replay --json`.
#[derive(Debug, Deserialize)]
struct ReplayReport {
    summary: ReplaySummary,
    health: Health,
    #[serde(default)]
    diagnosis: Vec<String>,
    #[serde(default)]
    changed: ChangedParts,
    #[serde(default)]
    top_regressions: Spans,
    #[serde(default)]
    results: Option<Spans>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ReplaySummary {
    rows_total: u64,
    rows_replayed: u64,
    rows_skipped: u64,
    rows_errored: u64,
    rows_not_comparable: u64,
    rows_measured: usize,
    #[serde(default)]
    rows_moved: u64,
    mean_jaccard: Option<f64>,
    mean_jaccard_interval: Option<[f64; 2]>,
    weighted_mean_jaccard: Option<f64>,
    top1_stability_rate: Option<f64>,
    top1_stability_interval: Option<[f64; 2]>,
    weighted_top1_stability_rate: Option<f64>,
    mean_rbo: Option<f64>,
    mean_kendall_tau: Option<f64>,
    mean_latency_delta_ms: Option<f64>,
    latency: Latency,
}

#[derive(Debug, Deserialize)]
struct Latency {
    rows_compared: usize,
    captured_ms: Option<Percentiles>,
    current_ms: Option<Percentiles>,
    like_with_like: Times,
}

#[derive(Debug, Deserialize)]
struct Times {
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    rows_compared: usize,
}

/// Latencies that half, 95 % and 99 % of the rows stay below.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Percentiles {
    p50: f64,
    p95: f64,
    p99: f64,
}

#[derive(Debug, Deserialize)]
struct Health {
    mean_jaccard: String,
    top1_stability_rate: String,
    latency: String,
}

/// A replay that was read.
#[derive(Debug)]
pub(crate) struct Replay {
    report: ReplayReport,
    rows: RowIndex,
    /// Whether every row is listed, or the worst alone.
    is_complete: bool,
}

impl Replay {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut report: ReplayReport =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let is_complete = report.results.is_some();
        let spans =
            report.results.take().unwrap_or_else(|| std::mem::take(&mut report.top_regressions));
        report.top_regressions = Spans::default();
        let rows = RowIndex::read(text, spans.ranges(text), &JudgedPages::new(), 0)?;
        Ok(Self { report, rows, is_complete })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    pub(crate) fn page(&self, text: &str, view: &RowView) -> Page {
        let (tone, word) = self.verdict();
        let ReplaySummary { rows_moved, rows_replayed, .. } = &self.report.summary;
        let moved = html! { (part::thousands(*rows_moved)) " of " (part::count(*rows_replayed, "row", "rows")) };
        Page {
            title: format!("{word}: {WHAT}"),
            section: Section::Runs,
            command: format!("{WHAT} --against FILE --verbose --json"),
            header: html! {
                (heading(WHAT, word, Some(tone), &self.asked()))
                (part::facts(&[("Moved", moved)]))
            },
            controls: self.rows.filters(view),
            main: if view.is_whole() {
                self.whole(text, view)
            } else {
                self.rows.section(text, view)
            },
            pager: self.rows.pager(view),
            scripts: Vec::new(),
        }
    }

    pub(crate) fn row_page(&self, text: &str, line: u64, view: &RowView) -> Option<Page> {
        Some(self.rows.one(text, line)?.page(view, WHAT))
    }

    fn verdict(&self) -> (Tone, &'static str) {
        let Health { mean_jaccard, top1_stability_rate, latency } = &self.report.health;
        let all = [mean_jaccard, top1_stability_rate, latency];
        let any = |word: &str| all.iter().any(|health| health.as_str() == word);
        let ReplaySummary { rows_errored, rows_not_comparable, .. } = &self.report.summary;
        match () {
            () if any("not_measured") => (Tone::Warning, "Not all measured"),
            () if any("broken") => (Tone::Bad, "Broken"),
            () if any("shifted") => (Tone::Warning, "Shifted"),
            () if rows_errored + rows_not_comparable > 0 => (Tone::Warning, "Not all compared"),
            () => (Tone::Good, "Healthy"),
        }
    }

    /// How many rows were asked and what became of them, in one sentence.
    fn asked(&self) -> String {
        let ReplaySummary {
            rows_total,
            rows_replayed,
            rows_skipped,
            rows_not_comparable,
            rows_errored,
            ..
        } = &self.report.summary;
        let uncompared = match rows_not_comparable {
            0 => String::new(),
            n => format!("; {n} of the skipped are not comparable"),
        };
        format!(
            "Replayed {rows_replayed} of {rows_total} captured queries ({rows_skipped} skipped, {rows_errored} errored{uncompared})"
        )
    }

    fn whole(&self, text: &str, view: &RowView) -> Markup {
        let ReplayReport { summary, diagnosis, changed, warnings, .. } = &self.report;
        let mean = maybe(Unit::Score, summary.mean_jaccard);
        let latency = latency_table(summary.latency.captured_ms, summary.latency.current_ms);
        html! {
            (section("numbers", "The numbers", "", &self.numbers()))
            (section("diagnosis", "Diagnosis", "", &list(&diagnosis.iter().collect::<Vec<_>>())))
            @if self.is_complete {
                (section("spread", "Distribution", "", &self.rows.plots(&mean, summary.rows_measured, &latency)))
            }
            (section("changed", "What changed since the capture", "", &self.rows.changes(changed)))
            (section("failed", "Rows without a result", "", &self.rows.without_result(text, view)))
            (self.rows.section(text, view))
            @if !self.is_complete {
                p.more {
                    "This report lists the " (part::count(self.rows.len() as u64, "worst row", "worst rows"))
                    " alone: with " code { "--verbose" } " it lists every row."
                }
            }
            (section("warnings", "Warnings", "", &list(&warnings.iter().collect::<Vec<_>>())))
        }
    }

    fn numbers(&self) -> Markup {
        let ReplayReport { summary, health, .. } = &self.report;
        let none = || html! { (NONE) };
        let text = |text: String| html! { (text) };
        let row = |name: &str, cells: [Markup; 4], n: usize| {
            let [value, weighted, interval, health] = cells;
            vec![html! { (name) }, value, weighted, interval, health, html! { (n) }]
        };
        let score = |number| text(maybe(Unit::Score, number));
        let range = |unit, found: Option<[f64; 2]>| {
            text(found.map_or(NONE.to_owned(), |[low, high]| {
                format!("{} to {}", value(unit, low), value(unit, high))
            }))
        };
        let delta = summary.mean_latency_delta_ms.map_or(NONE.to_owned(), |delta| {
            format!("{}{}", if delta < 0.0 { '-' } else { '+' }, ms(delta.abs()))
        });
        let (n, times) = (summary.rows_measured, &summary.latency.like_with_like);
        let rate = |number| text(maybe(Unit::Rate, number));
        let rows = [
            row(
                "Mean Jaccard@k",
                [
                    score(summary.mean_jaccard),
                    score(summary.weighted_mean_jaccard),
                    range(Unit::Score, summary.mean_jaccard_interval),
                    state(&health.mean_jaccard),
                ],
                n,
            ),
            row(
                "Top-1 stability",
                [
                    rate(summary.top1_stability_rate),
                    rate(summary.weighted_top1_stability_rate),
                    range(Unit::Rate, summary.top1_stability_interval),
                    state(&health.top1_stability_rate),
                ],
                n,
            ),
            row(
                "Mean latency Δ",
                [text(delta), none(), none(), state(&health.latency)],
                summary.latency.rows_compared,
            ),
            row(
                "Time ratio, like with like",
                [
                    text(maybe(Unit::Ratio, times.ratio)),
                    none(),
                    range(Unit::Ratio, times.interval),
                    none(),
                ],
                times.rows_compared,
            ),
            row("Mean RBO", [score(summary.mean_rbo), none(), none(), none()], n),
            row("Mean Kendall τ", [score(summary.mean_kendall_tau), none(), none(), none()], n),
        ];
        table("numbers", "numbers", &["Number", "Value", "By use", "95% CI", "Health", "n"], &rows)
    }
}

/// The percentiles of both latencies.
pub(crate) fn latency_table(captured: Option<Percentiles>, current: Option<Percentiles>) -> Markup {
    let row = |name: &str, of: Option<Percentiles>| {
        let cells = of
            .map_or([const { None }; 3], |Percentiles { p50, p95, p99 }| [p50, p95, p99].map(Some));
        let cells = cells.map(|cell| html! { (cell.map_or(NONE.to_owned(), ms)) });
        [vec![html! { (name) }], cells.to_vec()].concat()
    };
    let rows = [row("captured", captured), row("now", current)];
    table("latency", "numbers", &["Latency", "p50", "p95", "p99"], &rows)
}
