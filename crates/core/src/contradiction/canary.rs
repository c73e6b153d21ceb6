//! Planted pairs with known answers, which measure the judge's error rate in every run.
//!
//! Half of them are contradictions; the others only look like contradictions, but differ in person,
//! company, year, unit or aspect. They are built from our own sentence templates, filled with names
//! and numbers by a seed, among filler sentences, on pages with ordinary names, so that a judge
//! cannot recognise them. The same seed gives the same pairs, so that they are cached. The measured
//! error rate applies to short passages. Not here: long passages and irony, so a judge may be
//! slightly worse on real pages.

use std::sync::LazyLock;

use crate::id::{PageKey, Slug, SourceId};
use crate::source::SourceTrust;
use crate::stats::rng::Rng;

use super::docket::JudgingOutcome;
use super::pair::{CurationTier, Pair, PairKind, Statement, StatementLocation};
use super::rate::CanaryCounts;
use super::verdict::StatementRelation;

/// A planted pair with a known answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Canary {
    /// Whether the statements contradict each other.
    pub is_contradiction: bool,
    pub pair: Pair,
}

/// `of_each` planted pairs of each kind, chosen and filled in by a seed. Templates repeat only when
/// all have been used, with other names.
pub fn canaries(seed: u64, of_each: usize) -> Vec<Canary> {
    let mut rng = Rng::new(seed);
    let mut planted = Vec::with_capacity(2 * of_each);
    for (is_contradiction, templates) in
        [(true, &SENTENCES.contradictory), (false, &SENTENCES.consistent)]
    {
        let mut order: Vec<usize> = Vec::new();
        for _ in 0..of_each {
            if order.is_empty() {
                order = (0..templates.len()).collect();
                rng.shuffle(&mut order);
            }
            let template = templates[order.pop().unwrap_or_default()];
            planted.push(Canary { is_contradiction, pair: filled(template, &mut rng) });
        }
    }
    rng.shuffle(&mut planted);
    planted
}

/// Counts the judgements of planted pairs. Pairs without a judgement are not counted.
pub fn counts<'a>(
    planted: impl IntoIterator<Item = (&'a Canary, &'a JudgingOutcome)>,
) -> CanaryCounts {
    let mut counts = CanaryCounts::default();
    for (canary, outcome) in planted {
        let JudgingOutcome::Judged(judgement, _) = outcome else { continue };
        let is_flagged = judgement.verdict == StatementRelation::Contradiction;
        let counted =
            if canary.is_contradiction { &mut counts.caught } else { &mut counts.accused };
        counted.add(is_flagged);
    }
    counts
}

struct Sentences {
    contradictory: Vec<[&'static str; 2]>,
    consistent: Vec<[&'static str; 2]>,
    fillers: Vec<&'static str>,
}

static SENTENCES: LazyLock<Sentences> = LazyLock::new(|| {
    let rows =
        || include_str!("canaries.tsv").lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let pairs = |wanted: &str| {
        let pair = |row: Vec<&'static str>| match row[..] {
            [kind, a, b] if kind == wanted => Some([a, b]),
            _ => None,
        };
        rows().filter_map(pair).collect()
    };
    Sentences {
        contradictory: pairs("contradiction"),
        consistent: pairs("consistent"),
        fillers: rows().filter(|row| row[0] == "filler").map(|row| row[1]).collect(),
    }
});

const PERSONS: &[&str] = &[
    "Ada Quill",
    "Bruno Vance",
    "Chidi Okeke",
    "Dora Lindqvist",
    "Emil Sato",
    "Farah Haddad",
    "Goran Petrov",
    "Hana Kimura",
    "Ines Duarte",
    "Jonas Weber",
    "Kavya Rao",
    "Liam Doyle",
    "Mira Novak",
    "Nils Aker",
    "Olga Marin",
    "Pavel Horak",
    "Rosa Lemos",
    "Sven Dahl",
];
const COMPANIES: &[&str] = &[
    "Harborline",
    "Tidewell",
    "Quillbox",
    "Northgate Labs",
    "Fernhill",
    "Palisade Foods",
    "Brightmoor",
    "Ostrander",
    "Kestrel Systems",
    "Lumen Freight",
    "Marrow & Pike",
    "Saltworks",
];
const PLACES: &[&str] =
    &["Lisbon", "Gdansk", "Porto", "Leeds", "Turin", "Oslo", "Bergen", "Lyon", "Graz", "Cork"];
const PRODUCTS: &[&str] =
    &["Bluefin", "the berth planner", "Cargo Lens", "Moorings", "the tide table", "Sextant"];
const ROLES: &[&str] = &["CEO", "CTO", "head of sales", "treasurer", "general counsel"];
const MONTHS: &[&str] = &["January", "March", "April", "June", "August", "October", "November"];
const WEEKDAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
const AMOUNTS: &[&str] = &["$1.2M", "$2M", "$3.5M", "$5M", "$8M", "$12M", "$20M"];
const FOLDERS: &[&str] = &["notes", "meetings", "chats", "journal", "projects"];

/// Fills in a pair of templates: a slot has the same value in both, and slots of one kind differ.
fn filled([a, b]: [&str; 2], rng: &mut Rng) -> Pair {
    let slots = slots(rng);
    let fill = |sentence: &str| {
        slots.iter().fold(sentence.to_owned(), |text, (slot, word)| text.replace(slot, word))
    };
    let (a, b) = (fill(a), fill(b));
    let mut fillers = SENTENCES.fillers.clone();
    rng.shuffle(&mut fillers);
    let (first, second) = fillers.split_at(fillers.len() / 2);
    let one = statement(&among(&a, first, rng), 1, rng);
    let other = statement(&among(&b, second, rng), 2, rng);
    Pair::new(PairKind::CrossPage, one, other, 1.0)
}

fn slots(rng: &mut Rng) -> Vec<(&'static str, String)> {
    let mut slots = Vec::new();
    for (names, words) in [
        (["{P}", "{Q}"], PERSONS),
        (["{C}", "{D}"], COMPANIES),
        (["{T}", "{U}"], PLACES),
        (["{R}", "{S}"], ROLES),
        (["{M}", "{N}"], MONTHS),
        (["{W}", "{X}"], WEEKDAYS),
        (["{a}", "{b}"], AMOUNTS),
    ] {
        let first = rng.below(words.len());
        let second = (first + 1 + rng.below(words.len() - 1)) % words.len();
        slots.push((names[0], words[first].to_owned()));
        slots.push((names[1], words[second].to_owned()));
    }
    slots.push(("{K}", PRODUCTS[rng.below(PRODUCTS.len())].to_owned()));
    let year = 2016 + rng.below(6);
    for (slot, number) in [("{B}", year - 4), ("{Y}", year), ("{Z}", year + 2)] {
        slots.push((slot, number.to_string()));
    }
    for (names, low, spread) in
        [(["{n}", "{m}"], 11, 30), (["{d}", "{e}"], 3, 12), (["{h}", "{i}"], 8, 7)]
    {
        let first = low + rng.below(spread);
        slots.push((names[0], first.to_string()));
        slots.push((names[1], (first + 1 + rng.below(spread / 2)).to_string()));
    }
    slots
}

/// Puts a sentence among filler sentences.
fn among(sentence: &str, fillers: &[&str], rng: &mut Rng) -> String {
    let (before, after) = (rng.below(2), rng.below(3));
    let mut sentences: Vec<&str> = fillers.iter().copied().take(before).collect();
    sentences.push(sentence);
    sentences.extend(fillers.iter().rev().take(after));
    sentences.join(if sentence.contains(": ") { "\n" } else { " " })
}

fn statement(text: &str, number: usize, rng: &mut Rng) -> Statement {
    let folder = FOLDERS[rng.below(FOLDERS.len())];
    let slug = format!("{folder}/{:04}-{number}", rng.below(10_000));
    let slug = Slug::new(&slug).expect("folders and digits are a slug");
    let ordinal = u32::try_from(rng.below(6)).unwrap_or_default();
    Statement {
        place: StatementLocation::Passage { ordinal, chunk_id: format!("{slug}#{ordinal}") },
        key: PageKey::new(SourceId::default(), slug),
        text: text.to_owned(),
        holder: None,
        date: None,
        tier: CurationTier::Other,
        trust: SourceTrust::Trusted,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::docket::Origin;
    use super::super::prompt::PairPrompt;
    use super::super::verdict::{Judgement, Severity};
    use super::*;

    #[test]
    fn there_are_enough_of_both_kinds() {
        let Sentences { contradictory, consistent, fillers } = &*SENTENCES;
        assert!(contradictory.len() >= 30 && consistent.len() >= 30 && fillers.len() >= 6);
        let rows = include_str!("canaries.tsv").lines().count();
        assert_eq!(contradictory.len() + consistent.len() + fillers.len(), rows, "no row is lost");
        let all: BTreeSet<_> = contradictory.iter().chain(consistent).collect();
        assert_eq!(all.len(), contradictory.len() + consistent.len(), "no pair is there twice");
    }

    #[test]
    fn the_seed_chooses_and_nothing_repeats() {
        let planted = canaries(7, 200);
        assert_eq!(planted, canaries(7, 200));
        assert_ne!(planted, canaries(8, 200));
        assert_eq!(planted.iter().filter(|one| one.is_contradiction).count(), 200);
        let identities: BTreeSet<_> =
            planted.iter().map(|one| PairPrompt::of(&one.pair, 1500).identity).collect();
        assert_eq!(identities.len(), 400);
    }

    #[test]
    fn unjudged_canaries_are_not_counted() {
        let planted = canaries(1, 2);
        let accuse = Judgement::new(StatementRelation::Contradiction, Severity::High, "", 0.9);
        let accuse = JudgingOutcome::Judged(accuse, Origin::Judge);
        let unsure = Judgement::new(StatementRelation::Evolution, Severity::Info, "", 0.9);
        let unsure = JudgingOutcome::Judged(unsure, Origin::Cache);
        let mut outcomes = vec![accuse; 4];
        let place = planted.iter().position(|one| one.is_contradiction).unwrap();
        outcomes[place] = JudgingOutcome::NotAsked;
        let place = planted.iter().position(|one| !one.is_contradiction).unwrap();
        outcomes[place] = unsure;
        let counts = counts(planted.iter().zip(&outcomes));
        assert_eq!((counts.caught.hits, counts.caught.n), (1, 1));
        assert_eq!((counts.accused.hits, counts.accused.n), (1, 2));
    }

    proptest! {
        #[test]
        fn every_slot_is_filled(seed in any::<u64>()) {
            for Canary { pair, .. } in canaries(seed, 40) {
                for text in [&pair.a.text, &pair.b.text] {
                    prop_assert!(!text.contains(['{', '}']), "{}", text);
                }
                prop_assert_ne!(&pair.a.text, &pair.b.text);
            }
        }
    }
}
