//! Tables of rows, queries and changed factors.

use crate::gate::JudgedResult;
use crate::provenance::RankingFactor;
use crate::replay::{ReplayedRow, RowComparison};
use crate::report::Queries;
use crate::report::number::{NONE, Unit, count, maybe};
use crate::report::rows::{
    DroppedPage, added_count, dropped_pages, judged_name, row_name, worst_judged,
};
use crate::report::tally::{FactorCounts, blames, changed, compared, regressed, worst_rows};

use super::{ROOM, WORST, code, table};

/// Maximum number of lost pages to name.
const LOST: usize = 3;

/// The worst rows of a replay, as many as fit after `before` bytes.
pub(super) fn worst(rows: &[ReplayedRow], limit: usize, queries: Queries, before: usize) -> String {
    let lines = worst_rows(rows, limit.min(WORST)).into_iter().filter_map(|row| line(row, queries));
    let head = [
        "line",
        "query",
        "jaccard",
        "first page",
        "captured",
        "current",
        "lost",
        "new",
        "moved by",
    ];
    fitting("Worst queries", &head, lines, regressed(rows), before)
}

fn line(row: &ReplayedRow, queries: Queries) -> Option<Vec<String>> {
    let compared = row.compared()?;
    Some(vec![
        row.line.to_string(),
        code(row_name(row, queries)),
        format!("{:.2}", compared.jaccard),
        compared.top1.map_or(NONE, |same| if same { "same" } else { "other" }).to_owned(),
        compared.captured.len().to_string(),
        compared.current.len().to_string(),
        lost(compared, queries),
        added_count(compared).to_string(),
        compared.blame.map_or(NONE, |blame| blame.name()).to_owned(),
    ])
}

fn lost(compared: &RowComparison, queries: Queries) -> String {
    let gone = dropped_pages(compared);
    if queries == Queries::Hashed {
        return gone.len().to_string();
    }
    let name = |DroppedPage { page, loss }: &DroppedPage<'_>| match loss {
        Some(loss) => format!("{} at {}", code(page), code(&loss.stage)),
        None => code(page),
    };
    let mut names: Vec<String> = gone.iter().take(LOST).map(name).collect();
    if gone.len() > LOST {
        names.push(format!("{} more", gone.len() - LOST));
    }
    if names.is_empty() { "0".to_owned() } else { names.join("<br>") }
}

/// The worst judged queries, as many as fit after `before` bytes.
pub(super) fn wrong(judged: &[JudgedResult], queries: Queries, before: usize) -> String {
    let wrong = worst_judged(judged);
    let of = wrong.len();
    let line = |(place, judged): (usize, &JudgedResult)| {
        let hit = |hit: Option<bool>| hit.map_or(NONE, |hit| if hit { "yes" } else { "no" });
        vec![
            (place + 1).to_string(),
            code(&judged_name(judged, queries)),
            maybe(Unit::Score, judged.recall_at_k),
            judged.relevant.len().to_string(),
            judged.missing().len().to_string(),
            hit(judged.first_relevant_hit).to_owned(),
            hit(judged.expected_top1_hit).to_owned(),
        ]
    };
    let head = [
        "place",
        "query",
        "recall",
        "relevant",
        "missing",
        "first is relevant",
        "first is expected",
    ];
    fitting("Worst judged queries", &head, wrong.into_iter().take(WORST).map(line), of, before)
}

fn fitting(
    heading: &str,
    head: &[&str],
    lines: impl Iterator<Item = Vec<String>>,
    of: usize,
    before: usize,
) -> String {
    let mut room = ROOM.saturating_sub(before);
    let fits = |line: &Vec<String>| {
        let bytes = line.iter().map(|cell| cell.len() + 3).sum::<usize>();
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    };
    let lines: Vec<Vec<String>> = lines.take_while(fits).collect();
    if of == 0 {
        return String::new();
    }
    let left = of - lines.len();
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let table = table(&head, lines);
    let more =
        if left > 0 { format!("\n{} not shown.\n", count(left, "query")) } else { String::new() };
    format!("\n### {heading}\n\n{table}{more}")
}

/// Changed rows by factor, and the blamed factors.
pub(super) fn changes(rows: &[ReplayedRow]) -> String {
    if compared(rows).next().is_none() {
        return String::new();
    }
    let head = ["factor", "changed", "same", "not recorded"].map(str::to_owned);
    let line =
        |(factor, FactorCounts { same, differs, unknown }): (RankingFactor, FactorCounts)| {
            vec![
                factor.name().to_owned(),
                differs.to_string(),
                same.to_string(),
                unknown.to_string(),
            ]
        };
    let table = table(&head, changed(rows).into_iter().map(line));
    let blames = blames(rows);
    let blames: Vec<String> = blames.iter().map(|(blame, n)| format!("{blame} {n}")).collect();
    let moved = if blames.is_empty() {
        String::new()
    } else {
        format!("\nMoved by: {}\n", blames.join(", "))
    };
    format!("\n### Changed since the capture, in rows\n\n{table}{moved}")
}
