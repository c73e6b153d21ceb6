//! One retrieval: intent, plan, arms, fusion, boosts, duplicates, cut, evidence.
//!
//! The same function runs for every caller; only the request differs.

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
    Arm, ArmReport, CorpusPrint, Degraded, EXPANSION, Ranking, RelationReport,
};
use gbrain_core::ranking::{CacheUse, Served};
use gbrain_core::request::{Detail, Filter, Request};
use gbrain_core::search::boost::{BoostContext, boost};
use gbrain_core::search::candidate::{Candidate, settle};
use gbrain_core::search::fuse::fuse;
use gbrain_core::search::intent::{Intent, classify};
use gbrain_core::search::plan::{Plan, VectorSupport, plan};
use gbrain_core::text::{QueryTerms, name_key};
use gbrain_embed::{Cause, EmbedError, Embedder};
use gbrain_index::{IndexError, VectorQuery, View, WordsQuery};
use gbrain_store::Source;
use jiff::tz::TimeZone;

use crate::{Brain, BrainError, Snapshot};

use arms::ArmResults;
use stopwatch::Stopwatch;

pub use expand::Expand;
pub(crate) use graph::Graph;
pub use rerank::{Judged, Rerank, Reranker};
pub(crate) use why_not::excluded_by;

/// Looks at candidates on their way.
pub type Look<'a> = dyn Fn(&[Candidate]) + 'a;

/// How to answer, beside what to answer.
pub struct Ask<'a> {
    /// Whether to keep what every stage did to each hit.
    pub explain: bool,
    /// A page to follow through the pipeline.
    pub why_not: Option<PageKey>,
    /// A model that makes variants of a query that wants them.
    pub expand: Option<&'a Expand<'a>>,
    /// A model that judges the best candidates.
    pub rerank: Option<Reranker<'a>>,
    /// Called with every candidate in order, whatever becomes of it afterwards; the last call counts.
    pub candidates: Option<&'a Look<'a>>,
    /// Called while the index catches up, with changes done and total.
    pub progress: &'a dyn Fn(i64, i64),
    /// What names the request in logs; made up if nobody says.
    pub request_id: Option<&'a str>,
    /// Whether nobody waits for the answer any more: asked between steps, and ends the retrieval.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl Ask<'_> {
    /// An error when nobody waits for the answer.
    pub(crate) fn check_stop(&self) -> Result<(), BrainError> {
        if (self.is_stopped)() { Err(BrainError::Halted) } else { Ok(()) }
    }
}

impl Default for Ask<'_> {
    /// The answer alone, from what is here.
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

/// A ranking and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// What was answered: the request, with the variants that a model gave.
    pub request: Request,
    pub ranking: Ranking,
    pub served: Served,
}

impl Brain {
    /// Answers a request. Not captured: callers ask through [`Door`](crate::capture::Door),
    /// measurements ask here.
    pub fn answer(&self, request: &Request, ask: &Ask<'_>) -> Result<Answered, BrainError> {
        self.unless_damaged(|| {
            let Prepared { request, snapshot, watch } = self.prepare(request, ask)?;
            snapshot.answer_timed(request, ask, watch)
        })
    }

    /// Tries again where the files of the corpus turned out to be damaged: then another is taken.
    pub(crate) fn unless_damaged<T>(
        &self,
        answer: impl Fn() -> Result<T, BrainError>,
    ) -> Result<T, BrainError> {
        match answer() {
            Err(BrainError::Index(IndexError::Corrupt { .. })) => answer(),
            answered => answered,
        }
    }

    /// Everything that an answer depends on, before anything is searched.
    pub(crate) fn prepare<'r>(
        &self,
        request: &'r Request,
        ask: &Ask<'_>,
    ) -> Result<Prepared<'r>, BrainError> {
        let mut watch = Stopwatch::start();
        let request = watch.expanded(request, ask);
        ask.check_stop()?;
        let snapshot = self.snapshot(&|done, total| {
            (ask.progress)(done, total);
            ask.check_stop()
        })?;
        watch.lap("freshness");
        Ok(Prepared { request, snapshot, watch })
    }
}

/// A request with its variants, and the corpus that answers it.
pub(crate) struct Prepared<'r> {
    pub(crate) request: Cow<'r, Request>,
    pub(crate) snapshot: Snapshot,
    watch: Stopwatch,
}

impl Prepared<'_> {
    pub(crate) fn answer(self, ask: &Ask<'_>) -> Result<(Snapshot, Answered), BrainError> {
        let Self { request, snapshot, watch } = self;
        let answered = snapshot.answer_timed(request, ask, watch)?;
        Ok((snapshot, answered))
    }

    /// Gives what was found before.
    pub(crate) fn recall(self, ranking: Ranking) -> (Snapshot, Answered) {
        let Self { request, snapshot, mut watch } = self;
        watch.lap("cache");
        let served = snapshot.served(CacheUse::Hit, watch);
        let answered = Answered { request: request.into_owned(), ranking, served };
        (snapshot, answered)
    }
}

impl Stopwatch {
    /// The request with its variants; asking a model for them takes time.
    fn expanded<'r>(&mut self, request: &'r Request, ask: &Ask<'_>) -> Cow<'r, Request> {
        let expanded = expand::expanded(request, ask);
        if matches!(expanded, Cow::Owned(_)) {
            self.lap(EXPANSION);
        }
        expanded
    }
}

impl Snapshot {
    /// Answers a request from this corpus.
    pub fn answer(&self, request: &Request, ask: &Ask<'_>) -> Result<Answered, BrainError> {
        let mut watch = Stopwatch::start();
        let request = watch.expanded(request, ask);
        self.answer_timed(request, ask, watch)
    }

    fn answer_timed(
        &self,
        request: Cow<'_, Request>,
        ask: &Ask<'_>,
        mut watch: Stopwatch,
    ) -> Result<Answered, BrainError> {
        let view = self.view.as_ref();
        let parts = Parts {
            view,
            sources: &self.sources,
            embedder: self.embedder(),
            degraded: self.degraded.as_ref(),
        };
        let ranking = Retrieval::new(parts, &request, ask).run(&mut watch)?;
        let served = self.served(CacheUse::Off, watch);
        Ok(Answered { request: request.into_owned(), ranking, served })
    }

    /// The model whose vectors it holds, if this process has it.
    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.view.vector_model().and_then(|id| self.models.find(id))
    }

    fn served(&self, cache: CacheUse, watch: Stopwatch) -> Served {
        let generation = self.view.corpus().generation.0;
        let timings = watch.laps();
        Served { generation, behind: self.behind, cache, timings, request_id: None }
    }
}

/// What of a brain one retrieval works with.
struct Parts<'a> {
    view: &'a dyn View,
    sources: &'a [Source],
    /// The model whose vectors the view holds, if this process has it.
    embedder: Option<&'a Arc<dyn Embedder>>,
    /// Why the view is behind the store, where the embedder is the reason.
    degraded: Option<&'a Degraded>,
}

/// What every stage of one retrieval works with.
struct Retrieval<'a> {
    view: &'a dyn View,
    sources: &'a [Source],
    embedder: Option<&'a Arc<dyn Embedder>>,
    request: &'a Request,
    ask: &'a Ask<'a>,
    intent: Intent,
    plan: Plan,
    filter: Filter,
    words: WordsQuery,
    /// What the vectors are asked: for the query, then for each variant of it; empty when they are
    /// not asked.
    vector_queries: Vec<Option<VectorQuery>>,
    /// The whole query as a name.
    name: String,
}

impl<'a> Retrieval<'a> {
    fn new(parts: Parts<'a>, request: &'a Request, ask: &'a Ask<'a>) -> Self {
        let Parts { view, sources, embedder, degraded } = parts;
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
            ask,
            intent,
            plan,
            filter,
            words,
            vector_queries,
            name,
        }
    }

    /// Has the query and its variants embedded, all at once. A model that fails, as one elsewhere may,
    /// takes the vectors out of the plan: the others answer as if nobody had allowed them.
    fn embed(&mut self) {
        let Some(embedder) = self.embedder else { return };
        let texts = std::iter::once(&self.plan.subject).chain(&self.plan.variants);
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        match VectorQuery::all(embedder.as_ref(), &texts) {
            Ok(queries) => self.vector_queries = queries,
            Err(error) => self.leave_out_vectors(&error),
        }
    }

    fn leave_out_vectors(&mut self, error: &EmbedError) {
        let reason = reason_of(error.cause());
        self.vector_queries.clear();
        self.plan.arms.retain(|planned| planned.arm != Arm::Vectors);
        self.plan.degraded.push(Degraded { stage: Arm::Vectors.name(), reason });
    }

    fn run(mut self, watch: &mut Stopwatch) -> Result<Ranking, BrainError> {
        watch.lap("plan");
        if self.is_planned(Arm::Vectors) {
            self.embed();
            watch.lap("embed");
        }
        let ranking = match self.attempt(watch) {
            // Vectors of passages that were never made, and can't be now.
            Err(BrainError::Index(IndexError::Embed(error))) if self.is_planned(Arm::Vectors) => {
                self.leave_out_vectors(&error);
                self.attempt(watch)?
            }
            ranking => ranking?,
        };
        if !ranking.hits.is_empty()
            || self.plan.detail != Detail::Low
            || self.request.detail.is_some()
        {
            return Ok(ranking);
        }
        // The compiled truth has nothing and nobody asked for low detail: look everywhere.
        self.plan.detail = Detail::High;
        self.plan.passages = Detail::High.passages();
        self.filter.truth_only = false;
        self.attempt(watch)
    }

    fn attempt(&self, watch: &mut Stopwatch) -> Result<Ranking, BrainError> {
        let mut found = self.run_arms(watch)?;
        let mut candidates = self.pool(&found)?;
        self.ask.check_stop()?;
        self.complete_vectors(&mut candidates, &found)?;
        watch.lap("pool");
        self.score(&mut candidates)?;
        watch.lap("rank");
        self.ask.check_stop()?;
        self.rerank(&mut candidates, &mut found)?;
        watch.lap("rerank");
        if let Some(look) = self.ask.candidates {
            look(&candidates);
        }
        let outcome = self.hydrate(&candidates, &found)?;
        watch.lap("hydrate");
        let mut ranking = self.ranking(&found);
        ranking.why_not = self.why_not(&candidates, &outcome, &found)?;
        ranking.hits = outcome.hits;
        Ok(ranking)
    }

    /// Gives every candidate its final score and puts them in order.
    fn score(&self, candidates: &mut [Candidate]) -> Result<(), BrainError> {
        if !self.plan.fused {
            for candidate in candidates.iter_mut() {
                candidate.score = candidate.in_arm(Arm::Words).map_or(0.0, |entry| entry.score);
            }
            settle(candidates, "order", |_| "by words, names first".to_owned());
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

    /// The model whose vectors are searched, if the plan has them searched.
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
            corpus: CorpusPrint { pages: corpus.pages, chunks: corpus.chunks, root: corpus.root },
            hits: Vec::new(),
            why_not: None,
        }
    }
}

/// What kept a model from embedding, as a stage names it.
pub(crate) fn reason_of(cause: Cause) -> &'static str {
    let error = match cause {
        Cause::Failed => HookError::Failed,
        Cause::Timeout => HookError::Timeout,
        Cause::OverBudget => HookError::OverBudget,
        Cause::NoKey => HookError::NoKey,
    };
    error.name()
}
