//! What every form of a suite's report says: the verdict in words, its measures, its failing cases.

use super::number::count;
use crate::format::suite::{SuiteRunBody, WireCase, WireMeasure};
use crate::gate::Verdict;
use crate::suite::measure::Unit;
use crate::suite::threshold::Status;

/// The heads of the table of measures.
pub(super) const HEADS: [&str; 6] = ["segment", "measure", "value", "target", "alert", "status"];

/// The verdict, loud unless all is well.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

/// What was run against whom, and how much of it.
pub(super) fn headline(run: &SuiteRunBody) -> String {
    let (asked, seconds) = (count(run.planned, "query"), run.duration_ms as f64 / 1000.0);
    let part = if run.asked == run.planned { asked } else { format!("{} of {asked}", run.asked) };
    format!(
        "{} ({}) of workspace {} against {}: {part} in {seconds:.1} s",
        run.suite, run.kind, run.workspace, run.target
    )
}

/// Why it is not a pass, in a sentence each.
pub(super) fn why(run: &SuiteRunBody) -> Vec<String> {
    let breaches = run.breaches().map(|one| {
        let limit = one.alert.as_deref().unwrap_or_default();
        let paged = if one.pages { " (page)" } else { "" };
        format!(
            "{} of {} is {}, past its alert {limit}{paged}",
            one.measure,
            one.segment,
            value(one)
        )
    });
    let reasons = run.inconclusive_reasons.iter().map(|reason| format!("inconclusive: {reason}"));
    let falls = run.recalibrate.iter().map(|fall| {
        let values: Vec<String> = fall.values.iter().map(|value| format!("{value:.3}")).collect();
        format!("recalibrate: {} fell week after week: {}", fall.measure, values.join(", "))
    });
    breaches.chain(reasons).chain(falls).chain(run.notes.iter().cloned()).collect()
}

/// The measures that are told: those over all cases, and whatever else is not well.
pub(super) fn told(run: &SuiteRunBody) -> impl Iterator<Item = &WireMeasure> {
    let is_told = |one: &&WireMeasure| {
        let is_off = matches!(one.status, Status::Warn | Status::Alert);
        (one.segment == "all" && one.n > 0) || is_off
    };
    run.measures.iter().filter(is_told)
}

/// The cells of a measure.
pub(super) fn cells(one: &WireMeasure) -> [String; 6] {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    // What is held against nothing has no status that could be good or bad.
    let status = match one.alert.is_some() {
        true => one.status.name().to_owned(),
        false => "-".to_owned(),
    };
    let (segment, measure) = (one.segment.clone(), one.measure.name().to_owned());
    [segment, measure, value(one), or_none(&one.target), or_none(&one.alert), status]
}

/// A value in its unit, with what it is of: exact where it is counted.
pub(super) fn value(one: &WireMeasure) -> String {
    let Some(number) = one.value else { return "-".to_owned() };
    match (one.measure.unit(), one.hits) {
        (Unit::Share, Some(hits)) => format!("{:.1}% ({hits}/{})", number * 100.0, one.n),
        (Unit::Share, None) => format!("{:.1}%", number * 100.0),
        (Unit::Millis, _) => format!("{number:.1} ms (n={})", one.n),
        (Unit::Score, _) => match one.baseline {
            Some(baseline) => format!("{number:.3} (was {baseline:.3}, n={})", one.n),
            None => format!("{number:.3} (n={})", one.n),
        },
    }
}

/// What is wrong with a case.
pub(super) fn wrong(case: &WireCase) -> String {
    let mut all: Vec<String> = case.flags.iter().map(|flag| flag.name().to_owned()).collect();
    all.extend(case.error.map(|error| format!("error: {error}")));
    if case.graph_answer == Some(false) {
        all.push("no_answer_from_links".to_owned());
    }
    if case.rationale_present == Some(false) {
        all.push("no_rationale".to_owned());
    }
    all.extend(case.rationale_problems.first().cloned());
    all.join(", ")
}

/// Cases that somebody should look at.
pub(super) fn failing(run: &SuiteRunBody) -> impl Iterator<Item = &WireCase> {
    run.cases.iter().filter(|case| case.failing)
}
