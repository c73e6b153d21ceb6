//! One retrieval: intent, plan, arms, fusion, boosts, duplicates, cut, evidence.
//!
//! All callers use the same function; only the request differs.

mod arms;
mod expand;
mod graph;
mod hydrate;
mod names;
mod pool;
mod rerank;
mod seeds;
mod stopwatch;
mod vary;
mod why_not;

use std::borrow::Cow;
use std::sync::Arc;

use gbrain_core::hook::HookError;
use gbrain_core::id::PageKey;
use gbrain_core::ranking::{
    Arm, ArmReport, CorpusFingerprint, DegradedStage, EXPANSION, Ranking, RelationReport,
};
use gbrain_core::ranking::{CacheUse, ServingInfo};
use gbrain_core::request::{Detail, Filter, Request};
use gbrain_core::search::boost::{BoostContext, boost};
use gbrain_core::search::candidate::{Candidate, rank_candidates};
use gbrain_core::search::fuse::fuse;
use gbrain_core::search::intent::{Intent, classify};
use gbrain_core::search::plan::{Plan, VectorSupport, plan};
use gbrain_core::text::{QueryTerms, name_key};
use gbrain_embed::{EmbedError, EmbedErrorKind, Embedder};
use gbrain_index::{IndexError, VectorQuery, View, WordsQuery};
use gbrain_store::Source;
use jiff::tz::TimeZone;

use crate::{Brain, BrainError, Snapshot};

use arms::ArmResults;
use stopwatch::Stopwatch;

pub use expand::Expand;
pub(crate) use graph::LinkGraph;
pub use rerank::{Rerank, RerankPassage, Reranker};
pub(crate) use why_not::excluded_by;

/// Callback that observes the candidates of a retrieval.
pub type CandidateObserver<'a> = dyn Fn(&[Candidate]) + 'a;

/// Options of a query that are not part of the request.
pub struct QueryOptions<'a> {
    /// Whether to record what each stage did to each hit.
    pub explain: bool,
    /// A page whose absence is to be explained.
    pub why_not: Option<PageKey>,
    /// A model that expands queries which want it.
    pub expand: Option<&'a Expand<'a>>,
    /// A model that reranks the best candidates.
    pub rerank: Option<Reranker<'a>>,
    /// Called with all candidates in order, before hydration; the last call counts.
    pub candidates: Option<&'a CandidateObserver<'a>>,
    /// Called while the index catches up, with changes done and total.
    pub progress: &'a dyn Fn(i64, i64),
    /// The request id for logs; generated if absent.
    pub request_id: Option<&'a str>,
    /// Whether the caller cancelled: checked between steps, and ends the retrieval.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl QueryOptions<'_> {
    /// An error if the caller cancelled.
    pub(crate) fn check_stop(&self) -> Result<(), BrainError> {
        if (self.is_stopped)() { Err(BrainError::Halted) } else { Ok(()) }
    }
}

impl Default for QueryOptions<'_> {
    /// Answers without models and observers.
    fn default() -> Self {
        Self {
            explain: false,
            why_not: None,
            expand: None,
            rerank: None,
            candidates: None,
            progress: &|_, _| (),
            request_id: None,
            is_stopped: &|| false,
        }
    }
}

/// A ranking and how it was produced.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryResponse {
    /// The request, including the variants that a model gave.
    pub request: Request,
    pub ranking: Ranking,
    pub served: ServingInfo,
}

impl Brain {
    /// Answers a request without capturing it: callers use
    /// [`QueryService`](crate::capture::QueryService), measurements use this.
    pub fn answer(
        &self,
        request: &Request,
        options: &QueryOptions<'_>,
    ) -> Result<QueryResponse, BrainError> {
        self.retry_if_damaged(|| {
            let PreparedQuery { request, snapshot, stopwatch } = self.prepare(request, options)?;
            snapshot.answer_timed(request, options, stopwatch)
        })
    }

    /// Retries once if the files of the corpus turned out to be damaged; the retry takes another
    /// corpus.
    pub(crate) fn retry_if_damaged<T>(
        &self,
        answer: impl Fn() -> Result<T, BrainError>,
    ) -> Result<T, BrainError> {
        match answer() {
            Err(BrainError::Index(IndexError::Corrupt { .. })) => answer(),
            response => response,
        }
    }

    /// Collects everything that an answer depends on, before the search.
    pub(crate) fn prepare<'r>(
        &self,
        request: &'r Request,
        options: &QueryOptions<'_>,
    ) -> Result<PreparedQuery<'r>, BrainError> {
        let mut stopwatch = Stopwatch::start();
        let request = stopwatch.expanded(request, options);
        options.check_stop()?;
        let snapshot = self.snapshot(&|done, total| {
            (options.progress)(done, total);
            options.check_stop()
        })?;
        stopwatch.lap("freshness");
        Ok(PreparedQuery { request, snapshot, stopwatch })
    }
}

/// A request with its variants, and the corpus to search.
pub(crate) struct PreparedQuery<'r> {
    pub(crate) request: Cow<'r, Request>,
    pub(crate) snapshot: Snapshot,
    stopwatch: Stopwatch,
}

impl PreparedQuery<'_> {
    pub(crate) fn answer(
        self,
        options: &QueryOptions<'_>,
    ) -> Result<(Snapshot, QueryResponse), BrainError> {
        let Self { request, snapshot, stopwatch } = self;
        let response = snapshot.answer_timed(request, options, stopwatch)?;
        Ok((snapshot, response))
    }

    /// Returns a cached ranking.
    pub(crate) fn respond_cached(self, ranking: Ranking) -> (Snapshot, QueryResponse) {
        let Self { request, snapshot, mut stopwatch } = self;
        stopwatch.lap("cache");
        let served = snapshot.served(CacheUse::Hit, stopwatch);
        let response = QueryResponse { request: request.into_owned(), ranking, served };
        (snapshot, response)
    }
}

impl Stopwatch {
    /// Expands the request and measures the time of that.
    fn expanded<'r>(
        &mut self,
        request: &'r Request,
        options: &QueryOptions<'_>,
    ) -> Cow<'r, Request> {
        let expanded = expand::expand_request(request, options);
        if matches!(expanded, Cow::Owned(_)) {
            self.lap(EXPANSION);
        }
        expanded
    }
}

impl Snapshot {
    /// Answers a request from this corpus.
    pub fn answer(
        &self,
        request: &Request,
        options: &QueryOptions<'_>,
    ) -> Result<QueryResponse, BrainError> {
        let mut stopwatch = Stopwatch::start();
        let request = stopwatch.expanded(request, options);
        self.answer_timed(request, options, stopwatch)
    }

    fn answer_timed(
        &self,
        request: Cow<'_, Request>,
        options: &QueryOptions<'_>,
        mut stopwatch: Stopwatch,
    ) -> Result<QueryResponse, BrainError> {
        let view = self.view.as_ref();
        let inputs = RetrievalInputs {
            view,
            sources: &self.sources,
            embedder: self.embedder(),
            degraded: self.degraded.as_ref(),
        };
        let ranking = RetrievalRun::new(inputs, &request, options).run(&mut stopwatch)?;
        let served = self.served(CacheUse::Off, stopwatch);
        Ok(QueryResponse { request: request.into_owned(), ranking, served })
    }

    /// The model of its vectors, if this process has it.
    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.view.vector_model().and_then(|id| self.models.find(id))
    }

    fn served(&self, cache: CacheUse, stopwatch: Stopwatch) -> ServingInfo {
        let generation = self.view.corpus().generation.0;
        let timings = stopwatch.laps();
        ServingInfo { generation, behind: self.behind, cache, timings, request_id: None }
    }
}

/// The parts of a brain that a retrieval needs.
struct RetrievalInputs<'a> {
    view: &'a dyn View,
    sources: &'a [Source],
    /// The model of the view's vectors, if this process has it.
    embedder: Option<&'a Arc<dyn Embedder>>,
    /// Why the view is behind the store, if the embedder is the reason.
    degraded: Option<&'a DegradedStage>,
}

/// Shared state of the stages of one retrieval.
struct RetrievalRun<'a> {
    view: &'a dyn View,
    sources: &'a [Source],
    embedder: Option<&'a Arc<dyn Embedder>>,
    request: &'a Request,
    options: &'a QueryOptions<'a>,
    intent: Intent,
    plan: Plan,
    filter: Filter,
    words: WordsQuery,
    /// Embeddings of the query, then of each variant; empty if vectors are not used.
    vector_queries: Vec<Option<VectorQuery>>,
    /// The whole query as a name.
    name: String,
}

impl<'a> RetrievalRun<'a> {
    fn new(
        inputs: RetrievalInputs<'a>,
        request: &'a Request,
        options: &'a QueryOptions<'a>,
    ) -> Self {
        let RetrievalInputs { view, sources, embedder, degraded } = inputs;
        let intent = classify(&request.query);
        let support = match (embedder, view.vector_model()) {
            (Some(_), _) => VectorSupport::Ready,
            (None, Some(_)) => VectorSupport::OtherModel,
            (None, None) => VectorSupport::NoModel,
        };
        let mut plan = plan(request, &intent, support);
        plan.degraded.extend(degraded.cloned());
        let settings = &request.settings;
        let words = WordsQuery {
            terms: QueryTerms::of(&plan.subject),
            k1: settings.bm25_k1,
            b: settings.bm25_b,
            exact_weight: settings.exact_weight,
        };
        let filter = Filter { truth_only: plan.detail == Detail::Low, ..request.filter.clone() };
        let name = name_key(&request.query);
        let vector_queries = Vec::new();
        Self {
            view,
            sources,
            embedder,
            request,
            options,
            intent,
            plan,
            filter,
            words,
            vector_queries,
            name,
        }
    }

    /// Embeds the query and its variants in one call. If the model fails, vectors are dropped from
    /// the plan and the other arms answer.
    fn embed(&mut self) {
        let Some(embedder) = self.embedder else { return };
        let texts = std::iter::once(&self.plan.subject).chain(&self.plan.variants);
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        match VectorQuery::all(embedder.as_ref(), &texts) {
            Ok(queries) => self.vector_queries = queries,
            Err(error) => self.drop_vectors(&error),
        }
    }

    fn drop_vectors(&mut self, error: &EmbedError) {
        let reason = reason_of(error.cause());
        self.vector_queries.clear();
        self.plan.arms.retain(|planned| planned.arm != Arm::Vectors);
        self.plan.degraded.push(DegradedStage { stage: Arm::Vectors.name(), reason });
    }

    fn run(mut self, stopwatch: &mut Stopwatch) -> Result<Ranking, BrainError> {
        stopwatch.lap("plan");
        if self.is_planned(Arm::Vectors) {
            self.embed();
            stopwatch.lap("embed");
        }
        let ranking = match self.attempt(stopwatch) {
            // Passage vectors are missing and cannot be computed now.
            Err(BrainError::Index(IndexError::Embed(error))) if self.is_planned(Arm::Vectors) => {
                self.drop_vectors(&error);
                self.attempt(stopwatch)?
            }
            ranking => ranking?,
        };
        if !ranking.hits.is_empty()
            || self.plan.detail != Detail::Low
            || self.request.detail.is_some()
        {
            return Ok(ranking);
        }
        // The compiled truth has no hits and the request did not ask for low detail: search
        // everything.
        self.plan.detail = Detail::High;
        self.plan.passages = Detail::High.passages();
        self.filter.truth_only = false;
        self.attempt(stopwatch)
    }

    fn attempt(&self, stopwatch: &mut Stopwatch) -> Result<Ranking, BrainError> {
        let mut found = self.run_arms(stopwatch)?;
        let mut candidates = self.pool(&found)?;
        self.options.check_stop()?;
        self.complete_vectors(&mut candidates, &found)?;
        stopwatch.lap("pool");
        self.score(&mut candidates)?;
        stopwatch.lap("rank");
        self.options.check_stop()?;
        self.rerank(&mut candidates, &mut found)?;
        stopwatch.lap("rerank");
        if let Some(observe) = self.options.candidates {
            observe(&candidates);
        }
        let outcome = self.hydrate(&candidates, &found)?;
        stopwatch.lap("hydrate");
        let mut ranking = self.ranking(&found);
        ranking.why_not = self.why_not(&candidates, &outcome, &found)?;
        ranking.hits = outcome.hits;
        Ok(ranking)
    }

    /// Computes the final score of every candidate and sorts them.
    fn score(&self, candidates: &mut [Candidate]) -> Result<(), BrainError> {
        if !self.plan.fused {
            for candidate in candidates.iter_mut() {
                candidate.score = candidate.arm_entry(Arm::Words).map_or(0.0, |entry| entry.score);
            }
            rank_candidates(candidates, "order", |_| "by words, names first".to_owned());
            return Ok(());
        }
        let settings = &self.request.settings;
        fuse(candidates, &self.plan.arms, settings.vectors_chat_factor);
        self.count_backlinks(candidates)?;
        let today = self.request.now.to_zoned(TimeZone::UTC).date();
        let context = BoostContext {
            query: &self.request.query,
            today,
            recency: self.plan.recency,
            window: self.plan.window,
            settings,
        };
        boost(candidates, &context);
        Ok(())
    }

    fn is_planned(&self, arm: Arm) -> bool {
        self.plan.arms.iter().any(|planned| planned.arm == arm)
    }

    /// The model whose vectors are searched, if the plan includes vectors.
    fn searched_model(&self) -> Option<String> {
        self.embedder.filter(|_| self.is_planned(Arm::Vectors)).map(|model| model.id().to_owned())
    }

    fn ranking(&self, found: &ArmResults) -> Ranking {
        let corpus = self.view.corpus();
        let arms = self.plan.arms.iter().map(|planned| ArmReport {
            arm: planned.arm,
            weight: planned.weight,
            found: found.count(planned.arm),
        });
        let mut degraded = self.plan.degraded.clone();
        degraded.extend(found.degraded.iter().cloned());
        Ranking {
            intent: self.intent.kind,
            recency: self.plan.recency,
            detail: self.plan.detail,
            mode: self.plan.mode,
            relation: found.relation.as_ref().map(|relation| RelationReport {
                family: relation.question.family,
                types: relation.question.first.types.to_vec(),
                seeds: relation.question.seeds.clone(),
                resolved: relation.resolved.iter().map(|entry| entry.key.clone()).collect(),
            }),
            embedder: self.searched_model(),
            expansion_applied: !found.variants.is_empty(),
            rerank_model: found.rerank_model.clone(),
            arms: arms.collect(),
            degraded,
            corpus: CorpusFingerprint {
                pages: corpus.pages,
                chunks: corpus.chunks,
                root: corpus.root,
            },
            hits: Vec::new(),
            why_not: None,
        }
    }
}

/// The degradation reason for an embedding failure.
pub(crate) fn reason_of(cause: EmbedErrorKind) -> &'static str {
    let error = match cause {
        EmbedErrorKind::Failed => HookError::Failed,
        EmbedErrorKind::Timeout => HookError::Timeout,
        EmbedErrorKind::OverBudget => HookError::OverBudget,
        EmbedErrorKind::NoKey => HookError::NoKey,
    };
    error.name()
}
