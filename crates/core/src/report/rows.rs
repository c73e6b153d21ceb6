//! Rows and judged queries as reports name them, and the pages they lost.

use crate::baseline::query_hash;
use crate::gate::Judged;
use crate::replay::{Compared, Lost, ReplayedRow};

use super::Queries;

/// What a row is called: its query, or its hash.
pub(super) fn row_name(row: &ReplayedRow, queries: Queries) -> &str {
    match queries {
        Queries::Shown => &row.query,
        Queries::Hashed => &row.query_hash,
    }
}

/// What a judged query is called: its text, or a hash of it.
pub(super) fn judged_name(judged: &Judged, queries: Queries) -> String {
    let text = judged.query.text.as_deref().unwrap_or(&judged.query.id);
    match queries {
        Queries::Shown => text.to_owned(),
        Queries::Hashed => query_hash(text),
    }
}

/// A page that was captured and did not come back, with where it fell out if that is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gone<'a> {
    pub(super) page: &'a str,
    pub(super) fell: Option<&'a Lost>,
}

/// The pages that did not come back, in their captured order.
pub(super) fn gone(compared: &Compared) -> Vec<Gone<'_>> {
    let absent = compared.captured.iter().filter(|page| !compared.current.contains(page));
    absent
        .map(|page| Gone { page, fell: compared.lost.iter().find(|lost| lost.page == *page) })
        .collect()
}

/// How many pages came back that were not captured.
pub(super) fn came(compared: &Compared) -> usize {
    compared.current.iter().filter(|page| !compared.captured.contains(page)).count()
}

/// Judged queries that are not right, worst first: errors, then by recall.
pub(super) fn worst_judged(queries: &[Judged]) -> Vec<(usize, &Judged)> {
    let is_wrong = |judged: &Judged| {
        judged.recall_at_k.is_none_or(|recall| recall < 1.0)
            || judged.first_relevant_hit == Some(false)
            || judged.expected_top1_hit == Some(false)
    };
    let mut wrong: Vec<(usize, &Judged)> =
        queries.iter().enumerate().filter(|(_, judged)| is_wrong(judged)).collect();
    let recall = |judged: &Judged| judged.recall_at_k.unwrap_or(-1.0);
    wrong.sort_by(|(x, a), (y, b)| recall(a).total_cmp(&recall(b)).then(x.cmp(y)));
    wrong
}
