//! What an index promises, whichever it is.

use std::sync::Arc;
use std::time::Duration;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::page::StoredPage;
use gbrain_core::request::{Filter, Trust};
use gbrain_core::text::QueryTerms;

use crate::entry::{LinkEntry, Named, PageEntry, Passage};
use crate::error::Result;

/// Which corpus an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Corpus {
    /// The last change it holds.
    pub generation: Generation,
    /// The root of its pages.
    pub root: Hash,
    /// How many pages it holds.
    pub pages: u64,
    /// How many chunks it holds.
    pub chunks: u64,
}

/// The index of one workspace.
pub trait Index: Send + Sync {
    /// The corpus as of the last commit. Later commits do not change a view.
    fn view(&self) -> Result<Arc<dyn View>>;

    /// The one writer there can be, across processes; waits for its turn.
    fn writer(&self, wait: Duration) -> Result<Box<dyn Writer>>;
}

/// Changes an index. What is not committed when it is dropped is lost, and nothing else.
pub trait Writer: Send {
    /// The corpus as of the last commit, read under the writer's lock.
    fn corpus(&self) -> Corpus;

    /// Takes pages in, each in place of what it was before, and takes pages out.
    fn apply(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> Result<()>;

    /// Takes every page out.
    fn clear(&mut self) -> Result<()>;

    /// Makes everything since the last commit durable and visible at once.
    fn commit(&mut self, corpus: Corpus) -> Result<()>;

    /// Does the upkeep that is due after commits, such as merging small segments. Never changes
    /// an answer; nothing is due after most commits.
    fn settle(&mut self) -> Result<()>;
}

/// What is asked of the words.
#[derive(Debug, Clone, PartialEq)]
pub struct WordsQuery {
    /// The terms.
    pub terms: QueryTerms,
    /// BM25's saturation of term frequency.
    pub k1: f64,
    /// BM25's length normalisation.
    pub b: f64,
    /// The weight of a term's exact form beside its stem.
    pub exact_weight: f64,
}

/// A chunk that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordsHit {
    /// The page.
    pub page: PageId,
    /// The chunk's place in it.
    pub ordinal: u32,
    /// Its score; exact, as it comes from integers.
    pub score: f64,
    /// Where the view that answered keeps it. Means nothing to any other view.
    pub handle: u64,
}

/// What an index holds, counted document by document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Live pages.
    pub pages: u64,
    /// Live chunks.
    pub chunks: u64,
    /// Indexed tokens of live chunks.
    pub tokens: u64,
}

/// What a page says of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageWords {
    /// BM25 of its chunks taken together, as if they were one.
    pub score: f64,
    /// Its best chunks.
    pub passages: Vec<WordsHit>,
}

/// One corpus, as of one commit. Private pages do not exist for [`Trust::Untrusted`]: not in
/// answers and not in the statistics behind their scores.
pub trait View: Send + Sync {
    /// Which corpus this is.
    fn corpus(&self) -> Corpus;

    /// Counts what is there, and fails if the statistics behind scores say otherwise. Reads every
    /// document's lengths: for verification.
    fn held(&self) -> Result<Held>;

    /// The `k` best pages, each by its best chunk: by score, then source, then slug; the chunk of
    /// several equals is the first. Exact: no candidate is lost to a filter or to a page with
    /// many matching chunks.
    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> Result<Vec<WordsHit>>;

    /// What pages say, in the order asked for: each one's score as a whole, and its best chunks
    /// by score, then ordinal.
    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> Result<Vec<PageWords>>;

    /// The text of a hit of this view.
    fn read(&self, hit: &WordsHit) -> Result<Passage>;

    /// The text of a chunk.
    fn passage(&self, page: PageId, ordinal: u32, trust: Trust) -> Result<Option<Passage>>;

    /// A page by its number.
    fn entry(&self, page: PageId, trust: Trust) -> Result<Option<Arc<PageEntry>>>;

    /// A page by its key.
    fn entry_by_key(&self, key: &PageKey, trust: Trust) -> Result<Option<Arc<PageEntry>>>;

    /// The pages that `name_key` names, by how they are named, then source, then slug. A page
    /// comes once, by the strongest of its names.
    fn named(&self, name_key: &str, filter: &Filter) -> Result<Vec<Named>>;

    /// The links that a page states, in its order.
    fn links_of(&self, page: PageId, trust: Trust) -> Result<Vec<LinkEntry>>;

    /// The links whose target, as a name key, is `target_key`: by source and slug of the page
    /// that states them, then in its order.
    fn links_to(&self, target_key: &str, trust: Trust) -> Result<Vec<LinkEntry>>;

    /// How many pages state a link that [`View::links_to`] would give.
    fn backlinks(&self, target_key: &str, trust: Trust) -> Result<u64>;
}
