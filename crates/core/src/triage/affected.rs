//! Selects the cases of a run for triage.

use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::suite::case::CaseDefect;
use crate::suite::measure::SuiteMeasure;
use crate::suite::run::{RunCase, RunMeasure};
use crate::suite::threshold::MeasureStatus;

/// Ranks that the paging measure counts.
const FIRST: usize = 5;

/// A case selected for triage.
#[derive(Debug, Clone, Copy)]
pub struct AffectedCase<'a> {
    pub case: &'a RunCase,
    /// Whether an expected result is missing from the answer or ranked too low.
    pub is_missed: bool,
    /// The latency limit, if the case exceeded it.
    pub limit_ms: Option<f64>,
}

/// Selects cases for triage: failing cases, cases found too low if that made the run fail, slow
/// cases if the run was too slow, and cases with fallbacks if the run did not pass.
pub fn affected(run: &SuiteRun) -> Vec<AffectedCase<'_>> {
    let is_selected = |case: &&RunCase| {
        let is_degraded = !case.fallbacks.is_empty() && run.verdict != Verdict::Pass;
        case.failing
            || is_below_rank_five(run, case)
            || is_degraded
            || passed_limit(run, case).is_some()
    };
    let of = |case| AffectedCase {
        case,
        is_missed: case.flags.contains(&CaseDefect::MissingResult) || is_below_rank_five(run, case),
        limit_ms: passed_limit(run, case),
    };
    run.cases().iter().filter(is_selected).map(of).collect()
}

/// Whether a case was found below rank five in a run with too many such cases.
pub fn is_below_rank_five(run: &SuiteRun, case: &RunCase) -> bool {
    let is_off = |one: &RunMeasure| {
        one.measure == SuiteMeasure::RecallAt5
            && one.segment == "all"
            && matches!(one.status, MeasureStatus::Warn | MeasureStatus::Alert)
    };
    case.rank.is_some_and(|rank| rank > FIRST) && run.measures.iter().any(is_off)
}

/// The latency limit that the run and the case exceeded.
fn passed_limit(run: &SuiteRun, case: &RunCase) -> Option<f64> {
    let mode = case.retrieval_mode.map(|mode| format!("mode:{mode}"));
    let is_own = |one: &&RunMeasure| one.segment == "all" || mode.as_deref() == Some(&*one.segment);
    let past = run.breaches().filter(|one| one.measure == SuiteMeasure::LatencyP95).filter(is_own);
    let limit = past.filter_map(limit_of).reduce(f64::min)?;
    case.latency_ms.get("total").is_some_and(|took| *took > limit).then_some(limit)
}

/// The alert threshold of a latency measure, parsed from its printed form.
pub fn limit_of(measure: &RunMeasure) -> Option<f64> {
    measure.alert.as_deref()?.strip_suffix(" ms")?.parse().ok()
}
