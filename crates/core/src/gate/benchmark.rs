//! The benchmark gate: compares a benchmark's result with floors.

use crate::format::benchmark::{
    BENCHMARK_VERSION, BenchmarkResult, FieldDifference, Integrity, integrity, result_differences,
};

use super::check::{rows_needed, too_few_rows};
use super::{CheckStatus, Verdict};

/// Fields that are named one by one.
const SHOWN: usize = 5;

/// The least that a measure's mean may be.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureFloor {
    /// The measure, as results name it.
    pub measure: String,
    pub minimum: f64,
}

/// A floor with the observed mean.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorCheck {
    pub floor: MeasureFloor,
    /// The mean; none when the result has no such measure.
    pub observed: Option<f64>,
    /// Number of questions behind the mean.
    pub n: usize,
    /// Status of the check.
    pub status: CheckStatus,
}

impl FloorCheck {
    /// The columns of [`Self::cells`].
    pub const HEADS: [&'static str; 5] = ["measure", "mean", "floor", "n", "status"];

    /// The check as a row of a table.
    pub fn cells(&self) -> [String; 5] {
        let Self { floor, observed, n, status } = self;
        let observed = observed.map_or("-".to_owned(), |mean| format!("{mean:.4}"));
        let minimum = floor.minimum.to_string();
        [floor.measure.clone(), observed, minimum, n.to_string(), status.to_string()]
    }
}

/// The limits of a gate on a result file; every report of one states them.
pub const ONLY_REPRODUCING: &str = "the figures are those of the file's rows; its hash has no key, so only \
                                    `gbrain eval reproduce` shows that the rows are right";

/// The outcome of a gate on a result file.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkGate {
    pub verdict: Verdict,
    pub checks: Vec<FloorCheck>,
    /// Why the gate can't pass, beside the floors.
    pub reasons: Vec<String>,
}

/// Gates a result. Everything that rows and label decide is computed again, and a file that states
/// something else, was edited or has no hash is not believed. Whether the rows are those of the dataset
/// is for `eval reproduce` to show.
/// Failed questions, missing stages, no question, no floor and an unknown measure are never a pass.
pub fn benchmark(result: &BenchmarkResult, floors: &[MeasureFloor]) -> BenchmarkGate {
    let again = crate::benchmark::summarise(&result.outcomes());
    let mut reasons = Vec::new();
    if again.errors > 0 {
        reasons.push(format!("{} questions failed", again.errors));
    }
    if again.degraded > 0 {
        reasons.push(format!("{} questions were asked with a stage missing", again.degraded));
    }
    if again.all.n == 0 {
        reasons.push("no question counts".to_owned());
    }
    if floors.is_empty() {
        reasons.push("no floor was given".to_owned());
    }
    if result.schema_version != BENCHMARK_VERSION {
        reasons.push(format!(
            "its schema_version is {}, and this program reads {BENCHMARK_VERSION}: write it again with \
             --result",
            result.schema_version
        ));
    }
    match integrity(result) {
        Integrity::Intact => (),
        Integrity::Edited => reasons.push(
            "its result_hash is not that of its content: the file was edited after it was written"
                .to_owned(),
        ),
        Integrity::NoHash => reasons.push(
            "it has no result_hash, so edits can't be detected: write it again with --result"
                .to_owned(),
        ),
    }
    let differences = result_differences(result);
    for FieldDifference { field, stated, computed } in differences.iter().take(SHOWN) {
        reasons.push(format!("{field} is {stated}, and the rows and label give {computed}"));
    }
    if differences.len() > SHOWN {
        reasons.push(format!("and {} more fields", differences.len() - SHOWN));
    }
    let checks: Vec<FloorCheck> = floors
        .iter()
        .map(|floor| {
            let observed = again.all.means.get(&floor.measure).map(|mean| mean.mean);
            let n = again.all.n;
            let needed = rows_needed(floor.minimum, n).filter(|_| observed.is_some());
            reasons.extend(
                needed.map(|needed| too_few_rows(&floor.measure, floor.minimum, n, needed)),
            );
            let status = match observed {
                None => CheckStatus::NotMeasured,
                Some(_) if needed.is_some() => CheckStatus::TooFewRows,
                Some(mean) if mean >= floor.minimum => CheckStatus::Pass,
                Some(_) => CheckStatus::Fail,
            };
            FloorCheck { floor: floor.clone(), observed, n, status }
        })
        .collect();
    let has = |status: CheckStatus| checks.iter().any(|check| check.status == status);
    let verdict = if !reasons.is_empty() || has(CheckStatus::NotMeasured) {
        Verdict::Inconclusive
    } else if has(CheckStatus::Fail) {
        Verdict::Fail
    } else {
        Verdict::Pass
    };
    BenchmarkGate { verdict, checks, reasons }
}
