//! A run, taken apart by class: what its cases say, and what it says as a whole.

use std::collections::BTreeMap;

use super::{Class, Evidence, Lost, Mitigation, Remedy, classify, mitigation};
use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::suite::measure::Measure;
use crate::suite::report::Reason;
use crate::suite::run::RunMeasure;

/// A case with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Looked {
    pub id: String,
    /// Something that should have been found, where that is known.
    pub lost: Option<Lost>,
    pub evidence: Evidence,
}

/// A case with why it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFinding {
    pub id: String,
    /// What its class was chosen by.
    pub because: Vec<String>,
    /// What is known of it.
    pub evidence: Evidence,
}

/// What is wrong in one way.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub class: Class,
    /// What the run as a whole says of it.
    pub because: Vec<String>,
    /// The cases, in the order of the run.
    pub cases: Vec<CaseFinding>,
    pub mitigation: Mitigation,
}

/// Why a run is not well.
#[derive(Debug, Clone, PartialEq)]
pub struct Triage {
    /// The class of most cases; none where nothing is wrong.
    pub class: Option<Class>,
    /// By how many cases, most first.
    pub findings: Vec<Finding>,
    /// What to do with it: pass if nothing is wrong, inconclusive if nothing can be said.
    pub verdict: Verdict,
}

/// Cases of one class, before it is said what to do.
#[derive(Default)]
struct Pile {
    because: Vec<String>,
    cases: Vec<CaseFinding>,
    lost: Vec<Lost>,
}

/// Sorts what is known of a run's cases by class, with what the run says itself.
pub fn triage(run: &SuiteRun, cases: Vec<Looked>, remedy: &Remedy<'_>) -> Triage {
    let mut piles: BTreeMap<Class, Pile> = BTreeMap::new();
    for Looked { id, lost, evidence } in cases {
        let found = classify(&evidence);
        let pile = piles.entry(found.class).or_default();
        pile.cases.push(CaseFinding { id, because: found.because, evidence });
        pile.lost.extend(lost);
    }
    for (class, why) in of_run(run) {
        piles.entry(class).or_default().because.push(why);
    }
    if piles.is_empty() && run.verdict != Verdict::Pass {
        let why = "it did not pass, and nothing that is kept says why";
        piles.entry(Class::Unknown).or_default().because.push(why.to_owned());
    }
    let finding = |(class, Pile { because, cases, lost }): (Class, Pile)| {
        let remedy = Remedy { lost: &lost, reasons: &run.inconclusive_reasons, ..*remedy };
        Finding { class, because, cases, mitigation: mitigation(class, &remedy) }
    };
    let mut findings: Vec<Finding> = piles.into_iter().map(finding).collect();
    findings.sort_by_key(|one| (std::cmp::Reverse(one.cases.len()), one.class));
    let is_known = findings.iter().any(|one| one.class != Class::Unknown);
    let verdict = match (findings.is_empty(), run.verdict) {
        (true, _) => Verdict::Pass,
        (false, Verdict::Inconclusive) if !is_known => Verdict::Inconclusive,
        (false, _) => Verdict::Fail,
    };
    Triage { class: findings.first().map(|one| one.class), findings, verdict }
}

/// What a run says beside its cases.
fn of_run(run: &SuiteRun) -> Vec<(Class, String)> {
    let slow = run.breaches().filter(|one| one.measure == Measure::LatencyP95).map(|one| {
        let told = format!(
            "p95 of {} is {:.1} ms, past its alert {}{}",
            one.segment,
            one.value.unwrap_or(f64::NAN),
            one.alert.as_deref().unwrap_or_default(),
            stages(run, &one.segment)
        );
        (Class::Infrastructure, told)
    });
    let fallen = run.breaches().filter(|one| one.measure == Measure::RerankRelevance).map(|one| {
        let (value, baseline) = (one.value.unwrap_or(f64::NAN), one.baseline.unwrap_or(f64::NAN));
        (
            Class::Threshold,
            format!("borderline pairs score {value:.3}, and {baseline:.3} when calibrated"),
        )
    });
    let doubts = run.inconclusive_reasons.iter().filter_map(|reason| of_reason(*reason));
    let falls = run.recalibrate.iter().map(|fall| {
        (Class::Threshold, format!("{} fell week after week: calibrate again", fall.measure))
    });
    slow.chain(fallen).chain(doubts).chain(falls).collect()
}

/// The stages of a segment that were timed, slowest first.
fn stages(run: &SuiteRun, segment: &str) -> String {
    let names = [
        (Measure::DenseP95, "dense"),
        (Measure::RerankP95, "rerank"),
        (Measure::HydrationP95, "hydration"),
    ];
    let of = |(measure, name): (Measure, &'static str)| {
        let is_it = |one: &&RunMeasure| one.measure == measure && one.segment == segment;
        Some((run.measures.iter().find(is_it)?.value?, name))
    };
    let mut timed: Vec<(f64, &str)> = names.into_iter().filter_map(of).collect();
    timed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let timed: Vec<String> = timed.iter().map(|(ms, name)| format!("{name} {ms:.1}")).collect();
    if timed.is_empty() { String::new() } else { format!("; p95 by stage: {}", timed.join(", ")) }
}

/// What a reason for doubt speaks of, where no case does.
fn of_reason(reason: Reason) -> Option<(Class, String)> {
    let (class, why) = match reason {
        // These have cases.
        Reason::Errors | Reason::Degraded => return None,
        Reason::OverTime => (Class::Infrastructure, "there was no time left for all questions"),
        Reason::Broken => (Class::Infrastructure, "the suite or its target can't be used as it is"),
        Reason::IndexBehind => (Class::Infrastructure, "the index did not hold what was written"),
        Reason::NoCalibration => {
            (Class::Threshold, "there is no calibration to hold scores against")
        }
        Reason::StaleCalibration => (Class::Threshold, "another model scores than was calibrated"),
        Reason::NoQueries => (Class::Unknown, "there was nothing to ask"),
        Reason::SampleTooSmall => {
            (Class::Unknown, "there were fewer queries than the suite requires")
        }
        Reason::NoKeys => (Class::Unknown, "a query has nothing that must be found"),
        Reason::NothingMeasured => (Class::Unknown, "nothing that decides was measured"),
        Reason::Cancelled => (Class::Unknown, "somebody stopped it"),
    };
    Some((class, why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::report::Report;
    use crate::suite::run::RunTrigger;
    use crate::suite::threshold::Status;
    use crate::suite::{Kind, Suite};
    use crate::target::TargetErrorKind;
    use crate::triage::{Presence, Rerun};
    use jiff::Timestamp;

    fn run(reason: Option<Reason>, verdict: Verdict) -> SuiteRun {
        let mut report = Report::unmade(Reason::Broken);
        report.reasons = reason.into_iter().collect();
        report.verdict = verdict;
        SuiteRun::new(
            &Suite::new("s", Kind::Smoke, vec!["@a".to_owned()]),
            "default",
            RunTrigger { key: "k", trigger: "manual" },
            (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
            &report,
        )
    }

    fn remedy() -> Remedy<'static> {
        let suite = Rerun { name: "s", target: None };
        Remedy { workspace: "default", suite, target: "local", ..Remedy::default() }
    }

    fn case(id: &str, evidence: Evidence) -> Looked {
        Looked { id: id.to_owned(), lost: None, evidence }
    }

    #[test]
    fn most_cases_name_the_class() {
        let down = || Evidence { error: Some(TargetErrorKind::Timeout), ..Evidence::default() };
        let gone = || Evidence { presence: Presence::Absent, ..Evidence::default() };
        let cases = vec![case("a", gone()), case("b", down()), case("c", down())];
        let found = triage(&run(None, Verdict::Fail), cases, &remedy());
        assert_eq!((found.class, found.verdict), (Some(Class::Infrastructure), Verdict::Fail));
        let ids =
            |at: usize| found.findings[at].cases.iter().map(|one| &*one.id).collect::<Vec<_>>();
        assert_eq!((ids(0), ids(1)), (vec!["b", "c"], vec!["a"]));
        let even = vec![case("a", gone()), case("b", down())];
        let found = triage(&run(None, Verdict::Fail), even, &remedy());
        assert_eq!(found.class, Some(Class::Infrastructure), "the earlier rule");
    }

    #[test]
    fn never_green_but_for_what_is() {
        let check = |reason, verdict, class, told| {
            let found = triage(&run(reason, verdict), Vec::new(), &remedy());
            assert_eq!((found.class, found.verdict), (class, told), "{reason:?} {verdict}");
        };
        check(None, Verdict::Pass, None, Verdict::Pass);
        check(None, Verdict::Fail, Some(Class::Unknown), Verdict::Fail);
        check(None, Verdict::Inconclusive, Some(Class::Unknown), Verdict::Inconclusive);
        let doubt = Verdict::Inconclusive;
        check(Some(Reason::Broken), doubt, Some(Class::Infrastructure), Verdict::Fail);
        check(Some(Reason::NoCalibration), doubt, Some(Class::Threshold), Verdict::Fail);
        check(Some(Reason::NoQueries), doubt, Some(Class::Unknown), doubt);
        check(Some(Reason::Errors), doubt, Some(Class::Unknown), doubt);
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
            status: Status::Alert,
            decides,
            pages: false,
            unanswered: 0,
            outage: false,
        };
        slow.measures = vec![
            measure(Measure::LatencyP95, 412.0, true),
            measure(Measure::DenseP95, 20.0, false),
            measure(Measure::RerankP95, 380.0, false),
        ];
        let found = triage(&slow, Vec::new(), &remedy());
        assert_eq!(found.class, Some(Class::Infrastructure));
        let told = &found.findings[0].because[0];
        assert!(told.ends_with("p95 by stage: rerank 380.0, dense 20.0"), "{told}");
    }
}
