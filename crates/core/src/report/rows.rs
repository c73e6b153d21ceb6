//! Names of rows and judged queries in reports, and the pages that they lost.

use crate::baseline::query_hash;
use crate::gate::JudgedResult;
use crate::replay::{LostPage, ReplayedRow, RowComparison};

use super::Queries;

/// The name of a row: its query or its hash.
pub(super) fn row_name(row: &ReplayedRow, queries: Queries) -> &str {
    match queries {
        Queries::Shown => &row.query,
        Queries::Hashed => &row.query_hash,
    }
}

/// The name of a judged query: its text or its hash.
pub(super) fn judged_name(judged: &JudgedResult, queries: Queries) -> String {
    let text = judged.query.text.as_deref().unwrap_or(&judged.query.id);
    match queries {
        Queries::Shown => text.to_owned(),
        Queries::Hashed => query_hash(text),
    }
}

/// A captured page that the current ranking lacks, with the stage that dropped it, if known.
#[derive(Debug, Clone, Copy)]
pub(super) struct DroppedPage<'a> {
    pub(super) page: &'a str,
    pub(super) loss: Option<&'a LostPage>,
}

/// The lost pages, in their captured order.
pub(super) fn dropped_pages(compared: &RowComparison) -> Vec<DroppedPage<'_>> {
    let absent = compared.captured.iter().filter(|page| !compared.current.contains(page));
    absent
        .map(|page| DroppedPage {
            page,
            loss: compared.lost.iter().find(|lost| lost.page == *page),
        })
        .collect()
}

/// Number of pages that are new in the current ranking.
pub(super) fn added_count(compared: &RowComparison) -> usize {
    compared.current.iter().filter(|page| !compared.captured.contains(page)).count()
}

/// Judged queries with a wrong result, worst first: errors, then by recall.
pub(super) fn worst_judged(queries: &[JudgedResult]) -> Vec<(usize, &JudgedResult)> {
    let is_wrong = |judged: &JudgedResult| {
        judged.recall_at_k.is_none_or(|recall| recall < 1.0)
            || judged.first_relevant_hit == Some(false)
            || judged.expected_top1_hit == Some(false)
    };
    let mut wrong: Vec<(usize, &JudgedResult)> =
        queries.iter().enumerate().filter(|(_, judged)| is_wrong(judged)).collect();
    let recall = |judged: &JudgedResult| judged.recall_at_k.unwrap_or(-1.0);
    wrong.sort_by(|(x, a), (y, b)| recall(a).total_cmp(&recall(b)).then(x.cmp(y)));
    wrong
}
