//! What an index promises, whichever it is.

use std::sync::Arc;
use std::time::Duration;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::page::StoredPage;
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::QueryTerms;
use gbrain_embed::Urgency;

use crate::entry::{LinkEntry, Named, PageEntry, Passage};
use crate::error::Result;
use crate::vectors::VectorQuery;

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

    /// Compares every file of the last commit with its checksum, whatever is remembered of it. Names those that are not
    /// as they were written, each with what is wrong, and forgets what was remembered if there are any.
    fn check_files(&self) -> Result<Vec<String>>;

    /// Of how many documents the vectors of the model this process wants are there, and how many
    /// documents there are.
    fn wanted_vectors(&self) -> Result<(u64, u64)>;

    /// Makes the vectors of the model this process wants for everything the index holds, beside
    /// those it holds, without holding others up. What is made stays, so that a call that was cut
    /// off goes on where it stopped. [`Writer::adopt_wanted_model`] switches to them.
    fn make_wanted_vectors(&self, progress: &dyn Fn(u64, u64)) -> Result<()>;
}

/// Changes an index. What is not committed when it is dropped is lost, and nothing else.
///
/// After an error it is of no more use: another one goes on from the last commit.
pub trait Writer: Send {
    /// The corpus as of the last commit, read under the writer's lock.
    fn corpus(&self) -> Corpus;

    /// How long remote models may take from now on; [`Urgency::Work`] unless set.
    fn set_urgency(&mut self, urgency: Urgency);

    /// Takes pages in, each in place of what it was before, and takes pages out.
    fn apply(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> Result<()>;

    /// Takes every page out.
    fn clear(&mut self) -> Result<()>;

    /// Makes everything since the last commit durable and visible at once.
    fn commit(&mut self, corpus: Corpus) -> Result<()>;

    /// Switches to the vectors of the model this process wants, and drops those of others. Makes
    /// what [`Index::make_wanted_vectors`] has not made. Nothing may wait for a commit.
    fn adopt_wanted_model(&mut self) -> Result<()>;

    /// Does the upkeep that is due after commits, such as merging small segments. Never changes
    /// an answer; nothing is due after most commits.
    fn settle(&mut self) -> Result<()>;
}

/// What is asked of the words.
#[derive(Debug, Clone, PartialEq)]
pub struct WordsQuery {
    pub terms: QueryTerms,
    /// BM25's saturation of term frequency.
    pub k1: f64,
    pub b: f64,
    /// The weight of a term's exact form beside its stem.
    pub exact_weight: f64,
}

/// A chunk that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkHit {
    pub page: PageId,
    /// The chunk's place in it.
    pub ordinal: u32,
    /// Its score; exact, as it comes from integers.
    pub score: f64,
    /// Where the view that answered keeps it. Means nothing to any other view.
    pub handle: u64,
}

/// A page that is near in meaning, by its nearest chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorHit {
    /// The chunk; its score is a cosine.
    pub hit: ChunkHit,
    /// Its place among chunks that say different things, from 1. Copies share one.
    pub place: usize,
}

/// What an index holds, counted document by document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    pub pages: u64,
    pub chunks: u64,
    /// Indexed tokens of live chunks.
    pub tokens: u64,
}

/// What a page says of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageWords {
    /// BM25 of its chunks taken together, as if they were one.
    pub score: f64,
    pub passages: Vec<ChunkHit>,
}

/// One corpus, as of one commit. Private pages do not exist for [`Viewer::Untrusted`]: not in
/// answers and not in the statistics behind their scores.
pub trait View: Send + Sync {
    /// Which corpus this is.
    fn corpus(&self) -> Corpus;

    /// Whether what it reads was found to be damaged: it answers no more, and neither does another view of the same
    /// commit.
    fn is_damaged(&self) -> bool {
        false
    }

    /// Counts what is there, and fails if the statistics behind scores say otherwise. Reads every
    /// document's lengths: for verification.
    fn held(&self) -> Result<Held>;

    /// The `k` best pages, each by its best chunk: by score, then source, then slug; the chunk of
    /// several equals is the first. Exact: no candidate is lost to a filter or to a page with
    /// many matching chunks.
    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> Result<Vec<ChunkHit>>;

    /// What pages say, in the order asked for: each one's score as a whole, and its best chunks
    /// by score, then ordinal.
    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> Result<Vec<PageWords>>;

    /// How many chunks a caller may know of.
    fn chunks(&self, trust: Viewer) -> u64;

    /// The id of the model whose vectors are held, if there are any.
    fn vector_model(&self) -> Option<&str>;

    /// The pages nearest in meaning, each by its nearest chunk, until `k` say different things,
    /// with at most `k` copies: by cosine, then source, then slug. At least a quarter of `k`, and
    /// at least ten, where there are so many. A shortlist of `depth` chunks is scored exactly; it is
    /// taken among all that pass the filter. A query of another model than the one held is
    /// [`IndexError::OtherModel`](crate::IndexError::OtherModel).
    fn vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> Result<Vec<VectorHit>>;

    /// The nearest chunk of each of these pages, in the order asked for; none for a page without
    /// one that passes the filter.
    fn page_vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        pages: &[PageId],
    ) -> Result<Vec<Option<ChunkHit>>>;

    /// Whether the vectors held for a page are those its model makes of it now. A page that is
    /// not held, or an index whose model this process does not have, is `None`.
    fn vectors_fit(&self, stored: &StoredPage) -> Result<Option<bool>>;

    /// The text of a hit of this view.
    fn read(&self, hit: &ChunkHit) -> Result<Passage>;

    /// The text of a chunk.
    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> Result<Option<Passage>>;

    /// A page by its number.
    fn entry(&self, page: PageId, trust: Viewer) -> Result<Option<Arc<PageEntry>>>;

    /// A page by its key.
    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> Result<Option<Arc<PageEntry>>>;

    /// The pages that `name_key` names, by how they are named, then source, then slug. A page
    /// comes once, by the strongest of its names.
    fn named(&self, name_key: &str, filter: &Filter) -> Result<Vec<Named>>;

    /// The links that a page states, in its order.
    fn links_of(&self, page: PageId, trust: Viewer) -> Result<Vec<LinkEntry>>;

    /// The links whose target, as a name key, is `target_key`: by source and slug of the page
    /// that states them, then in its order.
    fn links_to(&self, target_key: &str, trust: Viewer) -> Result<Vec<LinkEntry>>;

    /// How many pages state a link that [`View::links_to`] would give.
    fn backlinks(&self, target_key: &str, trust: Viewer) -> Result<u64>;
}
