//! Compares one page in the index with the store, to explain why it is not found.

use gbrain_core::chunk::texts;
use gbrain_core::hash::Hash;
use gbrain_core::page::{Page, StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_embed::{PassageText, Urgency};
use gbrain_index::VectorQuery;

use crate::retrieve::excluded_by;
use crate::{BrainError, Snapshot};

/// Whether vectors may be recomputed for comparison, which costs money with a paid remote model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorCheck {
    /// Recompute with any model, even a paid remote one.
    Any,
    /// Only with a model in this process.
    Own,
}

/// The state of a page in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageIndexState {
    /// Whether the index holds this version of the page.
    pub is_indexed: bool,
    /// Passages that the index lacks or holds with another text.
    pub lost_passages: usize,
    /// Whether its vectors match its model's output; `None` if that cannot be checked.
    pub vectors_fit: Option<bool>,
    /// Why a filter excludes it.
    pub excluded: Option<String>,
}

/// Why a filter excludes a page, which may be an older version; `None` if it passes.
pub fn excluded(stored: &StoredPage, filter: &Filter) -> Option<String> {
    let entry = gbrain_index::PageEntry::of(stored);
    private_exclusion(&stored.page, filter).or_else(|| excluded_by(filter, &entry))
}

fn private_exclusion(page: &Page, filter: &Filter) -> Option<String> {
    let is_hidden = filter.trust == Viewer::Untrusted && page.visibility == Visibility::Private;
    is_hidden.then(|| "the page is private and the viewer may not see it".to_owned())
}

impl Snapshot {
    /// The state of a page in the index, and whether a filter excludes it.
    pub fn inspect(
        &self,
        stored: &StoredPage,
        filter: &Filter,
        check: VectorCheck,
    ) -> Result<PageIndexState, BrainError> {
        let page = &stored.page;
        let entry = self.view.entry_by_key(&page.key, Viewer::Trusted)?;
        let is_same = |entry: &gbrain_index::PageEntry| {
            (entry.id, entry.version, entry.content_hash)
                == (stored.id, stored.version, page.content_hash)
        };
        let Some(entry) = entry.filter(|entry| is_same(entry)) else {
            let lost_passages = page.chunks.len();
            return Ok(PageIndexState {
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
        let may_check = check == VectorCheck::Any || !self.is_model_remote();
        Ok(PageIndexState {
            is_indexed: true,
            lost_passages,
            vectors_fit: if may_check { self.view.vectors_fit(stored)? } else { None },
            excluded: private_exclusion(page, filter).or_else(|| excluded_by(filter, &entry)),
        })
    }

    /// Whether this process has the model of the index's vectors.
    pub fn has_model(&self) -> bool {
        self.embedder().is_some()
    }

    /// Whether that model is remote.
    pub fn is_model_remote(&self) -> bool {
        self.embedder().is_some_and(|model| model.is_remote())
    }

    /// The cosine similarity of a query and the page's nearest indexed passage; `None` without a
    /// model or vectors.
    pub fn similarity(&self, query: &str, stored: &StoredPage) -> Result<Option<f64>, BrainError> {
        let Some(query) = self.vector_query(query) else { return Ok(None) };
        let filter = Filter { trust: Viewer::Trusted, ..Filter::default() };
        let nearest = self.view.page_vectors(&query, &filter, &[stored.id])?;
        Ok(nearest.first().and_then(|hit| hit.map(|hit| hit.score)))
    }

    /// The cosine similarity of a query and the nearest passage of a text that is embedded now.
    pub fn similarity_anew(&self, query: &str, page: &Page) -> Option<f64> {
        let model = self.embedder()?;
        let queries = model.embed_queries(&[query]).ok()?;
        let passages = texts(&page.content, &page.chunks);
        let key = page.key.to_string();
        let passages: Vec<PassageText<'_>> =
            passages.iter().map(|text| PassageText { text, page: &key }).collect();
        let vectors = model.embed_passages(&passages, Urgency::Answer).ok()?;
        let own = queries.first()?;
        let cosine = |one: &Vec<f32>| -> f64 {
            own.iter().zip(one).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        vectors.iter().map(cosine).reduce(f64::max)
    }

    /// `None` if the model fails.
    fn vector_query(&self, query: &str) -> Option<VectorQuery> {
        VectorQuery::new(self.embedder()?.as_ref(), query).ok().flatten()
    }
}
