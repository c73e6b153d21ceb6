//! Whether vectors are any good: texts of the corpus are asked for by their own words, and have to be
//! found.
//!
//! This is what any embedding has to give, whatever the corpus: one whose texts do not find themselves was
//! made by a broken model, or by another one than that which is asked. It says nothing about how good it is
//! beyond that; known-right answers do.

use gbrain_brain::{Ask, Brain, BrainError};
use gbrain_core::gate::Verdict;
use gbrain_core::id::PageKey;
use gbrain_core::page::StoredPage;
use gbrain_core::ranking::is_of_the_question;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_store::PageFilter;
use jiff::Timestamp;

use crate::EvalError;

/// Pages that are asked for.
const SAMPLE: usize = 50;
/// The least share of them that is found.
const LEAST: f64 = 0.9;
/// Of how many pages that come back.
const AMONG: usize = 10;
/// As much of a page as is asked.
const CHARACTERS: usize = 300;

/// How many texts were found by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfRetrieval {
    /// Texts that were asked for.
    pub asked: usize,
    /// Those whose page was among the first ten.
    pub found: usize,
    /// Those for which the vectors did not answer.
    pub failed: usize,
}

impl SelfRetrieval {
    /// Nothing asked, or something not answered, is no verdict.
    pub fn verdict(&self) -> Verdict {
        if self.asked == 0 || self.failed > 0 {
            Verdict::Inconclusive
        } else if self.found as f64 >= LEAST * self.asked as f64 {
            Verdict::Pass
        } else {
            Verdict::Fail
        }
    }
}

/// Asks a brain's vectors for pages from all over it. The same corpus gives the same pages.
pub fn self_retrieval(brain: &Brain, now: Timestamp) -> Result<SelfRetrieval, EvalError> {
    let snapshot = brain.snapshot(&|_, _| ())?;
    let mut result = SelfRetrieval { asked: 0, found: 0, failed: 0 };
    for (key, text) in sample(brain)? {
        let request = by_meaning(&text, now);
        let ranking = snapshot.answer(&request, &Ask::default())?.ranking;
        let is_broken = ranking.embedder.is_none()
            || ranking.degraded.iter().any(|degraded| !is_of_the_question(degraded.reason));
        let pages =
            ranking.hits.iter().flat_map(|hit| std::iter::once(&hit.key).chain(&hit.duplicates));
        result.asked += 1;
        result.failed += usize::from(is_broken);
        result.found += usize::from(pages.into_iter().any(|page| *page == key));
    }
    Ok(result)
}

/// Pages at even distances, with the beginning of what they say.
fn sample(brain: &Brain) -> Result<Vec<(PageKey, String)>, BrainError> {
    let (store, workspace) = (brain.store(), brain.workspace());
    let total = usize::try_from(store.head(workspace)?.pages).unwrap_or(usize::MAX);
    let step = total.div_ceil(SAMPLE).max(1);
    let mut keys = Vec::new();
    let (mut after, mut at) = (None, 0);
    loop {
        let pages = store.list(workspace, &PageFilter::default(), after.as_ref(), 1000)?;
        let Some(last) = pages.last() else { break };
        after = Some(last.key.clone());
        for page in &pages {
            if at % step == 0 {
                keys.push(page.key.clone());
            }
            at += 1;
        }
    }
    let pages = store.pages(workspace, &keys)?;
    let text = |stored: &StoredPage| {
        let first = stored.page.chunks.first()?;
        let characters = stored.page.content.chars().skip(first.start as usize);
        let text: String = characters.take(CHARACTERS).collect();
        (!text.trim().is_empty()).then_some(text)
    };
    let found = keys.into_iter().zip(pages);
    Ok(found.filter_map(|(key, page)| Some((key, text(&page?)?))).collect())
}

/// A request that only vectors answer.
fn by_meaning(text: &str, now: Timestamp) -> Request {
    let settings = Settings {
        words_weight: 0.0,
        graph_weight: 0.0,
        duplicate_overlap: 1.0,
        ..Settings::default()
    };
    Request {
        operation: Operation::Query,
        query: text.to_owned(),
        limit: AMONG,
        detail: None,
        mode: RetrievalMode::Knowledge,
        filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
        vectors: true,
        expansion: Expansion::Off,
        now,
        settings,
    }
}
