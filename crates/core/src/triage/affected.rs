//! Which cases of a run are looked at.

use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::suite::case::Flag;
use crate::suite::measure::Measure;
use crate::suite::run::{RunCase, RunMeasure};
use crate::suite::threshold::Status;

/// Places that the page-worthy measure counts.
const FIRST: usize = 5;

/// A case that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Affected<'a> {
    pub case: &'a RunCase,
    /// Whether what must be found was missed: it is not in the answer, or too far down in it.
    pub is_missed: bool,
    /// How long it may take, where that was passed.
    pub limit_ms: Option<f64>,
}

/// The cases that somebody should look at: those that fail, those found too far down where that matters,
/// those that took too long where the run did, and those whose stages did not do their work where the run
/// did not pass.
pub fn affected(run: &SuiteRun) -> Vec<Affected<'_>> {
    let is_looked_at = |case: &&RunCase| {
        let is_degraded = !case.fallbacks.is_empty() && run.verdict != Verdict::Pass;
        case.failing || is_late(run, case) || is_degraded || passed_limit(run, case).is_some()
    };
    let of = |case| Affected {
        case,
        is_missed: case.flags.contains(&Flag::MissingResult) || is_late(run, case),
        limit_ms: passed_limit(run, case),
    };
    run.cases().iter().filter(is_looked_at).map(of).collect()
}

/// Whether a case was found behind the fifth place, in a run that had too many of these.
pub fn is_late(run: &SuiteRun, case: &RunCase) -> bool {
    let is_off = |one: &RunMeasure| {
        one.measure == Measure::RecallAt5
            && one.segment == "all"
            && matches!(one.status, Status::Warn | Status::Alert)
    };
    case.rank.is_some_and(|rank| rank > FIRST) && run.measures.iter().any(is_off)
}

/// How long a case may take, if the run took too long and so did the case.
fn passed_limit(run: &SuiteRun, case: &RunCase) -> Option<f64> {
    let mode = case.retrieval_mode.map(|mode| format!("mode:{mode}"));
    let is_own = |one: &&RunMeasure| one.segment == "all" || mode.as_deref() == Some(&*one.segment);
    let past = run.breaches().filter(|one| one.measure == Measure::LatencyP95).filter(is_own);
    let limit = past.filter_map(limit_of).reduce(f64::min)?;
    case.latency_ms.get("total").is_some_and(|took| *took > limit).then_some(limit)
}

/// Where the alert of a time begins, as it is printed.
pub fn limit_of(measure: &RunMeasure) -> Option<f64> {
    measure.alert.as_deref()?.strip_suffix(" ms")?.parse().ok()
}
