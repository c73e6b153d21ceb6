//! A benchmark's result held against floors.

use crate::format::benchmark::Result as BenchmarkResult;

use super::{Status, Verdict};

/// The least that a measure's mean may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// The measure, as results name it.
    pub measure: String,
    /// The least mean.
    pub least: f64,
}

/// A floor and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorCheck {
    /// The floor.
    pub floor: Floor,
    /// The mean; none when the result has no such measure.
    pub observed: Option<f64>,
    /// How many questions it is over.
    pub n: usize,
    /// How it came out.
    pub status: Status,
}

/// What a gate on a result says.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkGate {
    /// The verdict.
    pub verdict: Verdict,
    /// Every floor.
    pub checks: Vec<FloorCheck>,
    /// Why it can't be green, beside floors.
    pub reasons: Vec<String>,
}

/// Gates a result. Rows are counted again: means that its rows do not give are not believed.
/// Failed questions, missing stages, no question, no floor and an unknown measure are never a pass.
pub fn benchmark(result: &BenchmarkResult, floors: &[Floor]) -> BenchmarkGate {
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
    let is_as_told =
        again.all.means.iter().all(|(name, mean)| {
            result.summary.get(name).is_some_and(|told| close(*told, mean.mean))
        });
    if !is_as_told || result.all.n != again.all.n {
        reasons.push("its means are not those of its rows: the file was edited".to_owned());
    }
    let checks: Vec<FloorCheck> = floors
        .iter()
        .map(|floor| {
            let observed = again.all.means.get(&floor.measure).map(|mean| mean.mean);
            let status = match observed {
                None => Status::NotMeasured,
                Some(mean) if mean >= floor.least => Status::Pass,
                Some(_) => Status::Fail,
            };
            FloorCheck { floor: floor.clone(), observed, n: again.all.n, status }
        })
        .collect();
    let has = |status: Status| checks.iter().any(|check| check.status == status);
    let verdict = if !reasons.is_empty() || has(Status::NotMeasured) {
        Verdict::Inconclusive
    } else if has(Status::Fail) {
        Verdict::Fail
    } else {
        Verdict::Pass
    };
    BenchmarkGate { verdict, checks, reasons }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}
