//! The words of a memory index: each once, with the chunks that say it.
//!
//! A word is looked up as it is said, so that its stem and its lists are found once and not every time
//! it comes.

use gbrain_core::id::PageId;
use gbrain_core::text::{Said, TokenKind};
use rustc_hash::FxHashMap;

use crate::bm25::Form;
use crate::tokens::place;

/// How often one chunk says a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) page: PageId,
    pub(super) ordinal: u32,
    pub(super) tf: u32,
}

/// The postings of all words.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    /// Lists by number. One that nobody says any more is empty.
    lists: Vec<Vec<Posting>>,
    /// Numbers of lists, by what queries look for.
    stems: Numbers,
    exacts: Numbers,
    /// Where words are counted, by how they are said.
    plain: FxHashMap<Box<str>, Counted>,
    /// The same of what is not a word, which may be said alike.
    others: FxHashMap<(TokenKind, Box<str>), Counted>,
}

type Numbers = FxHashMap<Box<str>, u32>;

/// The lists that saying something once is counted in.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    stem: Option<u32>,
    exact: Option<u32>,
}

impl Words {
    /// The chunks that say a word in a form.
    pub(super) fn list(&self, form: Form, text: &str) -> &[Posting] {
        let numbers = match form {
            Form::Stem => &self.stems,
            Form::Exact => &self.exacts,
        };
        numbers.get(text).map_or(&[], |number| &self.lists[*number as usize])
    }

    /// Counts what a chunk says; how many tokens of its length that makes.
    pub(super) fn count(&mut self, said: Said<'_>, page: PageId, ordinal: u32) -> u64 {
        let Counted { stem, exact } = match self.known(&said) {
            Some(counted) => counted,
            None => self.learn(said),
        };
        for number in [stem, exact].into_iter().flatten() {
            add(&mut self.lists[number as usize], page, ordinal);
        }
        u64::from(stem.is_some())
    }

    /// Forgets what pages say.
    pub(super) fn remove(&mut self, is_gone: impl Fn(PageId) -> bool) {
        for list in &mut self.lists {
            list.retain(|posting| !is_gone(posting.page));
        }
    }

    fn known(&self, said: &Said<'_>) -> Option<Counted> {
        match said.kind {
            TokenKind::Word => self.plain.get(said.exact).copied(),
            // Rare enough to ask with a copy.
            kind => self.others.get(&(kind, said.exact.into())).copied(),
        }
    }

    fn learn(&mut self, said: Said<'_>) -> Counted {
        let mut counted = Counted::default();
        place(&said.token(&mut String::new()), &mut |form, text| match form {
            Form::Stem => counted.stem = Some(number(&mut self.stems, &mut self.lists, text)),
            Form::Exact => counted.exact = Some(number(&mut self.exacts, &mut self.lists, text)),
        });
        match said.kind {
            TokenKind::Word => self.plain.insert(said.exact.into(), counted),
            kind => self.others.insert((kind, said.exact.into()), counted),
        };
        counted
    }
}

/// The number of a word's list.
fn number(numbers: &mut Numbers, lists: &mut Vec<Vec<Posting>>, text: &str) -> u32 {
    if let Some(number) = numbers.get(text) {
        return *number;
    }
    let number = u32::try_from(lists.len()).expect("words fit in memory, which is less");
    numbers.insert(text.into(), number);
    lists.push(Vec::new());
    number
}

/// Counts a word of a chunk. Chunks arrive one after the other, so the last posting is this
/// chunk's or another's.
fn add(list: &mut Vec<Posting>, page: PageId, ordinal: u32) {
    match list.last_mut() {
        Some(last) if last.page == page && last.ordinal == ordinal => last.tf += 1,
        _ => list.push(Posting { page, ordinal, tf: 1 }),
    }
}
