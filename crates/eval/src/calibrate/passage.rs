//! The text of a passage, where nobody gave it: from the local brain, or from a target's answer.
//!
//! Promises: of a private page nothing is found, since pairs are sent to a reranker elsewhere. Text of the
//! local brain is what its reranker reads: the title of the page, and the passage.

use gbrain_brain::{Brain, Snapshot, read_by_judge};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::Page;
use gbrain_core::request::Viewer;
use gbrain_core::suite::case::is_meant;
use gbrain_core::target::{Found, Question};

use super::CalibrateError;
use crate::retriever::Retriever;

/// Results that are looked through for a document.
const DEPTH: usize = 50;

/// A passage with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The document that it is of.
    pub document: String,
    pub chunk: String,
    /// Its text, as a reranker reads it.
    pub text: String,
    /// Whether somebody named the passage. Otherwise it was chosen.
    pub is_named: bool,
}

/// Where passages are looked up.
pub struct Passages<'a> {
    /// Who is asked which passage fits a query.
    pub target: &'a dyn Retriever,
    /// The local brain with what it answers from, where it is the target.
    pub local: Option<(&'a Brain, &'a Snapshot)>,
}

impl Passages<'_> {
    /// The passage of a document: the one that is named, or the one that fits a query best.
    pub fn find(
        &self,
        query: &str,
        document: &str,
        chunk: Option<&str>,
    ) -> Result<Option<Passage>, CalibrateError> {
        if let (Some((brain, snapshot)), Some(chunk)) = (self.local, chunk) {
            let is_it = |page: &Page| {
                page.chunks.iter().find(|one| one.id(&page.key) == chunk).map(|one| one.ordinal)
            };
            let found = in_brain(brain, snapshot, document, &is_it)?;
            return Ok(found.map(|passage| Passage { is_named: true, ..passage }));
        }
        let results = self.results(query)?;
        let is_it = |found: &&Found| {
            is_meant(document, &found.document)
                && chunk.is_none_or(|chunk| found.chunk.as_deref() == Some(chunk))
        };
        if let Some(passage) = results.iter().find(is_it).and_then(|found| self.passage(found)) {
            return Ok(Some(Passage { is_named: chunk.is_some(), ..passage }));
        }
        match self.local {
            // What no query finds has its first passage.
            Some((brain, snapshot)) => in_brain(brain, snapshot, document, &|_| Some(0)),
            None => Ok(None),
        }
    }

    /// What a query finds, best first.
    pub(super) fn results(&self, query: &str) -> Result<Vec<Found>, CalibrateError> {
        let most = self.target.info().max_results.unwrap_or(DEPTH).min(DEPTH);
        Ok(self.target.retrieve(&Question::new(query, most))?.results)
    }

    /// A result as a passage; none without text.
    pub(super) fn passage(&self, found: &Found) -> Option<Passage> {
        let text = found.text.as_deref().filter(|text| !text.trim().is_empty())?;
        let title = self.local.and(found.title.as_deref()).unwrap_or_default();
        let chunk = found.chunk.clone().unwrap_or_else(|| format!("{}#0", found.document));
        let text = read_by_judge(title, text);
        Some(Passage { document: found.document.clone(), chunk, text, is_named: false })
    }
}

/// A passage of a page, by what says which.
fn in_brain(
    brain: &Brain,
    snapshot: &Snapshot,
    document: &str,
    which: &dyn Fn(&Page) -> Option<u32>,
) -> Result<Option<Passage>, CalibrateError> {
    let Ok(key) = PageKey::parse(document, &SourceId::default()) else { return Ok(None) };
    let keys = match document.contains("::") {
        true => vec![key],
        false => brain.keys_of_slug(&key.slug)?,
    };
    let pages = brain.store().pages(brain.workspace(), &keys)?;
    for page in pages.into_iter().flatten().map(|stored| stored.page) {
        let Some(ordinal) = which(&page) else { continue };
        let Some(chunk) = page.chunks.iter().find(|one| one.ordinal == ordinal) else { continue };
        let Some(text) = snapshot.chunk_text(&page.key, ordinal, Viewer::Untrusted)? else {
            continue;
        };
        let (document, chunk) = (page.key.to_string(), chunk.id(&page.key));
        let text = read_by_judge(&page.title, &text);
        return Ok(Some(Passage { document, chunk, text, is_named: false }));
    }
    Ok(None)
}
