//! Conflicts about properties with one value at a time: the holder of a role, the owner, the
//! location.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::contradiction::verdict::Severity;
use crate::text::name_key;

use super::reading::{Denial, Part, Reading};
use super::{ChangeMention, Conflict};

/// Share of the shorter sentence's words that the longer must contain.
const SUBJECT_SHARE: f64 = 0.6;

/// The holder of a role in an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Role {
    who: String,
    what: String,
    of: String,
}

/// Roles with one holder at a time.
static ROLE: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    let name = r"\p{Lu}[\w'’.-]*(?:\ (?:&\ )?\p{Lu}[\w'’.-]*)*";
    let what = r"(?i:CEO|CTO|CFO|COO|CMO|CPO|chief\ \w+\ officer|president|chair(?:man|woman|person)?|treasurer|general\ counsel|managing\ director|head\ of\ \w+|principal|mayor|captain|editor[\ -]in[\ -]chief|landlord)";
    let fill = r"(?:(?:the|our|its|now|still|currently|only|new|acting|as)\ )*";
    [
        format!(r"(?x)(?P<who>{name}),?\ (?:is|became|becomes)\ {fill}(?P<what>{what})\ (?:of|at|for)\ (?P<of>{name})"),
        format!(r"(?x)(?P<what>{what})\ (?:of|at|for)\ (?P<of>{name})\ is\ {fill}(?P<who>{name})"),
        format!(r"(?x)(?P<of>{name})(?:'s|’s)\ (?P<what>{what})\ is\ {fill}(?P<who>{name})"),
    ]
    .map(|pattern| Regex::new(&pattern).expect("our patterns are valid"))
});

/// The roles and holders that a sentence names.
pub(super) fn roles(text: &str) -> Vec<Role> {
    let read = |captures: regex::Captures<'_>| Role {
        who: name_key(&captures["who"]),
        what: captures["what"].to_lowercase(),
        of: name_key(captures["of"].trim_end_matches("'s").trim_end_matches("’s")),
    };
    ROLE.iter().flat_map(|pattern| pattern.captures_iter(text).map(read)).collect()
}

/// Conflict: different holders of a role.
pub(super) fn role(one: &Reading, other: &Reading) -> Option<Conflict> {
    one.roles.iter().find_map(|mine| {
        let is_same = |yours: &&Role| {
            yours.what == mine.what
                && overlap(&yours.of, &mine.of)
                && !overlap(&yours.who, &mine.who)
        };
        let yours = other.roles.iter().find(is_same)?;
        let mut holders = [mine.who.as_str(), yours.who.as_str()];
        holders.sort_unstable();
        let axis = format!("{} of {}: {} or {}", mine.what, mine.of, holders[0], holders[1]);
        let change = if one.is_of_another_time(other) {
            ChangeMention::DifferentTimes
        } else {
            ChangeMention::None
        };
        Some(Conflict { axis, severity: Severity::High, confidence: 0.85, change })
    })
}

/// An owner and a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ownership {
    who: String,
    what: String,
}

static OWNER: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let name = r"\p{Lu}[\w'’.-]*(?:\ (?:&\ )?\p{Lu}[\w'’.-]*)*";
    let what = r"(?:(?:the|our)\ )?[\w'’-]+(?:\ [\w'’-]+){0,3}";
    let fill = r"(?:(?:the|sole|only|current|now|still|currently)\ )*";
    [
        format!(r"(?x)^(?P<who>{name})\ (?:owns|is\ {fill}owner\ of)\ (?P<what>{what})\s*[.!]?$"),
        format!(r"(?x)^(?P<what>{what})\ (?:belongs\ to|is\ {fill}owned\ by|is\ {fill}the\ property\ of)\ (?P<who>{name})\s*[.!]?$"),
    ]
    .map(|pattern| Regex::new(&pattern).expect("our patterns are valid"))
});

/// The ownership that a sentence states, if it states nothing else. Shares and parts have several
/// owners, so they are ignored.
pub(super) fn ownership(text: &str) -> Option<Ownership> {
    const SHARED: &[&str] =
        &["part", "parts", "half", "share", "shares", "stake", "some", "most", "a", "an"];
    let captures = OWNER.iter().find_map(|pattern| pattern.captures(text.trim()))?;
    let what = name_key(&captures["what"]);
    let what = what.trim_start_matches("the ").trim_start_matches("our ").to_owned();
    let is_shared =
        what.split(' ').any(|word| SHARED.contains(&word) || word.parse::<f64>().is_ok());
    (!is_shared).then(|| Ownership { who: name_key(&captures["who"]), what })
}

/// Conflict: different owners of a thing.
pub(super) fn owner(one: &Reading, other: &Reading) -> Option<Conflict> {
    let (mine, yours) = (one.ownership.as_ref()?, other.ownership.as_ref()?);
    if mine.what != yours.what || overlap(&mine.who, &yours.who) {
        return None;
    }
    let mut owners = [mine.who.as_str(), yours.who.as_str()];
    owners.sort_unstable();
    let axis = format!("owner of {}: {} or {}", mine.what, owners[0], owners[1]);
    Some(Conflict { axis, severity: Severity::High, confidence: 0.8, change: ChangeMention::None })
}

/// Whether names share a word: Ada matches Ada Quill.
fn overlap(one: &str, other: &str) -> bool {
    let words: BTreeSet<&str> = one.split(' ').collect();
    other.split(' ').any(|word| words.contains(word))
}

/// The property that a cue introduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CueProperty {
    Where,
    Birthplace,
    Superior,
}

/// Cue, following word, property, and whether the cue states a change.
const CUES: &[(&str, &str, CueProperty, ChangeMention)] = &[
    ("lives", "in", CueProperty::Where, ChangeMention::None),
    ("live", "in", CueProperty::Where, ChangeMention::None),
    ("based", "in", CueProperty::Where, ChangeMention::None),
    ("located", "in", CueProperty::Where, ChangeMention::None),
    ("headquartered", "in", CueProperty::Where, ChangeMention::None),
    ("is", "in", CueProperty::Where, ChangeMention::None),
    ("moved", "to", CueProperty::Where, ChangeMention::Stated),
    ("relocated", "to", CueProperty::Where, ChangeMention::Stated),
    ("born", "in", CueProperty::Birthplace, ChangeMention::None),
    ("reports", "to", CueProperty::Superior, ChangeMention::None),
];

/// Conflict: different values of a property.
pub(super) fn property_conflict(one: &Reading, other: &Reading) -> Option<Conflict> {
    if one.denial != Denial::None || other.denial != Denial::None {
        return None;
    }
    let (asked, mine, change) = filled(one)?;
    let (also, yours, other_change) = filled(other)?;
    let rest = |reading: &Reading, place: &BTreeSet<String>| -> BTreeSet<String> {
        let is_rest = |stem: &&&str| !place.contains(**stem) && !MOVING.contains(*stem);
        reading.all().iter().filter(is_rest).map(|stem| (*stem).to_owned()).collect()
    };
    let (subject, others) = (rest(one, &mine), rest(other, &yours));
    let shared = subject.intersection(&others).count();
    let smaller = subject.len().min(others.len());
    let is_same = shared > 0 && shared as f64 >= SUBJECT_SHARE * smaller as f64;
    if asked != also
        || !mine.is_disjoint(&yours)
        || !is_same
        || subject.len().max(others.len()) > shared + 2
    {
        return None;
    }
    let change = match (change, other_change) {
        (ChangeMention::Stated, ChangeMention::Stated) if one.is_of_another_time(other) => {
            ChangeMention::DifferentTimes
        }
        (ChangeMention::None, ChangeMention::None) if one.is_of_another_time(other) => {
            ChangeMention::DifferentTimes
        }
        (ChangeMention::Stated, ChangeMention::None)
        | (ChangeMention::None, ChangeMention::Stated) => ChangeMention::Stated,
        _ => ChangeMention::None,
    };
    let shown = |place: &BTreeSet<String>| place.iter().cloned().collect::<Vec<_>>().join(" ");
    let mut places = [shown(&mine), shown(&yours)];
    places.sort_unstable();
    let what = match asked {
        CueProperty::Where => "where",
        CueProperty::Birthplace => "where born",
        CueProperty::Superior => "reports to whom",
    };
    let axis = format!("{what}: {} or {}", places[0], places[1]);
    Some(Conflict { axis, severity: Severity::Medium, confidence: 0.8, change })
}

/// Stems of the cues, which are not part of the subject.
const MOVING: &[&str] =
    &["live", "base", "locat", "headquart", "headquarters", "move", "reloc", "born", "report"];

/// The property of the first cue in a sentence, and its value.
fn filled(reading: &Reading) -> Option<(CueProperty, BTreeSet<String>, ChangeMention)> {
    let words = &reading.words;
    words.windows(2).enumerate().find_map(|(at, pair)| {
        let (_, _, asked, change) =
            CUES.iter().find(|cue| cue.0 == pair[0].exact && cue.1 == pair[1].exact)?;
        let names = words[at + 2..].iter().take_while(|word| word.part == Part::Name);
        let names: BTreeSet<String> = names.map(|word| word.stem.clone()).collect();
        (!names.is_empty()).then_some((*asked, names, *change))
    })
}

/// Whether two sentences have the same subject: the names of one are a subset of the other's, and
/// so are most content words. Without names, the content words must be equal and at least two; one
/// is enough if both are definite (the meeting, our rent).
pub(super) fn shares_subject(one: &Reading, other: &Reading) -> bool {
    let is_within = one.names.is_subset(&other.names) || other.names.is_subset(&one.names);
    let names = one.names.intersection(&other.names).count();
    let shared = one.content.intersection(&other.content).count();
    let smaller = one.content.len().min(other.content.len());
    match names {
        0 => {
            one.names.is_empty()
                && other.names.is_empty()
                && one.content == other.content
                && shared >= if one.is_definite() && other.is_definite() { 1 } else { 2 }
                && !one.is_about_it
                && !other.is_about_it
        }
        _ if one.content.is_empty() && other.content.is_empty() => one.names == other.names,
        _ => is_within && shared > 0 && shared as f64 >= SUBJECT_SHARE * smaller as f64,
    }
}

/// Whether a shared name is an origin in one sentence and a destination in the other.
pub(super) fn faces_another_way(one: &Reading, other: &Reading) -> bool {
    let before = |reading: &Reading, name: &str| {
        let at =
            reading.words.iter().position(|word| word.part == Part::Name && word.stem == name)?;
        let before = at.checked_sub(1).map(|at| reading.words[at].exact.clone())?;
        matches!(before.as_str(), "to" | "from" | "before" | "after").then_some(before)
    };
    let mut shared = one.names.intersection(&other.names);
    shared.any(
        |name| matches!((before(one, name), before(other, name)), (Some(a), Some(b)) if a != b),
    )
}
