//! Benchmarks: stored results by type of question, next to their baselines.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{self, Tone, empty, heading, section, table, tag};
use crate::shell::{Page, Section};

/// `GET /v1/benchmarks`.
#[derive(Debug, Default, Deserialize)]
pub struct Benchmarks {
    /// Whether this server has a folder of results.
    pub configured: bool,
    #[serde(default)]
    pub results: Vec<BenchmarkResult>,
    /// Files that are no result of this version.
    #[serde(default)]
    pub unreadable: u64,
}

/// One result, without its questions.
#[derive(Debug, Deserialize)]
pub struct BenchmarkResult {
    /// Name of the file.
    pub name: String,
    #[serde(default)]
    pub headline: String,
    #[serde(default)]
    pub warnings: Vec<String>,
    pub all: MeansOfGroup,
    #[serde(default)]
    pub by_type: BTreeMap<String, MeansOfGroup>,
    /// Means of trivial rankings of the same documents.
    #[serde(default)]
    pub baselines: BTreeMap<String, BaselineMeans>,
    #[serde(default)]
    pub baselines_by_type: BTreeMap<String, BTreeMap<String, BaselineMeans>>,
}

/// The means of a group of questions.
#[derive(Debug, Deserialize)]
pub struct MeansOfGroup {
    pub n: u64,
    pub means: BTreeMap<String, GroupMean>,
}

/// A mean with its 95% interval.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct GroupMean {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The means of a baseline.
#[derive(Debug, Deserialize)]
pub struct BaselineMeans {
    pub means: BTreeMap<String, Option<f64>>,
}

pub fn page(benchmarks: &Benchmarks) -> Page {
    Page {
        title: "Benchmarks".to_owned(),
        section: Section::Benchmarks,
        command: "gbrain eval longmemeval FILE --by-type --result runs/benchmarks/NAME.json"
            .to_owned(),
        header: heading(
            "",
            "Benchmarks",
            None,
            "Results on public datasets, by type of question, next to trivial baselines. Each result says how many questions it has.",
        ),
        main: html! {
            @if benchmarks.results.is_empty() { (none(benchmarks)) }
            @for (at, one) in benchmarks.results.iter().enumerate() { (result(at, one)) }
            @if benchmarks.unreadable > 0 {
                p.more { (part::count(benchmarks.unreadable, "file is", "files are")) " not shown: no result of this version of gbrain." }
            }
        },
        ..Page::default()
    }
}

fn none(benchmarks: &Benchmarks) -> Markup {
    let what = match benchmarks.configured {
        true => "There is no benchmark result in the folder runs/benchmarks of this server's home.",
        false => "This server shows no benchmark results: its home has no folder runs/benchmarks.",
    };
    empty(
        what,
        "gbrain eval longmemeval FILE --by-type --result \"$GBRAIN_HOME/runs/benchmarks/longmemeval.json\"",
    )
}

fn result(at: usize, one: &BenchmarkResult) -> Markup {
    let title = if one.headline.is_empty() { &one.name } else { &one.headline };
    section(
        &format!("result-{at}"),
        &part::text(title),
        &part::text(&one.name),
        &html! {
            @for warning in &one.warnings { p.more { (tag(Tone::Warning, "note")) " " (part::text(warning)) } }
            h3 { "All " (part::count(one.all.n, "question", "questions")) }
            (group("All questions", &one.all, &one.baselines))
            @for (kind, of) in &one.by_type {
                h3 { (part::text(kind)) ", " (part::count(of.n, "question", "questions")) }
                (group(kind, of, one.baselines_by_type.get(kind).unwrap_or(&BTreeMap::new())))
            }
        },
    )
}

/// The means of a group with those of the baselines beside them.
fn group(label: &str, group: &MeansOfGroup, baselines: &BTreeMap<String, BaselineMeans>) -> Markup {
    let mut head = vec!["Measure", "Mean", "95% interval"];
    head.extend(baselines.keys().map(String::as_str));
    let number = |value: Option<f64>| html! { @match value { Some(value) => (format!("{value:.4}")), None => span.dim { "-" } } };
    let row = |(measure, mean): (&String, &GroupMean)| {
        let own = [
            html! { (part::text(measure)) },
            number(Some(mean.mean)),
            html! { (format!("{:.4} to {:.4}", mean.low, mean.high)) },
        ];
        let others =
            baselines.values().map(|one| number(one.means.get(measure).copied().flatten()));
        own.into_iter().chain(others).collect()
    };
    let rows: Vec<Vec<Markup>> = group.means.iter().map(row).collect();
    table(&part::text(label), "benchmarks", &head, &rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_stand_next_to_their_baselines() {
        let group = |mean: f64| json!({ "n": 93, "means": { "R@5": { "mean": mean, "low": 0.9, "high": 0.99 } } });
        let random = json!({ "random": { "n": 93, "means": { "R@5": 0.1 } } });
        let body = json!({ "configured": true, "unreadable": 1, "results": [{ "name": "s.json", "headline": "<b>LongMemEval</b>",
            "warnings": ["other distractors"], "all": group(0.98), "by_type": { "temporal-reasoning": group(0.91) },
            "baselines": random, "baselines_by_type": { "temporal-reasoning": random } }] });
        let html = page(&serde_json::from_value(body).unwrap()).main.into_string();
        for part in [
            "0.9800",
            "0.9100",
            "0.1000",
            "random",
            "temporal-reasoning, 93 questions",
            "1 file is",
            "&lt;b&gt;",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn without_results_the_page_says_where_they_come_from() {
        assert!(page(&Benchmarks::default()).main.into_string().contains("--result"));
    }
}
