//! One page as the index holds it, beside what the store says of it: for whoever wants to know why it is
//! not found.

use gbrain_core::chunk::texts;
use gbrain_core::hash::Hash;
use gbrain_core::page::{Page, StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_embed::{Passage, Urgency};
use gbrain_index::VectorQuery;

use crate::retrieve::excluded_by;
use crate::{BrainError, Snapshot};

/// Whether vectors are made again to be compared, which a model elsewhere may take money for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorCheck {
    /// By whichever model made them.
    Any,
    /// Only by a model of this process.
    Own,
}

/// A page as the index holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whether the index holds this version of it.
    pub is_indexed: bool,
    /// Passages that the index does not hold as the store has them.
    pub lost_passages: usize,
    /// Whether its vectors are those that their model makes of it; none if nobody here can tell.
    pub vectors_fit: Option<bool>,
    /// What keeps it from passing a filter, in words.
    pub excluded: Option<String>,
}

/// Why a filter does not let a page through; none if it does. The page may be an older version.
pub fn excluded(stored: &StoredPage, filter: &Filter) -> Option<String> {
    let entry = gbrain_index::PageEntry::of(stored);
    is_private(&stored.page, filter).or_else(|| excluded_by(filter, &entry))
}

fn is_private(page: &Page, filter: &Filter) -> Option<String> {
    let is_hidden = filter.trust == Viewer::Untrusted && page.visibility == Visibility::Private;
    is_hidden.then(|| "it is private, and whoever asks may not see it".to_owned())
}

impl Snapshot {
    /// How the index holds a page, and what a filter says of it.
    pub fn inspect(
        &self,
        stored: &StoredPage,
        filter: &Filter,
        check: VectorCheck,
    ) -> Result<Held, BrainError> {
        let page = &stored.page;
        let entry = self.view.entry_by_key(&page.key, Viewer::Trusted)?;
        let is_same = |entry: &gbrain_index::PageEntry| {
            (entry.id, entry.version, entry.content_hash)
                == (stored.id, stored.version, page.content_hash)
        };
        let Some(entry) = entry.filter(|entry| is_same(entry)) else {
            let lost_passages = page.chunks.len();
            return Ok(Held {
                is_indexed: false,
                lost_passages,
                vectors_fit: None,
                excluded: None,
            });
        };
        let mut lost_passages = 0;
        for chunk in &page.chunks {
            let passage = self.view.passage(stored.id, chunk.ordinal, Viewer::Trusted)?;
            let is_there = passage.is_some_and(|one| Hash::of(one.text.as_bytes()) == chunk.hash);
            lost_passages += usize::from(!is_there);
        }
        let may_check = check == VectorCheck::Any || !self.is_model_elsewhere();
        Ok(Held {
            is_indexed: true,
            lost_passages,
            vectors_fit: if may_check { self.view.vectors_fit(stored)? } else { None },
            excluded: is_private(page, filter).or_else(|| excluded_by(filter, &entry)),
        })
    }

    /// Whether this process has the model whose vectors are held.
    pub fn has_model(&self) -> bool {
        self.embedder().is_some()
    }

    /// Whether that model is asked over a wire.
    pub fn is_model_elsewhere(&self) -> bool {
        self.embedder().is_some_and(|model| model.is_remote())
    }

    /// How close a page is to a query by the vectors that are held: the cosine of its nearest passage. None
    /// without a model, and of a page without vectors.
    pub fn similarity(&self, query: &str, stored: &StoredPage) -> Result<Option<f64>, BrainError> {
        let Some(query) = self.vector_query(query) else { return Ok(None) };
        let filter = Filter { trust: Viewer::Trusted, ..Filter::default() };
        let nearest = self.view.page_vectors(&query, &filter, &[stored.id])?;
        Ok(nearest.first().and_then(|hit| hit.map(|hit| hit.score)))
    }

    /// How close a text would be to a query if it were taken in now: the cosine of its nearest passage.
    pub fn similarity_anew(&self, query: &str, page: &Page) -> Option<f64> {
        let model = self.embedder()?;
        let queries = model.embed_queries(&[query]).ok()?;
        let passages = texts(&page.content, &page.chunks);
        let key = page.key.to_string();
        let passages: Vec<Passage<'_>> =
            passages.iter().map(|text| Passage { text, page: &key }).collect();
        let vectors = model.embed_passages(&passages, Urgency::Answer).ok()?;
        let own = queries.first()?;
        let cosine = |one: &Vec<f32>| -> f64 {
            own.iter().zip(one).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        vectors.iter().map(cosine).reduce(f64::max)
    }

    /// A model that fails says nothing.
    fn vector_query(&self, query: &str) -> Option<VectorQuery> {
        VectorQuery::new(self.embedder()?.as_ref(), query).ok().flatten()
    }
}
