//! A gate: the verdict, its checks, and the rows behind it.

use gbrain_core::report::number::{Unit, maybe};
use gbrain_core::triage::shell_word;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::checks::{Breach, Check, checks, why};
use super::judged::JudgedIndex;
use super::replay::{Percentiles, latency_table};
use super::rows::{ChangedParts, RowIndex, RowTime};
use super::span::Spans;
use super::view::RowView;
use crate::part::{self, Tone, heading, section, table};
use crate::shell::{Page, Section};

const WHAT: &str = "gbrain eval gate";

/// The JSON of `gbrain eval gate --json`.
#[derive(Debug, Deserialize)]
struct GateReport {
    verdict: String,
    confidence: Option<f64>,
    #[serde(default)]
    provenance: Option<Map<String, Value>>,
    regression_gate: Regression,
    correctness_gate: Correctness,
    timing: Timing,
}

#[derive(Debug, Deserialize)]
struct Regression {
    ran: bool,
    #[serde(default)]
    baseline_path: String,
    #[serde(default)]
    baseline: GatedBaseline,
    #[serde(default)]
    summary: RegressionSummary,
    #[serde(default)]
    checks: Vec<Check>,
    #[serde(default)]
    breaches: Vec<Breach>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    changed: ChangedParts,
    #[serde(default)]
    results: Spans,
}

#[derive(Debug, Default, Deserialize)]
struct GatedBaseline {
    label: String,
    published_at: String,
    source_hash: String,
    rows_hash: Option<String>,
    integrity: String,
}

#[derive(Debug, Default, Deserialize)]
struct RegressionSummary {
    rows_total: u64,
    rows_replayed: u64,
    rows_measured: usize,
    mean_jaccard: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Correctness {
    ran: bool,
    #[serde(default)]
    qrels_path: String,
    #[serde(default)]
    pipeline: String,
    #[serde(default)]
    summary: CorrectnessSummary,
    #[serde(default)]
    checks: Vec<Check>,
    #[serde(default)]
    breaches: Vec<Breach>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    results: Spans,
}

#[derive(Debug, Default, Deserialize)]
struct CorrectnessSummary {
    k: usize,
    queries_total: u64,
}

#[derive(Debug, Deserialize)]
struct Timing {
    #[serde(default)]
    elapsed_ms: f64,
    #[serde(default)]
    latency: Option<Check>,
    #[serde(default)]
    captured_ms: Option<Percentiles>,
    #[serde(default)]
    current_ms: Option<Percentiles>,
    #[serde(default)]
    rows: Vec<RowTime>,
}

/// A gate that was read.
#[derive(Debug)]
pub(crate) struct GatePage {
    report: GateReport,
    rows: RowIndex,
    judged: JudgedIndex,
}

impl GatePage {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut report: GateReport =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let (judged, pages) =
            JudgedIndex::read(text, report.correctness_gate.results.ranges(text))?;
        let k = report.correctness_gate.summary.k;
        let mut rows =
            RowIndex::read(text, report.regression_gate.results.ranges(text), &pages, k)?;
        rows.add_latencies(&report.timing.rows);
        report.timing.rows = Vec::new();
        report.regression_gate.results = Spans::default();
        report.correctness_gate.results = Spans::default();
        Ok(Self { report, rows, judged })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.judged.bytes()
    }

    pub(crate) fn page(&self, text: &str, view: &RowView) -> Page {
        let GateReport { verdict, .. } = &self.report;
        let word = verdict.to_uppercase();
        let why = why(&self.breaches(), &self.checks());
        Page {
            title: format!("{word}: {WHAT}"),
            section: Section::Runs,
            command: self.command(),
            header: html! { (heading(WHAT, &word, Some(Tone::of(verdict)), &part::text(&why))) (part::facts(&self.facts())) },
            controls: self.rows.filters(view),
            main: if view.is_whole() { self.whole(text, view) } else { self.selected(text, view) },
            pager: self.rows.pager(view),
            scripts: Vec::new(),
        }
    }

    pub(crate) fn row_page(&self, text: &str, line: u64, view: &RowView) -> Option<Page> {
        Some(self.rows.one(text, line)?.page(view, WHAT))
    }

    fn command(&self) -> String {
        let GateReport { regression_gate, correctness_gate, .. } = &self.report;
        let mut command = WHAT.to_owned();
        if regression_gate.ran {
            command
                .push_str(&format!(" --baseline {}", shell_word(&regression_gate.baseline_path)));
        }
        if correctness_gate.ran {
            command.push_str(&format!(
                " --qrels {} -k {}",
                shell_word(&correctness_gate.qrels_path),
                correctness_gate.summary.k
            ));
        }
        command + " --json"
    }

    fn breaches(&self) -> Vec<&Breach> {
        let GateReport { regression_gate, correctness_gate, .. } = &self.report;
        regression_gate.breaches.iter().chain(&correctness_gate.breaches).collect()
    }

    /// All checks, including latency.
    fn checks(&self) -> Vec<&Check> {
        let GateReport { regression_gate, correctness_gate, timing, .. } = &self.report;
        let latency = timing.latency.iter().filter(|_| regression_gate.ran);
        regression_gate.checks.iter().chain(latency).chain(&correctness_gate.checks).collect()
    }

    fn facts(&self) -> Vec<(&'static str, Markup)> {
        let GateReport { regression_gate, correctness_gate, timing, .. } = &self.report;
        let mut facts = Vec::new();
        if regression_gate.ran {
            let RegressionSummary { rows_replayed, rows_total, .. } = &regression_gate.summary;
            facts.push(("Baseline", html! { (part::text(&regression_gate.baseline.label)) }));
            facts.push((
                "Published",
                part::moment(&part::text(&regression_gate.baseline.published_at)),
            ));
            facts.push(("Replayed", html! { (part::thousands(*rows_replayed)) " of " (part::count(*rows_total, "row", "rows")) }));
        }
        if correctness_gate.ran {
            let CorrectnessSummary { k, queries_total } = &correctness_gate.summary;
            facts.push(("Judged", html! { (part::count(*queries_total, "query", "queries")) }));
            facts.push(("Pipeline", html! { (part::text(&correctness_gate.pipeline)) ", k=" (k) }));
        }
        facts.push(("Took", html! { (format!("{:.1} s", timing.elapsed_ms / 1000.0)) }));
        facts
    }

    /// Every section of the report.
    fn whole(&self, text: &str, view: &RowView) -> Markup {
        let GateReport { regression_gate, correctness_gate, .. } = &self.report;
        let warnings: Vec<&String> =
            regression_gate.warnings.iter().chain(&correctness_gate.warnings).collect();
        html! {
            (section("breaches", "Breaches", "", &self.breach_list()))
            @if regression_gate.ran { (self.regression(text, view)) }
            @if correctness_gate.ran { (self.correctness(text, view)) }
            (section("warnings", "Warnings", "", &list(&warnings)))
            (section("fingerprints", "Fingerprints", "", &self.fingerprints()))
        }
    }

    /// Only the rows that the view selects.
    fn selected(&self, text: &str, view: &RowView) -> Markup {
        let judged = self.judged.list(text, view);
        html! {
            @if !self.rows.is_empty() { (self.rows.section(text, view)) }
            (section("judged", "Judged queries", "", &judged))
        }
    }

    fn breach_list(&self) -> Markup {
        let breaches = self.breaches();
        html! {
            @if !breaches.is_empty() {
                ul.plain {
                    @for breach in breaches {
                        li {
                            (part::text(&self.breach_words(breach)))
                            @if !breach.examples.is_empty() {
                                ul { @for example in &breach.examples { li { (part::text(example)) } } }
                            }
                        }
                    }
                }
            }
        }
    }

    /// A breach of the latency has its value beside the other times.
    fn breach_words(&self, breach: &Breach) -> String {
        let latency =
            self.report.timing.latency.as_ref().filter(|check| check.metric == breach.metric);
        match latency.and_then(Check::observed) {
            Some(observed) => Breach { observed: Some(observed), ..breach.clone() }.words(),
            None => breach.words(),
        }
    }

    fn regression(&self, text: &str, view: &RowView) -> Markup {
        let GateReport { regression_gate, timing, confidence, .. } = &self.report;
        let all: Vec<&Check> = regression_gate.checks.iter().chain(&timing.latency).collect();
        let mean = maybe(Unit::Score, regression_gate.summary.mean_jaccard);
        let latency = latency_table(timing.captured_ms, timing.current_ms);
        let lead = "Dot: now. Ring: the baseline. Band: the interval. Shaded: beyond the threshold. Bracket: the \
                    smallest drop that the check finds in 8 of 10 cases.";
        html! {
            (section("regression", "Regression gate", lead, &checks("checks of the regression gate", &all, *confidence)))
            (section("spread", "Distribution", "", &self.rows.plots(&mean, regression_gate.summary.rows_measured, &latency)))
            (section("changed", "What changed since the capture", "", &self.rows.changes(&regression_gate.changed)))
            (section("failed", "Rows without a result", "", &self.rows.without_result(text, view)))
            (self.rows.section(text, view))
        }
    }

    fn correctness(&self, text: &str, view: &RowView) -> Markup {
        let GateReport { correctness_gate, confidence, .. } = &self.report;
        let all: Vec<&Check> = correctness_gate.checks.iter().collect();
        let lead = "Worst first, by the share of relevant pages that came back.";
        html! {
            (section("correctness", "Correctness gate", "", &checks("checks of the correctness gate", &all, *confidence)))
            (section("judged", "Judged queries", lead, &self.judged.list(text, view)))
        }
    }

    fn fingerprints(&self) -> Markup {
        let GateReport { regression_gate, correctness_gate, provenance, .. } = &self.report;
        let mut rows = Vec::new();
        let mut row = |name: &str, value: &str| {
            rows.push(vec![html! { (part::text(name)) }, html! { code { (part::text(value)) } }]);
        };
        if regression_gate.ran {
            let GatedBaseline { source_hash, rows_hash, integrity, .. } = &regression_gate.baseline;
            row("baseline", &regression_gate.baseline_path);
            row("source_hash", source_hash);
            row("rows_hash", rows_hash.as_deref().unwrap_or("none"));
            row("integrity", &integrity.replace('_', " "));
        }
        if correctness_gate.ran {
            row("qrels", &correctness_gate.qrels_path);
        }
        for (name, value) in provenance.iter().flatten() {
            row(name, value.as_str().unwrap_or_default());
        }
        table("fingerprints", "prints", &["What", "Value"], &rows)
    }
}

/// Lines of text as a list; nothing without lines.
pub(crate) fn list(lines: &[&String]) -> Markup {
    html! {
        @if !lines.is_empty() { ul.plain { @for line in lines { li { (part::text(line)) } } } }
    }
}
