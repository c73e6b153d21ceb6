//! Runs as TREC lines.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::{Run, RunHit};
use crate::qrels::{WriteError, ensure_writable};

/// The TREC lines of a run, such that reading them gives the same order: scores are written where
/// they give it, and otherwise numbers that fall by one from rank to rank.
pub fn trec_run(run: &Run<'_>, tag: &str) -> Result<String, WriteError> {
    ensure_writable("run", tag)?;
    let mut text = String::new();
    for (query, hits) in run.rankings() {
        ensure_writable("query", query)?;
        let has_order = hits.is_sorted_by(falls) && hits.iter().all(|hit| hit.score.is_some());
        for (at, hit) in hits.iter().enumerate() {
            ensure_writable("document", &hit.doc)?;
            let by_rank = (hits.len() - at) as f64;
            let score = hit.score.filter(|_| has_order).unwrap_or(by_rank);
            writeln!(text, "{query} Q0 {} {} {score} {tag}", hit.doc, at + 1)
                .expect("writing to a string succeeds");
        }
    }
    Ok(text)
}

/// Whether `b` comes after `a` when a TREC run is read.
fn falls(a: &RunHit<'_>, b: &RunHit<'_>) -> bool {
    match a.score.partial_cmp(&b.score) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => a.doc > b.doc,
        _ => false,
    }
}
