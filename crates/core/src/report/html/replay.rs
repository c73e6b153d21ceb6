//! A replay as an HTML page, and the parts that a gate shows too.

use crate::provenance::RankingFactor;
use crate::replay::{MetricHealth, ReplaySummary, ReplayedRow, RowOutcome, diagnose, healths};
use crate::report::ReplayParts;
use crate::report::number::{NONE, Unit, count, interval, interval_at, maybe, ms};
use crate::report::tally::{FactorCounts, asked, blames, changed, compared, jaccards};

use super::bars::{histogram, shares};
use super::page::{Banner, page};
use super::plot::figure;
use super::rankings::rankings;
use super::scatter::latencies;
use super::{ROWS, list, section, table, text};

/// The page of a replay.
pub fn replay(parts: &ReplayParts<'_>) -> String {
    let ReplayParts { rows, summary, worst } = *parts;
    let all = healths(summary);
    let worst_health = [all.jaccard, all.top1, all.latency].into_iter().max();
    let (class, word) = match worst_health {
        Some(MetricHealth::Healthy) if summary.not_comparable + summary.errored > 0 => {
            ("inconclusive", "Not all compared")
        }
        Some(MetricHealth::Healthy) => ("pass", "Healthy"),
        Some(MetricHealth::Shifted) => ("inconclusive", "Shifted"),
        Some(MetricHealth::Broken) => ("fail", "Broken"),
        Some(MetricHealth::NotMeasured) | None => ("inconclusive", "Not all measured"),
    };
    let why = asked(summary);
    let banner = Banner { class, word, what: "gbrain eval replay", why: &why };
    let mut body = section("numbers", "The numbers", "", &numbers(summary));
    let causes: Vec<String> = diagnose(rows, summary).iter().map(|one| text(one)).collect();
    body.push_str(&section("diagnosis", "Diagnosis", "", &list("plain", &causes)));
    body.push_str(&section("spread", "Distribution", "", &plots(rows, summary)));
    body.push_str(&section("changed", "What changed since the capture", "", &changes(rows)));
    body.push_str(&section("failed", "Rows without a result", "", &failed(rows)));
    body.push_str(&section(
        "moved",
        "Moved rows",
        "Worst first, by overlap of captured and current pages.",
        &rankings(rows, worst),
    ));
    page(banner, &[("Moved", format!("{} of {} rows", summary.moved, summary.replayed))], &body)
}

fn numbers(summary: &ReplaySummary) -> String {
    let all = healths(summary);
    let tag = |health: MetricHealth| {
        let class = match health {
            MetricHealth::Healthy => "pass",
            MetricHealth::Shifted | MetricHealth::NotMeasured => "inconclusive",
            MetricHealth::Broken => "fail",
        };
        format!("<span class=\"tag {class}\">{}</span>", health.name().replace('_', " "))
    };
    let row = |name: &str, cells: [String; 4], n: usize| {
        let [value, weighted, interval, health] = cells;
        vec![name.to_owned(), value, weighted, interval, health, n.to_string()]
    };
    let none = || NONE.to_owned();
    let latency = &summary.latency;
    let delta = latency.mean_delta_ms.map_or_else(none, |delta| {
        format!("{}{}", if delta < 0.0 { '-' } else { '+' }, ms(delta.abs()))
    });
    let score = |value| maybe(Unit::Score, value);
    let n = summary.measured;
    let jaccard = [
        score(summary.mean_jaccard),
        score(summary.weighted_jaccard),
        interval_at(Unit::Score, summary.jaccard_interval, summary.measured),
        tag(all.jaccard),
    ];
    let top1 = [
        maybe(Unit::Rate, summary.top1_rate),
        maybe(Unit::Rate, summary.weighted_top1),
        interval(Unit::Rate, summary.top1_interval),
        tag(all.top1),
    ];
    let times = summary.timing.ratio;
    let ratio = [
        maybe(Unit::Ratio, times.map(|times| times.ratio)),
        none(),
        interval(Unit::Ratio, times.and_then(|times| times.interval)),
        none(),
    ];
    let rows = [
        row("Mean Jaccard@k", jaccard, n),
        row("Top-1 stability", top1, n),
        row("Mean latency Δ", [delta, none(), none(), tag(all.latency)], latency.compared),
        row("Time ratio, like with like", ratio, times.map_or(0, |times| times.n)),
        row("Mean RBO", [score(summary.mean_rbo), none(), none(), none()], n),
        row("Mean Kendall τ", [score(summary.mean_kendall), none(), none(), none()], n),
    ];
    table("numbers", "numbers", &["", "Value", "By use", "95% CI", "Health", "n"], &rows)
}

/// Distributions of overlap, first pages and latency.
pub(super) fn plots(rows: &[ReplayedRow], summary: &ReplaySummary) -> String {
    if summary.replayed == 0 {
        return String::new();
    }
    let mean = maybe(Unit::Score, summary.mean_jaccard);
    let mut html = figure(
        "Overlap of captured and current pages (Jaccard)",
        &histogram(&jaccards(rows), "Jaccard"),
        &format!("Rows by overlap; mean {mean}, n={}.", summary.measured),
    );
    html.push_str(&figure(
        "First page and latency",
        &(first_pages(rows) + &percentiles(summary)),
        "",
    ));
    html.push_str(&latencies(rows));
    format!("<div class=\"plots\">\n{html}</div>\n")
}

fn first_pages(rows: &[ReplayedRow]) -> String {
    let count = |wanted: Option<bool>| compared(rows).filter(|row| row.top1 == wanted).count();
    let parts = [
        ("kept", "same first page", count(Some(true))),
        ("lost", "other first page", count(Some(false))),
        ("rest", "none on either side", count(None)),
    ];
    shares(&parts, "First page")
}

fn percentiles(summary: &ReplaySummary) -> String {
    let latency = &summary.latency;
    let row = |name: &str, of: Option<[f64; 3]>| {
        let cells = of.map_or_else(|| [NONE; 3].map(str::to_owned), |of| of.map(ms));
        [vec![name.to_owned()], cells.to_vec()].concat()
    };
    let rows = [row("captured", latency.captured_ms), row("now", latency.current_ms)];
    table("latency", "numbers", &["Latency", "p50", "p95", "p99"], &rows)
}

/// Changed rows by factor, and the blamed factors.
pub(super) fn changes(rows: &[ReplayedRow]) -> String {
    if compared(rows).next().is_none() {
        return String::new();
    }
    let one = |(factor, FactorCounts { same, differs, unknown }): (RankingFactor, FactorCounts)| {
        let parts = [
            ("now", "changed", differs),
            ("then", "same", same),
            ("rest", "not recorded", unknown),
        ];
        figure(factor.name(), &shares(&parts, factor.name()), "")
    };
    let figures: String = changed(rows).into_iter().map(one).collect();
    let blames: Vec<String> = blames(rows)
        .iter()
        .map(|(blame, n)| format!("{} {n}", blame.name().replace('_', " ")))
        .collect();
    let moved = if blames.is_empty() {
        String::new()
    } else {
        format!("<p class=\"more\">Rows moved by: {}.</p>\n", blames.join(", "))
    };
    format!("<div class=\"plots four\">\n{figures}</div>\n{moved}")
}

/// Rows that failed or were skipped.
pub(super) fn failed(rows: &[ReplayedRow]) -> String {
    let item = |row: &ReplayedRow| {
        let (tag, why) = match &row.outcome {
            RowOutcome::Compared(_) => return None,
            RowOutcome::Errored(message) => {
                ("<span class=\"tag fail\">failed</span>", text(message))
            }
            RowOutcome::Skipped(skip) if skip.is_not_comparable() => {
                ("<span class=\"tag inconclusive\">not comparable</span>", text(skip.name()))
            }
            RowOutcome::Skipped(skip) => ("<span class=\"tag\">skipped</span>", text(skip.name())),
        };
        let query = text(&row.query);
        Some(format!(
            "{tag} line {} <bdi class=\"query\">{query}</bdi><span class=\"note\">{why}</span>",
            row.line
        ))
    };
    let mut items: Vec<String> = rows.iter().filter_map(item).collect();
    let left = items.len().saturating_sub(ROWS);
    items.truncate(ROWS);
    if left > 0 {
        items.push(format!("{} not shown", count(left, "row")));
    }
    list("plain", &items)
}
