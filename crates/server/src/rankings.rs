//! Rankings of the labelling queue, cached until the corpus or the search settings change.
//!
//! Promises: rankings are those of an untrusted caller, so private pages are never part of them;
//! nothing is captured and no assisting model is called. Recency is measured against the start of
//! the current hour, so that a ranking does not change while a reviewer labels it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::capture::QueryService;
use gbrain_brain::{Brain, QueryOptions, Snapshot, search_settings};
use gbrain_core::fault::Fault;
use gbrain_core::format::ask::AskBody;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::ranking::Hit;
use gbrain_core::request::{Operation, Viewer};
use gbrain_core::search::Settings;
use jiff::Timestamp;

/// Workspaces whose rankings are cached; beyond it the cache starts again.
const MAX_WORKSPACES: usize = 32;

/// Cached rankings by workspace.
#[derive(Debug, Default)]
pub(crate) struct RankingCache(Mutex<HashMap<WorkspaceId, WorkspaceRankings>>);

#[derive(Debug)]
struct WorkspaceRankings {
    of: RankingState,
    rankings: HashMap<String, Arc<Vec<Hit>>>,
}

/// Everything that rankings depend on, besides the query.
#[derive(Debug, Clone, PartialEq)]
struct RankingState {
    generation: i64,
    root: Hash,
    model: Option<String>,
    settings: String,
    hour: i64,
    k: u16,
}

/// Ranks the queries of one request.
pub(crate) struct Ranker<'a> {
    cache: &'a RankingCache,
    workspace: &'a WorkspaceId,
    snapshot: Snapshot,
    settings: Settings,
    now: Timestamp,
    state: RankingState,
}

impl<'a> Ranker<'a> {
    /// A ranker of the newest corpus, `k` pages deep.
    pub(crate) fn new(
        cache: &'a RankingCache,
        workspace: &'a WorkspaceId,
        service: &QueryService,
        now: Timestamp,
        k: u16,
    ) -> Result<Self, Fault> {
        let brain: &Brain = service.brain();
        let settings = search_settings(&brain.config()?)?;
        let snapshot = brain.snapshot(&|_, _| ())?;
        let hour = now.as_second().div_euclid(3_600);
        let corpus = snapshot.corpus();
        let state = RankingState {
            generation: corpus.generation,
            root: corpus.fingerprint.root,
            model: snapshot.vector_model().map(str::to_owned),
            settings: settings.hash(),
            hour,
            k,
        };
        let now = Timestamp::from_second(hour * 3_600).unwrap_or(now);
        Ok(Self { cache, workspace, snapshot, settings, now, state })
    }

    /// The first pages for a query, best first.
    pub(crate) fn rank(
        &self,
        query: &str,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Arc<Vec<Hit>>, Fault> {
        if let Some(known) = self.cache.get(self.workspace, &self.state, query) {
            return Ok(known);
        }
        let body = AskBody {
            query: query.to_owned(),
            limit: Some(self.state.k),
            expand: Some(false),
            ..AskBody::default()
        };
        let request =
            body.request(Operation::Query, self.settings.clone(), Viewer::Untrusted, self.now)?;
        let options = QueryOptions { is_stopped, ..QueryOptions::default() };
        let hits = self.snapshot.answer(&request, &options)?.ranking.hits;
        let hits = Arc::new(hits);
        self.cache.put(self.workspace, &self.state, query, hits.clone());
        Ok(hits)
    }
}

impl RankingCache {
    fn get(&self, ws: &WorkspaceId, of: &RankingState, query: &str) -> Option<Arc<Vec<Hit>>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = all.get(ws).filter(|cached| cached.of == *of)?;
        cached.rankings.get(query).cloned()
    }

    fn put(&self, ws: &WorkspaceId, of: &RankingState, query: &str, hits: Arc<Vec<Hit>>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_WORKSPACES && !all.contains_key(ws) {
            all.clear();
        }
        let empty = || WorkspaceRankings { of: of.clone(), rankings: HashMap::new() };
        let cached = all.entry(ws.clone()).or_insert_with(empty);
        if cached.of != *of {
            *cached = empty();
        }
        cached.rankings.insert(query.to_owned(), hits);
    }
}
