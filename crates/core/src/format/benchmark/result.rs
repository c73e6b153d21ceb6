//! The result of a benchmark: what its numbers depend on, the means, and every row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::official::Figures;
use crate::benchmark::{Figured, Group, Label, Mean, Outcome, Summary};
use crate::hash::Hash;

use super::Row;

/// The version of [`Result`].
pub const BENCHMARK_VERSION: u32 = 2;

/// What a result file says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// A benchmark.
    #[default]
    BenchmarkResult,
}

/// What was asked of the program, so that it can be asked again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkAsk")]
pub struct WireAsk {
    /// The dataset's files, as they were named.
    pub files: Vec<String>,
    /// Flags with their values; a flag without one is empty.
    pub flags: BTreeMap<String, String>,
}

/// A mean with where it may lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkMean")]
pub struct WireMean {
    /// The mean.
    pub mean: f64,
    /// The lower end of its interval at 95%.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The means of a group of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkGroup")]
pub struct WireGroup {
    /// How many questions count.
    pub n: usize,
    /// The mean by measure.
    pub means: BTreeMap<String, WireMean>,
}

/// Means by name over so many questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkFigures")]
pub struct WireFigured {
    /// How many questions count.
    pub n: usize,
    /// The mean by name.
    pub means: Figures,
}

/// What a benchmark found: `--json` prints it, `--result` writes it, `eval compare`, `eval gate` and
/// `eval reproduce` read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkResult")]
#[serde(deny_unknown_fields)]
pub struct Result {
    /// The version.
    pub schema_version: u32,
    /// `benchmark_result`.
    pub kind: ResultKind,
    /// The title, if one was given, with the benchmark and the full name of what was measured.
    #[serde(default)]
    pub headline: String,
    /// What was asked.
    pub asked: WireAsk,
    /// What the numbers depend on.
    pub label: Label,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// The mean of every measure.
    pub summary: Figures,
    /// The same with intervals.
    pub all: WireGroup,
    /// By kind of question.
    pub by_type: BTreeMap<String, WireGroup>,
    /// Other rankings of the same documents.
    pub baselines: BTreeMap<String, WireFigured>,
    /// The same by kind of question.
    pub baselines_by_type: BTreeMap<String, BTreeMap<String, WireFigured>>,
    /// LongMemEval's own means of sessions, under its names and over the questions it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval_session: Option<WireFigured>,
    /// The same of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval_turn: Option<WireFigured>,
    /// The share of answering turns that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_recall: Option<WireMean>,
    /// Questions asked, failed, and answered with a stage missing.
    pub counts: BTreeMap<String, usize>,
    /// Milliseconds of import and search together: `p50`, `p99`.
    pub timing: BTreeMap<String, f64>,
    /// Every question.
    pub per_question: Vec<Row>,
    /// SHA-256 of everything else in the result. It has no key: it shows that a file was changed after
    /// it was written, and not who wrote it. `eval reproduce` shows that the figures are right.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result_hash: String,
}

impl Result {
    /// The result of outcomes that add up to a summary.
    pub fn new(
        asked: WireAsk,
        label: &Label,
        title: Option<&str>,
        summary: Summary,
        outcomes: Vec<Outcome>,
    ) -> Self {
        let warnings = crate::benchmark::label(label, &summary).warnings;
        let Summary {
            asked: questions,
            errors,
            degraded,
            all,
            kinds,
            baselines,
            baselines_by_kind,
            official_session,
            official_turn,
            turn_recall,
            p50_ms,
            p99_ms,
            haystack,
        } = summary;
        let (least, _, most) = haystack.unwrap_or_default();
        let counts = [
            ("asked", questions),
            ("counted", all.n),
            ("errors", errors),
            ("degraded", degraded),
            ("haystack_min", least),
            ("haystack_max", most),
        ];
        let timing = [("p50_ms", p50_ms), ("p99_ms", p99_ms)];
        let figured = |(name, figured): (String, Figured)| (name, wire(figured));
        let result = Self {
            schema_version: BENCHMARK_VERSION,
            kind: ResultKind::BenchmarkResult,
            headline: crate::benchmark::headline(label, title),
            asked,
            label: label.clone(),
            warnings,
            summary: all.means.iter().map(|(name, mean)| (name.clone(), mean.mean)).collect(),
            all: group(all),
            by_type: kinds.into_iter().map(|(kind, of)| (kind, group(of))).collect(),
            baselines: baselines.into_iter().map(figured).collect(),
            baselines_by_type: baselines_by_kind
                .into_iter()
                .map(|(kind, of)| (kind, of.into_iter().map(figured).collect()))
                .collect(),
            longmemeval_session: official_session.map(wire),
            longmemeval_turn: official_turn.map(wire),
            turn_recall: turn_recall.map(mean),
            counts: counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
            timing: timing
                .into_iter()
                .filter_map(|(name, ms)| Some((name.to_owned(), ms?)))
                .collect(),
            per_question: outcomes.into_iter().map(|outcome| kept(outcome, label)).collect(),
            result_hash: String::new(),
        };
        Self { result_hash: result.hash(), ..result }
    }

    /// The hash of everything but the hash.
    pub fn hash(&self) -> String {
        let plain = Self { result_hash: String::new(), ..self.clone() };
        Hash::of(&serde_json::to_vec(&plain).expect("results have text keys only")).to_hex()
    }

    /// The outcomes that it holds.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.per_question.iter().cloned().map(Outcome::from).collect()
    }
}

/// A row as a result keeps it: what was retrieved is named by its ids, so its text is left to the
/// file of rows, unless a model answered.
fn kept(outcome: Outcome, label: &Label) -> Row {
    let hypothesis = match label.answered_by {
        Some(_) => outcome.hypothesis.clone(),
        None => String::new(),
    };
    Row { hypothesis, ..Row::from(outcome) }
}

fn mean(mean: Mean) -> WireMean {
    let Mean { mean, interval } = mean;
    WireMean { mean, low: interval.low, high: interval.high }
}

fn group(group: Group) -> WireGroup {
    let Group { n, means } = group;
    WireGroup { n, means: means.into_iter().map(|(name, of)| (name, mean(of))).collect() }
}

fn wire(figured: Figured) -> WireFigured {
    let Figured { n, means } = figured;
    WireFigured { n, means }
}
