//! The interface that both indexes implement.

use std::sync::Arc;
use std::time::Duration;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::page::StoredPage;
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::QueryTerms;
use gbrain_embed::Urgency;

use crate::entry::{LinkEntry, NameMatch, PageEntry, Passage};
use crate::error::IndexResult;
use crate::vectors::VectorQuery;

/// Identifies the corpus that an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Corpus {
    /// The last change it contains.
    pub generation: Generation,
    /// The root hash of its pages.
    pub root: Hash,
    pub pages: u64,
    pub chunks: u64,
}

/// The index of one workspace.
pub trait Index: Send + Sync {
    /// The corpus as of the last commit. Later commits do not change a view.
    fn view(&self) -> IndexResult<Arc<dyn View>>;

    /// Acquires the only writer, across processes; waits up to `wait`.
    fn writer(&self, wait: Duration) -> IndexResult<Box<dyn Writer>>;

    /// Verifies the checksum of every file of the last commit, ignoring remembered results. Returns
    /// one message per damaged file; if there are any, remembered results are discarded.
    fn check_files(&self) -> IndexResult<Vec<String>>;

    /// The number of documents that have vectors of the wanted model, and the number of all
    /// documents.
    fn wanted_vectors(&self) -> IndexResult<(u64, u64)>;

    /// Computes the missing vectors of the wanted model for the whole index, next to the existing
    /// ones, without blocking readers or writers. Finished files are kept, so an interrupted call
    /// resumes where it stopped. [`Writer::adopt_wanted_model`] switches to them.
    fn make_wanted_vectors(&self, progress: &dyn Fn(u64, u64)) -> IndexResult<()>;
}

/// Changes an index. Dropping it discards uncommitted changes only.
///
/// After an error it must not be used again: a new writer continues from the last commit.
pub trait Writer: Send {
    /// The corpus as of the last commit, read under the writer's lock.
    fn corpus(&self) -> Corpus;

    /// Sets how long remote models may take from now on; the default is [`Urgency::Work`].
    fn set_urgency(&mut self, urgency: Urgency);

    /// Inserts or replaces pages, and removes pages.
    fn apply(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> IndexResult<()>;

    /// Removes every page from the index.
    fn clear(&mut self) -> IndexResult<()>;

    /// Makes all changes since the last commit durable and visible at once.
    fn commit(&mut self, corpus: Corpus) -> IndexResult<()>;

    /// Switches to the vectors of the wanted model and drops those of other models. Computes
    /// vectors that [`Index::make_wanted_vectors`] has not computed. There must be no uncommitted
    /// changes.
    fn adopt_wanted_model(&mut self) -> IndexResult<()>;

    /// Runs the maintenance that is due after commits, such as merging small segments. Never
    /// changes an answer; after most commits nothing is due.
    fn settle(&mut self) -> IndexResult<()>;
}

/// The parameters and terms of a BM25 query.
#[derive(Debug, Clone, PartialEq)]
pub struct WordsQuery {
    pub terms: QueryTerms,
    /// BM25's saturation of term frequency.
    pub k1: f64,
    pub b: f64,
    /// The weight of a term's exact form relative to its stem.
    pub exact_weight: f64,
}

/// A chunk that matches a query, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkHit {
    pub page: PageId,
    /// Position of the chunk in the page, from 0.
    pub ordinal: u32,
    /// Exact, because it is computed from integers.
    pub score: f64,
    /// Position of the chunk inside the view that returned it; meaningless for any other view.
    pub handle: u64,
}

/// A page found by vector similarity, represented by its nearest chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorHit {
    /// The chunk; its score is a cosine.
    pub hit: ChunkHit,
    /// Rank among chunks with different content, from 1. Near-duplicates share a rank.
    pub place: usize,
}

/// Contents of an index, counted document by document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexCounts {
    pub pages: u64,
    pub chunks: u64,
    /// Indexed tokens of live chunks.
    pub tokens: u64,
}

/// The word matches of one page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageWords {
    /// BM25 of its chunks taken together, as if they were one.
    pub score: f64,
    pub passages: Vec<ChunkHit>,
}

/// One corpus, as of one commit. Private pages do not exist for [`Viewer::Untrusted`]: neither in
/// answers nor in the statistics behind their scores.
pub trait View: Send + Sync {
    fn corpus(&self) -> Corpus;

    /// Whether a read found damage. A damaged view answers no more requests, and neither does
    /// another view of the same commit.
    fn is_damaged(&self) -> bool {
        false
    }

    /// Counts the contents, and fails if the statistics used for scoring differ. Reads the lengths
    /// of every document: for verification.
    fn count_contents(&self) -> IndexResult<IndexCounts>;

    /// The `k` best pages, each by its best chunk: by score, then source, then slug; among equal
    /// chunks the first. Exact: no candidate is lost to a filter or to a page with many matching
    /// chunks.
    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> IndexResult<Vec<ChunkHit>>;

    /// The word matches of the given pages, in the same order: the score of each page as a whole,
    /// and its best chunks by score, then ordinal.
    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> IndexResult<Vec<PageWords>>;

    /// The number of chunks visible to a caller.
    fn chunks(&self, trust: Viewer) -> u64;

    /// The id of the model whose vectors the index holds, if any.
    fn vector_model(&self) -> Option<&str>;

    /// The nearest pages, each by its nearest chunk, until `k` have different content, with at most
    /// `k` near-duplicates: by cosine, then source, then slug. Returns at least a quarter of `k`,
    /// and at least ten, if that many exist. A shortlist of `depth` chunks that pass the filter is
    /// scored exactly. A query by another model fails with
    /// [`IndexError::OtherModel`](crate::IndexError::OtherModel).
    fn vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> IndexResult<Vec<VectorHit>>;

    /// The nearest chunk of each given page, in the same order; `None` if no chunk of the page
    /// passes the filter.
    fn page_vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        pages: &[PageId],
    ) -> IndexResult<Vec<Option<ChunkHit>>>;

    /// Whether the stored vectors of a page equal those its model computes now. `None` if the index
    /// lacks the page, or if this process lacks the index's model.
    fn vectors_fit(&self, stored: &StoredPage) -> IndexResult<Option<bool>>;

    /// Reads the text of a hit of this view.
    fn read(&self, hit: &ChunkHit) -> IndexResult<Passage>;

    /// Reads the text of a chunk.
    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> IndexResult<Option<Passage>>;

    fn entry(&self, page: PageId, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>>;

    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>>;

    /// The pages with the name `name_key`, by kind of name, then source, then slug. Each page
    /// occurs once, with its strongest name.
    fn named(&self, name_key: &str, filter: &Filter) -> IndexResult<Vec<NameMatch>>;

    /// The links stated by a page, in page order.
    fn links_of(&self, page: PageId, trust: Viewer) -> IndexResult<Vec<LinkEntry>>;

    /// The links whose target has the name key `target_key`: by source and slug of the page that
    /// states them, then in page order.
    fn links_to(&self, target_key: &str, trust: Viewer) -> IndexResult<Vec<LinkEntry>>;

    /// The number of pages that state a link returned by [`View::links_to`].
    fn backlinks(&self, target_key: &str, trust: Viewer) -> IndexResult<u64>;
}
