//! The nightly probe for a terminal: one run, and past runs with their trend.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::escape::visible;
use super::super::number::{NONE, Unit, count, value};
use super::LINE;
use super::table::{Edge, table};
use crate::cross_modal::batch::RowVerdict;
use crate::format::benchmark::WireRecall;
use crate::format::probe::{
    AutopilotDuty, AutopilotPassBody, ProbeEvent, ProbeHistory, ProbeMeasured, ProbeReport,
    ProbeRun,
};
use crate::probe::{ENABLE, ProbeOutcome};

const BAR: u64 = 10;

pub fn probe(report: &ProbeReport) -> String {
    let event = &report.event;
    let mut text = format!("{}  {}\n", loud(event.outcome), counts(event));
    if let Some(detail) = &event.detail {
        let _ = writeln!(text, "{}", visible(detail, 4 * LINE));
    }
    if let Some(measured) = &report.measured {
        text.push_str(&measurement(measured));
        text.push_str(&not_green(measured));
        let (cost, estimate) = (event.cost_usd, event.est_cost_usd);
        let _ = writeln!(
            text,
            "\ncost ${cost:.4}, estimated at most ${estimate:.4}, allowed ${:.2}",
            report.max_usd
        );
        for cost in &measured.costs {
            let _ = writeln!(
                text,
                "  {}  {}, ${:.4}",
                visible(&cost.model, LINE),
                count(cost.calls as usize, "call"),
                cost.usd
            );
        }
    }
    if let Some(next) = &report.next_run {
        let _ = writeln!(text, "next run due {}", visible(next, LINE));
    }
    text
}

fn loud(outcome: ProbeOutcome) -> String {
    if outcome == ProbeOutcome::Pass {
        outcome.name().to_owned()
    } else {
        outcome.name().to_uppercase()
    }
}

fn counts(event: &ProbeEvent) -> String {
    let ProbeEvent { pass_count, fail_count, inconclusive_count, error_count, .. } = event;
    let total = pass_count + fail_count + inconclusive_count + error_count;
    if total == 0 {
        return "no questions were asked".to_owned();
    }
    let mut text = format!("{pass_count} of {} pass", count(total, "question"));
    for (number, what) in
        [(fail_count, "fail"), (inconclusive_count, "without a verdict"), (error_count, "failed")]
    {
        if *number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    text
}

fn measurement(measured: &ProbeMeasured) -> String {
    let mut text = format!("\nrecall@{}  {}\n", measured.k, recall(measured.recall.aggregate));
    let row = |(kind, recall_of): (&String, &WireRecall)| {
        vec![format!("  {}", visible(kind, LINE)), recall(*recall_of)]
    };
    let rows: Vec<_> = measured.recall.recall_by_type.iter().map(row).collect();
    text.push_str(&table(&[Edge::Left, Edge::Left], &rows));
    text
}

fn recall(recall: WireRecall) -> String {
    let rate = recall.rate.map_or_else(|| NONE.to_owned(), |rate| value(Unit::Rate, rate));
    format!("{} of {} ({rate})", recall.hit, recall.total)
}

fn not_green(measured: &ProbeMeasured) -> String {
    let judged = &measured.cross_modal.per_question;
    let rows: Vec<Vec<String>> = judged
        .iter()
        .filter(|question| question.verdict != RowVerdict::Pass)
        .map(|question| {
            let of_id = |answer: &&crate::format::probe::ProbeAnswer| {
                answer.question_id == question.question_id
            };
            let answer = measured.answers.iter().find(of_id);
            let answer = answer.map_or("", |answer| answer.hypothesis.as_str());
            let why = question.error.as_deref().unwrap_or(answer);
            let (id, verdict) = (visible(&question.question_id, LINE), question.verdict.name());
            vec![format!("  {id}"), verdict.to_uppercase(), visible(why, LINE)]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\n{}", table(&[Edge::Left, Edge::Left, Edge::Left], &rows))
}

/// The report of one autopilot pass.
pub fn autopilot(look: &AutopilotPassBody) -> String {
    if look.duties.is_empty() {
        return format!("nothing is enabled; enable the nightly quality probe with: {ENABLE}\n");
    }
    let line = |duty: &AutopilotDuty| {
        let AutopilotDuty { workspace, duty, state, report, error } = duty;
        let result = match (report, error) {
            (Some(report), _) => probe(report),
            (None, Some(error)) => format!("{state}: {}\n", visible(error, LINE)),
            (None, None) => format!("{}\n", state.replace('_', " ")),
        };
        format!("{} {duty}: {result}", visible(workspace, LINE))
    };
    look.duties.iter().map(line).collect()
}

/// Past runs, newest first, with the trend of recall.
pub fn probe_history(history: &ProbeHistory) -> String {
    let state = if history.enabled { "on" } else { "off" };
    if history.runs.is_empty() {
        return format!("No run in the last {} days; the probe is {state}\n", history.days);
    }
    let head = ["WHEN", "OUTCOME", "PASS", "FAIL", "OPEN", "ERROR", "COST", "RECALL", "", "WHY"];
    let rows: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned).to_vec())
        .chain(history.runs.iter().map(row))
        .collect();
    let mut edges = vec![Edge::Left, Edge::Left];
    edges.extend([Edge::Right; 6]);
    edges.extend([Edge::Left; 2]);
    let mut text = table(&edges, &rows);
    let _ = writeln!(text, "\n{}; the probe is {state}", sums(&history.runs));
    if let Some(next) = &history.next_run {
        let _ = writeln!(text, "next run due {}", visible(next, LINE));
    }
    text
}

fn row(run: &ProbeRun) -> Vec<String> {
    let ProbeRun { event, recall, recall_by_type: _ } = run;
    let rate = recall.and_then(|recall| recall.rate);
    let bar = rate.map_or_else(String::new, |rate| {
        "█".repeat(((rate * BAR as f64).round() as u64).min(BAR) as usize)
    });
    vec![
        visible(event.ts.get(..16).unwrap_or(&event.ts), LINE),
        event.outcome.name().to_owned(),
        event.pass_count.to_string(),
        event.fail_count.to_string(),
        event.inconclusive_count.to_string(),
        event.error_count.to_string(),
        format!("${:.4}", event.cost_usd),
        rate.map_or_else(|| NONE.to_owned(), |rate| value(Unit::Rate, rate)),
        bar,
        event.detail.as_deref().map_or_else(String::new, |detail| visible(detail, LINE / 2)),
    ]
}

fn sums(runs: &[ProbeRun]) -> String {
    let mut outcomes: BTreeMap<ProbeOutcome, usize> = BTreeMap::new();
    runs.iter().for_each(|run| *outcomes.entry(run.event.outcome).or_default() += 1);
    let outcomes: Vec<String> =
        outcomes.iter().map(|(outcome, n)| format!("{n} {outcome}")).collect();
    let cost: f64 = runs.iter().map(|run| run.event.cost_usd).sum();
    format!("{}: {}; ${cost:.4}", count(runs.len(), "run"), outcomes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Event;

    fn run(hour: u8, outcome: ProbeOutcome, recall: Option<(u64, u64)>) -> ProbeRun {
        let at = format!("2026-11-16T{hour:02}:00:00Z").parse().unwrap();
        let detail = (outcome != ProbeOutcome::Pass).then(|| "q1: too bad\u{1b}[31m".to_owned());
        let event = Event { pass: 9, fail: 1, ..Event::bare(at, outcome, detail) };
        let recall = recall.map(|(hit, total)| WireRecall {
            hit,
            total,
            rate: Some(hit as f64 / total as f64),
        });
        ProbeRun { recall, ..ProbeRun::from(ProbeEvent::from(&event)) }
    }

    #[test]
    fn a_history_has_a_trend() {
        let history = ProbeHistory {
            schema_version: 1,
            days: 30,
            enabled: true,
            next_run: Some("2026-11-17T03:00:00Z".to_owned()),
            runs: vec![
                run(3, ProbeOutcome::Pass, Some((9, 9))),
                run(2, ProbeOutcome::Fail, Some((4, 9))),
                run(1, ProbeOutcome::Error, None),
            ],
        };
        insta::assert_snapshot!(probe_history(&history), @r"
        WHEN              OUTCOME  PASS  FAIL  OPEN  ERROR     COST  RECALL              WHY
        2026-11-16T03:00  pass        9     1     0      0  $0.0000  100.0%  ██████████
        2026-11-16T02:00  fail        9     1     0      0  $0.0000   44.4%  ████        q1: too bad\u{1b}[31m
        2026-11-16T01:00  error       9     1     0      0  $0.0000       -              q1: too bad\u{1b}[31m

        3 runs: 1 pass, 1 fail, 1 error; $0.0000; the probe is on
        next run due 2026-11-17T03:00:00Z
        ");
        let none = ProbeHistory { runs: Vec::new(), enabled: false, ..history };
        assert_eq!(probe_history(&none), "No run in the last 30 days; the probe is off\n");
    }

    #[test]
    fn a_run_without_questions_is_reported() {
        let detail = Some("it would cost at most $9.00, and $5.00 is allowed".to_owned());
        let at = "2026-11-16T03:00:00Z".parse().unwrap();
        let event = Event::bare(at, ProbeOutcome::BudgetExceeded, detail);
        let report = ProbeReport::bare(ProbeEvent::from(&event), 5.0);
        let expected = "BUDGET_EXCEEDED  no questions were asked\n\
                        it would cost at most $9.00, and $5.00 is allowed\n";
        assert_eq!(probe(&report), expected);
    }
}
