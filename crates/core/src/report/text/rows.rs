//! Lines about single rows, and about what changed between them and now.

use std::fmt::Write as _;

use crate::replay::{Compared, ReplayedRow};
use crate::report::escape::visible;
use crate::report::number::count;
use crate::report::rows::{Gone, came, gone};
use crate::report::tally::{Changed, blames, caveats, changed, compared};

use super::LINE;

/// Lost pages of one row that are named.
const LOST: usize = 5;

/// A row with what it lost.
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
    let came = came(compared);
    if came > 0 {
        line(&mut text, format_args!("    new: {}", count(came, "page")));
    }
    if let Some(blame) = compared.blame {
        line(&mut text, format_args!("    moved by: {blame}"));
    }
    text
}

/// Which page was first and which is now; the pages that were lost tell it where there are some.
fn first(compared: &Compared) -> String {
    match (compared.captured.first(), compared.current.first()) {
        (Some(before), Some(now)) if before != now && compared.current.contains(before) => {
            format!("    first: {} instead of {}\n", visible(now, LINE), visible(before, LINE))
        }
        (_, _) => String::new(),
    }
}

fn lost(compared: &Compared) -> String {
    let gone = gone(compared);
    let mut text = String::new();
    for Gone { page, fell } in gone.iter().take(LOST) {
        let page = visible(page, LINE);
        match fell {
            Some(fell) => {
                let (stage, why) = (visible(&fell.stage, LINE), visible(&fell.why, LINE));
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

/// What differs between the captures and now, one factor a line.
pub(super) fn changes(rows: &[ReplayedRow]) -> String {
    if compared(rows).next().is_none() {
        return String::new();
    }
    let mut text = "Changed since the capture, in rows:\n".to_owned();
    for (factor, Changed { same, differs, unknown }) in changed(rows) {
        let name = factor.name();
        line(
            &mut text,
            format_args!("  {name:<8}  {differs} changed, {same} same, {unknown} not recorded"),
        );
    }
    text
}

/// What moved rows, in one line.
pub(super) fn blame(rows: &[ReplayedRow]) -> String {
    counted("Moved by", blames(rows).into_iter().map(|(blame, n)| (blame.name(), n)))
}

/// What is not as it was captured, in one line.
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
