//! Checks vectors by self-retrieval: a query with the text of a page must find that page.
//!
//! Any embedding must pass this, on any corpus: if texts do not find themselves, the vectors were
//! made by a broken model, or by another one than the query's. Passing says nothing more about
//! quality; judged queries do.

use gbrain_brain::{Brain, BrainError, QueryOptions};
use gbrain_core::gate::Verdict;
use gbrain_core::id::PageKey;
use gbrain_core::page::StoredPage;
use gbrain_core::ranking::is_query_specific;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_store::PageFilter;
use jiff::Timestamp;

use crate::EvalError;

/// Number of sampled pages.
const SAMPLE: usize = 50;
/// Minimum share of sampled pages that are found.
const LEAST: f64 = 0.9;
/// Number of results searched for the page.
const AMONG: usize = 10;
/// Length of a query, in characters.
const CHARACTERS: usize = 300;

/// The result of self-retrieval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfRetrieval {
    /// Number of texts queried.
    pub asked: usize,
    /// Texts whose page was among the first ten results.
    pub found: usize,
    /// Texts that could not be embedded or searched.
    pub failed: usize,
}

impl SelfRetrieval {
    /// No queries, or a failed one, give no verdict.
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

/// Queries a brain's vectors with evenly sampled pages. The same corpus gives the same pages.
pub fn self_retrieval(brain: &Brain, now: Timestamp) -> Result<SelfRetrieval, EvalError> {
    let snapshot = brain.snapshot(&|_, _| ())?;
    let mut result = SelfRetrieval { asked: 0, found: 0, failed: 0 };
    for (key, text) in sample(brain)? {
        let request = by_meaning(&text, now);
        let ranking = snapshot.answer(&request, &QueryOptions::default())?.ranking;
        let is_broken = ranking.embedder.is_none()
            || ranking.degraded.iter().any(|degraded| !is_query_specific(degraded.reason));
        let pages =
            ranking.hits.iter().flat_map(|hit| std::iter::once(&hit.key).chain(&hit.duplicates));
        result.asked += 1;
        result.failed += usize::from(is_broken);
        result.found += usize::from(pages.into_iter().any(|page| *page == key));
    }
    Ok(result)
}

/// Evenly spaced pages, with the beginning of their text.
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

/// A request that only the vector arm answers.
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
