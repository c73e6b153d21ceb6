//! The deciding measures and their decision.
//!
//! One primary measure decides, or a family that the caller names; Holm's correction goes over these and
//! the results they are compared in, and over nothing else. Every other measure is shown with its own
//! p-value. A measure that counts judgements ([`is_about_judgements`]) or times never decides.
//!
//! The test is two-sided at [`ALPHA`], so that a fall and a rise are held to one standard and agree
//! with the 95 % interval beside them; a fall alone is tested at half of that. Where a test cannot
//! reach the level with any values, there is no verdict.

use crate::gate::Verdict;
use crate::stats::fewest_changes;

use super::{
    ALPHA, Comparison, Delta, EvalResultKind, IncomparableReason, MeasureColumn, MeasureRole,
    ResultComparison, ResultTable,
};

/// Whether a measure counts what was judged, which says nothing about quality.
pub(crate) fn is_about_judgements(measure: &str) -> bool {
    measure.to_ascii_lowercase().starts_with("judged")
}

/// The measures that decide: those named, or the default. A name that is unknown or never decides is an
/// error; no default is none.
pub(super) fn primary(
    reference: &ResultTable,
    others: &[ResultTable],
    named: &[String],
) -> Result<Vec<String>, IncomparableReason> {
    let has = |one: &ResultTable, name: &str| one.columns.iter().any(|c| c.measure == name);
    let can_decide = |column: &&MeasureColumn| {
        column.role != MeasureRole::Timing
            && !is_about_judgements(&column.measure)
            && others.iter().all(|other| has(other, &column.measure))
    };
    let known: Vec<&str> =
        reference.columns.iter().filter(can_decide).map(|c| c.measure.as_str()).collect();
    let mut found: Vec<String> = Vec::new();
    for name in named {
        let Some(measure) = known.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
            return Err(IncomparableReason::Primary {
                measure: name.clone(),
                known: known.join(" "),
            });
        };
        if !found.iter().any(|one| one == measure) {
            found.push((*measure).to_owned());
        }
    }
    Ok(if named.is_empty() { default_primary(reference.kind, &known) } else { found })
}

/// nDCG@10, or the first nDCG, or the first recall, or the first measure at all; a replay has its overlap,
/// and a gate the main measure of each of its parts. Rows of a benchmark hold anything: there the name
/// must be that of a measure of retrieval.
fn default_primary(kind: EvalResultKind, known: &[&str]) -> Vec<String> {
    let named = |test: &dyn Fn(&str) -> bool| known.iter().copied().find(|name| test(name));
    let starts = |name: &str, start: &str| name.to_ascii_lowercase().starts_with(start);
    let found = match kind {
        EvalResultKind::Gate => {
            let parts = ["jaccard", "recall_at_k"].into_iter();
            return parts.filter(|part| known.contains(part)).map(str::to_owned).collect();
        }
        EvalResultKind::Replay => named(&|name| name == "jaccard"),
        EvalResultKind::Scores | EvalResultKind::Run | EvalResultKind::Benchmark => {
            named(&|name| name == "nDCG@10")
                .or_else(|| named(&|name| starts(name, "ndcg")))
                .or_else(|| named(&|name| starts(name, "recall") || name.starts_with("R@")))
                .or_else(|| known.first().copied().filter(|_| kind != EvalResultKind::Benchmark))
        }
    };
    found.into_iter().map(str::to_owned).collect()
}

/// The level of each test when this many decide: Holm's first step.
pub(super) fn level(tests: usize) -> f64 {
    ALPHA / tests.max(1) as f64
}

impl Delta {
    /// Why this measure leaves the question open; none when it does not decide, or did.
    fn doubt(&self, tests: usize) -> Option<String> {
        let needed = fewest_changes(level(tests));
        let (measure, n, falls) = (&self.column.measure, self.n, self.large_falls);
        if !self.decides || self.is_regression() {
            None
        } else if self.missing > 0 {
            Some(format!("{measure} has no value for {} queries of the reference", self.missing))
        } else if n < needed {
            Some(format!(
                "{measure}: {n} shared queries cannot show a fall at alpha .05{}; at least {needed} \
                 are needed",
                of_tests(tests)
            ))
        } else if falls < needed && self.delta.is_some_and(|delta| delta < 0.0) {
            Some(format!(
                "{measure} fell, but only {falls} of {n} queries fell by much, and at least {needed} \
                 must for the test to decide at alpha .05{}",
                of_tests(tests)
            ))
        } else {
            None
        }
    }
}

fn of_tests(tests: usize) -> String {
    if tests > 1 { format!(" over {tests} tests") } else { String::new() }
}

impl ResultComparison {
    fn doubts(&self, tests: usize) -> Vec<String> {
        let mut doubts: Vec<String> =
            self.deltas.iter().filter_map(|delta| delta.doubt(tests)).collect();
        if !self.deltas.iter().any(|delta| delta.decides) {
            doubts.push("no measure decides: name one with --primary".to_owned());
        }
        let mut missing = |count: usize, what: &str| {
            if count > 0 {
                doubts.push(format!("{count} queries of the reference {what}"));
            }
        };
        missing(self.only_reference.len(), "are missing");
        missing(self.unanswered.len(), "were not answered");
        doubts
    }
}

impl Comparison {
    /// Number of deciding tests, for the correction.
    pub(crate) fn deciding_tests(&self) -> usize {
        self.against.iter().flat_map(|one| &one.deltas).filter(|delta| delta.decides).count()
    }

    /// Fail if a deciding measure fell; inconclusive where one could not have been seen to fall; else pass.
    pub fn verdict(&self) -> Verdict {
        if self.has_regression() {
            Verdict::Fail
        } else if self.doubts().is_empty() {
            Verdict::Pass
        } else {
            Verdict::Inconclusive
        }
    }

    /// Why there may be no verdict, one sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let tests = self.deciding_tests();
        let of = |one: &ResultComparison| {
            let doubts = one.doubts(tests).into_iter();
            let name = one.name.clone();
            doubts.map(move |doubt| format!("{name}: {doubt}")).collect::<Vec<_>>()
        };
        self.against.iter().flat_map(of).collect()
    }
}
