//! The result of a benchmark: its label, its means and every row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::official::Figures;
use crate::benchmark::{
    BenchmarkSummary, DatasetRunLabel, FigureMeans, GroupMeans, Mean, QuestionOutcome,
};
use crate::hash::Hash;

use super::BenchmarkRow;

/// The version of [`BenchmarkResult`].
pub const BENCHMARK_VERSION: u32 = 2;

/// The `kind` of a result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// The result of a benchmark.
    #[default]
    BenchmarkResult,
}

/// The command line of the run, for repeating it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkAsk")]
pub struct WireRunCommand {
    /// Dataset files, as given on the command line.
    pub files: Vec<String>,
    /// Flags with their values; empty for a flag without a value.
    pub flags: BTreeMap<String, String>,
}

/// A mean with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkMean")]
pub struct WireMean {
    /// Mean over the counted questions.
    pub mean: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

/// The means of a group of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkGroup")]
pub struct WireGroup {
    /// Number of counted questions.
    pub n: usize,
    /// Means by measure name.
    pub means: BTreeMap<String, WireMean>,
}

/// Means by name, with the number of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkFigures")]
pub struct WireMeans {
    /// Number of counted questions.
    pub n: usize,
    /// Means by measure name.
    pub means: Figures,
}

/// The result of a benchmark: printed by `--json`, written by `--result`, and read by
/// `eval compare`, `eval gate` and `eval reproduce`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkResult {
    /// Version of this format.
    pub schema_version: u32,
    /// Always `benchmark_result`, the kind of this file.
    pub kind: ResultKind,
    /// The title, if given, with the benchmark and the full name of the measured configuration.
    #[serde(default)]
    pub headline: String,
    /// The command line of the run.
    pub asked: WireRunCommand,
    /// Dataset, settings and software that the numbers depend on.
    pub label: DatasetRunLabel,
    /// Limitations that a reader must know.
    pub warnings: Vec<String>,
    /// Mean of every measure.
    pub summary: Figures,
    /// The same means with intervals.
    pub all: WireGroup,
    /// Means by question type.
    pub by_type: BTreeMap<String, WireGroup>,
    /// Means of baseline rankings of the same documents.
    pub baselines: BTreeMap<String, WireMeans>,
    /// The same by question type.
    pub baselines_by_type: BTreeMap<String, BTreeMap<String, WireMeans>>,
    /// LongMemEval's own session measures, under its names and over the questions it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval_session: Option<WireMeans>,
    /// LongMemEval's own turn measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longmemeval_turn: Option<WireMeans>,
    /// Share of the answering turns that were shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_recall: Option<WireMean>,
    /// Number of questions asked, counted, failed and degraded.
    pub counts: BTreeMap<String, usize>,
    /// Milliseconds of import and search together: `p50_ms`, `p99_ms`.
    pub timing: BTreeMap<String, f64>,
    /// One row per question.
    pub per_question: Vec<BenchmarkRow>,
    /// SHA-256 of the rest of the result, without a key: it detects that a file was changed after it
    /// was written, but not who wrote it. `eval reproduce` verifies the numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result_hash: String,
}

impl BenchmarkResult {
    /// The result of a run, from its outcomes and their summary.
    pub fn new(
        asked: WireRunCommand,
        label: &DatasetRunLabel,
        title: Option<&str>,
        summary: BenchmarkSummary,
        outcomes: Vec<QuestionOutcome>,
    ) -> Self {
        let warnings = crate::benchmark::label(label, &summary).warnings;
        let BenchmarkSummary {
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
        let figured = |(name, figured): (String, FigureMeans)| (name, wire(figured));
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

    /// The hash of all fields except the hash itself.
    pub fn hash(&self) -> String {
        let plain = Self { result_hash: String::new(), ..self.clone() };
        Hash::of(&serde_json::to_vec(&plain).expect("results have text keys only")).to_hex()
    }

    /// The outcomes of all questions.
    pub fn outcomes(&self) -> Vec<QuestionOutcome> {
        self.per_question.iter().cloned().map(QuestionOutcome::from).collect()
    }
}

/// A row as stored in a result. Without an answering model, the hypothesis is the retrieved text:
/// the ids identify it, so only the file of rows stores it.
fn kept(outcome: QuestionOutcome, label: &DatasetRunLabel) -> BenchmarkRow {
    let hypothesis = match label.answered_by {
        Some(_) => outcome.hypothesis.clone(),
        None => String::new(),
    };
    BenchmarkRow { hypothesis, ..BenchmarkRow::from(outcome) }
}

fn mean(mean: Mean) -> WireMean {
    let Mean { mean, interval } = mean;
    WireMean { mean, low: interval.low, high: interval.high }
}

fn group(group: GroupMeans) -> WireGroup {
    let GroupMeans { n, means } = group;
    WireGroup { n, means: means.into_iter().map(|(name, of)| (name, mean(of))).collect() }
}

fn wire(figured: FigureMeans) -> WireMeans {
    let FigureMeans { n, means } = figured;
    WireMeans { n, means }
}
