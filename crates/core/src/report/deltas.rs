//! Formats the numbers of a comparison, for all formats.

use crate::compare::{Comparison, Delta, MeasureRole, QueryMove, ResultComparison};
use crate::gate::Verdict;
use crate::stats::Interval;

use super::Queries;
use super::number::{NONE, count, ms};
use crate::baseline::query_hash;

/// Column heads for [`cells`].
pub(super) const HEADS: [&str; 9] =
    ["MEASURE", "REFERENCE", "THIS", "DELTA", "95% CI", "p", "WORSE/BETTER", "RESULT", "n"];

/// The cells of a measure.
pub(super) fn cells(one: &Delta) -> [String; 9] {
    let role = one.column.role;
    let value = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| number(role, value));
    let [better, worse, _] = one.better_worse_same;
    [
        one.column.measure.clone(),
        value(one.before),
        value(one.after),
        one.delta.map_or(NONE.to_owned(), |delta| signed(role, delta)),
        one.interval.map_or(NONE.to_owned(), |interval| range(role, interval)),
        one.p_adjusted.or(one.p).map_or(NONE.to_owned(), p),
        format!("{worse}/{better}"),
        result(one).to_owned(),
        one.n.to_string(),
    ]
}

/// The result of a measure, in one word.
pub(super) fn result(one: &Delta) -> &'static str {
    if one.is_regression() {
        "WORSE"
    } else if one.is_improvement() {
        "better"
    } else if one.p.is_none() {
        "not tested"
    } else if one.better_worse_same[..2] == [0, 0] {
        "same"
    } else if one.fell_without_deciding() {
        "fell, does not decide"
    } else if !one.decides {
        "does not decide"
    } else {
        "not significant"
    }
}

/// A value of a measure.
pub(super) fn number(role: MeasureRole, value: f64) -> String {
    match role {
        MeasureRole::Quality => format!("{value:.3}"),
        MeasureRole::Binary => format!("{:.1}%", value * 100.0),
        MeasureRole::Timing => ms(value),
    }
}

fn signed(role: MeasureRole, delta: f64) -> String {
    let sign = if delta < 0.0 { '-' } else { '+' };
    let size = number(role, delta.abs());
    // Differences of shares are in percentage points.
    format!("{sign}{}", if role == MeasureRole::Binary { size.replace('%', "pp") } else { size })
}

fn range(role: MeasureRole, Interval { low, high }: Interval) -> String {
    format!("{} to {}", signed(role, low), signed(role, high))
}

fn p(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// The overall result in one line.
pub(super) fn headline(comparison: &Comparison) -> (&'static str, String) {
    let tested = |one: &ResultComparison| one.deltas.iter().any(|delta| delta.p.is_some());
    let worse: Vec<String> = comparison.against.iter().flat_map(regressions).collect();
    if !worse.is_empty() {
        return ("WORSE", worse.join("; "));
    }
    if !comparison.against.iter().any(tested) {
        return ("NOTHING TESTED", "no measure could be tested".to_owned());
    }
    if comparison.verdict() == Verdict::Inconclusive {
        return ("NO VERDICT", comparison.doubts().join("; "));
    }
    let better =
        comparison.against.iter().flat_map(|one| &one.deltas).filter(|d| d.is_improvement());
    let fell: usize = comparison.against.iter().map(|one| one.drops().count()).sum();
    let rose: usize = comparison.against.iter().map(|one| one.gains().count()).sum();
    match better.count() {
        0 if fell + rose == 0 => ("SAME", "no shared query moved".to_owned()),
        0 => {
            let why = format!(
                "no measure changed significantly; {} fell, {rose} rose",
                count(fell, "query")
            );
            ("NOT SIGNIFICANT", why)
        }
        n => ("BETTER", format!("{} better, none worse", count(n, "measure"))),
    }
}

fn regressions(one: &ResultComparison) -> Vec<String> {
    let describe = |delta: &&Delta| {
        let [measure, before, after, ..] = cells(delta);
        format!("{measure} {before} to {after}")
    };
    one.deltas.iter().filter(|delta| delta.is_regression()).map(|delta| describe(&delta)).collect()
}

/// The deciding measures and their test.
pub(super) fn decided_by(comparison: &Comparison) -> String {
    if comparison.primary.is_empty() {
        return "no measure decides".to_owned();
    }
    let holm = match comparison.deciding_tests() {
        0 | 1 => String::new(),
        tests => format!(", Holm's correction over {tests} tests"),
    };
    let names = comparison.primary.join(", ");
    format!("{names} (two-sided paired test, alpha .05{holm}); other p-values are not corrected")
}

/// Measures that fell significantly but do not decide.
pub(super) fn unheeded(one: &ResultComparison) -> String {
    let fell = one.deltas.iter().filter(|delta| delta.fell_without_deciding());
    fell.map(|delta| delta.column.measure.as_str()).collect::<Vec<_>>().join(", ")
}

/// The smallest detectable drops, in one line.
pub(super) fn smallest(one: &ResultComparison) -> String {
    let describe = |delta: &Delta| {
        let drop = match delta.smallest_drop {
            Some(drop) => signed(delta.column.role, -drop),
            None => "cannot tell".to_owned(),
        };
        format!("{} {drop}", delta.column.measure)
    };
    let deciding = one.deltas.iter().filter(|delta| delta.decides);
    deciding.map(describe).collect::<Vec<_>>().join(", ")
}

/// Explains [`smallest`]: the power, and the assumption about how queries fail.
pub(super) const SMALLEST: &str =
    "Smallest drop that the test finds with a power of .8, if queries lose their whole value";

/// The name of a query: its text or its hash.
pub(super) fn name(one: &QueryMove, queries: Queries) -> String {
    match queries {
        Queries::Shown => one.label.clone(),
        Queries::Hashed => query_hash(&one.label),
    }
}

/// The old and the new value.
pub(super) fn became(one: &QueryMove) -> String {
    format!("{:.3} to {:.3}", one.before, one.after)
}
