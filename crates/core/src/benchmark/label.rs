//! The label of a result, without which its numbers could be mistaken for others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Abstention, BenchmarkSummary, DataProblemKind, Granularity, KnownFile, check_title, known_name,
    rules,
};
use crate::hash::Hash;

/// The conditions that the numbers depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BenchmarkLabel")]
#[serde(deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "`label` says each in words; documented fields would change the schema"
)]
pub struct DatasetRunLabel {
    pub benchmark: String,
    // The name of its file or folder.
    pub dataset: String,
    // Of a folder, of its files in the order of their names.
    pub dataset_sha256: String,
    // Where its hash is known.
    pub known_as: Option<String>,
    pub granularity: Granularity,
    // How many documents of a ranking are taken.
    pub k: usize,
    // How deep rankings go, and so how deep measures of whole rankings look.
    #[serde(default)]
    pub depth: usize,
    // The first so many questions, where not all were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    // Which arms search: `hybrid` or `words`.
    pub retrieval: String,
    pub abstention: Abstention,
    // The model, if one answered.
    pub answered_by: Option<String>,
    pub software: String,
    // Names the source that rankings depend on.
    pub code: String,
    // Names the numbers of the pipeline.
    pub settings: String,
    // The model of the vectors.
    pub embedder: Option<String>,
    // Of the random baseline.
    pub seed: u64,
    // Problems of the dataset, by name and count.
    #[serde(default)]
    pub data_problems: BTreeMap<String, usize>,
}

/// A label in the words of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelText {
    /// The conditions that each number depends on, by name.
    pub facts: Vec<(&'static str, String)>,
    /// Limitations that a reader must know.
    pub warnings: Vec<String>,
}

/// Describes the numbers of a summary.
pub fn label(label: &DatasetRunLabel, summary: &BenchmarkSummary) -> LabelText {
    let (smallest, middle, largest) = summary.haystack.unwrap_or_default();
    let unit = rules::unit(&label.benchmark, label.granularity);
    let sizes = if smallest == largest {
        largest.to_string()
    } else {
        format!("{smallest}-{largest}, middle {middle}")
    };
    let known = match &label.known_as {
        Some(name) => format!("verified by its SHA-256: {name}"),
        None => "unknown file: no published SHA-256 is this one".to_owned(),
    };
    let mut facts = vec![
        ("measured", describe_configuration(label)),
        ("dataset", format!("{} ({known})", label.dataset)),
        ("sha256", label.dataset_sha256.clone()),
        ("questions", questions(summary)),
        ("k", format!("{} of {sizes} {unit} a question; rankings {} deep", label.k, label.depth)),
        ("abstention", label.abstention.rule().to_owned()),
        ("retrieval", format!("{}, {} as documents", label.retrieval, unit)),
        ("software", format!("gbrain {} (code {})", label.software, label.code)),
        ("settings", label.settings.clone()),
        ("embedder", label.embedder.clone().unwrap_or_else(|| "none".to_owned())),
        ("seed", label.seed.to_string()),
    ];
    facts.push(match &label.answered_by {
        Some(model) => ("answers", format!("by {model}; not judged here")),
        None => ("answers", "none: retrieval only".to_owned()),
    });
    LabelText { facts, warnings: warnings(label, summary, smallest) }
}

fn questions(summary: &BenchmarkSummary) -> String {
    let left_out = summary.asked - summary.all.n;
    let mut text = format!("{} asked, {} in the means", summary.asked, summary.all.n);
    if left_out > 0 {
        text.push_str(&format!(", {left_out} left out"));
    }
    if summary.errors > 0 {
        text.push_str(&format!(", {} failed and count as not found", summary.errors));
    }
    text
}

fn warnings(label: &DatasetRunLabel, summary: &BenchmarkSummary, smallest: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, count) in &label.data_problems {
        warnings.extend(DataProblemKind::from_name(name).map(|kind| kind.warning(*count)));
    }
    if let (None, Some(KnownFile { name, .. })) = (&label.known_as, known_name(&label.dataset)) {
        warnings.push(format!(
            "{} has the file name of {name} and another SHA-256: it is not that file",
            label.dataset
        ));
    }
    if let Some(limit) = label.limit {
        warnings.push(format!("only the first {limit} questions of the dataset were asked"));
    }
    if summary.asked > 0 && label.k >= smallest {
        warnings.push(format!(
            "k = {} reaches the smallest haystack ({smallest}): everything is retrieved, and recall there \
             says nothing",
            label.k
        ));
    }
    if summary.degraded > 0 {
        warnings.push(format!(
            "{} questions were answered with a stage missing: these are not the numbers of the whole \
             pipeline",
            summary.degraded
        ));
    }
    if summary.all.n > 0 && summary.all.n < 30 {
        warnings.push(format!("{} questions are few: look at the intervals", summary.all.n));
    }
    warnings
}

/// Describes the measured configuration. It is printed beside every title, so that no title stands
/// alone.
pub fn describe_configuration(label: &DatasetRunLabel) -> String {
    let DatasetRunLabel { benchmark, granularity, k, depth, .. } = label;
    let unit = rules::unit(benchmark, *granularity);
    if rules::is_collection(benchmark) {
        let names: Vec<String> =
            rules::measures_of(benchmark, *k).iter().map(ToString::to_string).collect();
        return format!(
            "retrieval, not answers: {} of {unit}, rankings {depth} deep",
            names.join(", ")
        );
    }
    format!(
        "retrieval, not answers: whether any (recall_any@k) or all (recall_all@k) {unit} that hold the \
         answer are among the first k = {k}, rankings {depth} deep"
    )
}

/// Describes `recall_hit` and the summary by type.
pub fn describe_summary_by_type(label: &DatasetRunLabel) -> String {
    let unit = rules::unit(&label.benchmark, label.granularity);
    format!(
        "recall_any@{}: any of the {unit} that hold the answer is among the first {}; retrieval, not \
         answers",
        label.k, label.k
    )
}

/// The headline of a result: its title, always with the measured configuration.
pub fn headline(label: &DatasetRunLabel, title: Option<&str>) -> String {
    let benchmark = &label.benchmark;
    match title {
        Some(title) => format!("{title} [{benchmark}: {}]", describe_configuration(label)),
        None => format!("{benchmark}: {}", describe_configuration(label)),
    }
}

/// The title in a headline; an error if the headline is not one of this label, or the title may not
/// stand there.
pub fn title_of<'a>(label: &DatasetRunLabel, headline: &'a str) -> Result<Option<&'a str>, String> {
    if headline == self::headline(label, None) {
        return Ok(None);
    }
    let beside = format!(" [{}: {}]", label.benchmark, describe_configuration(label));
    let title = headline
        .strip_suffix(&beside)
        .ok_or_else(|| format!("it does not end with `{}`", beside.trim_start()))?;
    check_title(title).map_err(|error| error.to_string())?;
    Ok(Some(title))
}

/// Names everything that rows depend on besides their question: all of the label but the name of the
/// dataset's file, how many questions are asked, and what was wrong with the data.
pub fn run_id(label: &DatasetRunLabel) -> String {
    let DatasetRunLabel {
        benchmark,
        dataset: _,
        dataset_sha256,
        known_as: _,
        granularity,
        k,
        depth,
        limit: _,
        retrieval,
        abstention,
        answered_by,
        software,
        code,
        settings,
        embedder,
        seed,
        data_problems: _,
    } = label;
    let parts = [
        benchmark,
        dataset_sha256,
        granularity.name(),
        &k.to_string(),
        &depth.to_string(),
        retrieval,
        abstention.name(),
        answered_by.as_deref().unwrap_or("none"),
        software,
        code,
        settings,
        embedder.as_deref().unwrap_or("none"),
        &seed.to_string(),
        &super::reading::VERSION.to_string(),
    ];
    Hash::of_parts(&parts.map(str::as_bytes)).short()
}
