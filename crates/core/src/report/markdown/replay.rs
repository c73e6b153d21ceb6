//! A replay as Markdown.

use crate::replay::{MetricHealth, ReplaySummary, diagnose, healths};
use crate::report::number::{NONE, Unit, count, interval, interval_at, maybe, ms};
use crate::report::rows::row_name;
use crate::report::tally::{asked, errors};
use crate::report::{Queries, ReplayParts};

use super::rows::{changes, worst};
use super::{code, list, table};

/// Maximum number of errors to list.
const ERRORS: usize = 10;

/// The report of a replay.
pub fn replay(parts: &ReplayParts<'_>, queries: Queries) -> String {
    let ReplayParts { rows, summary, worst: most } = *parts;
    let mut text = format!("## gbrain eval replay\n\n{}\n\n", asked(summary));
    text.push_str(&numbers(summary));
    // A diagnosis may contain a directory name.
    if queries == Queries::Shown {
        let causes: Vec<String> = diagnose(rows, summary).iter().map(|one| code(one)).collect();
        text.push_str(&list("Diagnosis", &causes));
    }
    text.push_str(&failed(parts, queries));
    text.push_str(&changes(rows));
    text.push_str(&worst(rows, most, queries, text.len()));
    text
}

fn numbers(summary: &ReplaySummary) -> String {
    let healths = healths(summary);
    let n = summary.measured.to_string();
    let latency = &summary.latency;
    let times = summary.timing.ratio;
    let row = |name: &str, value: String, ci: String, n: &str, health: Option<MetricHealth>| {
        let health = health.map_or(NONE, |health| health.name());
        vec![name.to_owned(), value, ci, n.to_owned(), health.to_owned()]
    };
    let none = || NONE.to_owned();
    let delta = latency.mean_delta_ms.map_or_else(none, |delta| {
        format!("{}{}", if delta < 0.0 { '-' } else { '+' }, ms(delta.abs()))
    });
    let rows = [
        row(
            "Mean Jaccard@k",
            maybe(Unit::Score, summary.mean_jaccard),
            interval_at(Unit::Score, summary.jaccard_interval, summary.measured),
            &n,
            Some(healths.jaccard),
        ),
        row(
            "Top-1 stability",
            maybe(Unit::Rate, summary.top1_rate),
            interval(Unit::Rate, summary.top1_interval),
            &n,
            Some(healths.top1),
        ),
        row("Mean latency Δ", delta, none(), &latency.compared.to_string(), Some(healths.latency)),
        row(
            "Time ratio, like with like",
            maybe(Unit::Ratio, times.map(|times| times.ratio)),
            interval(Unit::Ratio, times.and_then(|times| times.interval)),
            &times.map_or(0, |times| times.n).to_string(),
            None,
        ),
        row("Mean RBO", maybe(Unit::Score, summary.mean_rbo), none(), &n, None),
        row("Weighted Jaccard@k", maybe(Unit::Score, summary.weighted_jaccard), none(), &n, None),
        row("Weighted top-1", maybe(Unit::Rate, summary.weighted_top1), none(), &n, None),
        row(
            "Over twice the latency",
            count(latency.over_twice, "row"),
            none(),
            &latency.compared.to_string(),
            None,
        ),
    ];
    table(&["METRIC", "VALUE", "95% CI", "n", "HEALTH"].map(str::to_owned), rows)
}

fn failed(parts: &ReplayParts<'_>, queries: Queries) -> String {
    let item = |(row, message): (&crate::replay::ReplayedRow, &str)| {
        let name = code(row_name(row, queries));
        match queries {
            Queries::Shown => format!("line {}: {name}: {}", row.line, code(message)),
            Queries::Hashed => format!("line {}: {name}", row.line),
        }
    };
    let mut items: Vec<String> = errors(parts.rows).take(ERRORS).map(item).collect();
    if parts.summary.errored > ERRORS {
        items.push(format!("{} more", parts.summary.errored - ERRORS));
    }
    list("Errors", &items)
}
