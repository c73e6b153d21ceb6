//! The changes that a ratchet accepts: only improvements, unless losses are accepted.
//!
//! With judgements a row improves or gets worse by nDCG@10. Without them nothing is known to be better:
//! a row that lost a page or its first page is a loss, any other move is kept as it was.

use crate::capture::{CapturedPage, CapturedRow};
use crate::identity::IdentityKey;
use crate::measure::{GradedRanking, Measure};
use crate::qrels::{JudgedQuery, Qrels};
use crate::replay::comparable;

use super::hash::query_hash;
use super::metadata::BaselineThresholds;

/// Depth to which a ranking is judged.
const DEPTH: usize = 10;
/// Differences below this are rounding.
const ROUNDING: f64 = 1e-9;

/// The change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowChange {
    Same,
    /// Better by the judgements.
    Improved,
    /// Another ranking that is not known to be better or worse.
    Moved,
    /// Worse by the judgements, or without pages that it had. The text says what was lost.
    Worse(String),
    /// The row finds nothing any more: there is no ranking to store.
    FindsNothing,
}

/// Compares a row of a baseline with its current ranking. `key` distinguishes scrubbed names.
pub fn row_change(
    old: &CapturedRow,
    new: &CapturedRow,
    qrels: Option<&Qrels>,
    key: Option<&IdentityKey>,
) -> RowChange {
    if let Err(skip) = comparable(old, key) {
        return RowChange::Worse(format!("its pages can't be compared with today's ({skip})"));
    }
    let pages = |row: &CapturedRow| row.expected().unwrap_or_default().to_vec();
    let (before, after) = (pages(old), pages(new));
    if before == after {
        return RowChange::Same;
    }
    if after.is_empty() {
        return RowChange::FindsNothing;
    }
    let judged = judgements_of(old, qrels);
    if judged.is_empty() {
        by_pages(&before, &after)
    } else {
        by_score(&before, &after, &judged, key)
    }
}

/// Number of rows with a judged query.
pub fn judged_rows(rows: &[CapturedRow], qrels: &Qrels) -> usize {
    rows.iter().filter(|row| !judgements_of(row, Some(qrels)).is_empty()).count()
}

fn judgements_of<'q>(row: &CapturedRow, qrels: Option<&'q Qrels>) -> Vec<&'q JudgedQuery> {
    let hash = query_hash(&row.query);
    let is_it = |query: &&JudgedQuery| query.text.as_deref().is_some_and(|t| query_hash(t) == hash);
    qrels.map(|qrels| qrels.queries.iter().filter(is_it).collect()).unwrap_or_default()
}

fn by_pages(before: &[CapturedPage], after: &[CapturedPage]) -> RowChange {
    let lost: Vec<String> = before
        .iter()
        .filter(|page| !after.iter().any(|other| is_same(page, other)))
        .map(ToString::to_string)
        .collect();
    if !lost.is_empty() {
        return RowChange::Worse(format!("not judged, and no longer finds {}", lost.join(", ")));
    }
    match (before.first(), after.first()) {
        (Some(old), Some(new)) if !is_same(old, new) => {
            RowChange::Worse(format!("not judged, and {new} is first instead of {old}"))
        }
        (_, _) => RowChange::Moved,
    }
}

/// Rows of other gbrains have no sources.
fn is_same(a: &CapturedPage, b: &CapturedPage) -> bool {
    let is_source_known = a.source.is_some() && b.source.is_some();
    a.slug == b.slug && a.key_hash == b.key_hash && (!is_source_known || a.source == b.source)
}

fn by_score(
    before: &[CapturedPage],
    after: &[CapturedPage],
    judged: &[&JudgedQuery],
    key: Option<&IdentityKey>,
) -> RowChange {
    let measure = Measure::ndcg(DEPTH);
    let mut is_better = false;
    for query in judged {
        let score = |pages: &[CapturedPage]| {
            let names: Vec<String> =
                pages.iter().map(|page| judged_name(page, query, key)).collect();
            measure.of(&GradedRanking::of(&query.judgements, names.iter().map(String::as_str)))
        };
        let (old, new) = (score(before), score(after));
        if new + ROUNDING < old {
            return RowChange::Worse(format!("{}: {measure} {old:.4} to {new:.4}", query.id));
        }
        is_better |= old + ROUNDING < new;
    }
    if is_better { RowChange::Improved } else { RowChange::Moved }
}

/// The name of a page as the judgements spell it: a scrubbed name is the judged page with its hash, and a
/// slug without a source is the judged page of that slug.
fn judged_name(page: &CapturedPage, query: &JudgedQuery, key: Option<&IdentityKey>) -> String {
    let is_it = |doc: &&str| {
        let Some((source, slug)) = doc.split_once("::") else { return false };
        match &page.key_hash {
            Some(hash) => key.is_some_and(|key| key.keyed_page_hash_of(source, slug) == *hash),
            None => page.source.is_none() && slug == page.slug,
        }
    };
    let mut docs = query.judgements.iter().map(|judgement| judgement.doc.as_str());
    docs.find(is_it).map_or_else(|| page.to_string(), str::to_owned)
}

impl BaselineThresholds {
    /// Thresholds that accept more than `before` did, in words.
    pub fn loosened(&self, before: &Self) -> Vec<String> {
        let Self { jaccard, top1, latency_multiplier } = *self;
        let fell = |name: &str, old: f64, new: f64| {
            (new < old).then(|| format!("threshold {name} falls from {old} to {new}"))
        };
        let slower = (latency_multiplier > before.latency_multiplier).then(|| {
            let old = before.latency_multiplier;
            format!("threshold latency_multiplier rises from {old} to {latency_multiplier}")
        });
        [fell("jaccard", before.jaccard, jaccard), fell("top1", before.top1, top1), slower]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::capture::read_row;

    fn row(slugs: &[&str]) -> CapturedRow {
        let value = json!({
            "schema_version": 1, "tool_name": "query", "query": "q", "retrieved_slugs": slugs,
            "source_ids": ["default"],
        });
        read_row(value, 1).unwrap()
    }

    fn change(old: &[&str], new: &[&str], qrels: Option<&Qrels>) -> &'static str {
        match row_change(&row(old), &row(new), qrels, None) {
            RowChange::Same => "same",
            RowChange::Improved => "improved",
            RowChange::Moved => "moved",
            RowChange::Worse(_) => "worse",
            RowChange::FindsNothing => "finds nothing",
        }
    }

    #[test]
    fn without_judgements_nothing_improves() {
        assert_eq!(change(&["a", "b"], &["a", "b"], None), "same");
        assert_eq!(change(&["a", "b"], &["a", "b", "c"], None), "moved");
        assert_eq!(change(&["a", "b", "c"], &["a", "c", "b"], None), "moved");
        assert_eq!(change(&["a", "b"], &["b", "a"], None), "worse");
        assert_eq!(change(&["a", "b"], &["a", "c"], None), "worse");
        assert_eq!(change(&["a"], &[], None), "finds nothing");
    }

    #[test]
    fn with_judgements_the_score_decides() {
        let text = br#"{"schema_version":1,"queries":[{"query":"Q ","relevant_slugs":["a"]}]}"#;
        let qrels = Qrels::parse(text).unwrap();
        assert_eq!(change(&["b", "a"], &["a", "c"], Some(&qrels)), "improved");
        assert_eq!(change(&["a", "b"], &["c", "a"], Some(&qrels)), "worse");
        assert_eq!(change(&["a", "b"], &["a", "c"], Some(&qrels)), "moved");
        assert_eq!(change(&["a"], &[], Some(&qrels)), "finds nothing");
        assert_eq!(judged_rows(&[row(&["a"])], &qrels), 1);
        let other = Qrels::parse(br#"[{"query":"another","relevant":["a"]}]"#).unwrap();
        assert_eq!(judged_rows(&[row(&["a"])], &other), 0);
        // A slug without a source is not a page that was never found.
        let mut bare = row(&["a", "b"]);
        bare.retrieved.iter_mut().flatten().for_each(|page| page.source = None);
        let worse = row_change(&bare, &row(&["b", "a"]), Some(&qrels), None);
        assert!(matches!(worse, RowChange::Worse(_)), "{worse:?}");
    }

    #[test]
    fn a_looser_threshold_is_a_loss() {
        let before = BaselineThresholds::default();
        assert!(before.loosened(&before).is_empty());
        let tighter = BaselineThresholds { jaccard: 0.9, top1: 0.9, latency_multiplier: 1.5 };
        assert!(tighter.loosened(&before).is_empty());
        assert_eq!(before.loosened(&tighter).len(), 3);
    }
}
