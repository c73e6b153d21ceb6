//! Means over questions, in all and by kind.

use std::collections::BTreeMap;

use super::QuestionOutcome;
use super::official::Figures;
use crate::stats::{
    BootstrapOptions, Interval, bootstrap_mean, bounded_mean, clopper_pearson, percentile,
};

/// The kind of the last line in a file with `--by-type`.
pub const BY_TYPE_SUMMARY: &str = "by_type_summary";

/// The share of questions with a hit among the first k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recall {
    /// Questions with a right document among the first k.
    pub hit: u64,
    /// Questions that count. One that failed counts, and has no hit.
    pub total: u64,
}

impl Recall {
    /// The share; none of nothing.
    pub fn rate(self) -> Option<f64> {
        (self.total > 0).then(|| self.hit as f64 / self.total as f64)
    }

    fn count(&mut self, is_hit: bool) {
        self.hit += u64::from(is_hit);
        self.total += 1;
    }
}

/// Recall by kind of question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ByType {
    /// By kind, in the order of their names.
    pub kinds: BTreeMap<String, Recall>,
    pub aggregate: Recall,
}

impl ByType {
    /// Counts the outcomes of a question type.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a QuestionOutcome>) -> Self {
        let mut by_type = Self::default();
        for outcome in outcomes {
            if let Some(is_hit) = outcome.hit {
                by_type.kinds.entry(outcome.kind.clone()).or_default().count(is_hit);
                by_type.aggregate.count(is_hit);
            }
        }
        by_type
    }

    /// The kinds whose rate is below a floor. A rate without a count is below every floor.
    pub fn below(&self, floor: f64) -> Vec<(&str, Recall)> {
        let below = |recall: &Recall| !recall.rate().is_some_and(|rate| rate >= floor);
        let kinds = self.kinds.iter().filter(|(_, recall)| below(recall));
        let mut found: Vec<(&str, Recall)> =
            kinds.map(|(kind, recall)| (kind.as_str(), *recall)).collect();
        if self.kinds.is_empty() {
            found.push(("all", self.aggregate));
        }
        found
    }
}

/// The mean of one measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub mean: f64,
    /// Where it may lie, at 95%: the exact interval of a rate, or
    /// that of a mean between 0 and 1.
    pub interval: Interval,
}

/// The means of one group of questions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupMeans {
    /// Number of questions that count.
    pub n: usize,
    /// The mean by measure.
    pub means: BTreeMap<String, Mean>,
}

/// Means without an interval, with the number of questions that count.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FigureMeans {
    /// Number of questions that count.
    pub n: usize,
    /// The mean by name.
    pub means: Figures,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BenchmarkSummary {
    /// Number of questions in the run.
    pub asked: usize,
    pub errors: usize,
    /// Questions with a stage that could not do its work.
    pub degraded: usize,
    /// Every question that counts.
    pub all: GroupMeans,
    pub kinds: BTreeMap<String, GroupMeans>,
    /// Our measures of other rankings: in all, and by kind.
    pub baselines: BTreeMap<String, FigureMeans>,
    /// The same by kind, then by ranking.
    pub baselines_by_kind: BTreeMap<String, BTreeMap<String, FigureMeans>>,
    /// LongMemEval's own figures of sessions.
    pub official_session: Option<FigureMeans>,
    /// LongMemEval's own figures of turns.
    pub official_turn: Option<FigureMeans>,
    /// The share of answering turns that was shown.
    pub turn_recall: Option<Mean>,
    /// Milliseconds of import and search together, by share of questions: a half, 99 of 100.
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// The sizes of haystacks: least, middle, most.
    pub haystack: Option<(usize, usize, usize)>,
}

/// Summarises the outcomes of a run.
pub fn summarise(outcomes: &[QuestionOutcome]) -> BenchmarkSummary {
    let counted: Vec<&QuestionOutcome> =
        outcomes.iter().filter(|outcome| outcome.hit.is_some()).collect();
    let mut by_kind: BTreeMap<String, Vec<&QuestionOutcome>> = BTreeMap::new();
    for outcome in &counted {
        by_kind.entry(outcome.kind.clone()).or_default().push(outcome);
    }
    let turn_recalls: Vec<f64> = counted.iter().filter_map(|outcome| outcome.turn_recall).collect();
    let mut took: Vec<f64> = outcomes
        .iter()
        .filter(|outcome| outcome.error.is_none())
        .map(|outcome| outcome.timings.import_ms + outcome.timings.search_ms)
        .collect();
    took.sort_by(f64::total_cmp);
    BenchmarkSummary {
        asked: outcomes.len(),
        errors: outcomes.iter().filter(|outcome| outcome.error.is_some()).count(),
        degraded: outcomes.iter().filter(|outcome| !outcome.degraded.is_empty()).count(),
        all: group(&counted),
        kinds: by_kind.iter().map(|(kind, group_of)| (kind.clone(), group(group_of))).collect(),
        baselines: baselines(&counted),
        baselines_by_kind: by_kind
            .iter()
            .map(|(kind, outcomes)| (kind.clone(), baselines(outcomes)))
            .collect(),
        official_session: official(outcomes, |official| Some(&official.session)),
        official_turn: official(outcomes, |official| official.turn.as_ref()),
        turn_recall: mean(&turn_recalls),
        p50_ms: percentile(&took, 0.5),
        p99_ms: percentile(&took, 0.99),
        haystack: sizes(outcomes),
    }
}

fn sizes(outcomes: &[QuestionOutcome]) -> Option<(usize, usize, usize)> {
    let mut sizes: Vec<usize> = outcomes.iter().map(|outcome| outcome.haystack).collect();
    sizes.sort_unstable();
    Some((*sizes.first()?, sizes[sizes.len() / 2], *sizes.last()?))
}

fn group(outcomes: &[&QuestionOutcome]) -> GroupMeans {
    let columns = columns(outcomes.iter().map(|outcome| &outcome.scores));
    let means = columns.into_iter().filter_map(|(name, values)| Some((name, mean(&values)?)));
    GroupMeans { n: outcomes.len(), means: means.collect() }
}

fn baselines(outcomes: &[&QuestionOutcome]) -> BTreeMap<String, FigureMeans> {
    let mut names: BTreeMap<&str, Vec<&Figures>> = BTreeMap::new();
    for outcome in outcomes {
        for (name, figures) in &outcome.baselines {
            names.entry(name).or_default().push(figures);
        }
    }
    let figured = |(name, figures): (&str, Vec<&Figures>)| (name.to_owned(), figured(&figures));
    names.into_iter().map(figured).collect()
}

fn official<'a>(
    outcomes: &'a [QuestionOutcome],
    figures: impl Fn(&'a super::official::OfficialFigures) -> Option<&'a Figures>,
) -> Option<FigureMeans> {
    let counted = outcomes.iter().filter_map(|outcome| outcome.official.as_ref());
    let counted = counted.filter(|official| official.counts);
    let counted: Vec<&Figures> = counted.filter_map(figures).collect();
    (!counted.is_empty()).then(|| figured(&counted))
}

fn figured(figures: &[&Figures]) -> FigureMeans {
    let means = columns(figures.iter().copied());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    FigureMeans {
        n: figures.len(),
        means: means.into_iter().map(|(name, values)| (name, mean(&values))).collect(),
    }
}

fn columns<'a>(rows: impl Iterator<Item = &'a Figures>) -> BTreeMap<String, Vec<f64>> {
    let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in rows.flatten() {
        columns.entry(name.clone()).or_default().push(*value);
    }
    columns
}

fn mean(values: &[f64]) -> Option<Mean> {
    let mean = crate::stats::mean(values)?;
    let is_rate = values.iter().all(|value| *value == 0.0 || *value == 1.0);
    let interval = if is_rate {
        clopper_pearson(
            values.iter().filter(|value| **value == 1.0).count() as u64,
            values.len() as u64,
            0.95,
        )?
    } else if values.len() < 2 {
        // One value says nothing about its spread: the mean may be anything.
        Interval { low: 0.0, high: 1.0 }
    } else {
        interval_of_mean(values)?
    };
    Some(Mean { mean, interval })
}

/// One value does not show where the mean of others lies between 0 and 1.
fn interval_of_mean(values: &[f64]) -> Option<Interval> {
    let is_bounded = values.iter().all(|value| (-1e-9..=1.0 + 1e-9).contains(value));
    match is_bounded {
        true => Some(bounded_mean(values, Interval::UNIT, 0.95).unwrap_or(Interval::UNIT)),
        false => bootstrap_mean(values, &BootstrapOptions::default()),
    }
}
