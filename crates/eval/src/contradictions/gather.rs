//! From queries to pairs of statements.

use gbrain_brain::{Ask, Brain, BrainError, Snapshot};
use gbrain_core::chunk;
use gbrain_core::contradiction::{
    DateFrom, Dated, Docket, Pair, Place, Ranked, Statement, Tier, pairs_of,
};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{Page, StoredPage};
use gbrain_core::ranking::{Hit, Ranking, is_of_the_question};
use gbrain_core::replay::Live;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::source::SourceTrust;
use rustc_hash::FxHashMap;

/// How a brain is asked.
#[derive(Debug, Clone)]
pub struct Gathering {
    pub live: Live,
    /// Pages of an answer.
    pub top_k: usize,
    /// The most characters of a statement that a judge is shown.
    pub max_chars: usize,
    /// Whether private pages are asked too.
    pub trust: Viewer,
}

/// Asks every query, and pairs what it answers. A query whose search failed, or went without one of its
/// stages, is on the docket as failed.
pub fn gather(
    brain: &Brain,
    queries: &[String],
    gathering: &Gathering,
    progress: &dyn Fn(usize),
) -> Result<Docket, BrainError> {
    let snapshot = brain.snapshot(&|_, _| ())?;
    let sources = brain.store().sources(brain.workspace())?;
    let trust: FxHashMap<SourceId, SourceTrust> =
        sources.into_iter().map(|source| (source.id, source.trust)).collect();
    let asked = Asked { brain, snapshot, trust, gathering };
    let mut docket = Docket::new();
    for query in queries {
        match asked.pairs(query) {
            Ok((results, pairs)) => docket.add(query, results, pairs, gathering.max_chars),
            Err(why) => docket.add_failed(query, &why),
        }
        progress(1);
    }
    Ok(docket)
}

struct Asked<'a> {
    brain: &'a Brain,
    snapshot: Snapshot,
    trust: FxHashMap<SourceId, SourceTrust>,
    gathering: &'a Gathering,
}

impl Asked<'_> {
    /// How many pages answer a query, and the pairs of what they say.
    fn pairs(&self, query: &str) -> Result<(usize, Vec<Pair>), String> {
        let answered = self.snapshot.answer(&self.request(query), &Ask::default());
        let ranking = answered.map_err(|error| error.to_string())?.ranking;
        refuse_degraded(&ranking)?;
        let keys: Vec<PageKey> = ranking.hits.iter().map(|hit| hit.key.clone()).collect();
        let pages = self.brain.store().pages(self.brain.workspace(), &keys);
        let pages = pages.map_err(|error| error.to_string())?;
        let (mut passages, mut takes) = (Vec::new(), Vec::new());
        for (hit, stored) in ranking.hits.iter().zip(pages) {
            // A page that was deleted a moment ago says nothing any more.
            let Some(StoredPage { page, .. }) = stored else { continue };
            let said = self.passages(hit, &page);
            if let Some(first) = said.first() {
                takes.extend(takes_of(&first.statement, &page));
            }
            passages.extend(said);
        }
        Ok((ranking.hits.len(), pairs_of(&passages, &takes)))
    }

    fn request(&self, query: &str) -> Request {
        let Gathering { live, top_k, trust, .. } = self.gathering;
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

    /// The passages of a hit, whole, as its page has them now.
    fn passages(&self, hit: &Hit, page: &Page) -> Vec<Ranked> {
        let date = page.effective_date.map(|day| Dated { day, from: DateFrom::Page });
        let statement = |place, text: &str| Statement {
            key: page.key.clone(),
            place,
            text: text.to_owned(),
            holder: None,
            date,
            tier: Tier::of(&self.gathering.live.settings, &page.key),
            trust: self.trust.get(&page.key.source).copied().unwrap_or(SourceTrust::Untrusted),
        };
        let shown = hit.passages.iter().filter_map(|passage| {
            let chunk = page.chunks.get(passage.ordinal as usize)?;
            let chunk_id = chunk.id(&page.key);
            // Otherwise the page was written a moment ago, and this passage is no longer in it.
            let is_same = chunk_id == passage.chunk_id;
            let place = Place::Passage { ordinal: chunk.ordinal, chunk_id };
            is_same.then(|| statement(place, chunk::text(&page.content, chunk)))
        });
        shown.map(|statement| Ranked { statement, score: hit.score }).collect()
    }
}

/// The active takes of a page, as statements beside one of its passages.
fn takes_of(passage: &Statement, page: &Page) -> Vec<Statement> {
    let numbered = (1..).zip(&page.takes);
    let statement = |(row, take)| Statement::of_take(passage, row, take, page.effective_date);
    numbered.filter_map(statement).collect()
}

/// An answer without one of its stages would be the probe of another brain.
fn refuse_degraded(ranking: &Ranking) -> Result<(), String> {
    let missing = ranking.degraded.iter().find(|stage| !is_of_the_question(stage.reason));
    match missing {
        Some(stage) => {
            Err(format!("stage `{}` could not do its work: {}", stage.stage, stage.reason))
        }
        None => Ok(()),
    }
}
