//! JSON output of a comparison.

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::{
    ALPHA, Comparison, Delta, EvalResultKind, MeasureColumn, MeasureRole, QueryMove,
    ResultComparison, SignificanceTest,
};
use crate::gate::Verdict;
use crate::report::deltas::result;
use crate::stats::Interval;

/// The version of [`CompareReport`].
pub(crate) const COMPARE_VERSION: u32 = 1;

/// The output of `gbrain eval compare --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompareReport<'a> {
    schema_version: u32,
    kind: EvalResultKind,
    reference: &'a str,
    alpha: f64,
    /// The deciding measures; Holm's correction applies to these.
    primary: &'a [String],
    /// `fail` if a deciding measure fell, `inconclusive` if the queries cannot show it, else
    /// `pass`.
    verdict: Verdict,
    /// Reasons for an inconclusive verdict.
    reasons: Vec<String>,
    has_regression: bool,
    is_whole: bool,
    comparisons: Vec<WireAgainst<'a>>,
    notes: Vec<WireNote<'a>>,
}

/// A note about one result.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompareNote")]
struct WireNote<'a> {
    result: &'a str,
    note: &'a str,
}

/// One result against the reference.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
struct WireAgainst<'a> {
    result: &'a str,
    queries_shared: usize,
    queries_only_in_reference: &'a [String],
    queries_only_in_result: &'a [String],
    queries_unanswered: &'a [String],
    measures_not_shared: &'a [String],
    measures: Vec<WireDelta<'a>>,
    regressions: Vec<WireMove<'a>>,
    improvements: Vec<WireMove<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forced_although: Vec<String>,
}

/// A shared measure, with the significance of its difference.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MeasureDelta")]
struct WireDelta<'a> {
    measure: &'a str,
    role: MeasureRole,
    decides: bool,
    n: usize,
    reference_mean: Option<f64>,
    mean: Option<f64>,
    delta: Option<f64>,
    interval: Option<Interval>,
    test: SignificanceTest,
    p: Option<f64>,
    p_holm: Option<f64>,
    smallest_detectable_drop: Option<f64>,
    better: usize,
    worse: usize,
    same: usize,
    is_regression: bool,
    is_improvement: bool,
    /// The result in a few words: `WORSE`, `better`, `same`, `not significant`, `not tested`.
    outcome: &'static str,
}

/// A query whose value changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MovedQuery")]
struct WireMove<'a> {
    key: &'a str,
    query: &'a str,
    measure: &'a str,
    reference_value: f64,
    value: f64,
}

impl<'a> CompareReport<'a> {
    pub fn new(comparison: &'a Comparison) -> Self {
        let Comparison { reference, kind, notes, primary, against } = comparison;
        Self {
            schema_version: COMPARE_VERSION,
            kind: *kind,
            reference,
            alpha: ALPHA,
            primary,
            verdict: comparison.verdict(),
            reasons: comparison.doubts(),
            has_regression: comparison.has_regression(),
            is_whole: comparison.is_whole(),
            comparisons: against.iter().map(WireAgainst::new).collect(),
            notes: notes.iter().map(|(result, note)| WireNote { result, note }).collect(),
        }
    }
}

impl<'a> WireAgainst<'a> {
    fn new(against: &'a ResultComparison) -> Self {
        let ResultComparison {
            name,
            deltas,
            shared,
            only_reference,
            only_this,
            unanswered,
            unshared_measures,
            moves: _,
            forced,
        } = against;
        Self {
            result: name,
            queries_shared: *shared,
            queries_only_in_reference: only_reference,
            queries_only_in_result: only_this,
            queries_unanswered: unanswered,
            measures_not_shared: unshared_measures,
            measures: deltas.iter().map(WireDelta::new).collect(),
            regressions: against.drops().map(WireMove::new).collect(),
            improvements: against.gains().map(WireMove::new).collect(),
            forced_although: forced.iter().map(ToString::to_string).collect(),
        }
    }
}

impl<'a> WireDelta<'a> {
    fn new(one: &'a Delta) -> Self {
        let Delta {
            column: MeasureColumn { measure, role },
            decides,
            n,
            missing: _,
            before,
            after,
            delta,
            interval,
            test,
            p,
            p_adjusted,
            smallest_drop,
            better_worse_same: [better, worse, same],
            large_falls: _,
        } = one;
        Self {
            measure,
            role: *role,
            decides: *decides,
            n: *n,
            reference_mean: *before,
            mean: *after,
            delta: *delta,
            interval: *interval,
            test: *test,
            p: *p,
            p_holm: *p_adjusted,
            smallest_detectable_drop: *smallest_drop,
            better: *better,
            worse: *worse,
            same: *same,
            is_regression: one.is_regression(),
            is_improvement: one.is_improvement(),
            outcome: result(one),
        }
    }
}

impl<'a> WireMove<'a> {
    fn new(one: &'a QueryMove) -> Self {
        let QueryMove { key, label, measure, before, after } = one;
        Self { key, query: label, measure, reference_value: *before, value: *after }
    }
}
