//! The result of a benchmark: means with their intervals, by type, beside baseline rankings.

use std::collections::BTreeMap;
use std::ops::Range;

use gbrain_core::report::number::ms;
use gbrain_core::triage::shell_word;
use maud::{Markup, html};
use serde::Deserialize;

use super::gate::list;
use super::row::score;
use super::span::{Names, Spans};
use super::view::{Choices, RowView, Show, Sort, filters};
use crate::chart::bars::histogram;
use crate::chart::plot::{dot, figure, line, rect, svg};
use crate::part::{self, Tone, heading, page_name, query, section, table, tag};
use crate::shell::{Page, Section};

/// The measure that orders questions, by preference.
const PRIMARY: [&str; 5] = ["nDCG@10", "recall_all@10", "recall_any@10", "R@100", "R@5"];
/// How many documents of a question are listed.
const DOCUMENTS: usize = 20;
const BINS: usize = 10;
/// How many of the worst questions are open.
const OPEN: usize = 3;

/// The JSON that a benchmark prints with `--json` and writes with `--result`.
#[derive(Debug, Deserialize)]
struct BenchmarkReport {
    #[serde(default)]
    headline: String,
    asked: Ask,
    label: Label,
    #[serde(default)]
    warnings: Vec<String>,
    all: QuestionGroup,
    by_type: BTreeMap<String, QuestionGroup>,
    #[serde(default)]
    baselines: BTreeMap<String, Figures>,
    counts: BTreeMap<String, u64>,
    #[serde(default)]
    timing: BTreeMap<String, f64>,
    per_question: Spans,
    #[serde(default)]
    result_hash: String,
}

#[derive(Debug, Deserialize)]
struct Ask {
    files: Vec<String>,
    flags: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Label {
    benchmark: String,
    dataset: String,
    #[serde(default)]
    dataset_sha256: String,
    #[serde(default)]
    known_as: Option<String>,
    #[serde(default)]
    granularity: String,
    k: u64,
    #[serde(default)]
    retrieval: String,
    #[serde(default)]
    answered_by: Option<String>,
    #[serde(default)]
    software: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    settings: String,
    #[serde(default)]
    embedder: Option<String>,
}

#[derive(Debug, Deserialize)]
struct QuestionGroup {
    n: u64,
    means: BTreeMap<String, MeanInterval>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct MeanInterval {
    mean: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Deserialize)]
struct Figures {
    n: u64,
    means: BTreeMap<String, Option<f64>>,
}

#[derive(Debug, Deserialize)]
struct Question {
    question_id: String,
    #[serde(default)]
    question: String,
    #[serde(default)]
    question_type: String,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    hypothesis: String,
    #[serde(default)]
    retrieved_session_ids: Vec<String>,
    #[serde(default)]
    recall_hit: Option<bool>,
    #[serde(default)]
    gold_ranks: BTreeMap<String, Option<u64>>,
    #[serde(default)]
    timings: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    degraded: Vec<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

impl Question {
    fn value(&self, measure: &str) -> Option<f64> {
        self.others.get(measure)?.as_f64()
    }

    fn took(&self) -> Option<f64> {
        let all: Vec<f64> = self.timings.values().filter_map(serde_json::Value::as_f64).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }

    /// Where the documents that answer the question are, in a sentence.
    fn finding(&self) -> String {
        let ranks: Vec<Option<u64>> = self.gold_ranks.values().copied().collect();
        let missing = ranks.iter().filter(|rank| rank.is_none()).count() as u64;
        let best = ranks.iter().flatten().min();
        match (ranks.len(), best) {
            (0, _) => "No document answers this question.".to_owned(),
            (_, None) => "No answering document was ranked.".to_owned(),
            (1, Some(rank)) => format!("The answering document is at rank {rank}."),
            (n, Some(rank)) if missing == 0 => {
                format!("All {n} answering documents were ranked, the first at rank {rank}.")
            }
            (n, Some(rank)) => format!(
                "{missing} of {n} answering documents were not ranked; the first is at rank {rank}."
            ),
        }
    }
}

#[derive(Debug)]
struct QuestionEntry {
    range: Range<usize>,
    value: Option<f64>,
    is_errored: bool,
    is_miss: bool,
    took: Option<f64>,
    types: u64,
}

/// The result of a benchmark that was read.
#[derive(Debug)]
pub(crate) struct Benchmark {
    report: BenchmarkReport,
    primary: String,
    questions: Vec<QuestionEntry>,
    types: Names,
}

impl Benchmark {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut report: BenchmarkReport =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let spans = std::mem::take(&mut report.per_question);
        let known = PRIMARY
            .into_iter()
            .find(|name| report.all.means.contains_key(*name))
            .map(str::to_owned);
        let primary = known.or_else(|| report.all.means.keys().next().cloned()).unwrap_or_default();
        let mut read = Self { report, primary, questions: Vec::new(), types: Names::default() };
        for range in spans.ranges(text) {
            let question: Question = serde_json::from_str(&text[range.clone()])
                .map_err(|error| format!("question {}: {error}", read.questions.len() + 1))?;
            let entry = QuestionEntry {
                range,
                value: question.value(&read.primary),
                is_errored: question.error.is_some(),
                is_miss: question.recall_hit == Some(false),
                took: question.took(),
                types: read.types.bit(&question.question_type),
            };
            read.questions.push(entry);
        }
        Ok(read)
    }

    pub(crate) fn page(&self, text: &str, view: &RowView) -> Page {
        let Label { benchmark, dataset, .. } = &self.report.label;
        let title = format!("{benchmark}: {}", self.main_figure());
        Page {
            title: part::text(&title),
            section: Section::Benchmarks,
            command: self.command(),
            header: html! {
                (heading(&format!("benchmark {}", part::text(benchmark)), &self.main_figure(), None, &part::text(&self.report.headline)))
                (part::facts(&self.facts()))
            },
            controls: filters(
                view,
                Choices {
                    has_show: true,
                    modes: &self.types.sorted(),
                    has_latency: true,
                    ..Choices::default()
                },
            ),
            main: if view.is_whole() {
                self.whole(text, view, dataset)
            } else {
                self.question_section(text, view)
            },
            pager: view.pager(self.select(view).len()),
            scripts: Vec::new(),
        }
    }

    /// The primary measure with its interval.
    fn main_figure(&self) -> String {
        match self.report.all.means.get(&self.primary) {
            Some(MeanInterval { mean, low, high }) => {
                format!("{} {mean:.4} (95% {low:.4} to {high:.4})", self.primary)
            }
            None => "nothing measured".to_owned(),
        }
    }

    fn command(&self) -> String {
        let Ask { files, flags } = &self.report.asked;
        let mut command = format!("gbrain eval {}", self.report.label.benchmark);
        for file in files {
            command.push_str(&format!(" {}", shell_word(file)));
        }
        for (name, value) in flags.iter().filter(|(name, _)| name.as_str() != "benchmark") {
            let value =
                if value.is_empty() { String::new() } else { format!(" {}", shell_word(value)) };
            command.push_str(&format!(" --{name}{value}"));
        }
        command + " --json"
    }

    fn facts(&self) -> Vec<(&'static str, Markup)> {
        let Label { dataset, known_as, granularity, k, retrieval, answered_by, embedder, .. } =
            &self.report.label;
        let text = |value: &str| html! { (part::text(value)) };
        let count = |name: &str| self.report.counts.get(name).copied().unwrap_or_default();
        let time = |name: &str| self.report.timing.get(name).map(|took| ms(*took));
        let mut facts = vec![
            (
                "Dataset",
                html! { (part::text(dataset)) @if let Some(name) = known_as { " (" (part::text(name)) ")" } },
            ),
            (
                "Questions",
                html! { (count("counted")) " of " (count("asked")) " counted, " (count("errors")) " failed" },
            ),
            ("Ranked", html! { (part::text(granularity)) "s, k=" (k) }),
            ("Retrieval", text(retrieval)),
            ("Embedder", text(embedder.as_deref().unwrap_or("none"))),
        ];
        if let Some(model) = answered_by {
            facts.push(("Answered by", text(model)));
        }
        if let Some((p50, p99)) = time("p50_ms").zip(time("p99_ms")) {
            facts.push(("Time per question", html! { "p50 " (p50) ", p99 " (p99) }));
        }
        facts
    }

    fn whole(&self, text: &str, view: &RowView, dataset: &str) -> Markup {
        let warnings: Vec<&String> = self.report.warnings.iter().collect();
        html! {
            (section("warnings", "Read this first", "These figures measure retrieval. No answers were judged.", &list(&warnings)))
            (section("measures", "Measures", "Dot: the mean. Band: its 95% interval.", &self.measures()))
            (section("types", "By type of question", "", &self.by_type()))
            (section("baselines", "Beside baseline rankings", "The same documents in other orders.", &self.baselines()))
            (section("spread", "Distribution", "", &self.plots()))
            (self.question_section(text, view))
            (section("fingerprints", "Fingerprints", "", &self.fingerprints(dataset)))
        }
    }

    fn measures(&self) -> Markup {
        let row = |(name, mean): (&String, &MeanInterval)| {
            vec![
                html! { (part::text(name)) },
                html! { (format!("{:.4}", mean.mean)) },
                html! { (format!("{:.4} to {:.4}", mean.low, mean.high)) },
                track(name, mean),
                html! { (self.report.all.n) },
            ]
        };
        let rows: Vec<Vec<Markup>> = self.report.all.means.iter().map(row).collect();
        table("measures", "means", &["Measure", "Mean", "95% CI", "Plot", "n"], &rows)
    }

    /// The measures of tables with a column each.
    fn columns(&self) -> Vec<&String> {
        let shown = [
            "recall_any@5",
            "recall_all@5",
            "recall_any@10",
            "recall_all@10",
            "nDCG@10",
            "R@5",
            "R@100",
        ];
        let known: Vec<&String> =
            self.report.all.means.keys().filter(|name| shown.contains(&name.as_str())).collect();
        if known.is_empty() { self.report.all.means.keys().take(5).collect() } else { known }
    }

    fn by_type(&self) -> Markup {
        let columns = self.columns();
        let row = |name: &str, group: &QuestionGroup| {
            let value = |measure: &&String| match group.means.get(*measure) {
                Some(mean) => {
                    html! { (format!("{:.4}", mean.mean)) span.note { (format!("{:.3} to {:.3}", mean.low, mean.high)) } }
                }
                None => html! { "-" },
            };
            let start = vec![html! { (part::text(name)) }, html! { (group.n) }];
            [start, columns.iter().map(value).collect()].concat()
        };
        let mut rows: Vec<Vec<Markup>> = self
            .report
            .by_type
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, group)| row(name, group))
            .collect();
        rows.push(row("all", &self.report.all));
        table("means by type", "means", &head("Type", &columns), &rows)
    }

    fn baselines(&self) -> Markup {
        let columns = self.columns();
        let start = |name: &str, n: u64| vec![html! { (part::text(name)) }, html! { (n) }];
        let value = |value: Option<f64>| html! { (value.map_or("-".to_owned(), |value| format!("{value:.4}"))) };
        let own = columns
            .iter()
            .map(|name| value(self.report.all.means.get(*name).map(|mean| mean.mean)));
        let mut rows = vec![[start("this result", self.report.all.n), own.collect()].concat()];
        for (name, Figures { n, means }) in &self.report.baselines {
            let values = columns.iter().map(|column| value(means.get(*column).copied().flatten()));
            rows.push([start(&name.replace('_', " "), *n), values.collect()].concat());
        }
        table("means of baseline rankings", "means", &head("Ranking", &columns), &rows)
    }

    fn plots(&self) -> Markup {
        let mut bins = [0; BINS];
        for value in self.questions.iter().filter_map(|entry| entry.value) {
            bins[((value.clamp(0.0, 1.0) * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        let caption = format!("Questions by {}.", part::text(&self.primary));
        html! { div.plots { (figure(&part::text(&self.primary), &histogram(&bins, &part::text(&self.primary)), &caption)) } }
    }

    fn question_section(&self, text: &str, view: &RowView) -> Markup {
        let rows = self.select(view);
        let lead = format!("Worst first, by {}.", part::text(&self.primary));
        section(
            "questions",
            "Questions",
            if view.is_filtered() { "" } else { &lead },
            &html! {
                @if rows.is_empty() { p.dim { "No question is like this." } }
                @for (at, entry) in view.slice(&rows).iter().enumerate() { (self.item(text, entry, view.is_whole() && at < OPEN)) }
                (view.left_out(rows.len(), "question", "questions"))
            },
        )
    }

    fn item(&self, text: &str, entry: &QuestionEntry, is_open: bool) -> Markup {
        let question: Question = match serde_json::from_str(&text[entry.range.clone()]) {
            Ok(question) => question,
            Err(error) => return html! { p { (part::text(&error.to_string())) } },
        };
        html! {
            details open[is_open] {
                summary {
                    @match entry.value { Some(value) => (score(value)), None => span { "-" } }
                    (query(&question.question))
                    span.tags {
                        @if question.error.is_some() { (tag(Tone::Bad, "failed")) }
                        @if entry.is_miss { (tag(Tone::Warning, "nothing found")) }
                        @if !question.question_type.is_empty() { (tag(Tone::Neutral, &part::text(&question.question_type))) }
                    }
                }
                div.inside { (inside(&question)) }
            }
        }
    }

    fn fingerprints(&self, dataset: &str) -> Markup {
        let Label { dataset_sha256, software, code, settings, .. } = &self.report.label;
        let row = |name: &str, value: &str| {
            vec![html! { (name) }, html! { code { (part::text(value)) } }]
        };
        let rows = [
            row("dataset", dataset),
            row("dataset_sha256", dataset_sha256),
            row("software", software),
            row("code", code),
            row("settings", settings),
            row("result_hash", &self.report.result_hash),
        ];
        table("fingerprints", "prints", &["What", "Value"], &rows)
    }

    fn select(&self, view: &RowView) -> Vec<&QuestionEntry> {
        let types = self.types.bit_of(&view.mode);
        let is_shown = |entry: &&QuestionEntry| {
            let shown = match view.show {
                Show::Moved | Show::All => true,
                Show::Regressed => entry.is_miss || entry.value.is_some_and(|value| value < 1.0),
                Show::Errored => entry.is_errored,
                Show::Unchanged => entry.value == Some(1.0),
                Show::Unjudged => entry.value.is_none() && !entry.is_errored,
                Show::Improved => false,
            };
            shown
                && (view.mode.is_empty() || entry.types & types != 0)
                && view.min_ms.is_none_or(|least| entry.took.is_some_and(|took| took >= least))
        };
        let mut rows: Vec<&QuestionEntry> = self.questions.iter().filter(is_shown).collect();
        let place = |entry: &QuestionEntry| entry.range.start;
        match view.sort {
            Sort::Worst => rows.sort_by(|a, b| {
                let value = |entry: &QuestionEntry| {
                    if entry.is_errored { -1.0 } else { entry.value.unwrap_or(2.0) }
                };
                value(a).total_cmp(&value(b)).then(place(a).cmp(&place(b)))
            }),
            Sort::Line => rows.sort_by_key(|entry| place(entry)),
            Sort::Latency => rows.sort_by(|a, b| {
                let took = |entry: &QuestionEntry| entry.took.unwrap_or(f64::NEG_INFINITY);
                took(b).total_cmp(&took(a)).then(place(a).cmp(&place(b)))
            }),
        }
        rows
    }
}

fn head<'a>(first: &'a str, columns: &[&'a String]) -> Vec<&'a str> {
    [first, "n"].into_iter().chain(columns.iter().map(|name| name.as_str())).collect()
}

/// A mean and its interval on a line from 0 to 1.
fn track(name: &str, MeanInterval { mean, low, high }: &MeanInterval) -> Markup {
    let (width, middle) = (220.0, 13.0);
    let x = |value: f64| 6.0 + (width - 12.0) * value.clamp(0.0, 1.0);
    let body = html! {
        (line("axis", [x(0.0), middle, x(1.0), middle]))
        (rect("spread", [x(*low), middle - 4.0, (x(*high) - x(*low)).max(2.0), 8.0]))
        (dot("point", x(*mean), middle, 4.5))
    };
    svg("track", width, 26.0, &format!("{} on a line from 0 to 1", part::text(name)), &body)
}

fn inside(question: &Question) -> Markup {
    html! {
        @if let Some(error) = &question.error {
            p.change { "Failed: " (part::text(error)) }
        } @else {
            p.change { (question.finding()) }
        }
        p.lead {
            code { (part::text(&question.question_id)) }
            @if let Some(took) = question.took() { " · " (ms(took)) }
            @if !question.degraded.is_empty() { " · degraded: " (part::text(&question.degraded.join(", "))) }
        }
        @if let Some(answer) = &question.answer { p { "Expected answer: " (part::text(answer)) } }
        @if !question.hypothesis.is_empty() { p { "Answer: " (part::text(&question.hypothesis)) } }
        @if !question.retrieved_session_ids.is_empty() {
            ol.results {
                @for page in question.retrieved_session_ids.iter().take(DOCUMENTS) {
                    li { (page_name(page)) @if question.gold_ranks.contains_key(page) { span.tag.pass { "answers" } } }
                }
            }
        }
        @for (page, _) in question.gold_ranks.iter().filter(|(page, rank)| rank.is_none() && !page.is_empty()) {
            p.note { (page_name(page)) " " span.tag.lost { "not ranked" } }
        }
    }
}
