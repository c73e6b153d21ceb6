//! Groups the failing cases of a run by class and adds the findings of the run itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CaseEvidence, FailureCause, MissingPage, Mitigation, MitigationContext, classify, mitigation,
};
use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::suite::measure::SuiteMeasure;
use crate::suite::report::InconclusiveReason;
use crate::suite::run::RunMeasure;

/// A run to triage.
#[derive(Debug, Clone, PartialEq)]
pub struct TriageSubject {
    pub run: i64,
    /// The stored report of the run.
    pub body: SuiteRun,
    /// The alert that was triaged.
    pub alert: Option<String>,
    /// Notes on how the run was chosen.
    pub notes: Vec<String>,
}

/// A failing case with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct ExaminedCase {
    pub id: String,
    /// The expected page that was not found, if known.
    pub lost: Option<MissingPage>,
    pub evidence: CaseEvidence,
}

/// A failed case with its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriagedCase")]
pub struct CaseFinding {
    pub query_id: String,
    /// The query text, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Why its class was chosen.
    pub because: Vec<String>,
    pub evidence: CaseEvidence,
}

/// Cases that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriageFinding")]
pub struct FailureCauseFinding {
    pub class: FailureCause,
    /// Reasons that apply to the run as a whole.
    pub because: Vec<String>,
    #[serde(flatten)]
    pub mitigation: Mitigation,
    // In the order of the run.
    pub cases: Vec<CaseFinding>,
}

/// The triage of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Triage {
    /// The class of most cases; none if nothing failed.
    pub class: Option<FailureCause>,
    /// Ordered by number of cases, largest first.
    pub findings: Vec<FailureCauseFinding>,
    /// Pass if nothing failed, inconclusive if nothing can be classified.
    pub verdict: Verdict,
}

/// The cases of one class, before its mitigation is chosen.
#[derive(Default)]
struct Pile {
    because: Vec<String>,
    cases: Vec<CaseFinding>,
    lost: Vec<MissingPage>,
}

/// Groups cases by class and adds the findings of the run.
pub fn triage(run: &SuiteRun, cases: Vec<ExaminedCase>, remedy: &MitigationContext<'_>) -> Triage {
    let mut piles: BTreeMap<FailureCause, Pile> = BTreeMap::new();
    for ExaminedCase { id, lost, evidence } in cases {
        let found = classify(&evidence);
        let pile = piles.entry(found.class).or_default();
        let because = found.because;
        pile.cases.push(CaseFinding { query_id: id, query: None, because, evidence });
        pile.lost.extend(lost);
    }
    for (class, why) in of_run(run) {
        piles.entry(class).or_default().because.push(why);
    }
    if piles.is_empty() && run.verdict != Verdict::Pass {
        let why = "the run did not pass, and the stored data does not show why";
        piles.entry(FailureCause::Unknown).or_default().because.push(why.to_owned());
    }
    let finding = |(class, Pile { because, cases, lost }): (FailureCause, Pile)| {
        let remedy =
            MitigationContext { lost: &lost, reasons: &run.inconclusive_reasons, ..*remedy };
        FailureCauseFinding { class, because, cases, mitigation: mitigation(class, &remedy) }
    };
    let mut findings: Vec<FailureCauseFinding> = piles.into_iter().map(finding).collect();
    findings.sort_by_key(|one| (std::cmp::Reverse(one.cases.len()), one.class));
    let is_known = findings.iter().any(|one| one.class != FailureCause::Unknown);
    let verdict = match (findings.is_empty(), run.verdict) {
        (true, _) => Verdict::Pass,
        (false, Verdict::Inconclusive) if !is_known => Verdict::Inconclusive,
        (false, _) => Verdict::Fail,
    };
    Triage { class: findings.first().map(|one| one.class), findings, verdict }
}

/// The findings of a run besides its cases.
fn of_run(run: &SuiteRun) -> Vec<(FailureCause, String)> {
    let slow = run.breaches().filter(|one| one.measure == SuiteMeasure::LatencyP95).map(|one| {
        let why = format!(
            "p95 of {} is {:.1} ms, above its alert threshold {}{}",
            one.segment,
            one.value.unwrap_or(f64::NAN),
            one.alert.as_deref().unwrap_or_default(),
            stages(run, &one.segment)
        );
        (FailureCause::Infrastructure, why)
    });
    let fallen =
        run.breaches().filter(|one| one.measure == SuiteMeasure::RerankRelevance).map(|one| {
            let (value, baseline) =
                (one.value.unwrap_or(f64::NAN), one.baseline.unwrap_or(f64::NAN));
            (
                FailureCause::Threshold,
                format!("borderline pairs score {value:.3} (calibrated at {baseline:.3})"),
            )
        });
    let doubts = run.inconclusive_reasons.iter().filter_map(|reason| of_reason(*reason));
    let falls = run.recalibrate.iter().map(|fall| {
        (
            FailureCause::Threshold,
            format!("{} fell for several weeks in a row: recalibrate the reranker", fall.measure),
        )
    });
    slow.chain(fallen).chain(doubts).chain(falls).collect()
}

/// Latency by stage of a segment, slowest first.
fn stages(run: &SuiteRun, segment: &str) -> String {
    let names = [
        (SuiteMeasure::DenseP95, "dense"),
        (SuiteMeasure::RerankP95, "rerank"),
        (SuiteMeasure::HydrationP95, "hydration"),
    ];
    let of = |(measure, name): (SuiteMeasure, &'static str)| {
        let is_it = |one: &&RunMeasure| one.measure == measure && one.segment == segment;
        Some((run.measures.iter().find(is_it)?.value?, name))
    };
    let mut timed: Vec<(f64, &str)> = names.into_iter().filter_map(of).collect();
    timed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let timed: Vec<String> = timed.iter().map(|(ms, name)| format!("{name} {ms:.1}")).collect();
    if timed.is_empty() { String::new() } else { format!("; p95 by stage: {}", timed.join(", ")) }
}

/// The finding for an inconclusive run without cases.
fn of_reason(reason: InconclusiveReason) -> Option<(FailureCause, String)> {
    let (class, why) = match reason {
        // These reasons have cases.
        InconclusiveReason::Errors | InconclusiveReason::Degraded => return None,
        InconclusiveReason::OverTime => {
            (FailureCause::Infrastructure, "the run reached its time limit")
        }
        InconclusiveReason::Broken => {
            (FailureCause::Infrastructure, "the suite or its target is misconfigured")
        }
        InconclusiveReason::IndexBehind => {
            (FailureCause::Infrastructure, "the index was behind the store")
        }
        InconclusiveReason::NoCalibration => {
            (FailureCause::Threshold, "there is no calibration to compare scores with")
        }
        InconclusiveReason::StaleCalibration => {
            (FailureCause::Threshold, "the calibration belongs to another reranker model")
        }
        InconclusiveReason::NoQueries => (FailureCause::Unknown, "the suite selected no queries"),
        InconclusiveReason::SampleTooSmall => {
            (FailureCause::Unknown, "the sample is smaller than the suite requires")
        }
        InconclusiveReason::NoKeys => (FailureCause::Unknown, "a query has no answer key"),
        InconclusiveReason::NothingMeasured => {
            (FailureCause::Unknown, "no deciding measure has a value")
        }
        InconclusiveReason::Cancelled => (FailureCause::Unknown, "the run was cancelled"),
    };
    Some((class, why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::report::SuiteReport;
    use crate::suite::run::RunTrigger;
    use crate::suite::threshold::MeasureStatus;
    use crate::suite::{Suite, SuiteKind};
    use crate::target::TargetErrorKind;
    use crate::triage::{DocumentPresence, Rerun};
    use jiff::Timestamp;

    fn run(reason: Option<InconclusiveReason>, verdict: Verdict) -> SuiteRun {
        let mut report = SuiteReport::not_started(InconclusiveReason::Broken);
        report.reasons = reason.into_iter().collect();
        report.verdict = verdict;
        SuiteRun::new(
            &Suite::new("s", SuiteKind::Smoke, vec!["@a".to_owned()]),
            "default",
            RunTrigger { key: "k", trigger: "manual" },
            (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
            &report,
        )
    }

    fn remedy() -> MitigationContext<'static> {
        let suite = Rerun { name: "s", target: None };
        MitigationContext {
            workspace: "default",
            suite,
            target: "local",
            ..MitigationContext::default()
        }
    }

    fn case(id: &str, evidence: CaseEvidence) -> ExaminedCase {
        ExaminedCase { id: id.to_owned(), lost: None, evidence }
    }

    #[test]
    fn most_cases_name_the_class() {
        let down =
            || CaseEvidence { error: Some(TargetErrorKind::Timeout), ..CaseEvidence::default() };
        let gone =
            || CaseEvidence { presence: DocumentPresence::Absent, ..CaseEvidence::default() };
        let cases = vec![case("a", gone()), case("b", down()), case("c", down())];
        let found = triage(&run(None, Verdict::Fail), cases, &remedy());
        assert_eq!(
            (found.class, found.verdict),
            (Some(FailureCause::Infrastructure), Verdict::Fail)
        );
        let ids = |at: usize| {
            found.findings[at].cases.iter().map(|one| &*one.query_id).collect::<Vec<_>>()
        };
        assert_eq!((ids(0), ids(1)), (vec!["b", "c"], vec!["a"]));
        let even = vec![case("a", gone()), case("b", down())];
        let found = triage(&run(None, Verdict::Fail), even, &remedy());
        assert_eq!(found.class, Some(FailureCause::Infrastructure), "the earlier rule");
    }

    #[test]
    fn only_a_passing_run_passes() {
        let check = |reason, verdict, class, expected| {
            let found = triage(&run(reason, verdict), Vec::new(), &remedy());
            assert_eq!((found.class, found.verdict), (class, expected), "{reason:?} {verdict}");
        };
        check(None, Verdict::Pass, None, Verdict::Pass);
        check(None, Verdict::Fail, Some(FailureCause::Unknown), Verdict::Fail);
        check(None, Verdict::Inconclusive, Some(FailureCause::Unknown), Verdict::Inconclusive);
        let doubt = Verdict::Inconclusive;
        check(
            Some(InconclusiveReason::Broken),
            doubt,
            Some(FailureCause::Infrastructure),
            Verdict::Fail,
        );
        check(
            Some(InconclusiveReason::NoCalibration),
            doubt,
            Some(FailureCause::Threshold),
            Verdict::Fail,
        );
        check(Some(InconclusiveReason::NoQueries), doubt, Some(FailureCause::Unknown), doubt);
        check(Some(InconclusiveReason::Errors), doubt, Some(FailureCause::Unknown), doubt);
    }

    #[test]
    fn a_slow_run_is_infrastructure_with_its_stages() {
        let mut slow = run(None, Verdict::Fail);
        let measure = |measure, value, decides| RunMeasure {
            segment: "all".to_owned(),
            measure,
            value: Some(value),
            hits: None,
            n: 25,
            baseline: None,
            target: Some("150 ms".to_owned()),
            alert: Some("170 ms".to_owned()),
            status: MeasureStatus::Alert,
            decides,
            pages: false,
            unanswered: 0,
            outage: false,
        };
        slow.measures = vec![
            measure(SuiteMeasure::LatencyP95, 412.0, true),
            measure(SuiteMeasure::DenseP95, 20.0, false),
            measure(SuiteMeasure::RerankP95, 380.0, false),
        ];
        let found = triage(&slow, Vec::new(), &remedy());
        assert_eq!(found.class, Some(FailureCause::Infrastructure));
        let why = &found.findings[0].because[0];
        assert!(why.ends_with("p95 by stage: rerank 380.0, dense 20.0"), "{why}");
    }
}
