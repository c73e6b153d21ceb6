//! A brain for one haystack: made, asked and dropped.
//!
//! Promises: ids of the dataset are nowhere in it, so they can't be found; nothing of the user's
//! brain or of another haystack is.

use gbrain_brain::{Ask, Assistants, BrainError, Expand, Snapshot};
use gbrain_core::benchmark::{DocumentText, Haystack, document_page};
use gbrain_core::id::PageKey;
use gbrain_core::ranking::{Hit, is_of_the_question};
use gbrain_core::request::Request;
use gbrain_index::Models;

use super::run::Expander;

/// A haystack that can be asked.
pub(super) struct Brain {
    snapshot: Snapshot,
    /// What each document says.
    texts: Vec<DocumentText>,
}

pub(super) struct Asked {
    /// Places of documents, best first. An answer names the pages that say the same as a hit with
    /// it, so those take the ranks after it.
    pub(super) places: Vec<usize>,
    /// The hits, with their documents.
    pub(super) hits: Vec<(usize, Hit)>,
    /// Stages that could not do their work.
    pub(super) degraded: Vec<String>,
}

impl Brain {
    /// Takes documents in. One that is no page (blank, or too large) can't be found.
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
    ) -> Result<Asked, BrainError> {
        let expand = expander.map(|expander| |query: &str| expander(query));
        let expand = expand.as_ref().map(|expand| expand as &Expand<'_>);
        let ask = Ask { expand, ..Ask::default() };
        let answered = match assistants {
            Some(assistants) => assistants.with(ask, |ask| self.snapshot.answer(request, ask)),
            None => self.snapshot.answer(request, &ask),
        };
        let ranking = answered?.ranking;
        let degraded = ranking.degraded.iter().filter(|d| !is_of_the_question(d.reason));
        let degraded = degraded.map(|d| format!("{}: {}", d.stage, d.reason)).collect();
        let named =
            ranking.hits.iter().flat_map(|hit| [&hit.key].into_iter().chain(&hit.duplicates));
        let places = named.filter_map(place_of).collect();
        let hits = ranking.hits.into_iter().filter_map(|hit| Some((place_of(&hit.key)?, hit)));
        Ok(Asked { places, hits: hits.collect(), degraded })
    }

    /// What a document says, and where its turns are.
    pub(super) fn text(&self, document: usize) -> &DocumentText {
        &self.texts[document]
    }
}

fn place_of(key: &PageKey) -> Option<usize> {
    key.slug.as_str().strip_prefix('d')?.parse().ok()
}
