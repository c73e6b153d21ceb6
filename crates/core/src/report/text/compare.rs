//! Comparisons for a terminal, regressions first.

use crate::compare::{Comparison, QueryMove, ResultComparison};
use crate::report::deltas::{
    HEADS, SMALLEST, became, cells, decided_by, headline, smallest, unheeded,
};
use crate::report::escape::visible;
use crate::report::number::count;

use super::LINE;
use super::rows::line;
use super::table::{Edge, table};

/// Maximum number of unmatched queries to name.
const ALONE: usize = 5;

/// The report of a comparison, with at most `most` regressed and improved queries each.
pub fn compare(comparison: &Comparison, limit: usize) -> String {
    let (word, why) = headline(comparison);
    let mut text = format!("{word}  {}\n", visible(&why, 4 * LINE));
    line(&mut text, format_args!("Decides: {}", visible(&decided_by(comparison), 4 * LINE)));
    let reference = visible(&comparison.reference, LINE);
    for one in &comparison.against {
        line(&mut text, format_args!("\n{} against {reference}", visible(&one.name, LINE)));
        text.push_str(&against(one, limit));
    }
    for (name, note) in &comparison.notes {
        line(&mut text, format_args!("Note: {}: {note}", visible(name, LINE)));
    }
    text
}

fn against(one: &ResultComparison, limit: usize) -> String {
    use Edge::{Left, Right};
    let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
    rows.extend(
        one.deltas.iter().map(|delta| cells(delta).map(|cell| visible(&cell, LINE)).to_vec()),
    );
    let edges = [Left, Right, Right, Right, Left, Right, Right, Left, Right];
    let mut text = format!("\n{}\n", table(&edges, &rows));
    for reason in &one.forced {
        line(
            &mut text,
            format_args!("Warning: not comparable: {}", visible(&reason.to_string(), LINE)),
        );
    }
    let smallest = smallest(one);
    if !smallest.is_empty() {
        line(&mut text, format_args!("{SMALLEST}: {smallest}"));
    }
    let unheeded = unheeded(one);
    if !unheeded.is_empty() {
        let measures = visible(&unheeded, LINE);
        line(
            &mut text,
            format_args!(
                "Warning: fell without deciding: {measures} (--primary makes them decide)"
            ),
        );
    }
    line(&mut text, format_args!("Queries in both: {}", one.shared));
    text.push_str(&alone("Only in the reference", &one.only_reference));
    text.push_str(&alone("Only in this", &one.only_this));
    text.push_str(&alone("Not answered only in this", &one.unanswered));
    if !one.unshared_measures.is_empty() {
        let measures = visible(&one.unshared_measures.join(", "), LINE);
        line(&mut text, format_args!("Measures in only one result: {measures}"));
    }
    text.push_str(&moves("Regressions", &one.drops().collect::<Vec<_>>(), limit));
    text.push_str(&moves("Improvements", &one.gains().collect::<Vec<_>>(), limit));
    text
}

fn alone(what: &str, labels: &[String]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> =
        labels.iter().take(ALONE).map(|label| format!("\"{}\"", visible(label, 40))).collect();
    if labels.len() > ALONE {
        names.push(format!("{} more", labels.len() - ALONE));
    }
    format!("{what}: {}: {}\n", labels.len(), names.join(", "))
}

fn moves(what: &str, moves: &[&QueryMove], limit: usize) -> String {
    if moves.is_empty() {
        return String::new();
    }
    let mut text = format!("{what}: {}\n", count(moves.len(), "query"));
    for one in moves.iter().take(limit) {
        let (measure, label) = (visible(&one.measure, LINE), visible(&one.label, LINE));
        line(&mut text, format_args!("  {measure} {} \"{label}\"", became(one)));
    }
    if moves.len() > limit {
        line(&mut text, format_args!("  ... and {} more", moves.len() - limit));
    }
    text
}
