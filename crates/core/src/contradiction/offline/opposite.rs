//! Conflicts by negation, antonyms, or exchanged subject and object.

use std::collections::BTreeSet;

use crate::contradiction::verdict::Severity;

use super::reading::{Denial, Part, Reading, Word};
use super::words::WORDS;
use super::{ChangeMention, Conflict};

/// Share of the denial's words that the other sentence must contain. Denying a special case does
/// not deny the general one.
const DENIED_SHARE: f64 = 0.75;
/// Share of the other sentence's words that the denial must contain.
const SAID_SHARE: f64 = 0.5;
/// Share of the remaining words that two sentences with antonyms must have in common, each way.
const ANTONYM_SHARE: f64 = 0.75;

/// Conflict: one sentence denies the other.
pub(super) fn denial(one: &Reading, other: &Reading, is_short: bool) -> Option<Conflict> {
    let (denying, saying) = match (one.denial, other.denial) {
        (Denial::None, Denial::None) => return None,
        (Denial::None, _) => (other, one),
        (_, Denial::None) => (one, other),
        _ => return None,
    };
    // A negation and an antonym cancel out: not open, and closed.
    if opposites(denying, saying).is_some() || differ_in_figures(one, other) {
        return None;
    }
    let are_named = denying
        .names
        .iter()
        .all(|name| saying.names.contains(name) || saying.content.contains(name));
    let denied = covered(&denying.content, &saying.all());
    let said = covered_kinds(saying, denying);
    let shared = denied.0 + denying.names.len();
    let min_shared = if is_short || !denying.names.is_empty() { 2 } else { 3 };
    let is_vague = (denying.is_about_it || saying.is_about_it) && denying.names.is_empty();
    if !are_named || shared < min_shared || is_vague || denied.0 == 0 {
        return None;
    }
    if share(denied) < DENIED_SHARE || said < SAID_SHARE {
        return None;
    }
    let axis = format!("whether it is so: {}", phrase(denying));
    // Of the labelled pairs with a complete denial, 98 % are contradictions; with a partial one 58
    // %, which is below the confidence floor.
    let confidence = if share(denied) >= 1.0 { 0.9 } else { 0.6 };
    let change = match denying.denial {
        Denial::Ended => ChangeMention::Stated,
        _ if one.is_of_another_time(other) => ChangeMention::DifferentTimes,
        _ => ChangeMention::None,
    };
    Some(Conflict { axis, severity: Severity::Medium, confidence, change })
}

/// Conflict: antonyms in otherwise equal sentences.
pub(super) fn antonym(one: &Reading, other: &Reading) -> Option<Conflict> {
    if (one.denial == Denial::None) != (other.denial == Denial::None)
        || differ_in_figures(one, other)
    {
        return None;
    }
    let (ours, theirs) = opposites(one, other)?;
    // Without names and articles, the sentences may be about different things.
    let is_known = !one.names.is_empty() || one.says_first("the") || other.says_first("the");
    if one.names != other.names || !is_known {
        return None;
    }
    let rest = |reading: &Reading, word: &Word| -> BTreeSet<String> {
        reading.content.iter().filter(|stem| **stem != word.stem).cloned().collect()
    };
    let (mine, yours) = (rest(one, ours), rest(other, theirs));
    let shares = [covered_by(&mine, &yours), covered_by(&yours, &mine)];
    let shared = mine.intersection(&yours).count() + one.names.len();
    // "The door is open" and "the door is closed": the same definite subject and nothing else.
    let is_plain = one.is_definite() && without(one, ours) == without(other, theirs);
    let min_shared = usize::from(one.names.is_empty() && !is_plain) + 1;
    if shared < min_shared || shares.iter().any(|one| *one < ANTONYM_SHARE) {
        return None;
    }
    let mut words = [ours.exact.as_str(), theirs.exact.as_str()];
    words.sort_unstable();
    let axis = format!("{} or {}", words[0], words[1]);
    let change = if one.is_of_another_time(other) {
        ChangeMention::DifferentTimes
    } else {
        ChangeMention::None
    };
    Some(Conflict { axis, severity: Severity::Medium, confidence: 0.75, change })
}

/// The words of a sentence in order, without one of them.
fn without<'r>(reading: &'r Reading, word: &Word) -> Vec<&'r str> {
    let others = reading.words.iter().filter(|other| *other != word);
    others.map(|word| word.exact.as_str()).collect()
}

/// Stems of verbs that cannot hold in both directions.
const ONE_WAY: &[&str] = &[
    "buy", "own", "report", "found", "succeed", "replac", "beat", "defeat", "employ", "hire",
    "manag", "lead", "control", "merg", "sue", "pay", "owe", "outrank", "supervis",
];

/// Conflict: the same words with subject and object exchanged.
pub(super) fn reversal(one: &Reading, other: &Reading) -> Option<Conflict> {
    let is_plain = |reading: &Reading| {
        reading.denial == Denial::None && !["and", "or", "by"].iter().any(|word| reading.says(word))
    };
    let is_one_way = ONE_WAY.iter().any(|verb| one.content.contains(*verb));
    if !is_plain(one) || !is_plain(other) || !is_one_way || one.all() != other.all() {
        return None;
    }
    let (ours, theirs) = (name_runs(one), name_runs(other));
    let ([first, last], [other_first, other_last]) = (&ours[..], &theirs[..]) else { return None };
    if first != other_last || last != other_first || first == last {
        return None;
    }
    let axis = format!("who it is done to, and by whom: {}", phrase(one).min(phrase(other)));
    let change = if one.is_of_another_time(other) {
        ChangeMention::DifferentTimes
    } else {
        ChangeMention::None
    };
    Some(Conflict { axis, severity: Severity::Medium, confidence: 0.75, change })
}

/// The names of a sentence in order; adjacent words form one name.
fn name_runs(reading: &Reading) -> Vec<Vec<&str>> {
    reading
        .words
        .chunk_by(|one, next| one.part == next.part)
        .filter(|run| run[0].part == Part::Name)
        .map(|run| run.iter().map(|word| word.stem.as_str()).collect())
        .collect()
}

fn carriers(reading: &Reading) -> impl Iterator<Item = &Word> {
    reading.words.iter().filter(|word| matches!(word.part, Part::Name | Part::Content))
}

/// Antonyms, one in each sentence, neither of which the other sentence contains.
fn opposites<'r>(one: &'r Reading, other: &'r Reading) -> Option<(&'r Word, &'r Word)> {
    let is_word = |word: &&Word| matches!(word.part, Part::Content | Part::Function);
    let has =
        |reading: &Reading, word: &Word| reading.words.iter().any(|other| other.stem == word.stem);
    let only = |reading: &'r Reading, without: &'r Reading| {
        reading.words.iter().filter(is_word).filter(move |word| !has(without, word))
    };
    let pairs = only(one, other).flat_map(|mine| only(other, one).map(move |yours| (mine, yours)));
    let opposed = pairs.filter(|(mine, yours)| WORDS.are_opposites(&mine.stem, &yours.stem));
    // Independent of the order of the sentences.
    opposed.min_by_key(|(mine, yours)| {
        let mut words = [mine.exact.as_str(), yours.exact.as_str()];
        words.sort_unstable();
        words
    })
}

/// Whether both sentences name quantities and share none.
fn differ_in_figures(one: &Reading, other: &Reading) -> bool {
    let values = |reading: &Reading| -> BTreeSet<u64> {
        reading
            .quantities
            .iter()
            .filter(|one| one.is_named())
            .map(|one| one.value.to_bits())
            .collect()
    };
    let (ours, theirs) = (values(one), values(other));
    !ours.is_empty() && !theirs.is_empty() && ours.is_disjoint(&theirs)
}

/// Number of words that `others` contains, literally or as a hyponym, and the total.
fn covered(words: &BTreeSet<String>, others: &BTreeSet<&str>) -> (usize, usize) {
    let holds = |word: &&String| others.iter().any(|other| WORDS.is_kind_of(other, word));
    (words.iter().filter(holds).count(), words.len())
}

/// Share of the words of `saying` that the denial contains, literally or as a hypernym.
fn covered_kinds(saying: &Reading, denying: &Reading) -> f64 {
    let (said, denied) = (saying.all(), denying.all());
    let holds = |word: &&&str| denied.iter().any(|kind| WORDS.is_kind_of(word, kind));
    share((said.iter().filter(holds).count(), said.len()))
}

fn covered_by(words: &BTreeSet<String>, others: &BTreeSet<String>) -> f64 {
    share((words.intersection(others).count(), words.len()))
}

fn share((part, whole): (usize, usize)) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// The names and content words of a sentence, in order.
fn phrase(reading: &Reading) -> String {
    carriers(reading).map(|word| word.exact.as_str()).collect::<Vec<_>>().join(" ")
}
