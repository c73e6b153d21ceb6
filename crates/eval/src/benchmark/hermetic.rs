//! A temporary brain for one haystack.
//!
//! Promises: dataset ids appear nowhere in it, so they cannot be matched; it contains nothing of
//! the user's brain or of other haystacks.

use gbrain_brain::{Assistants, BrainError, Expand, QueryOptions, Snapshot};
use gbrain_core::benchmark::{DocumentText, Haystack, document_page};
use gbrain_core::id::PageKey;
use gbrain_core::ranking::{Hit, is_query_specific};
use gbrain_core::request::Request;
use gbrain_index::Models;

use super::run::Expander;

pub(super) struct HaystackBrain {
    snapshot: Snapshot,
    texts: Vec<DocumentText>,
}

pub(super) struct HaystackAnswer {
    /// Indexes of documents, best first. Duplicates listed with a hit follow it.
    pub(super) places: Vec<usize>,
    /// The hits with their document indexes.
    pub(super) hits: Vec<(usize, Hit)>,
    /// Degraded stages, each with its reason.
    pub(super) degraded: Vec<String>,
}

impl HaystackBrain {
    /// Indexes documents. A document that is not a valid page (blank or too large) cannot be found.
    pub(super) fn of(haystack: &Haystack, models: &Models) -> Result<Self, BrainError> {
        let mut pages = Vec::with_capacity(haystack.documents.len());
        let mut texts = Vec::with_capacity(haystack.documents.len());
        for (at, document) in haystack.documents.iter().enumerate() {
            let (page, text) = document_page(at, document);
            pages.extend(page);
            texts.push(text);
        }
        Ok(Self { snapshot: Snapshot::hermetic(pages, models)?, texts })
    }

    pub(super) fn ask(
        &self,
        request: &Request,
        expander: Option<Expander<'_>>,
        assistants: Option<&Assistants>,
    ) -> Result<HaystackAnswer, BrainError> {
        let expand = expander.map(|expander| |query: &str| expander(query));
        let expand = expand.as_ref().map(|expand| expand as &Expand<'_>);
        let ask = QueryOptions { expand, ..QueryOptions::default() };
        let response = match assistants {
            Some(assistants) => assistants.with(ask, |ask| self.snapshot.answer(request, ask)),
            None => self.snapshot.answer(request, &ask),
        };
        let ranking = response?.ranking;
        let degraded = ranking.degraded.iter().filter(|d| !is_query_specific(d.reason));
        let degraded = degraded.map(|d| format!("{}: {}", d.stage, d.reason)).collect();
        let named =
            ranking.hits.iter().flat_map(|hit| [&hit.key].into_iter().chain(&hit.duplicates));
        let places = named.filter_map(place_of).collect();
        let hits = ranking.hits.into_iter().filter_map(|hit| Some((place_of(&hit.key)?, hit)));
        Ok(HaystackAnswer { places, hits: hits.collect(), degraded })
    }

    /// The text of a document with its turns.
    pub(super) fn text(&self, document: usize) -> &DocumentText {
        &self.texts[document]
    }
}

fn place_of(key: &PageKey) -> Option<usize> {
    key.slug.as_str().strip_prefix('d')?.parse().ok()
}
