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
            let key = &edge.evidence_page;
            if texts.contents.contains_key(key) {
                continue;
            }
            let content = match self.page(key, None) {
                Ok(stored) => stored.page.content,
                Err(BrainError::NoPage { .. }) => String::new(),
                Err(error) => return Err(error),
            };
            texts.contents.insert(key.clone(), content.chars().collect());
        }
        Ok(texts)
    }
}

impl EvidenceTexts {
    /// The text of an edge's evidence on one line; none if the page no longer has that range.
    pub fn of(&self, edge: &Edge) -> Option<String> {
        let content = self.contents.get(&edge.evidence_page)?;
        let range = edge.evidence_start as usize..edge.evidence_end as usize;
        let text: String = content.get(range)?.iter().collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}
