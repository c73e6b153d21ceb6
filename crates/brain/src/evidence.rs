//! The text that links were read from, for people who check an answer.
//!
//! An edge names a range of characters in a page. The page is read from the store when a person looks at the edge, so that
//! answers to programs cost nothing more.

use std::collections::BTreeMap;

use gbrain_core::id::PageKey;
use gbrain_core::ranking::Edge;

use crate::{Brain, BrainError};

/// The texts that edges were read from.
#[derive(Debug, Default)]
pub struct EvidenceTexts {
    contents: BTreeMap<PageKey, Vec<char>>,
}

impl Brain {
    /// Reads the pages that these edges name as their evidence. A page that is gone has no text.
    pub fn evidence_texts<'a>(
        &self,
        edges: impl IntoIterator<Item = &'a Edge>,
    ) -> Result<EvidenceTexts, BrainError> {
        let mut texts = EvidenceTexts::default();
        for edge in edges {
            texts.read(self, edge)?;
        }
        Ok(texts)
    }
}

impl EvidenceTexts {
    /// Reads the page with the evidence of an edge, unless it was read before.
    pub fn read(&mut self, brain: &Brain, edge: &Edge) -> Result<(), BrainError> {
        let key = &edge.evidence_page;
        if self.contents.contains_key(key) {
            return Ok(());
        }
        let content = match brain.store().page(brain.workspace(), key)? {
            Some(stored) => stored.page.content,
            None => String::new(),
        };
        self.contents.insert(key.clone(), content.chars().collect());
        Ok(())
    }

    /// The pages that were read.
    pub fn pages(&self) -> impl Iterator<Item = &PageKey> {
        self.contents.keys()
    }

    /// Forgets the text of a page.
    pub fn remove(&mut self, page: &PageKey) {
        self.contents.remove(page);
    }

    /// The text of an edge's evidence on one line; none if the page no longer has that range.
    pub fn of(&self, edge: &Edge) -> Option<String> {
        let content = self.contents.get(&edge.evidence_page)?;
        let range = edge.evidence_start as usize..edge.evidence_end as usize;
        let text: String = content.get(range)?.iter().collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}
