//! Panel judgements for a terminal: the scores by model, and their cost.

use std::fmt::Write as _;

use super::super::escape::visible;
use super::super::number::{NONE, Unit, beside, count};
use super::LINE;
use super::table::{Edge, table};
use crate::cross_modal::MEAN_FLOOR;
use crate::cross_modal::batch::RowVerdict;
use crate::format::cross_modal::{
    Receipt, Summary, WireAggregate, WireAgreement, WireCall, WireDimension, WireJudgement,
    WireRubric,
};

/// Maximum number of rows that did not pass to list.
const ROWS: usize = 20;

pub fn cross_modal(receipt: &Receipt) -> String {
    let judgement = &receipt.judgement;
    let aggregate = &receipt.aggregate;
    let mut text = format!("{}  {}\n", loud(receipt.verdict.name()), votes(aggregate));
    if let Some(reason) = aggregate.inconclusive_reason {
        let _ = writeln!(text, "no verdict: {reason}");
    }
    text.push('\n');
    text.push_str(&scores(aggregate));
    text.push('\n');
    text.push_str(&seats(&judgement.slots));
    let _ = writeln!(text, "\n{}", agreement(&aggregate.agreement));
    let cost = [receipt.est_cost_usd, judgement.cost_usd, judgement.saved_usd];
    let _ = writeln!(text, "{}", money(cost));
    let _ = writeln!(text, "{}", rubric(&judgement.rubric));
    if !aggregate.improvements.is_empty() {
        text.push_str("\nimprovements:\n");
    }
    for (at, improvement) in aggregate.improvements.iter().enumerate() {
        let _ = writeln!(text, "{:>3}. {}", at + 1, visible(improvement, LINE));
    }
    text
}

pub fn cross_modal_batch(summary: &Summary) -> String {
    let mut text = format!("{}  {}\n\n", loud(summary.verdict.name()), counts(summary));
    text.push_str(&means(summary));
    text.push_str(&not_green(summary));
    for seat in &summary.slots {
        let _ = writeln!(text, "{}  {}", seat.id, visible(&seat.model, LINE));
    }
    let _ = writeln!(text, "\n{}", agreement(&summary.agreement));
    let cost = [summary.est_cost_usd, summary.cost_usd, summary.saved_usd];
    let _ = writeln!(text, "{}", money(cost));
    let _ = writeln!(text, "{}", rubric(&summary.rubric));
    text
}

/// The verdict, in capitals unless it is a pass.
fn loud(verdict: &str) -> String {
    if verdict == "pass" { verdict.to_owned() } else { verdict.to_uppercase() }
}

fn votes(aggregate: &WireAggregate) -> String {
    let mut text = format!(
        "{} of {}",
        count(aggregate.votes, "vote"),
        count(aggregate.contributing_models, "model")
    );
    if aggregate.failed_calls > 0 {
        let _ = write!(text, ", {} failed", count(aggregate.failed_calls, "call"));
    }
    if aggregate.calls_not_made > 0 {
        let _ = write!(text, ", {} not made", count(aggregate.calls_not_made, "call"));
    }
    text
}

/// A table of scores: dimensions as rows, slots as columns.
fn scores(aggregate: &WireAggregate) -> String {
    let Some(first) = aggregate.dimensions.first() else { return String::new() };
    let slots: Vec<&String> = first.per_slot.keys().collect();
    let mut head = vec!["DIMENSION".to_owned()];
    head.extend(slots.iter().map(|slot| (*slot).clone()));
    head.extend(["MEAN", "MIN", "STATUS"].map(str::to_owned));
    let row = |dimension: &WireDimension| {
        let mut row = vec![dimension.name.clone()];
        row.extend(slots.iter().map(|slot| {
            let mean = dimension.per_slot.get(*slot).copied().flatten();
            mean.map_or_else(|| NONE.to_owned(), |mean| format!("{mean:.2}"))
        }));
        row.extend([mean(dimension.mean), min(dimension), status(dimension)]);
        row
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(head).chain(aggregate.dimensions.iter().map(row)).collect();
    let mut edges = vec![Edge::Left];
    edges.extend(std::iter::repeat_n(Edge::Right, slots.len() + 2));
    edges.push(Edge::Left);
    let mut text = table(&edges, &rows);
    let _ = writeln!(text, "overall {}", mean(aggregate.overall));
    text
}

fn mean(mean: Option<f64>) -> String {
    let floor = f64::from(MEAN_FLOOR);
    mean.map_or_else(|| NONE.to_owned(), |mean| beside(Unit::Score, mean, floor))
}

fn min(dimension: &WireDimension) -> String {
    dimension.min.map_or_else(|| NONE.to_owned(), |min| min.to_string())
}

fn status(dimension: &WireDimension) -> String {
    let reasons: Vec<&str> = dimension.fail_reasons.iter().map(|reason| reason.name()).collect();
    match (dimension.mean, reasons.is_empty()) {
        (None, _) => "NOT MEASURED".to_owned(),
        (Some(_), true) => "ok".to_owned(),
        (Some(_), false) => format!("FAIL {}", reasons.join(", ")),
    }
}

/// Models by slot, with the errors of their calls.
fn seats(calls: &[WireCall]) -> String {
    let mut text = String::new();
    let mut listed = Vec::new();
    for call in calls {
        if !listed.contains(&call.id) {
            listed.push(call.id);
            let _ = writeln!(text, "{}  {}", call.id, visible(&call.model, LINE));
            for failed in calls.iter().filter(|other| other.id == call.id) {
                text.push_str(&trouble(failed));
            }
        }
    }
    text
}

fn trouble(call: &WireCall) -> String {
    match (&call.error, &call.not_made) {
        (Some(error), _) => format!("   cycle {} failed: {}\n", call.cycle, visible(error, LINE)),
        (None, Some(why)) => format!("   cycle {} not made: {}\n", call.cycle, visible(why, LINE)),
        (None, None) => String::new(),
    }
}

/// The distinct kinds of errors in calls. An error begins with its kind.
fn troubles(calls: &[WireCall]) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for call in calls {
        let failed = call.error.as_deref().and_then(|error| error.split(':').next());
        let not_made = call.not_made.as_deref().filter(|why| *why != "settled");
        kinds.extend(failed.or(not_made).filter(|kind| !kinds.contains(kind)));
    }
    kinds
}

fn agreement(agreement: &WireAgreement) -> String {
    let WireAgreement { krippendorff_alpha, undefined, units, values } = agreement;
    let name = "agreement (Krippendorff's alpha, interval)";
    match (krippendorff_alpha, undefined) {
        (Some(alpha), _) => format!("{name}: {alpha:.3} over {units} units, {values} values"),
        (None, Some(why)) => format!("{name}: not defined, {why}"),
        (None, None) => format!("{name}: not defined"),
    }
}

fn money([estimated, paid, saved]: [f64; 3]) -> String {
    let mut text = format!("cost ${paid:.4} (estimated at most ${estimated:.4})");
    if saved > 0.0 {
        let _ = write!(
            text,
            ", saved up to ${saved:.4} by skipping calls that could not change the verdict"
        );
    }
    text
}

fn rubric(rubric: &WireRubric) -> String {
    let WireRubric { id, version, sha256 } = rubric;
    let sha: String = sha256.chars().take(16).collect();
    format!("rubric {}-v{version} ({})", visible(id, LINE), visible(&sha, LINE))
}

fn counts(summary: &Summary) -> String {
    let parts = [
        (summary.pass_count, "passed"),
        (summary.fail_count, "failed"),
        (summary.inconclusive_count, "inconclusive"),
        (summary.error_count, "not judged"),
        (summary.upstream_error_count, "not answered"),
        (summary.malformed_count, "malformed"),
    ];
    let counts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let counts: Vec<String> = std::iter::once(count(summary.total, "row")).chain(counts).collect();
    let mut text = counts.join(", ");
    if summary.beyond_limit_count > 0 {
        let _ = write!(text, "; {} beyond the limit", summary.beyond_limit_count);
    }
    text
}

/// The mean of each dimension over the questions that have one.
fn means(summary: &Summary) -> String {
    let aggregates = || summary.per_question.iter().filter_map(|row| row.final_aggregate.as_ref());
    let Some(first) = aggregates().next() else { return String::new() };
    let mut rows = vec![["DIMENSION", "n", "MEAN", "MIN"].map(str::to_owned).to_vec()];
    for (at, dimension) in first.dimensions.iter().enumerate() {
        let of_all = || aggregates().filter_map(|aggregate| aggregate.dimensions.get(at));
        let values: Vec<f64> = of_all().filter_map(|dimension| dimension.mean).collect();
        let lowest = of_all().filter_map(|dimension| dimension.min).min();
        rows.push(vec![
            dimension.name.clone(),
            values.len().to_string(),
            mean(crate::stats::mean(&values)),
            lowest.map_or_else(|| NONE.to_owned(), |min| min.to_string()),
        ]);
    }
    format!("{}\n", table(&[Edge::Left, Edge::Right, Edge::Right, Edge::Right], &rows))
}

/// The rows that did not pass, with the reasons.
fn not_green(summary: &Summary) -> String {
    let rows = || summary.per_question.iter().filter(|row| row.verdict != RowVerdict::Pass);
    let mut text = String::new();
    for row in rows().take(ROWS) {
        let why = match (&row.error, &row.final_aggregate) {
            (Some(error), _) => visible(error, LINE),
            (None, Some(aggregate)) => reasons(aggregate, row.receipt.as_ref()),
            (None, None) => String::new(),
        };
        let line =
            format!("{}  {}  {why}", loud(row.verdict.name()), visible(&row.question_id, LINE));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for malformed in summary.malformed.iter().take(ROWS) {
        let _ =
            writeln!(text, "MALFORMED  line {}  {}", malformed.line, visible(&malformed.why, LINE));
    }
    let hidden = rows().count().saturating_sub(ROWS) + summary.malformed.len().saturating_sub(ROWS);
    if hidden > 0 {
        let _ = writeln!(text, "and {hidden} more");
    }
    if text.is_empty() { text } else { format!("{text}\n") }
}

fn reasons(aggregate: &WireAggregate, receipt: Option<&WireJudgement>) -> String {
    if let Some(unsure) = aggregate.inconclusive_reason {
        let kinds = receipt.map(|receipt| troubles(&receipt.slots)).unwrap_or_default();
        return match kinds.is_empty() {
            true => unsure.name().to_owned(),
            false => format!("{unsure}: {}", visible(&kinds.join(", "), LINE)),
        };
    }
    let failed = aggregate.dimensions.iter().filter(|dimension| !dimension.fail_reasons.is_empty());
    let failures = failed.map(|dimension| {
        let reasons: Vec<&str> =
            dimension.fail_reasons.iter().map(|reason| reason.name()).collect();
        format!("{} {}", dimension.name, reasons.join(" "))
    });
    failures.collect::<Vec<_>>().join(", ")
}
