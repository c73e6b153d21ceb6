//! Searches for queries and pairs the statements of their results.

use gbrain_brain::{Brain, BrainError, QueryOptions, Snapshot};
use gbrain_core::chunk;
use gbrain_core::contradiction::{
    CurationTier, Pair, PairSet, RankedStatement, Statement, StatementDate, StatementDateOrigin,
    StatementLocation, pairs_of,
};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{Page, StoredPage};
use gbrain_core::ranking::{Hit, Ranking, is_query_specific};
use gbrain_core::replay::LiveContext;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::source::SourceTrust;
use rustc_hash::FxHashMap;

#[derive(Debug, Clone)]
pub struct GatherOptions {
    pub live: LiveContext,
    pub top_k: usize,
    /// Maximum number of characters of a statement that a judge sees.
    pub max_chars: usize,
    /// Whether private pages are included.
    pub trust: Viewer,
}

/// Runs every query and pairs the statements of its results. A query whose search failed or was
/// degraded is on the docket as failed.
pub fn gather(
    brain: &Brain,
    queries: &[String],
    options: &GatherOptions,
    progress: &dyn Fn(usize),
) -> Result<PairSet, BrainError> {
    let snapshot = brain.snapshot(&|_, _| ())?;
    let sources = brain.store().sources(brain.workspace())?;
    let trust: FxHashMap<SourceId, SourceTrust> =
        sources.into_iter().map(|source| (source.id, source.trust)).collect();
    let gatherer = PairGatherer { brain, snapshot, trust, options };
    let mut docket = PairSet::new();
    for query in queries {
        match gatherer.pairs(query) {
            Ok((results, pairs)) => docket.add(query, results, pairs, options.max_chars),
            Err(why) => docket.add_failed(query, &why),
        }
        progress(1);
    }
    Ok(docket)
}

struct PairGatherer<'a> {
    brain: &'a Brain,
    snapshot: Snapshot,
    trust: FxHashMap<SourceId, SourceTrust>,
    options: &'a GatherOptions,
}

impl PairGatherer<'_> {
    /// The number of results of a query, and the pairs of their statements.
    fn pairs(&self, query: &str) -> Result<(usize, Vec<Pair>), String> {
        let response = self.snapshot.answer(&self.request(query), &QueryOptions::default());
        let ranking = response.map_err(|error| error.to_string())?.ranking;
        refuse_degraded(&ranking)?;
        let keys: Vec<PageKey> = ranking.hits.iter().map(|hit| hit.key.clone()).collect();
        let pages = self.brain.store().pages(self.brain.workspace(), &keys);
        let pages = pages.map_err(|error| error.to_string())?;
        let (mut passages, mut takes) = (Vec::new(), Vec::new());
        for (hit, stored) in ranking.hits.iter().zip(pages) {
            // The page was deleted after the search.
            let Some(StoredPage { page, .. }) = stored else { continue };
            let statements = self.passages(hit, &page);
            if let Some(first) = statements.first() {
                takes.extend(takes_of(&first.statement, &page));
            }
            passages.extend(statements);
        }
        Ok((ranking.hits.len(), pairs_of(&passages, &takes)))
    }

    fn request(&self, query: &str) -> Request {
        let GatherOptions { live, top_k, trust, .. } = self.options;
        Request {
            operation: Operation::Query,
            query: query.to_owned(),
            limit: *top_k,
            detail: None,
            mode: RetrievalMode::Hybrid,
            filter: Filter { trust: *trust, ..Filter::default() },
            vectors: true,
            expansion: Expansion::Off,
            now: live.now,
            settings: live.settings.clone(),
        }
    }

    /// The full passages of a hit, from the current version of its page.
    fn passages(&self, hit: &Hit, page: &Page) -> Vec<RankedStatement> {
        let date =
            page.effective_date.map(|day| StatementDate { day, from: StatementDateOrigin::Page });
        let statement = |place, text: &str| Statement {
            key: page.key.clone(),
            place,
            text: text.to_owned(),
            holder: None,
            date,
            tier: CurationTier::of(&self.options.live.settings, &page.key),
            trust: self.trust.get(&page.key.source).copied().unwrap_or(SourceTrust::Untrusted),
        };
        let shown = hit.passages.iter().filter_map(|passage| {
            let chunk = page.chunks.get(passage.ordinal as usize)?;
            let chunk_id = chunk.id(&page.key);
            // The passage is gone if the page was written after the search.
            let is_same = chunk_id == passage.chunk_id;
            let place = StatementLocation::Passage { ordinal: chunk.ordinal, chunk_id };
            is_same.then(|| statement(place, chunk::text(&page.content, chunk)))
        });
        shown.map(|statement| RankedStatement { statement, score: hit.score }).collect()
    }
}

/// The active takes of a page, as statements with one of its passages.
fn takes_of(passage: &Statement, page: &Page) -> Vec<Statement> {
    let numbered = (1..).zip(&page.takes);
    let statement = |(row, take)| Statement::of_take(passage, row, take, page.effective_date);
    numbered.filter_map(statement).collect()
}

/// Rejects a degraded ranking, because it would probe another pipeline.
fn refuse_degraded(ranking: &Ranking) -> Result<(), String> {
    let missing = ranking.degraded.iter().find(|stage| !is_query_specific(stage.reason));
    match missing {
        Some(stage) => {
            Err(format!("stage `{}` could not do its work: {}", stage.stage, stage.reason))
        }
        None => Ok(()),
    }
}
