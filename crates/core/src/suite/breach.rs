//! Breaches as people are told of them: one for every cause.
//!
//! A measure over all cases and the same measure of a mode are one breach where both miss the same cases.
//! What only unanswered queries put past its alert is no breach of a measure but an outage of the target.

use std::collections::BTreeMap;

use super::measure::Unit;
use super::run::{RunMeasure, SuiteRun};
use crate::target::TargetErrorKind;

/// A breach with the segments that show it too.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteBreach<'a> {
    /// The measure: over all cases, unless only a mode is past its alert.
    pub measure: &'a RunMeasure,
    /// The same measure of segments with the same missed cases.
    pub also: Vec<&'a RunMeasure>,
}

impl SuiteBreach<'_> {
    /// The segments that show it, the first one first.
    pub fn segments(&self) -> Vec<&str> {
        let also = self.also.iter().map(|one| one.segment.as_str());
        std::iter::once(self.measure.segment.as_str()).chain(also).collect()
    }
}

/// A target that did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    pub target: String,
    /// Queries without an answer.
    pub unanswered: usize,
    /// Queries that were asked.
    pub asked: usize,
    /// Why, with how many queries.
    pub errors: BTreeMap<TargetErrorKind, usize>,
    /// Whether a measure that pages is past its alert because of it.
    pub pages: bool,
}

impl Outage {
    /// In a sentence.
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

/// The breaches of some measures, each cause once.
pub(super) fn breaches(run: &SuiteRun) -> Vec<SuiteBreach<'_>> {
    let mut found: Vec<SuiteBreach<'_>> = Vec::new();
    // Rows over all cases come first, so that a mode joins them.
    for measure in run.breaches().filter(|one| !one.outage) {
        match found.iter_mut().find(|one| is_same(one.measure, measure)) {
            Some(known) => known.also.push(measure),
            None => found.push(SuiteBreach { measure, also: Vec::new() }),
        }
    }
    found
}

/// Whether a measure over all cases and that of a mode are past their alerts by the same cases. The cases of
/// a mode are among all cases, so equal counts are the same cases.
fn is_same(all: &RunMeasure, mode: &RunMeasure) -> bool {
    let misses = |one: &RunMeasure| one.hits.map(|hits| one.n.saturating_sub(hits));
    let is_pair = all.segment == "all" && all.measure == mode.measure;
    is_pair
        && match all.measure.unit() {
            Unit::Share => misses(all).is_some() && misses(all) == misses(mode),
            Unit::Millis | Unit::Score => all.n == mode.n,
        }
}

/// The outage that put measures past their alerts, if one did.
pub(super) fn outage(run: &SuiteRun) -> Option<Outage> {
    let mut lost = run.breaches().filter(|one| one.outage).peekable();
    lost.peek()?;
    Some(Outage {
        target: run.target.clone(),
        unanswered: run.errors.values().sum(),
        asked: run.asked,
        errors: run.errors.clone(),
        pages: lost.any(|one| one.pages),
    })
}
