//! Requests as people make them by default, about the corpus of the campaigns.

use std::collections::BTreeSet;

use anyhow::Result;
use gbrain_bench::campaign::identity::{Corpus, questions};
use gbrain_brain::Brain;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};

const SEED: u64 = 20_260_901;

/// So many queries of different texts: every arm, no filter, ten pages.
pub(crate) fn requests(corpus: &Corpus, count: usize, brain: &Brain) -> Result<Vec<Request>> {
    let settings = brain.settings()?;
    let mut seen = BTreeSet::new();
    // Some texts come again; twice as many questions are enough.
    let asked = questions(corpus, 2 * count, SEED).into_iter().map(|question| question.request);
    let requests = asked.filter(|request| seen.insert(request.query.clone())).take(count);
    let request = |Request { query, now, .. }: Request| Request {
        operation: Operation::Query,
        query,
        limit: 10,
        detail: None,
        mode: RetrievalMode::Hybrid,
        filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
        vectors: true,
        expansion: Expansion::Off,
        now,
        settings: settings.clone(),
    };
    Ok(requests.map(request).collect())
}
