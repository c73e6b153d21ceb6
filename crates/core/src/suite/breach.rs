//! Groups breaches by cause, as alerts report them.
//!
//! A breach over all cases and the same breach of a mode are one cause if both miss the same cases.
//! A measure that breaches only because of unanswered queries is reported as an outage of the
//! target.

use std::collections::BTreeMap;

use super::measure::MeasureUnit;
use super::run::{RunMeasure, SuiteRun};
use crate::target::TargetErrorKind;

/// A breach and the segments that share its cause.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteBreach<'a> {
    /// The measure over all cases, unless only a mode breaches.
    pub measure: &'a RunMeasure,
    /// The same measure in segments that miss the same cases.
    pub also: Vec<&'a RunMeasure>,
}

impl SuiteBreach<'_> {
    /// The segments that breach, starting with that of `measure`.
    pub fn segments(&self) -> Vec<&str> {
        let also = self.also.iter().map(|one| one.segment.as_str());
        std::iter::once(self.measure.segment.as_str()).chain(also).collect()
    }
}

/// An outage: queries that the target did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetOutage {
    pub target: String,
    pub unanswered: usize,
    pub asked: usize,
    /// Number of queries by error kind.
    pub errors: BTreeMap<TargetErrorKind, usize>,
    /// Whether a paging measure breaches because of the outage.
    pub pages: bool,
}

impl TargetOutage {
    /// Describes the outage in one sentence.
    pub fn in_words(&self) -> String {
        let is_network = |kind: &TargetErrorKind| {
            use TargetErrorKind::{RateLimited, Timeout, Unavailable, Unreachable};
            matches!(kind, Timeout | Unreachable | Unavailable | RateLimited)
        };
        let word = match self.errors.keys().all(is_network) {
            true => "unreachable",
            false => "without usable answers",
        };
        let kinds: Vec<String> =
            self.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        let kinds = match kinds.is_empty() {
            true => String::new(),
            false => format!(" ({})", kinds.join(", ")),
        };
        let Self { target, unanswered, asked, .. } = self;
        match unanswered == asked {
            true => {
                format!("target {target} is {word}: no answer to any of {asked} queries{kinds}")
            }
            false => {
                format!("target {target} was {word} for {unanswered} of {asked} queries{kinds}")
            }
        }
    }
}

/// The breaches of a run, grouped by cause.
pub(super) fn breaches(run: &SuiteRun) -> Vec<SuiteBreach<'_>> {
    let mut found: Vec<SuiteBreach<'_>> = Vec::new();
    // Rows over all cases come first, so that rows of a mode can join them.
    for measure in run.breaches().filter(|one| !one.outage) {
        match found.iter_mut().find(|one| is_same(one.measure, measure)) {
            Some(known) => known.also.push(measure),
            None => found.push(SuiteBreach { measure, also: Vec::new() }),
        }
    }
    found
}

/// Whether two breaches, over all cases and of a mode, miss the same cases. The cases of a mode are
/// a subset of all cases, so equal counts mean equal cases.
fn is_same(all: &RunMeasure, mode: &RunMeasure) -> bool {
    let misses = |one: &RunMeasure| one.hits.map(|hits| one.n.saturating_sub(hits));
    let is_pair = all.segment == "all" && all.measure == mode.measure;
    is_pair
        && match all.measure.unit() {
            MeasureUnit::Share => misses(all).is_some() && misses(all) == misses(mode),
            MeasureUnit::Millis | MeasureUnit::Score => all.n == mode.n,
        }
}

/// The outage that made measures breach, if there is one.
pub(super) fn outage(run: &SuiteRun) -> Option<TargetOutage> {
    let mut lost = run.breaches().filter(|one| one.outage).peekable();
    lost.peek()?;
    Some(TargetOutage {
        target: run.target.clone(),
        unanswered: run.errors.values().sum(),
        asked: run.asked,
        errors: run.errors.clone(),
        pages: lost.any(|one| one.pages),
    })
}
