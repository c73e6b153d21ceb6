//! The parts of a suite report that all formats share: verdict, measures, failing cases.

use super::number::count;
use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::suite::case::CaseDefect;
use crate::suite::measure::MeasureUnit;
use crate::suite::run::{RunCase, RunMeasure};
use crate::suite::threshold::MeasureStatus;

/// Column heads of the table of measures.
pub(super) const HEADS: [&str; 6] = ["segment", "measure", "value", "target", "alert", "status"];

/// The verdict, in capitals unless it is a pass.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

/// The suite, its target, and the number of queries.
pub(super) fn headline(run: &SuiteRun) -> String {
    let (planned, seconds) = (count(run.planned, "query"), run.duration_ms as f64 / 1000.0);
    let part =
        if run.asked == run.planned { planned } else { format!("{} of {planned}", run.asked) };
    format!(
        "{} ({}) of workspace {} against {}: {part} in {seconds:.1} s",
        run.suite,
        run.kind,
        run.workspace,
        target_of(run)
    )
}

pub(super) fn target_of(run: &SuiteRun) -> String {
    let note = if run.ad_hoc { " (not the suite's own target)" } else { "" };
    format!("{}{note}", run.target)
}

/// The reasons why the run did not pass.
pub(super) fn why(run: &SuiteRun) -> Vec<String> {
    let outage = run.outage().map(|outage| {
        let paged = if outage.pages { " (page)" } else { "" };
        format!("{}{paged}", outage.in_words())
    });
    let causes = run.causes();
    let breaches = causes.iter().map(|breach| {
        let one = breach.measure;
        let limit = one.alert.as_deref().unwrap_or_default();
        let paged = if one.pages { " (page)" } else { "" };
        let segments = breach.segments().join(" and ");
        format!(
            "{} of {segments} is {}, past its alert threshold {limit}{paged}",
            one.measure,
            value(one)
        )
    });
    // A run has only one verdict.
    let word = if run.verdict == Verdict::Fail { "also" } else { "inconclusive" };
    let reasons = run.inconclusive_reasons.iter().map(|reason| format!("{word}: {reason}"));
    let falls = run.recalibrate.iter().map(|fall| {
        let values: Vec<String> = fall.values.iter().map(|value| format!("{value:.3}")).collect();
        format!("recalibrate: {} fell week after week: {}", fall.measure, values.join(", "))
    });
    let sample = run.sample.iter().flat_map(|sample| sample.remarks());
    let notes = run.notes.iter().cloned();
    outage
        .into_iter()
        .chain(breaches)
        .chain(reasons)
        .chain(sample)
        .chain(falls)
        .chain(notes)
        .collect()
}

/// The measures to show: those over all cases, and others in warning or alert.
pub(super) fn shown_measures(run: &SuiteRun) -> impl Iterator<Item = &RunMeasure> {
    let is_shown = |one: &&RunMeasure| {
        let is_off = matches!(one.status, MeasureStatus::Warn | MeasureStatus::Alert);
        (one.segment == "all" && one.n > 0) || is_off
    };
    run.measures.iter().filter(is_shown)
}

/// The cells of a measure.
pub(super) fn cells(one: &RunMeasure) -> [String; 6] {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    // A measure without a threshold has no meaningful status.
    let status = match one.alert.is_some() {
        true => one.status.name().to_owned(),
        false => "-".to_owned(),
    };
    let (segment, measure) = (one.segment.clone(), one.measure.name().to_owned());
    [segment, measure, value(one), or_none(&one.target), or_none(&one.alert), status]
}

/// A value in its unit, with its sample size; counts are exact.
pub(super) fn value(one: &RunMeasure) -> String {
    let Some(number) = one.value else {
        return match one.unanswered {
            0 => "-".to_owned(),
            unanswered => format!("unreachable ({unanswered} unanswered)"),
        };
    };
    match (one.measure.unit(), one.hits) {
        (MeasureUnit::Share, Some(hits)) if one.unanswered > 0 => {
            format!("{:.1}% ({hits}/{}, {} unanswered)", number * 100.0, one.n, one.unanswered)
        }
        (MeasureUnit::Share, Some(hits)) => format!("{:.1}% ({hits}/{})", number * 100.0, one.n),
        (MeasureUnit::Share, None) => format!("{:.1}%", number * 100.0),
        (MeasureUnit::Millis, _) => format!("{number:.1} ms (n={})", one.n),
        (MeasureUnit::Score, _) => match one.baseline {
            Some(baseline) => format!("{number:.3} (was {baseline:.3}, n={})", one.n),
            None => format!("{number:.3} (n={})", one.n),
        },
    }
}

/// Describes why a case fails.
pub(super) fn wrong(case: &RunCase) -> String {
    let mut all: Vec<String> = case.flags.iter().map(|flag| flag.name().to_owned()).collect();
    all.extend(case.error.map(|error| format!("error: {error}")));
    // A result that is present but ranked too low, or named only by links, has no flag.
    if !case.missed.is_empty()
        && case.error.is_none()
        && !case.flags.contains(&CaseDefect::MissingResult)
    {
        let rank = case.rank.map_or_else(|| "no rank".to_owned(), |rank| format!("rank {rank}"));
        all.push(rank);
    }
    if case.graph_answer == Some(false) {
        all.push("no_answer_from_links".to_owned());
    }
    if case.rationale_present == Some(false) {
        all.push("no_rationale".to_owned());
    }
    all.extend(case.rationale_problems.first().cloned());
    all.join(", ")
}

pub(super) fn failing(run: &SuiteRun) -> impl Iterator<Item = &RunCase> {
    run.failing()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::{junit, markdown, text};
    use super::*;
    use crate::suite::case::{RationaleRequirement, judge};
    use crate::suite::graph::EdgeCheck;
    use crate::suite::query::Difficulty;
    use crate::suite::report::{RunEnd, report};
    use crate::suite::run::RunTrigger;
    use crate::suite::size::SampleSize;
    use crate::suite::threshold::SuiteThresholds;
    use crate::suite::{Suite, SuiteKind, sample};
    use crate::target::{TargetAnswer, TargetError, TargetErrorKind, TargetResult};

    /// A run of cases whose answers are at these ranks; 0 is a miss, and none an error.
    fn ran(ranks: &[Option<usize>]) -> SuiteRun {
        let case = |(at, rank): (usize, &Option<usize>)| {
            let id = format!("q{at:02}");
            let found = |place: usize| {
                let document = if Some(place) == *rank { id.clone() } else { format!("x{place}") };
                TargetResult { document, ..TargetResult::default() }
            };
            let results = (1..=10).map(found).collect();
            let answer = TargetAnswer { results, latency_ms: 5.0, ..TargetAnswer::default() };
            let late = || TargetError::new(TargetErrorKind::Timeout, "late");
            let query = sample::tests::query(&id, "slack", Difficulty::Easy);
            let answer = rank.map(|_| answer).ok_or_else(late);
            judge(&query, RationaleRequirement::No, &answer, &|_| EdgeCheck::Holds)
        };
        let cases: Vec<_> = ranks.iter().enumerate().map(case).collect();
        let report = report(
            cases,
            (ranks.len(), SampleSize::exactly(ranks.len())),
            RunEnd::Whole,
            &SuiteThresholds::default(),
            None,
        );
        SuiteRun::new(
            &Suite::new("weekly", SuiteKind::WeeklyBenchmark, vec!["@search".to_owned()]),
            "default",
            RunTrigger { key: "ci:1", trigger: "ci" },
            (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
            &report,
        )
    }

    fn mostly(count: usize, others: &[Option<usize>]) -> SuiteRun {
        ran(&[&vec![Some(1); count][..], others].concat())
    }

    #[track_caller]
    fn has(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_failing_case_is_not_green() {
        let failed = junit::suite(&mostly(5, &[Some(6), Some(0), None]));
        has(
            &failed,
            &[
                "name=\"query q05\" time=\"0.005\">\n      <failure message=\"rank 6\" type=\"failing\"/>",
                "<failure message=\"missing_result\" type=\"failing\"/>",
                "<error message=\"the query was not answered\" type=\"timeout\"/>",
                "<property name=\"trigger\" value=\"ci\"/>",
                // recall@5 and recall@10, and two cases; the reason and the case of an error.
                "failures=\"4\" errors=\"2\"",
            ],
        );
        let passed = mostly(24, &[Some(6)]);
        assert_eq!(passed.verdict, Verdict::Pass);
        let passed = junit::suite(&passed);
        has(&passed, &["failures=\"0\"", "<skipped message=\"rank 6; the run passes\"/>"]);
    }

    #[test]
    fn there_is_one_verdict() {
        let failed = mostly(5, &[Some(6), None]);
        let text = text::suite(&failed, &|_| None);
        has(&text, &["FAIL  ", "  also: errors\n", "rank 6"]);
        assert!(!text.contains("inconclusive"), "{text}");
        assert!(!markdown::suite(&failed).contains("inconclusive"));
        let doubtful = text::suite(&mostly(99, &[None]), &|_| None);
        has(&doubtful, &["INCONCLUSIVE  ", "  inconclusive: errors\n"]);
    }

    #[test]
    fn a_stored_run_shows_its_number() {
        let mut run = mostly(5, &[]);
        let shown = text::recorded_suite(12, &run, &|_| None);
        let head = "run 12 of 1970-01-01T00:00:00.000Z, by ci, against local\npass  weekly";
        assert!(shown.starts_with(head), "{shown}");
        (run.target, run.ad_hoc) = ("staging".to_owned(), true);
        has(&text::suite(&run, &|_| None), &["against staging (not the suite's own target): 5"]);
    }
}
