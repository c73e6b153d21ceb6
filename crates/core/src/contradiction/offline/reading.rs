//! Parses a sentence for the offline judge.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::contradiction::date::mentions;
use crate::page::sentence::sentences;
use crate::search::window::DateWindow;
use crate::text::{TokenKind, analyse};

use super::number::{Quantity, quantities};
use super::slot::{Ownership, Role, ownership, roles};
use super::words::WORDS;

/// Maximum number of sentences parsed per statement.
const MOST: usize = 40;

/// The role of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Content,
    Function,
    Denial,
    /// Part of a quantity or a time.
    Figure,
}

/// A word of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) exact: String,
    /// The canonical stem of its synonyms.
    pub(super) stem: String,
    pub(super) part: Part,
}

/// The negation of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denial {
    None,
    Denies,
    /// It says that something is no longer true.
    Ended,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) words: Vec<Word>,
    /// The stems of names.
    pub(super) names: BTreeSet<String>,
    /// The stems of other content words.
    pub(super) content: BTreeSet<String>,
    pub(super) denial: Denial,
    pub(super) quantities: Vec<Quantity>,
    pub(super) times: Vec<DateWindow>,
    pub(super) roles: Vec<Role>,
    pub(super) ownership: Option<Ownership>,
    /// Whether it is an assertion or a denial, not a question or condition.
    pub(super) is_asserted: bool,
    /// Whether its subject is a pronoun.
    pub(super) is_about_it: bool,
    /// Whether the first word is capitalised and may be a name.
    begins_large: bool,
}

/// Parses the sentences of a statement. A line break ends a sentence, because chats and lists have
/// no full stops.
pub(super) fn readings(text: &str) -> Vec<Reading> {
    let mut found = Vec::new();
    for line in text.lines() {
        for sentence in sentences(line, 0..line.len()) {
            let reading = Reading::new(&line[sentence]);
            if reading.names.len() + reading.content.len() > 0 {
                found.push(reading);
            }
        }
    }
    found.truncate(MOST);
    found
}

impl Reading {
    fn new(text: &str) -> Self {
        let times = mentions(text);
        let quantities = quantities(text, &times);
        let figures: Vec<Range<usize>> = times
            .iter()
            .map(|mention| mention.at.clone())
            .chain(quantities.iter().map(|quantity| quantity.at.clone()))
            .collect();
        let words = words(text, &figures);
        let stems = |part: Part| {
            words.iter().filter(|word| word.part == part).map(|word| word.stem.clone()).collect()
        };
        let is_conditional = words.iter().any(|word| WORDS.is_unasserted(&word.exact));
        Self {
            names: stems(Part::Name),
            content: stems(Part::Content),
            denial: denial(&words),
            is_asserted: !text.trim_end().ends_with('?') && !is_conditional,
            is_about_it: is_about_it(&words),
            begins_large: text.starts_with(char::is_uppercase),
            quantities,
            roles: roles(text),
            ownership: ownership(text),
            times: times.into_iter().map(|mention| mention.window).collect(),
            words,
        }
    }

    /// Whether both contain a common name or content word; otherwise they are unrelated.
    pub(super) fn shares_a_word(&self, other: &Self) -> bool {
        !self.names.is_disjoint(&other.names) || !self.content.is_disjoint(&other.content)
    }

    /// Names and content words.
    pub(super) fn all(&self) -> BTreeSet<&str> {
        self.names.iter().chain(&self.content).map(String::as_str).collect()
    }

    /// Marks the first word as a name if it is a name in another sentence.
    pub(super) fn know(&mut self, names: &BTreeSet<String>) {
        let Some(first) = self.words.first_mut() else { return };
        if self.begins_large && first.part == Part::Content && names.contains(&first.exact) {
            self.content.remove(&first.stem);
            first.part = Part::Name;
            first.stem.clone_from(&first.exact);
            self.names.insert(first.stem.clone());
        }
    }

    /// Whether it contains a word, by folded spelling.
    pub(super) fn says(&self, exact: &str) -> bool {
        self.words.iter().any(|word| word.exact == exact)
    }

    pub(super) fn says_first(&self, exact: &str) -> bool {
        self.words.first().is_some_and(|word| word.exact == exact)
    }

    /// Whether it begins with a definite article or a possessive.
    pub(super) fn is_definite(&self) -> bool {
        ["the", "our", "my", "your", "his", "her", "their"].iter().any(|word| self.says_first(word))
    }

    /// Whether both sentences name times and none of them overlap.
    pub(super) fn is_of_another_time(&self, other: &Self) -> bool {
        let are_apart = |one: &DateWindow| {
            !other.times.iter().any(|other| one.from <= other.until && other.from <= one.until)
        };
        !self.times.is_empty() && !other.times.is_empty() && self.times.iter().all(are_apart)
    }
}

fn words(text: &str, figures: &[Range<usize>]) -> Vec<Word> {
    let mut spans: Vec<(Word, usize)> = Vec::new();
    analyse(text, &mut |token| {
        if matches!(token.kind, TokenKind::Identifier | TokenKind::Emoji) {
            return;
        }
        let is_figure = figures.iter().any(|at| at.start < token.end && token.start < at.end);
        let exact = token.exact.to_owned();
        let part = match token.kind {
            _ if is_figure => Part::Figure,
            _ if WORDS.is_denial(&exact) => Part::Denial,
            TokenKind::Stop => Part::Function,
            _ if WORDS.is_function(&exact) => Part::Function,
            _ => Part::Content,
        };
        let stem = WORDS.meaning(token.stem.to_owned());
        spans.push((Word { exact, stem, part }, token.start));
    });
    let is_capital = |at: usize| text[at..].chars().next().is_some_and(|c| c.is_uppercase());
    let mut words: Vec<Word> = Vec::with_capacity(spans.len());
    for (place, (word, at)) in spans.iter().enumerate() {
        let is_name = word.part == Part::Content
            && is_capital(*at)
            && (place > 0 || starts_with_name(&spans, &is_capital));
        let part = if is_name { Part::Name } else { word.part };
        // Names have no synonyms: Bill is not a bill.
        let stem = if is_name { word.exact.clone() } else { word.stem.clone() };
        words.push(Word { exact: word.exact.clone(), stem, part });
    }
    words
}

/// Whether the first word of a sentence, always capitalised, is a name: another name or a verb
/// follows.
fn starts_with_name(spans: &[(Word, usize)], is_capital: &impl Fn(usize) -> bool) -> bool {
    const AFTER: &[&str] =
        &["is", "was", "has", "had", "will", "does", "did", "doesnt", "didnt", "and"];
    match spans.get(1) {
        Some((next, at)) => {
            (is_capital(*at) && next.part == Part::Content)
                || AFTER.contains(&next.exact.as_str())
                || (next.part == Part::Content && next.exact.ends_with("ed"))
                || (next.part == Part::Content
                    && next.exact.ends_with('s')
                    && !next.exact.ends_with("ss"))
        }
        None => false,
    }
}

fn denial(words: &[Word]) -> Denial {
    let follows = |at: usize, next: &[&str]| {
        words.get(at + 1).is_some_and(|word| next.contains(&word.exact.as_str()))
    };
    let mut count = 0;
    let mut has_ended = false;
    for (at, word) in words.iter().enumerate() {
        if word.part != Part::Denial || follows(at, &["only", "just", "doubt", "matter", "later"]) {
            continue;
        }
        count += 1;
        has_ended |= follows(at, &["longer"]);
    }
    has_ended |= words.iter().any(|word| word.exact == "anymore") && count > 0;
    match count {
        0 => Denial::None,
        _ if has_ended => Denial::Ended,
        _ => Denial::Denies,
    }
}

/// Whether a sentence begins with a pronoun.
fn is_about_it(words: &[Word]) -> bool {
    const PRONOUNS: &[&str] =
        &["it", "he", "she", "they", "this", "that", "these", "those", "we", "i", "you"];
    words.first().is_some_and(|word| PRONOUNS.contains(&word.exact.as_str()))
}
