//! Contradiction reports for a terminal: a run, the trend over runs, and the findings to resolve.
//!
//! All three are rendered from the JSON form, so that a new run and a stored one look the same. A
//! run whose judge failed has no headline and no interval, because nothing was measured.

use std::fmt::Write as _;

use crate::contradiction::report::RunStatus;
use crate::contradiction::verdict::{Severity, StatementRelation};
use crate::format::contradiction::{
    ContradictionReport, WireCorrected, WireFinding, WirePairRate, WireRate, WireStatement,
};
use crate::report::escape::visible;
use crate::report::number::{Unit, count, value};

use super::LINE;
use super::rows::line;
use super::table::{Edge, table};

/// Width of the longest bar of the trend.
const BAR: usize = 30;

/// A day of the trend.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendDay<'a> {
    /// The date to show.
    pub when: String,
    /// Number of runs on that day.
    pub runs: usize,
    /// The last report with judgements; the last report if none has any.
    pub report: &'a ContradictionReport,
}

impl<'a> TrendDay<'a> {
    /// Groups runs by day. Runs must be newest first, with their times in ISO 8601 and UTC.
    pub fn of_runs(runs: &'a [(String, ContradictionReport)]) -> Vec<Self> {
        fn day(moment: &str) -> &str {
            moment.get(..10).unwrap_or(moment)
        }
        let days = runs.chunk_by(|(one, _), (next, _)| day(one) == day(next));
        let of_day = |runs: &'a [(String, ContradictionReport)]| {
            let is_judged = |(_, report): &&(_, ContradictionReport)| {
                report.run_status != RunStatus::JudgeFailed
            };
            let (moment, report) = runs.iter().find(is_judged).unwrap_or(&runs[0]);
            Self { when: day(moment).to_owned(), runs: runs.len(), report }
        };
        days.map(of_day).collect()
    }
}

/// The report of a run.
pub fn contradictions(report: &ContradictionReport) -> String {
    let mut text = String::new();
    let head = format!("{} ({})", report.verdict.name().to_uppercase(), report.judge_model);
    line(&mut text, format_args!("Suspected contradictions: {}", visible(&head, LINE)));
    match report.run_status {
        RunStatus::JudgeFailed => {
            line(&mut text, format_args!("The judge gave no judgement: no rate was measured"));
        }
        RunStatus::Ok | RunStatus::Inconclusive => text.push_str(&rates(report)),
    }
    if !report.inconclusive_reasons.is_empty() {
        let reasons: Vec<_> = report.inconclusive_reasons.iter().map(|one| one.name()).collect();
        line(&mut text, format_args!("Incomplete: {}", reasons.join(", ")));
    }
    text.push_str(&calls(report));
    text.push_str(&verdicts(report));
    text.push_str(&hot_pages(report));
    text.push_str(&findings(report, Severity::Info));
    text
}

/// The trend by day, newest first, with a bar for the findings of each day.
pub fn contradiction_trend(days: &[TrendDay<'_>]) -> String {
    let Some(latest) = days.first() else {
        return "No runs in this period\n".to_owned();
    };
    let largest = days.iter().map(|day| day.report.total_contradictions_flagged).max().unwrap_or(0);
    let row = |day: &TrendDay<'_>| {
        let flagged = day.report.total_contradictions_flagged;
        let (bar, number) = match day.report.run_status {
            RunStatus::JudgeFailed => ("(the judge failed)".to_owned(), "-".to_owned()),
            _ => (bar(flagged, largest), flagged.to_string()),
        };
        let rate = day.report.pair_rate.corrected.map_or_else(String::new, |one| corrected(&one));
        let runs = if day.runs > 1 { format!("last of {} runs", day.runs) } else { String::new() };
        vec![visible(&day.when, LINE), number, bar, rate, runs]
    };
    let rows: Vec<_> = days.iter().map(row).collect();
    let mut text = String::from("Findings per day, and the corrected pair rate\n");
    text.push_str(&table(&[Edge::Left, Edge::Right, Edge::Left, Edge::Left, Edge::Left], &rows));
    text.push_str(&verdicts(latest.report));
    text
}

/// The findings of a run with at least a severity, most severe first, each with its suggested
/// resolution.
pub fn contradiction_review(report: &ContradictionReport, min_severity: Severity) -> String {
    let found = findings(report, min_severity);
    match (found.is_empty(), report.run_status) {
        (false, _) => found,
        (true, RunStatus::JudgeFailed) => {
            "The judge of this run failed: nothing was judged\n".to_owned()
        }
        (true, _) => format!("No finding of severity {min_severity} or above\n"),
    }
}

/// A bar proportional to the maximum; non-zero counts have at least one block.
fn bar(flagged: usize, largest: usize) -> String {
    let length = (flagged * BAR).div_ceil(largest.max(1));
    "█".repeat(length)
}

fn rates(report: &ContradictionReport) -> String {
    let mut text = String::new();
    let calibration = &report.calibration;
    line(
        &mut text,
        format_args!(
            "Queries with a contradiction: {} of {} fully judged ({})",
            calibration.queries_with_contradiction,
            calibration.queries_total,
            interval(calibration.wilson_ci_95),
        ),
    );
    if calibration.queries_not_judged > 0 {
        let left = usize::try_from(calibration.queries_not_judged).unwrap_or(usize::MAX);
        line(&mut text, format_args!("  not judged, in no rate: {}", count(left, "query")));
    }
    if let Some(note) = &calibration.small_sample_note {
        line(&mut text, format_args!("  {note}"));
    }
    text.push_str(&pair_rate(&report.pair_rate));
    text
}

fn pair_rate(rate: &WirePairRate) -> String {
    let mut text = String::new();
    let n = rate.raw.map_or(0, |raw| raw.n);
    line(&mut text, format_args!("Contradictions per pair, raw: {}; n={n}", interval(rate.raw)));
    let shown = rate.corrected.map_or_else(|| "unknown".to_owned(), |one| corrected(&one));
    line(&mut text, format_args!("  corrected for the judge's errors: {shown}"));
    let worth = rate.informedness.map_or_else(
        || "unknown".to_owned(),
        |at| {
            let unit = Unit::Score;
            let [low, high] = at.interval;
            format!("{} ({} to {})", value(unit, at.value), value(unit, low), value(unit, high))
        },
    );
    line(
        &mut text,
        format_args!(
            "  judge on planted pairs: sensitivity {}, specificity {}, informedness {worth}",
            of_planted(rate.sensitivity),
            of_planted(rate.specificity),
        ),
    );
    text
}

fn of_planted(rate: Option<WireRate>) -> String {
    rate.map_or_else(
        || "none".to_owned(),
        |rate| format!("{} of {}", value(Unit::Rate, rate.point), rate.n),
    )
}

fn corrected(one: &WireCorrected) -> String {
    let [low, high] = one.interval.map(|end| value(Unit::Rate, end));
    format!("{}, 95% CI {low} to {high}", value(Unit::Rate, one.corrected_rate))
}

fn interval(rate: Option<WireRate>) -> String {
    rate.map_or_else(
        || "no rate".to_owned(),
        |rate| {
            let [point, low, high] =
                [rate.point, rate.lower, rate.upper].map(|part| value(Unit::Rate, part));
            format!("{point}, 95% CI {low} to {high}")
        },
    )
}

fn calls(report: &ContradictionReport) -> String {
    let mut text = String::new();
    let (cache, cost) = (&report.cache, &report.cost_usd);
    line(
        &mut text,
        format_args!(
            "Judged {} now, {} from the cache; ${:.4} for the judge, ${:.4} for embeddings",
            count(usize::try_from(cache.misses).unwrap_or(usize::MAX), "pair"),
            cache.hits,
            cost.judge,
            cost.embedding,
        ),
    );
    let skipped: usize = report.per_query.iter().map(|query| query.pairs_skipped_by_date).sum();
    if skipped > 0 {
        let skipped = count(skipped, "pair");
        line(
            &mut text,
            format_args!(
                "Not judged, because they are about different times: {skipped} (per query)"
            ),
        );
    }
    let errors: Vec<String> = report
        .judge_errors
        .by_kind
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if !errors.is_empty() {
        line(&mut text, format_args!("Calls without a judgement: {}", errors.join(", ")));
    }
    text
}

fn verdicts(report: &ContradictionReport) -> String {
    let count =
        |verdict: &StatementRelation| report.verdict_breakdown.get(verdict).copied().unwrap_or(0);
    let rows: Vec<_> = StatementRelation::ALL
        .iter()
        .map(|verdict| vec![format!("  {verdict}"), count(verdict).to_string()])
        .collect();
    format!("Verdicts:\n{}", table(&[Edge::Left, Edge::Right], &rows))
}

fn hot_pages(report: &ContradictionReport) -> String {
    if report.hot_pages.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = report
        .hot_pages
        .iter()
        .map(|page| {
            let key = visible(&format!("{}::{}", page.source_id, page.slug), LINE);
            vec![format!("  {key}"), page.appearances.to_string(), page.max_severity.to_string()]
        })
        .collect();
    format!("Pages with most findings:\n{}", table(&[Edge::Left, Edge::Right, Edge::Left], &rows))
}

fn findings(report: &ContradictionReport, min_severity: Severity) -> String {
    let mut text = String::new();
    for severity in Severity::ALL.iter().rev().filter(|severity| **severity >= min_severity) {
        let of = report.findings.iter().filter(|finding| finding.severity == *severity);
        let of: Vec<&WireFinding> = of.collect();
        if of.is_empty() {
            continue;
        }
        line(&mut text, format_args!("{} ({})", severity.name().to_uppercase(), of.len()));
        of.iter().for_each(|finding| text.push_str(&finding_lines(finding)));
    }
    text
}

fn finding_lines(finding: &WireFinding) -> String {
    let mut text = String::new();
    let axis = visible(&finding.axis, LINE);
    let confidence = value(Unit::Score, finding.confidence);
    line(
        &mut text,
        format_args!(
            "  {} [{}] {axis} (confidence {confidence})",
            finding.pair_id, finding.verdict
        ),
    );
    for member in [&finding.a, &finding.b] {
        line(&mut text, format_args!("    {}", member_line(member)));
    }
    if let Some(advice) = &finding.resolution_advice {
        line(&mut text, format_args!("    to do: {}", visible(advice, LINE)));
    }
    // The command is not truncated, so that it can be pasted. The only page text in it is the
    // page's name.
    if let Some(command) = &finding.resolution_command {
        line(&mut text, format_args!("    $ {}", visible(command, usize::MAX)));
    }
    text
}

fn member_line(member: &WireStatement) -> String {
    let mut text = format!("{}::{}", member.source_id, member.slug);
    let place = member.take_row_num.map(|row| format!(" take {row}"));
    text.push_str(&place.unwrap_or_default());
    if let Some(date) = &member.effective_date {
        write!(text, " ({date})").expect("writing to a string succeeds");
    }
    if let Some(holder) = &member.holder {
        write!(text, " by {holder}").expect("writing to a string succeeds");
    }
    format!("{}: \"{}\"", visible(&text, LINE), visible(&member.text, LINE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contradiction::report::tests::{found, judge_failed};

    #[test]
    fn a_run() {
        let (report, docket) = found();
        insta::assert_snapshot!(contradictions(&ContradictionReport::new(&report, &docket)));
    }

    #[test]
    fn a_judge_that_failed_has_no_headline() {
        let (report, docket) = judge_failed();
        let wire = ContradictionReport::new(&report, &docket);
        let text = contradictions(&wire);
        assert!(!text.contains("fully judged") && !text.contains("CI"), "{text}");
        assert!(text.contains("Calls without a judgement: timeout 9"), "{text}");
        assert!(contradiction_review(&wire, Severity::Info).contains("failed"));
    }

    #[test]
    fn a_trend_has_bars() {
        let (report, docket) = found();
        let mut many = ContradictionReport::new(&report, &docket);
        let (mut few, mut none) = (many.clone(), many.clone());
        many.total_contradictions_flagged = 61;
        few.total_contradictions_flagged = 1;
        none.total_contradictions_flagged = 0;
        let day = |when: &str, report| TrendDay { when: when.to_owned(), runs: 1, report };
        let text = contradiction_trend(&[
            day("2026-06-03", &none),
            day("2026-06-02", &many),
            day("2026-06-01", &few),
        ]);
        let bars: Vec<usize> =
            text.lines().skip(1).take(3).map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [0, 30, 1], "{text}");
        assert_eq!(contradiction_trend(&[]), "No runs in this period\n");
    }

    #[test]
    fn a_day_has_one_bar() {
        let (report, docket) = found();
        let whole = ContradictionReport::new(&report, &docket);
        let (report, docket) = judge_failed();
        let failed = ContradictionReport::new(&report, &docket);
        let run = |when: &str, report: &ContradictionReport| (when.to_owned(), report.clone());
        let runs = [
            run("2026-06-03T09:00:00Z", &failed),
            run("2026-06-03T08:00:00Z", &whole),
            run("2026-06-03T07:00:00Z", &whole),
            run("2026-06-01T08:00:00Z", &failed),
        ];
        let days = TrendDay::of_runs(&runs);
        let shown: Vec<_> = days.iter().map(|day| (day.when.as_str(), day.runs)).collect();
        assert_eq!(shown, [("2026-06-03", 3), ("2026-06-01", 1)]);
        assert_eq!(days[0].report, &runs[1].1, "a run that could be judged");
        let text = contradiction_trend(&days);
        let bars = text.lines().filter(|line| line.starts_with("2026"));
        assert_eq!(bars.count(), 2, "{text}");
        assert!(text.contains("last of 3 runs") && text.contains("the judge failed"), "{text}");
    }

    #[test]
    fn a_review_begins_at_a_severity() {
        let (report, docket) = found();
        let wire = ContradictionReport::new(&report, &docket);
        let all = contradiction_review(&wire, Severity::Info);
        assert!(all.starts_with("HIGH (1)") && all.contains("\nINFO (1)"), "{all}");
        let high = contradiction_review(&wire, Severity::High);
        assert!(!high.contains("INFO"), "{high}");
        let mut clean = wire;
        clean.findings.clear();
        assert_eq!(
            contradiction_review(&clean, Severity::Low),
            "No finding of severity low or above\n"
        );
    }

    #[test]
    fn no_text_from_outside_breaks_a_line() {
        let (report, docket) = found();
        let mut wire = ContradictionReport::new(&report, &docket);
        let before = contradictions(&wire).lines().count();
        for finding in &mut wire.findings {
            finding.a.text = "x\n\u{1b}[31m\u{202e}".repeat(99);
            finding.a.holder = Some("y\nz".into());
        }
        wire.judge_model = "m\n".into();
        let text = contradictions(&wire);
        assert_eq!(text.lines().count(), before);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    }
}
