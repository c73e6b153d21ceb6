//! A comparison as Markdown.

use crate::compare::{Comparison, QueryMove, ResultComparison};
use crate::report::Queries;
use crate::report::deltas::{
    HEADS, SMALLEST, became, cells, decided_by, headline, name, smallest, unheeded,
};
use crate::report::number::count;

use super::{ROOM, WORST, code, list, table};

/// The report of a comparison.
pub fn compare(comparison: &Comparison, queries: Queries) -> String {
    let (word, why) = headline(comparison);
    let decides = code(&decided_by(comparison));
    let mut text =
        format!("## gbrain eval compare: {word}\n\n{}\n\nDecides: {decides}\n", code(&why));
    for one in &comparison.against {
        text.push_str(&format!(
            "\n### {} against {}\n\n",
            code(&one.name),
            code(&comparison.reference)
        ));
        text.push_str(&against(one, queries, text.len()));
    }
    let notes: Vec<String> = comparison
        .notes
        .iter()
        .map(|(name, note)| format!("{}: {}", code(name), code(note)))
        .collect();
    text.push_str(&list("Notes", &notes));
    text
}

fn against(one: &ResultComparison, queries: Queries, before: usize) -> String {
    let row = |delta| {
        let [measure, rest @ ..] = cells(delta);
        [vec![code(&measure)], rest.to_vec()].concat()
    };
    let mut text = table(&HEADS.map(str::to_owned), one.deltas.iter().map(row));
    let (smallest, unheeded) = (smallest(one), unheeded(one));
    if !smallest.is_empty() {
        text.push_str(&format!("\n{SMALLEST}: {}\n", code(&smallest)));
    }
    if !unheeded.is_empty() {
        text.push_str(&format!("\nFell without deciding: {}\n", code(&unheeded)));
    }
    let (reference, this) = (one.only_reference.len(), one.only_this.len());
    text.push_str(&format!(
        "\n{} in both, {reference} only in the reference, {this} only in this, {} not answered only in \
         this.\n",
        count(one.shared, "query"),
        one.unanswered.len()
    ));
    let forced: Vec<String> = one.forced.iter().map(|reason| code(&reason.to_string())).collect();
    text.push_str(&list("Not comparable, but forced", &forced));
    text.push_str(&moves("Regressions", one.drops().collect(), queries, before + text.len()));
    text.push_str(&moves("Improvements", one.gains().collect(), queries, before + text.len()));
    text
}

fn moves(heading: &str, moves: Vec<&QueryMove>, queries: Queries, before: usize) -> String {
    let row = |one: &&QueryMove| vec![code(&name(one, queries)), code(&one.measure), became(one)];
    let mut items: Vec<Vec<String>> = moves.iter().take(WORST).map(row).collect();
    // Entities make a row at most six times as long.
    let fits = ROOM.saturating_sub(before) / (12 * super::TEXT);
    items.truncate(fits);
    if moves.is_empty() {
        return String::new();
    }
    let left = moves.len() - items.len();
    let more =
        if left > 0 { format!("\n{} not shown.\n", count(left, "query")) } else { String::new() };
    let head = ["query", "measure", "reference to this"].map(str::to_owned);
    format!("\n#### {heading}\n\n{}{more}", table(&head, items))
}
