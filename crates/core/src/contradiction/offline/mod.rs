//! The offline judge: finds contradictions with rules instead of a model.
//!
//! Each sentence of one statement is compared with each sentence of the other. Two sentences about
//! the same subject (they share their names and most other words) conflict if one denies the other,
//! if a word of one is the opposite of a word of the other, if a quantity, a time, the holder of a
//! role or a unique place differs, or if subject and object are exchanged.
//!
//! It is deterministic and symmetric. It prefers precision: questions, plans and conditions are
//! ignored, and sentences that share too little are taken to be about different things. Its
//! precision and recall on labelled sentences are in `tests/it/contradiction.rs`.
//!
//! Not here: world knowledge beyond short word lists (`words.rs`), and contradictions that span
//! several sentences.

mod number;
mod opposite;
mod reading;
mod slot;
mod words;

use std::collections::BTreeSet;

use super::pair::{Pair, Statement};
use super::verdict::{CONFIDENCE_FLOOR, Judgement, Severity, StatementRelation};

use reading::{Reading, readings};

/// The name of this judge in reports, with the version of its rules.
pub const JUDGE_NAME: &str = "offline:rules-2";

/// Statements more than this many days apart are about different times.
const LATER_DAYS: i32 = 30;

/// Confidence that two statements without a conflict are consistent. The share in the labelled data
/// is higher, but that data is not from a brain.
const SILENCE: f64 = 0.6;

/// A conflict between two sentences.
#[derive(Debug, Clone, PartialEq)]
struct Conflict {
    /// The subject of the conflict, in words.
    axis: String,
    severity: Severity,
    confidence: f64,
    change: ChangeMention,
}

/// Whether a conflict is explained by a change over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeMention {
    None,
    /// One sentence says that something changed.
    Stated,
    /// The sentences name different times.
    DifferentTimes,
}

/// Judges a pair without a model.
pub fn judge(pair: &Pair) -> Judgement {
    let (mut ours, mut theirs) = (readings(&pair.a.text), readings(&pair.b.text));
    let both = || ours.iter().chain(&theirs);
    let names: BTreeSet<String> = both().flat_map(|one| one.names.iter().cloned()).collect();
    ours.iter_mut().chain(&mut theirs).for_each(|one| one.know(&names));
    let is_short = ours.len() <= SHORT && theirs.len() <= SHORT;
    // A sentence that is in both statements conflicts with neither.
    let own = |mine: &[Reading], yours: &[Reading]| -> Vec<usize> {
        (0..mine.len()).filter(|at| !yours.contains(&mine[*at])).collect()
    };
    let mut worst: Option<Conflict> = None;
    for one in own(&ours, &theirs) {
        for other in own(&theirs, &ours) {
            let found = conflict(&ours[one], &theirs[other], is_short);
            let is_worse =
                |found: &Conflict| worst.as_ref().is_none_or(|worst| weight(found) > weight(worst));
            if let Some(found) = found.filter(is_worse) {
                worst = Some(found);
            }
        }
    }
    match worst {
        Some(conflict) => judged(conflict, &pair.a, &pair.b),
        None => Judgement::new(StatementRelation::No, Severity::Info, "", SILENCE),
    }
}

/// Statements with at most this many sentences are about one thing; sentences of longer ones must
/// share more.
const SHORT: usize = 2;

/// By confidence, then severity, then alphabetically by axis: independent of the order of the pair.
fn weight(conflict: &Conflict) -> (u64, Severity, std::cmp::Reverse<&str>) {
    ((conflict.confidence * 1000.0) as u64, conflict.severity, std::cmp::Reverse(&conflict.axis))
}

/// The first conflict of two sentences, most reliable rules first. Asymmetric rules are tried in
/// both orders, so that the order of the pair does not matter.
fn conflict(one: &Reading, other: &Reading, is_short: bool) -> Option<Conflict> {
    if !one.is_asserted || !other.is_asserted || !one.shares_a_word(other) {
        return None;
    }
    slot::role(one, other)
        .or_else(|| slot::owner(one, other))
        .or_else(|| opposite::denial(one, other, is_short))
        .or_else(|| number::quantity(one, other))
        .or_else(|| number::time(one, other))
        .or_else(|| slot::property_conflict(one, other))
        .or_else(|| opposite::antonym(one, other))
        .or_else(|| opposite::reversal(one, other))
}

/// Turns a conflict into a judgement. Statements valid at different times supersede each other.
fn judged(conflict: Conflict, a: &Statement, b: &Statement) -> Judgement {
    let Conflict { axis, severity, confidence, change } = conflict;
    let days = match (a.date, b.date) {
        (Some(a), Some(b)) => a.day.until(b.day).map_or(0, |span| span.get_days().abs()),
        _ => 0,
    };
    let verdict = match change {
        // The confidence floor applies to changes too.
        _ if confidence < CONFIDENCE_FLOOR => StatementRelation::Contradiction,
        ChangeMention::DifferentTimes => StatementRelation::Evolution,
        ChangeMention::Stated => StatementRelation::Supersession,
        ChangeMention::None if days > LATER_DAYS => StatementRelation::Supersession,
        ChangeMention::None => StatementRelation::Contradiction,
    };
    let severity = if verdict == StatementRelation::Contradiction {
        severity
    } else {
        verdict.default_severity()
    };
    Judgement::new(verdict, severity, &axis, confidence)
}

#[cfg(test)]
mod tests;
