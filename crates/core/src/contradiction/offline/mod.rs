//! The judge that needs no model: it reads two statements and finds what can't both be so.
//!
//! Sentences of the one are held against sentences of the other. Two that are about the same (their
//! names and most of their other words are shared) conflict when one denies the other, when a word of
//! the one is the opposite of a word of the other, when a quantity, a time, the holder of a role or a
//! place that a thing has one of differs, or when who did it to whom is the other way round.
//!
//! It is deterministic and the same for both orders of a pair. It prefers silence: questions, plans and
//! conditions are not read, and what shares too little is about something else. Its precision and recall
//! on labelled sentences are in `tests/it/contradiction.rs`.
//!
//! Deliberately absent: any knowledge of the world beyond short lists of words (`words.rs`), and
//! what takes more than one sentence to say.

mod number;
mod opposite;
mod reading;
mod slot;
mod words;

use std::collections::BTreeSet;

use super::pair::{Pair, Statement};
use super::verdict::{CONFIDENCE_FLOOR, Contradicts, Judgement, Severity};

use reading::{Reading, readings};

/// The name of this judge in reports, with the version of its rules.
pub const JUDGE_NAME: &str = "offline:rules-2";

/// How far apart, in days, two dated statements are of different times.
const LATER_DAYS: i32 = 30;

/// How sure it is that two statements without a conflict have none: the share of such pairs of the
/// labelled data that have none is higher, but they are not from a brain.
const SILENCE: f64 = 0.6;

/// What two sentences can't both say.
#[derive(Debug, Clone, PartialEq)]
struct Conflict {
    /// What it is about, in words.
    axis: String,
    severity: Severity,
    confidence: f64,
    change: Change,
}

/// Whether a conflict is a matter of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Unsaid,
    /// One sentence says that it changed.
    Said,
    /// The sentences name different times.
    Times,
}

/// What the offline judge says about a pair.
pub fn judge(pair: &Pair) -> Judgement {
    let (mut ours, mut theirs) = (readings(&pair.a.text), readings(&pair.b.text));
    let both = || ours.iter().chain(&theirs);
    let names: BTreeSet<String> = both().flat_map(|one| one.names.iter().cloned()).collect();
    ours.iter_mut().chain(&mut theirs).for_each(|one| one.know(&names));
    let is_short = ours.len() <= SHORT && theirs.len() <= SHORT;
    // What both say can only conflict within one of them.
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
        None => Judgement::new(Contradicts::No, Severity::Info, "", SILENCE),
    }
}

/// Statements of so many sentences are about one thing; in longer ones sentences must share more.
const SHORT: usize = 2;

/// Surer first, then graver, then what is said first in the order of letters: not the order of the pair.
fn weight(conflict: &Conflict) -> (u64, Severity, std::cmp::Reverse<&str>) {
    ((conflict.confidence * 1000.0) as u64, conflict.severity, std::cmp::Reverse(&conflict.axis))
}

/// The first conflict of two sentences, the surest kinds first. Both orders are tried where a rule has
/// sides, so that the order of the pair does not matter.
fn conflict(one: &Reading, other: &Reading, is_short: bool) -> Option<Conflict> {
    if !one.is_asserted || !other.is_asserted || !one.shares_a_word(other) {
        return None;
    }
    slot::role(one, other)
        .or_else(|| slot::owner(one, other))
        .or_else(|| opposite::denial(one, other, is_short))
        .or_else(|| number::quantity(one, other))
        .or_else(|| number::time(one, other))
        .or_else(|| slot::place(one, other))
        .or_else(|| opposite::antonym(one, other))
        .or_else(|| opposite::reversal(one, other))
}

/// A conflict in the light of the statements' dates: what held at different times replaced each other.
fn judged(conflict: Conflict, a: &Statement, b: &Statement) -> Judgement {
    let Conflict { axis, severity, confidence, change } = conflict;
    let days = match (a.date, b.date) {
        (Some(a), Some(b)) => a.day.until(b.day).map_or(0, |span| span.get_days().abs()),
        _ => 0,
    };
    let verdict = match change {
        // What is not sure enough for a contradiction is not for a change either.
        _ if confidence < CONFIDENCE_FLOOR => Contradicts::Contradiction,
        Change::Times => Contradicts::Evolution,
        Change::Said => Contradicts::Supersession,
        Change::Unsaid if days > LATER_DAYS => Contradicts::Supersession,
        Change::Unsaid => Contradicts::Contradiction,
    };
    let severity =
        if verdict == Contradicts::Contradiction { severity } else { verdict.default_severity() };
    Judgement::new(verdict, severity, &axis, confidence)
}

#[cfg(test)]
mod tests;
