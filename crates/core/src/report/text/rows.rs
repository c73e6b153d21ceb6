//! Lines about rows and about changed factors.

use std::fmt::Write as _;

use crate::replay::{ReplayedRow, RowComparison};
use crate::report::escape::visible;
use crate::report::number::count;
use crate::report::rows::{DroppedPage, added_count, dropped_pages};
use crate::report::tally::{FactorCounts, blames, caveats, changed, compared};

use super::LINE;

/// Maximum number of lost pages to name per row.
const LOST: usize = 5;

/// A row with its lost pages.
pub(super) fn row(row: &ReplayedRow) -> String {
    let query = visible(&row.query, LINE);
    let Some(compared) = row.compared() else { return format!("  \"{query}\"\n") };
    let mut text = format!(
        "  jaccard={:.2} captured={} current={} \"{query}\"\n",
        compared.jaccard,
        compared.captured.len(),
        compared.current.len(),
    );
    text.push_str(&first(compared));
    text.push_str(&lost(compared));
    let came = added_count(compared);
    if came > 0 {
        line(&mut text, format_args!("    new: {}", count(came, "page")));
    }
    if let Some(blame) = compared.blame {
        line(&mut text, format_args!("    moved by: {blame}"));
    }
    text
}

/// The old and the new first page, unless the old one is listed as lost.
fn first(compared: &RowComparison) -> String {
    match (compared.captured.first(), compared.current.first()) {
        (Some(before), Some(now)) if before != now && compared.current.contains(before) => {
            format!("    first: {} instead of {}\n", visible(now, LINE), visible(before, LINE))
        }
        (_, _) => String::new(),
    }
}

fn lost(compared: &RowComparison) -> String {
    let gone = dropped_pages(compared);
    let mut text = String::new();
    for DroppedPage { page, loss } in gone.iter().take(LOST) {
        let page = visible(page, LINE);
        match loss {
            Some(loss) => {
                let (stage, why) = (visible(&loss.stage, LINE), visible(&loss.why, LINE));
                line(&mut text, format_args!("    lost: {page} at {stage}: {why}"));
            }
            None => line(&mut text, format_args!("    lost: {page}")),
        }
    }
    if gone.len() > LOST {
        line(&mut text, format_args!("    lost: {} more", gone.len() - LOST));
    }
    text
}

/// Changed rows by factor, one line each.
pub(super) fn changes(rows: &[ReplayedRow]) -> String {
    if compared(rows).next().is_none() {
        return String::new();
    }
    let mut text = "Changed since the capture, in rows:\n".to_owned();
    for (factor, FactorCounts { same, differs, unknown }) in changed(rows) {
        let name = factor.name();
        line(
            &mut text,
            format_args!("  {name:<8}  {differs} changed, {same} same, {unknown} not recorded"),
        );
    }
    text
}

/// Changed rows by blamed factor, in one line.
pub(super) fn blame(rows: &[ReplayedRow]) -> String {
    counted("Moved by", blames(rows).into_iter().map(|(blame, n)| (blame.name(), n)))
}

/// Rows by caveat, in one line.
pub(super) fn caveat(rows: &[ReplayedRow]) -> String {
    counted("Caveats, in rows", caveats(rows).into_iter().map(|(caveat, n)| (caveat.name(), n)))
}

fn counted(what: &str, counts: impl Iterator<Item = (&'static str, usize)>) -> String {
    let counts: Vec<String> = counts.map(|(name, n)| format!("{name} {n}")).collect();
    if counts.is_empty() { String::new() } else { format!("{what}: {}\n", counts.join(", ")) }
}

pub(super) fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("writing to a string succeeds");
}
