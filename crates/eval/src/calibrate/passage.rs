//! Looks up passage texts in the local brain or in a target's answer.
//!
//! Promises: private pages are never returned, because pairs are sent to a remote reranker. Local
//! texts are exactly what the reranker reads: page title and passage.

use gbrain_brain::{Brain, Snapshot, rerank_text};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::Page;
use gbrain_core::request::Viewer;
use gbrain_core::suite::case::matches_expected;
use gbrain_core::target::{Question, TargetResult};

use super::CalibrateError;
use crate::retriever::Retriever;

/// How many results are searched for a document.
const DEPTH: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    pub document: String,
    pub chunk: String,
    /// The text as a reranker reads it.
    pub text: String,
    /// Whether the pair names the passage; otherwise it was chosen.
    pub is_named: bool,
}

pub struct Passages<'a> {
    /// The target that ranks passages for a query.
    pub target: &'a dyn Retriever,
    /// The local brain and its snapshot, if it is the target.
    pub local: Option<(&'a Brain, &'a Snapshot)>,
}

impl Passages<'_> {
    /// The passage of a document: the named one, or the best match for a query.
    pub fn find(
        &self,
        query: &str,
        document: &str,
        chunk: Option<&str>,
    ) -> Result<Option<Passage>, CalibrateError> {
        if let (Some((brain, snapshot)), Some(chunk)) = (self.local, chunk) {
            let is_match = |page: &Page| {
                page.chunks.iter().find(|one| one.id(&page.key) == chunk).map(|one| one.ordinal)
            };
            let found = in_brain(brain, snapshot, document, &is_match)?;
            return Ok(found.map(|passage| Passage { is_named: true, ..passage }));
        }
        let results = self.results(query)?;
        let is_match = |found: &&TargetResult| {
            matches_expected(document, &found.document)
                && chunk.is_none_or(|chunk| found.chunk.as_deref() == Some(chunk))
        };
        if let Some(passage) = results.iter().find(is_match).and_then(|found| self.passage(found)) {
            return Ok(Some(Passage { is_named: chunk.is_some(), ..passage }));
        }
        match self.local {
            // Fall back to the first passage.
            Some((brain, snapshot)) => in_brain(brain, snapshot, document, &|_| Some(0)),
            None => Ok(None),
        }
    }

    /// The results of a query, best first.
    pub(super) fn results(&self, query: &str) -> Result<Vec<TargetResult>, CalibrateError> {
        let limit = self.target.info().max_results.unwrap_or(DEPTH).min(DEPTH);
        Ok(self.target.retrieve(&Question::new(query, limit))?.results)
    }

    /// A result as a passage; `None` without text.
    pub(super) fn passage(&self, found: &TargetResult) -> Option<Passage> {
        let text = found.text.as_deref().filter(|text| !text.trim().is_empty())?;
        let title = self.local.and(found.title.as_deref()).unwrap_or_default();
        let chunk = found.chunk.clone().unwrap_or_else(|| format!("{}#0", found.document));
        let text = rerank_text(title, text);
        Some(Passage { document: found.document.clone(), chunk, text, is_named: false })
    }
}

/// The passage of a page that `which` selects.
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
        let text = rerank_text(&page.title, &text);
        return Ok(Some(Passage { document, chunk, text, is_named: false }));
    }
    Ok(None)
}
