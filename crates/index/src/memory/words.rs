//! The posting lists of a memory index.
//!
//! Words are cached by their exact spelling, so that the stem and the lists of a word are computed
//! once and not for every occurrence.

use gbrain_core::id::PageId;
use gbrain_core::text::{TokenKind, UnstemmedToken};
use rustc_hash::FxHashMap;

use crate::bm25::TermForm;
use crate::tokens::for_each_term_form;

/// The frequency of a word in one chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermPosting {
    pub(super) page: PageId,
    pub(super) ordinal: u32,
    pub(super) tf: u32,
}

/// The posting lists of all words.
#[derive(Debug, Clone, Default)]
pub(super) struct InvertedIndex {
    /// Lists by number. The list of a word that no longer occurs is empty.
    lists: Vec<Vec<TermPosting>>,
    /// Numbers of lists, by query term.
    stems: ListNumbers,
    exacts: ListNumbers,
    /// The lists of each word, by its exact spelling.
    plain: FxHashMap<Box<str>, FormCounts>,
    /// The lists of other tokens, which may be spelled like words.
    others: FxHashMap<(TokenKind, Box<str>), FormCounts>,
}

type ListNumbers = FxHashMap<Box<str>, u32>;

/// The lists in which an occurrence of a token is counted.
#[derive(Debug, Clone, Copy, Default)]
struct FormCounts {
    stem: Option<u32>,
    exact: Option<u32>,
}

impl InvertedIndex {
    /// The chunks that contain a word in a form.
    pub(super) fn list(&self, form: TermForm, text: &str) -> &[TermPosting] {
        let numbers = match form {
            TermForm::Stem => &self.stems,
            TermForm::Exact => &self.exacts,
        };
        numbers.get(text).map_or(&[], |number| &self.lists[*number as usize])
    }

    /// Counts a token of a chunk; returns how many tokens it adds to the chunk's length.
    pub(super) fn count(&mut self, token: UnstemmedToken<'_>, page: PageId, ordinal: u32) -> u64 {
        let FormCounts { stem, exact } = match self.known(&token) {
            Some(counted) => counted,
            None => self.learn(token),
        };
        for number in [stem, exact].into_iter().flatten() {
            add(&mut self.lists[number as usize], page, ordinal);
        }
        u64::from(stem.is_some())
    }

    /// Removes the postings of pages.
    pub(super) fn remove(&mut self, is_gone: impl Fn(PageId) -> bool) {
        for list in &mut self.lists {
            list.retain(|posting| !is_gone(posting.page));
        }
    }

    fn known(&self, token: &UnstemmedToken<'_>) -> Option<FormCounts> {
        match token.kind {
            TokenKind::Word => self.plain.get(token.exact).copied(),
            // Rare enough that a copy of the key does not matter.
            kind => self.others.get(&(kind, token.exact.into())).copied(),
        }
    }

    fn learn(&mut self, token: UnstemmedToken<'_>) -> FormCounts {
        let mut counted = FormCounts::default();
        for_each_term_form(&token.with_stem(&mut String::new()), &mut |form, text| match form {
            TermForm::Stem => counted.stem = Some(number(&mut self.stems, &mut self.lists, text)),
            TermForm::Exact => {
                counted.exact = Some(number(&mut self.exacts, &mut self.lists, text))
            }
        });
        match token.kind {
            TokenKind::Word => self.plain.insert(token.exact.into(), counted),
            kind => self.others.insert((kind, token.exact.into()), counted),
        };
        counted
    }
}

/// The number of a word's list.
fn number(numbers: &mut ListNumbers, lists: &mut Vec<Vec<TermPosting>>, text: &str) -> u32 {
    if let Some(number) = numbers.get(text) {
        return *number;
    }
    let number = u32::try_from(lists.len()).expect("words fit in memory, which is less");
    numbers.insert(text.into(), number);
    lists.push(Vec::new());
    number
}

/// Counts an occurrence in a chunk. Chunks arrive one after the other, so only the last posting can
/// be of the same chunk.
fn add(list: &mut Vec<TermPosting>, page: PageId, ordinal: u32) {
    match list.last_mut() {
        Some(last) if last.page == page && last.ordinal == ordinal => last.tf += 1,
        _ => list.push(TermPosting { page, ordinal, tf: 1 }),
    }
}
