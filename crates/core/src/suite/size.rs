//! Checks that the sample of a run is large enough for a verdict.
//!
//! A suite requires the sample size that it configures, or the playbook's for its kind. A run of
//! fewer queries, in total or of one source, is inconclusive. A suite may configure less than the
//! playbook; every report of its runs says so.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query::CanonicalQuery;
use super::run::is_false;
use super::{Sample, Suite, SuiteKind};
use crate::calibrate::MOST;
use crate::named;

named! {
    /// The unit of a sample.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SampleUnit {
        Queries = "queries",
        /// Borderline pairs of a query and a passage.
        Pairs = "pairs",
    }
}

/// A part of a sample that is too small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteShortage")]
pub struct SampleShortage {
    /// Source; null for the sample as a whole.
    pub source: Option<String>,
    pub drawn: usize,
    pub required: usize,
}

/// The size of a sample and its requirements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteSample", description = "The sample of a run.")]
pub struct SampleSize {
    /// Unit of the sample: queries, or borderline pairs.
    pub unit: SampleUnit,
    pub drawn: usize,
    /// Minimum for a verdict.
    pub required: usize,
    /// Minimum that the playbook recommends for this kind of suite.
    pub playbook: usize,
    /// Whether the suite is configured to require fewer than the playbook.
    #[serde(default, skip_serializing_if = "is_false")]
    pub smaller_than_playbook: bool,
    /// Parts that are too small; the run cannot pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<SampleShortage>,
}

impl SampleSize {
    /// A sample of queries with exactly the required size.
    pub fn exactly(count: usize) -> Self {
        Self::new(SampleUnit::Queries, (count, count, count), Vec::new())
    }

    fn new(
        unit: SampleUnit,
        (drawn, required, playbook): (usize, usize, usize),
        short: Vec<SampleShortage>,
    ) -> Self {
        let smaller_than_playbook = required < playbook;
        Self { unit, drawn, required, playbook, smaller_than_playbook, short }
    }

    /// Number of missing queries or pairs.
    pub fn missing(&self) -> usize {
        self.short.iter().map(|one| one.required.saturating_sub(one.drawn)).sum()
    }

    /// A remark if the suite requires less than the playbook.
    pub fn smaller(&self) -> Option<String> {
        let Self { unit, required, playbook, .. } = self;
        self.smaller_than_playbook.then(|| {
            format!(
                "smaller sample: this suite requires {required} {unit}, the playbook {playbook}"
            )
        })
    }

    /// Remarks about everything that is too small, one sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let unit = self.unit;
        let short = self.short.iter().map(|SampleShortage { source, drawn, required }| {
            let about = source.as_ref().map(|one| format!(" about {one}")).unwrap_or_default();
            format!("sample too small: {drawn} of {required} required {unit}{about}")
        });
        short.chain(self.smaller()).collect()
    }
}

/// The size of a suite's sample. `fit` are the eligible queries, `drawn` the sampled ones, and
/// `pairs` is the number of scored borderline pairs.
pub fn sample_size(
    suite: &Suite,
    fit: &[&CanonicalQuery],
    drawn: &[&CanonicalQuery],
    pairs: usize,
) -> SampleSize {
    let playbook = Suite::new(&suite.name, suite.kind, Vec::new()).sample;
    if suite.kind == SuiteKind::RerankCalibration {
        let required = suite.sample.min_queries().min(MOST);
        return whole(SampleUnit::Pairs, pairs, required, playbook.min_queries());
    }
    let (groups, asked) = (sources(fit, &suite.sample), sources(drawn, &suite.sample));
    let groups_count = groups.len().max(1);
    let by_playbook = match playbook {
        Sample::Total(total) => total,
        Sample::PerSource { least, .. } => least * groups_count,
    };
    match &suite.sample {
        Sample::Total(total) => whole(SampleUnit::Queries, drawn.len(), *total, by_playbook),
        Sample::PerSource { least, .. } => {
            let short = groups.into_keys().filter_map(|source| {
                let count = asked.get(&source).copied().unwrap_or(0);
                let (source, drawn) = (source.map(str::to_owned), count);
                (count < *least).then_some(SampleShortage { source, drawn, required: *least })
            });
            let required = least * groups_count;
            let sizes = (drawn.len(), required, by_playbook);
            SampleSize::new(SampleUnit::Queries, sizes, short.collect())
        }
    }
}

fn whole(unit: SampleUnit, drawn: usize, required: usize, playbook: usize) -> SampleSize {
    let short = (drawn < required).then_some(SampleShortage { source: None, drawn, required });
    SampleSize::new(unit, (drawn, required, playbook), short.into_iter().collect())
}

/// Queries by source: the sources that the sample names, or every source. If no query has a source,
/// queries without a source form one group.
fn sources<'q>(
    queries: &[&'q CanonicalQuery],
    sample: &'q Sample,
) -> BTreeMap<Option<&'q str>, usize> {
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    if let Sample::PerSource { sources, .. } = sample {
        counts.extend(sources.iter().map(|source| (Some(source.as_str()), 0)));
    }
    let is_open = counts.is_empty();
    for query in queries {
        let source = query.source.as_deref();
        if is_open || counts.contains_key(&source) {
            *counts.entry(source).or_default() += 1;
        }
    }
    if counts.keys().any(Option::is_some) {
        counts.remove(&None);
    } else {
        counts.entry(None).or_default();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::query::Difficulty;
    use super::super::sample::{draw, tests::query};
    use super::*;

    fn suite(kind: SuiteKind) -> Suite {
        Suite::new("s", kind, vec!["@a".to_owned()])
    }

    fn queries(counts: &[(&str, usize)]) -> Vec<CanonicalQuery> {
        let of = |(source, count): &(&str, usize)| {
            let source = (*source).to_owned();
            (0..*count).map(move |at| query(&format!("{source}{at}"), &source, Difficulty::Easy))
        };
        counts.iter().flat_map(of).collect()
    }

    fn size(suite: &Suite, counts: &[(&str, usize)]) -> SampleSize {
        let all = queries(counts);
        let fit: Vec<&CanonicalQuery> = all.iter().collect();
        sample_size(suite, &fit, &draw(&fit, &suite.sample, 1), 0)
    }

    #[track_caller]
    fn check(suite: &Suite, counts: &[(&str, usize)], expected: (usize, usize, usize)) {
        let found = size(suite, counts);
        assert_eq!((found.required, found.playbook, found.missing()), expected, "{counts:?}");
        assert_eq!(found.missing() == 0, found.short.is_empty());
    }

    /// The fewest queries of each kind, as the playbook's table has them.
    #[test]
    fn the_playbooks_samples_are_required() {
        check(&suite(SuiteKind::Smoke), &[("a", 5), ("b", 12)], (10, 10, 0));
        check(&suite(SuiteKind::Smoke), &[("a", 5), ("b", 4)], (10, 10, 1));
        check(&suite(SuiteKind::Regression), &[("a", 25)], (25, 25, 0));
        check(&suite(SuiteKind::Regression), &[("a", 1)], (25, 25, 24));
        check(&suite(SuiteKind::WeeklyBenchmark), &[("a", 99)], (100, 100, 1));
        check(&suite(SuiteKind::SourceSpecific), &[("a", 15), ("b", 14)], (30, 30, 1));
        check(&suite(SuiteKind::GraphQa), &[("a", 19)], (20, 20, 1));
    }

    #[test]
    fn queries_about_no_source() {
        check(&suite(SuiteKind::Smoke), &[("", 5)], (5, 5, 0));
        check(&suite(SuiteKind::Smoke), &[("", 1)], (5, 5, 4));
        check(&suite(SuiteKind::Smoke), &[], (5, 5, 5));
        check(&suite(SuiteKind::Smoke), &[("a", 5), ("", 1)], (5, 5, 0));
    }

    #[test]
    fn a_source_that_is_named_is_required() {
        let sources = vec!["a".to_owned(), "b".to_owned()];
        let sample = Sample::PerSource { count: 15, least: 15, sources };
        let named = Suite { sample, ..suite(SuiteKind::SourceSpecific) };
        let found = size(&named, &[("a", 20), ("c", 20)]);
        let short = SampleShortage { source: Some("b".to_owned()), drawn: 0, required: 15 };
        assert_eq!((found.short, found.drawn), (vec![short], 15));
    }

    #[test]
    fn a_suite_may_ask_for_less_than_the_playbook() {
        let few = |kind, sample| Suite { sample, ..suite(kind) };
        let each = |count| Sample::PerSource { count, least: count, sources: Vec::new() };
        let check = |suite: Suite, counts: &[(&str, usize)], is_below: bool| {
            let found = size(&suite, counts);
            assert_eq!((found.missing(), found.smaller_than_playbook), (0, is_below), "{found:?}");
        };
        check(few(SuiteKind::Regression, Sample::Total(6)), &[("a", 6)], true);
        check(few(SuiteKind::Regression, each(15)), &[("a", 15), ("b", 15)], false);
        check(few(SuiteKind::Smoke, each(2)), &[("a", 2)], true);
        check(few(SuiteKind::Smoke, Sample::Total(9)), &[("a", 5), ("b", 5)], true);
        check(few(SuiteKind::Smoke, Sample::Total(10)), &[("a", 5), ("b", 5)], false);
    }

    #[test]
    fn calibration_counts_pairs() {
        let calibration = suite(SuiteKind::RerankCalibration);
        let found = sample_size(&calibration, &[], &[], 29);
        assert_eq!((found.unit, found.required, found.missing()), (SampleUnit::Pairs, 30, 1));
        let many = Suite { sample: Sample::Total(500), ..calibration };
        assert_eq!(sample_size(&many, &[], &[], 50).missing(), 0, "no more than 50 are scored");
    }
}
