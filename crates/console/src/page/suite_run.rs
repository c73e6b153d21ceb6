//! A run of a suite: the verdict, its measures beside their thresholds, and its cases.

use std::collections::BTreeMap;
use std::ops::Range;

use gbrain_core::report::number::{NONE, ms};
use gbrain_core::triage::shell_word;
use maud::{Markup, html};
use serde::Deserialize;

use super::gate::list;
use super::span::{Names, Spans};
use super::view::{Choices, RowView, Show, Sort, filters};
use crate::chart::plot::{dot, line, rect, svg};
use crate::part::{self, Tone, heading, page_name, section, state, table, tag};
use crate::shell::{Page, Section};

/// How many pages of a case are listed.
const PAGES: usize = 20;
/// How many failing cases are open.
const OPEN: usize = 3;

/// `gbrain suites run --json`, or one half of `GET /v1/suite-runs/{id}`.
#[derive(Debug, Default, Deserialize)]
struct SuiteRunBody {
    suite: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    workspace: String,
    #[serde(default)]
    target: String,
    #[serde(default)]
    ad_hoc: bool,
    #[serde(default)]
    owners: Vec<String>,
    #[serde(default)]
    trigger: String,
    #[serde(default)]
    started_at: String,
    #[serde(default)]
    duration_ms: f64,
    verdict: String,
    #[serde(default)]
    inconclusive_reasons: Vec<String>,
    #[serde(default)]
    planned: u64,
    #[serde(default)]
    asked: u64,
    #[serde(default)]
    errors: BTreeMap<String, u64>,
    #[serde(default)]
    failing: Option<u64>,
    #[serde(default)]
    failing_cases: Option<Vec<String>>,
    #[serde(default)]
    rerank_threshold: Option<f64>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    measures: Vec<CaseMeasure>,
    #[serde(default)]
    cases: Option<Spans>,
}

#[derive(Debug, Deserialize)]
struct CaseMeasure {
    segment: String,
    measure: String,
    value: Option<f64>,
    #[serde(default)]
    hits: Option<u64>,
    n: u64,
    #[serde(default)]
    baseline: Option<f64>,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    alert: Option<String>,
    status: String,
    #[serde(default)]
    decides: bool,
    #[serde(default)]
    pages: bool,
    #[serde(default)]
    unanswered: u64,
}

#[derive(Debug, Deserialize)]
struct Case {
    query_id: String,
    #[serde(default)]
    failing: bool,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    missed: Vec<String>,
    source: Option<String>,
    #[serde(default)]
    difficulty: String,
    retrieval_mode: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    error_message: Option<String>,
    rank: Option<u64>,
    #[serde(default)]
    rationale_problems: Vec<String>,
    #[serde(default)]
    latency_ms: BTreeMap<String, f64>,
    #[serde(default)]
    fallbacks: Vec<String>,
    #[serde(default)]
    results: Vec<String>,
}

/// `GET /v1/suite-runs/{id}/triage`.
#[derive(Debug, Deserialize)]
pub struct Triage {
    class: Option<String>,
    #[serde(default)]
    findings: Vec<CaseFinding>,
    #[serde(default)]
    notes: Vec<String>,
}

/// Cases that failed for the same reason.
#[derive(Debug, Deserialize)]
struct CaseFinding {
    class: String,
    #[serde(default)]
    because: Vec<String>,
    advice: String,
    #[serde(default)]
    commands: Vec<String>,
    #[serde(default)]
    cases: Vec<TriagedCase>,
}

#[derive(Debug, Deserialize)]
struct TriagedCase {
    query_id: String,
    #[serde(default)]
    because: Vec<String>,
    #[serde(default)]
    evidence: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug)]
struct CaseEntry {
    range: Range<usize>,
    is_failing: bool,
    is_errored: bool,
    total_ms: Option<f64>,
    modes: u64,
    sources: u64,
    tags: u64,
}

/// A run of a suite that was read.
#[derive(Debug)]
pub(crate) struct SuiteRunReport {
    id: Option<i64>,
    run: SuiteRunBody,
    cases: Vec<CaseEntry>,
    modes: Names,
    sources: Names,
    tags: Names,
    /// Whether the cases are known, or were pruned.
    has_cases: bool,
}

/// The forms of a document: the run itself, or a stored one with its summary.
#[derive(Debug, Deserialize)]
struct RunDocument {
    id: Option<i64>,
    #[serde(default)]
    summary: Option<SuiteRunBody>,
    #[serde(default)]
    run: Option<SuiteRunBody>,
}

impl SuiteRunReport {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let document: RunDocument =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let run = match document.run.or(document.summary) {
            Some(run) => run,
            None => serde_json::from_str(text).map_err(|error| error.to_string())?,
        };
        let mut read = Self {
            id: document.id,
            has_cases: run.cases.is_some(),
            run,
            cases: Vec::new(),
            modes: Names::default(),
            sources: Names::default(),
            tags: Names::default(),
        };
        let spans = read.run.cases.take().unwrap_or_default();
        for range in spans.ranges(text) {
            let case: Case = serde_json::from_str(&text[range.clone()])
                .map_err(|error| format!("case {}: {error}", read.cases.len() + 1))?;
            let entry = read.entry(&case, range);
            read.cases.push(entry);
        }
        Ok(read)
    }

    fn entry(&mut self, case: &Case, range: Range<usize>) -> CaseEntry {
        CaseEntry {
            range,
            is_failing: case.failing,
            is_errored: case.error.is_some(),
            total_ms: case.latency_ms.get("total").copied(),
            modes: case.retrieval_mode.as_deref().map_or(0, |mode| self.modes.bit(mode)),
            sources: case.source.as_deref().map_or(0, |source| self.sources.bit(source)),
            tags: case
                .flags
                .iter()
                .chain([&case.difficulty])
                .fold(0, |all, flag| all | self.tags.bit(flag)),
        }
    }

    pub(crate) fn page(&self, text: &str, triage: Option<&Triage>, view: &RowView) -> Page {
        let run = &self.run;
        let word = run.verdict.to_uppercase();
        let shown = self.select(view);
        Page {
            title: format!("{word}: suite {}", part::text(&run.suite)),
            section: Section::Suites,
            command: match self.id {
                Some(id) => format!("gbrain suites show {id} --json"),
                None => format!("gbrain suites run {} --json", shell_word(&run.suite)),
            },
            header: html! {
                (heading(&format!("suite {}", part::text(&run.suite)), &word, Some(Tone::of(&run.verdict)), &part::text(&self.why())))
                (part::facts(&self.facts()))
            },
            controls: filters(
                view,
                Choices {
                    has_show: true,
                    modes: &self.modes.sorted(),
                    sources: &self.sources.sorted(),
                    tags: &self.tags.sorted(),
                    has_latency: true,
                },
            ),
            main: if view.is_whole() {
                self.whole(text, triage, view)
            } else {
                self.case_section(text, view)
            },
            pager: view.pager(shown.len()),
            scripts: Vec::new(),
        }
    }

    fn why(&self) -> String {
        let alerts = self.run.measures.iter().filter(|one| one.status == "alert" && one.decides);
        let mut reasons: Vec<String> = alerts
            .map(|one| {
                let limit = one.alert.as_deref().unwrap_or_default();
                let paged = if one.pages { " (page)" } else { "" };
                format!(
                    "{} of {} is {}, past its alert threshold {limit}{paged}",
                    one.measure,
                    one.segment,
                    one.words()
                )
            })
            .collect();
        let more = reasons.len().saturating_sub(3);
        reasons.truncate(3);
        if more > 0 {
            reasons.push(format!("and {more} more"));
        }
        reasons.extend(
            self.run
                .inconclusive_reasons
                .iter()
                .map(|reason| format!("inconclusive: {}", reason.replace('_', " "))),
        );
        if reasons.is_empty() {
            let asked = part::count(self.run.asked, "query", "queries");
            return format!("{asked} asked, no threshold breached");
        }
        reasons.join("; ")
    }

    fn facts(&self) -> Vec<(&'static str, Markup)> {
        let run = &self.run;
        let text = |value: &str| html! { (part::text(value)) };
        let mut facts = vec![
            ("Kind", text(&run.kind.replace('_', " "))),
            (
                "Target",
                html! { (part::text(&run.target)) @if run.ad_hoc { " (not the suite's own)" } },
            ),
            ("Workspace", text(&run.workspace)),
            ("Started", part::moment(&part::text(&run.started_at))),
            ("Took", html! { (format!("{:.1} s", run.duration_ms / 1000.0)) }),
            ("Asked", html! { (run.asked) " of " (part::count(run.planned, "query", "queries")) }),
            ("Trigger", text(&run.trigger)),
            ("Owners", text(&run.owners.join(", "))),
        ];
        if let Some(threshold) = run.rerank_threshold {
            facts.push(("Rerank threshold", html! { (threshold) }));
        }
        facts.retain(|(_, value)| !value.0.is_empty());
        facts
    }

    fn whole(&self, text: &str, triage: Option<&Triage>, view: &RowView) -> Markup {
        let is_off = |one: &&CaseMeasure| matches!(one.status.as_str(), "warn" | "alert");
        let (shown, rest): (Vec<&CaseMeasure>, Vec<&CaseMeasure>) = self
            .run
            .measures
            .iter()
            .partition(|one| (one.segment == "all" && one.n > 0) || is_off(one));
        let errors: Vec<String> =
            self.run.errors.iter().map(|(kind, n)| format!("{kind}: {n}")).collect();
        html! {
            (section("measures", "Measures", "Dot: the value. Line: the alert threshold. Tick: the target.", &html! {
                (measures("measures of the suite", &shown))
                @if !rest.is_empty() {
                    details.rest { summary { "Other segments (" (rest.len()) ")" } (measures("measures of other segments", &rest)) }
                }
            }))
            @if let Some(triage) = triage { (triage.section()) }
            (section("errors", "Unanswered queries", "", &list(&errors.iter().collect::<Vec<_>>())))
            (self.case_section(text, view))
            (section("notes", "Notes", "", &list(&self.run.notes.iter().collect::<Vec<_>>())))
        }
    }

    fn case_section(&self, text: &str, view: &RowView) -> Markup {
        if !self.has_cases {
            return section("cases", "Cases", "", &self.pruned());
        }
        let rows = self.select(view);
        let lead = if view.is_filtered() {
            "The cases that the filters select."
        } else {
            "Failing cases first."
        };
        section(
            "cases",
            "Cases",
            lead,
            &html! {
                @if rows.is_empty() { p.dim { "No case is like this." } }
                @for (at, entry) in view.slice(&rows).iter().enumerate() {
                    (item(text, entry, view.is_whole() && entry.is_failing && at < OPEN))
                }
                (view.left_out(rows.len(), "case", "cases"))
            },
        )
    }

    /// What is known of the cases of a run whose rows are gone.
    fn pruned(&self) -> Markup {
        let names = self.run.failing_cases.as_deref().unwrap_or_default();
        html! {
            p.dim { "The rows of this run were pruned. " (part::count(self.run.failing.unwrap_or(0), "case failed.", "cases failed.")) }
            @if !names.is_empty() { ul.plain { @for name in names { li { code { (part::text(name)) } } } } }
        }
    }

    fn select(&self, view: &RowView) -> Vec<&CaseEntry> {
        let has =
            |names: &Names, set: u64, name: &str| name.is_empty() || set & names.bit_of(name) != 0;
        let is_shown = |entry: &&CaseEntry| {
            let shown = match view.show {
                Show::Moved | Show::All => true,
                Show::Regressed => entry.is_failing && !entry.is_errored,
                Show::Errored => entry.is_errored,
                Show::Unchanged => !entry.is_failing,
                Show::Improved | Show::Unjudged => false,
            };
            shown
                && has(&self.modes, entry.modes, &view.mode)
                && has(&self.sources, entry.sources, &view.source)
                && has(&self.tags, entry.tags, &view.tag)
                && view.min_ms.is_none_or(|least| entry.total_ms.is_some_and(|ms| ms >= least))
        };
        let mut rows: Vec<&CaseEntry> = self.cases.iter().filter(is_shown).collect();
        match view.sort {
            Sort::Worst => rows.sort_by_key(|entry| (!entry.is_failing, entry.range.start)),
            Sort::Line => rows.sort_by_key(|entry| entry.range.start),
            Sort::Latency => rows.sort_by(|a, b| {
                let ms = |entry: &CaseEntry| entry.total_ms.unwrap_or(f64::NEG_INFINITY);
                ms(b).total_cmp(&ms(a)).then(a.range.start.cmp(&b.range.start))
            }),
        }
        rows
    }
}

impl CaseMeasure {
    /// The value in its unit, with its sample.
    fn words(&self) -> String {
        let Some(value) = self.value else {
            return if self.unanswered > 0 {
                format!("unreachable ({} unanswered)", self.unanswered)
            } else {
                NONE.to_owned()
            };
        };
        match self.hits {
            _ if self.is_time() => format!("{} (n={})", ms(value), self.n),
            Some(hits) if self.unanswered > 0 => {
                format!("{:.1}% ({hits}/{}, {} unanswered)", value * 100.0, self.n, self.unanswered)
            }
            Some(hits) => format!("{:.1}% ({hits}/{})", value * 100.0, self.n),
            None => match self.baseline {
                Some(baseline) => format!("{value:.3} (was {baseline:.3}, n={})", self.n),
                None => format!("{value:.3} (n={})", self.n),
            },
        }
    }

    fn is_time(&self) -> bool {
        self.measure.ends_with("_ms")
    }

    fn cells(&self) -> Vec<Markup> {
        let or_none =
            |text: &Option<String>| html! { (text.as_deref().map_or(NONE.to_owned(), part::text)) };
        vec![
            html! { (part::text(&self.measure)) " " span.dim { (part::text(&self.segment)) } },
            if self.alert.is_some() {
                suite_status(&self.status)
            } else {
                html! { (NONE) }
            },
            html! { (self.words()) },
            or_none(&self.target),
            or_none(&self.alert),
            self.track(),
            html! { (self.n) },
        ]
    }

    /// The value and its thresholds on a line.
    fn track(&self) -> Markup {
        let (alert, target) =
            (self.alert.as_deref().and_then(number), self.target.as_deref().and_then(number));
        let (Some(value), Some(alert)) = (self.value.filter(|value| value.is_finite()), alert)
        else {
            return html! {};
        };
        let (width, middle) = (120.0, 13.0);
        let most = if self.is_time() { value.max(alert).max(1.0) * 1.2 } else { 1.0 };
        let x = |value: f64| 6.0 + (width - 12.0) * (value / most).clamp(0.0, 1.0);
        let zone = if self.is_time() {
            [x(alert), 4.0, x(most) - x(alert), 18.0]
        } else {
            [x(0.0), 4.0, x(alert) - x(0.0), 18.0]
        };
        let body = html! {
            (rect("zone", zone))
            (line("axis", [x(0.0), middle, x(most), middle]))
            (line("limit", [x(alert), 3.0, x(alert), 23.0]))
            @if let Some(target) = target { (line("guide", [x(target), 6.0, x(target), 20.0])) }
            (dot("point", x(value), middle, 4.5))
        };
        svg(
            "track narrow",
            width,
            26.0,
            &format!("{} on a line from 0 to {most:.2}", part::text(&self.measure)),
            &body,
        )
    }
}

/// A threshold as a number: `92%`, `10000 ms`, `0.5`.
fn number(text: &str) -> Option<f64> {
    let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let number = digits.parse::<f64>().ok()?;
    Some(if text.ends_with('%') { number / 100.0 } else { number })
}

fn suite_status(status: &str) -> Markup {
    match status {
        "alert" => tag(Tone::Bad, "ALERT"),
        "warn" => tag(Tone::Warning, "WARN"),
        other => state(other),
    }
}

fn measures(label: &str, measures: &[&CaseMeasure]) -> Markup {
    let rows: Vec<Vec<Markup>> = measures.iter().map(|one| one.cells()).collect();
    table(label, "checks", &["Measure", "Status", "Value", "Target", "Alert", "Plot", "n"], &rows)
}

fn item(text: &str, entry: &CaseEntry, is_open: bool) -> Markup {
    let case: Case = match serde_json::from_str(&text[entry.range.clone()]) {
        Ok(case) => case,
        Err(error) => return html! { p { (part::text(&error.to_string())) } },
    };
    html! {
        details open[is_open] {
            summary {
                @if case.failing { (tag(Tone::Bad, "failing")) } @else { (tag(Tone::Good, "right")) }
                bdi.query { (part::text(&case.query_id)) }
                span.tags {
                    @if let Some(error) = &case.error { (tag(Tone::Bad, &part::text(&error.replace('_', " ")))) }
                    @for flag in &case.flags { (tag(Tone::Warning, &part::text(&flag.replace('_', " ")))) }
                }
            }
            div.inside {
                p.change { (finding(&case)) }
                p.lead { (facts(&case)) }
                @for problem in &case.rationale_problems { p.note { (part::text(problem)) } }
                @if !case.results.is_empty() {
                    ol.results {
                        @for (at, page) in case.results.iter().take(PAGES).enumerate() {
                            li { (page_name(page)) @if case.rank == Some(at as u64 + 1) { span.tag.pass { "expected" } } }
                        }
                    }
                    @if case.results.len() > PAGES { p.more { (case.results.len() - PAGES) " more." } }
                }
            }
        }
    }
}

/// What became of a case, in a sentence.
fn finding(case: &Case) -> String {
    if let Some(error) = &case.error {
        let message =
            case.error_message.as_deref().map(|message| format!(": {}", part::text(message)));
        return format!(
            "Not answered: {}{}.",
            part::text(&error.replace('_', " ")),
            message.unwrap_or_default()
        );
    }
    match case.rank {
        Some(1) => "The expected page is first.".to_owned(),
        Some(rank) => format!("The expected page is at rank {rank}."),
        None if case.results.is_empty() => "Nothing was found.".to_owned(),
        None => "No expected page was found; an unjudged page is first.".to_owned(),
    }
}

fn facts(case: &Case) -> Markup {
    let stages: Vec<String> =
        case.latency_ms.iter().map(|(stage, took)| format!("{stage} {}", ms(*took))).collect();
    html! {
        @if let Some(source) = &case.source { "source " (part::text(source)) " · " }
        (part::text(&case.difficulty))
        @if let Some(mode) = &case.retrieval_mode { " · mode " (part::text(mode)) }
        @if !case.missed.is_empty() { " · misses " (part::text(&case.missed.join(", "))) }
        @if !case.fallbacks.is_empty() { " · fell back: " (part::text(&case.fallbacks.join(", "))) }
        @if !stages.is_empty() { " · " (part::text(&stages.join(", "))) }
    }
}

impl Triage {
    fn section(&self) -> Markup {
        let lead = match &self.class {
            Some(class) => format!("Most cases: {}.", part::text(&class.replace('_', " "))),
            None => "Nothing is wrong.".to_owned(),
        };
        section(
            "triage",
            "Causes",
            &lead,
            &html! {
                @for finding in &self.findings { (finding.show()) }
                (list(&self.notes.iter().collect::<Vec<_>>()))
            },
        )
    }
}

impl CaseFinding {
    fn show(&self) -> Markup {
        html! {
            h3 { (part::text(&self.class.replace('_', " "))) ": " (part::count(self.cases.len() as u64, "case", "cases")) }
            (list(&self.because.iter().collect::<Vec<_>>()))
            ul.plain {
                @for case in self.cases.iter().take(200) {
                    li {
                        code { (part::text(&case.query_id)) } " " (part::text(&case.because.join("; ")))
                        span.note { (part::text(&evidence(&case.evidence))) }
                    }
                }
            }
            p { "Do: " (part::text(&self.advice)) }
            @for command in &self.commands { (part::command(command)) }
        }
    }
}

/// The facts of a case that are known, on one line.
fn evidence(facts: &serde_json::Map<String, serde_json::Value>) -> String {
    let is_known = |value: &serde_json::Value| match value {
        serde_json::Value::Null | serde_json::Value::Bool(false) => false,
        serde_json::Value::Array(items) => !items.is_empty(),
        value => value.as_f64() != Some(0.0),
    };
    let known = facts.iter().filter(|(_, value)| is_known(value));
    let words = known.map(|(name, value)| match value {
        serde_json::Value::Bool(true) => name.replace('_', " "),
        serde_json::Value::String(text) => format!("{} {text}", name.replace('_', " ")),
        value => format!("{} {value}", name.replace('_', " ")),
    });
    words.collect::<Vec<_>>().join(" · ")
}
