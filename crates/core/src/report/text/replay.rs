//! Replays for a terminal: the lines of the specification, each with its health, and additional
//! ones.

use crate::latency::Clock;
use crate::replay::{MetricHealth, ReplaySummary, TimingSummary, diagnose, healths};
use crate::report::ReplayParts;
use crate::report::escape::visible;
use crate::report::number::{Unit, count, interval, interval_at, maybe, ms, value};
use crate::report::tally::{asked, errors, jaccards, regressed, worst_rows};

use super::LINE;
use super::rows::{blame, caveat, changes, line, row};
use super::spark::sparkline;

/// Maximum number of errors to list.
const ERRORS: usize = 3;

/// The report of a replay.
pub fn replay(parts: &ReplayParts<'_>) -> String {
    let ReplayParts { rows, summary, worst } = *parts;
    let mut text = numbers(summary);
    text.push_str(&more_numbers(summary));
    if summary.measured > 0 {
        let spread = sparkline(&jaccards(rows));
        line(&mut text, format_args!("Jaccard, rows from 0 to 1: {spread}"));
    }
    text.push_str(&changes(rows));
    text.push_str(&blame(rows));
    text.push_str(&caveat(rows));
    text.push_str(&listed("Diagnosis:", diagnose(rows, summary)));
    text.push_str(&listed(&first_errors_head(summary), first_errors(parts)));
    text.push_str(&regressions(parts, worst));
    text
}

fn numbers(summary: &ReplaySummary) -> String {
    let measured = summary.measured;
    let healths = healths(summary);
    let delta = summary.latency.mean_delta_ms;
    let slow = match summary.latency.over_twice {
        0 => "more than 50ms faster".to_owned(),
        over => format!("{} over 2x", count(over, "row")),
    };
    let mut text = String::new();
    line(&mut text, format_args!("{}", asked(summary)));
    line(
        &mut text,
        format_args!(
            "Mean Jaccard@k: {}  {}",
            maybe(Unit::Score, summary.mean_jaccard),
            health(summary, healths.jaccard, "below 0.85", "below 0.7, a major shift"),
        ),
    );
    line(
        &mut text,
        format_args!(
            "Top-1 stability: {}  {}",
            maybe(Unit::Rate, summary.top1_rate),
            health(summary, healths.top1, "below 85%", "below 70%, the top of the funnel broke"),
        ),
    );
    line(
        &mut text,
        format_args!(
            "Mean latency Δ: {} (current vs captured)  {}",
            delta.map_or_else(|| "-".to_owned(), signed_ms),
            health(summary, healths.latency, &slow, "more than 50ms slower"),
        ),
    );
    line(
        &mut text,
        format_args!(
            "95% CI: Jaccard {}, top-1 {}; n={measured}, latency n={}",
            interval_at(Unit::Score, summary.jaccard_interval, summary.measured),
            interval(Unit::Rate, summary.top1_interval),
            summary.latency.compared,
        ),
    );
    text
}

fn health(summary: &ReplaySummary, health: MetricHealth, shifted: &str, broken: &str) -> String {
    let ReplaySummary { total, replayed, .. } = summary;
    match health {
        MetricHealth::Healthy if replayed < total => {
            format!("[healthy in the {replayed} of {total} rows that were compared]")
        }
        MetricHealth::Healthy => "[healthy]".to_owned(),
        MetricHealth::Shifted => format!("[shifted: {shifted}]"),
        MetricHealth::Broken => format!("[BROKEN: {broken}]"),
        MetricHealth::NotMeasured => "[not measured]".to_owned(),
    }
}

fn signed_ms(delta: f64) -> String {
    let text = ms(delta.abs());
    if delta < 0.0 { format!("-{text}") } else { format!("+{text}") }
}

fn more_numbers(summary: &ReplaySummary) -> String {
    let mut text = String::new();
    line(
        &mut text,
        format_args!(
            "Order: mean RBO {}, mean Kendall τ {}",
            maybe(Unit::Score, summary.mean_rbo),
            maybe(Unit::Score, summary.mean_kendall),
        ),
    );
    line(
        &mut text,
        format_args!(
            "Weighted by use ({}): Jaccard {}, top-1 {}",
            count(usize::try_from(summary.weight).unwrap_or(usize::MAX), "capture"),
            maybe(Unit::Score, summary.weighted_jaccard),
            maybe(Unit::Rate, summary.weighted_top1),
        ),
    );
    let latency = &summary.latency;
    if latency.captured_ms.is_some() || latency.current_ms.is_some() {
        line(
            &mut text,
            format_args!(
                "Latency p50/p95/p99: captured {}, current {}",
                percentiles(latency.captured_ms),
                percentiles(latency.current_ms),
            ),
        );
    }
    text.push_str(&times(&summary.timing));
    if latency.over_twice > 0 {
        let rows = count(latency.over_twice, "row");
        line(&mut text, format_args!("Warning: {rows} over twice the captured latency"));
    }
    if summary.both_empty > 0 {
        let rows = count(summary.both_empty, "row");
        line(&mut text, format_args!("Empty in both runs: {rows}, not in any mean"));
    }
    text
}

/// The times that were measured in the same way in both runs.
fn times(timing: &TimingSummary) -> String {
    let TimingSummary { ratio, not_compared } = timing;
    let mut text = String::new();
    if let Some(found) = ratio {
        let clock = match found.clock {
            Clock::Cpu => "CPU time",
            Clock::Wall => "Wall-clock time of this target",
        };
        let (now, interval) =
            (value(Unit::Ratio, found.ratio), interval(Unit::Ratio, found.interval));
        line(
            &mut text,
            format_args!("{clock}: {now} of the captured time (95% CI {interval}), n={}", found.n),
        );
    }
    for (why, rows) in not_compared {
        let rows = count(rows.len(), "row");
        line(&mut text, format_args!("Time not compared: {rows} ({})", why.reason()));
    }
    text
}

/// Three latencies, separated by slashes.
fn percentiles(of: Option<[f64; 3]>) -> String {
    of.map_or_else(|| "-".to_owned(), |of| of.map(ms).join("/"))
}

fn first_errors_head(summary: &ReplaySummary) -> String {
    format!("First {} of {} error(s):", summary.errored.min(ERRORS), summary.errored)
}

fn first_errors(parts: &ReplayParts<'_>) -> Vec<String> {
    let error = |(row, message): (&crate::replay::ReplayedRow, &str)| {
        let (query, message) = (visible(&row.query, LINE), visible(message, LINE));
        format!("line {} \"{query}\": {message}", row.line)
    };
    errors(parts.rows).take(ERRORS).map(error).collect()
}

fn listed(head: &str, items: Vec<String>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("  {item}\n")).collect();
    format!("{head}\n{items}")
}

fn regressions(parts: &ReplayParts<'_>, worst: usize) -> String {
    let rows = worst_rows(parts.rows, worst);
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("Top {} regression(s):\n", rows.len());
    text.extend(rows.iter().map(|one| row(one)));
    let left = regressed(parts.rows) - rows.len();
    if left > 0 {
        line(&mut text, format_args!("  ... and {} more", count(left, "row")));
    }
    text
}
