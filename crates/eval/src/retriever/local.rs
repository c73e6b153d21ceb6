//! Retrieves from the local brain. The newest corpus is pinned at the start, so that a write during
//! a run does not split the run. Questions are not captured.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Instant;

use gbrain_brain::capture::software;
use gbrain_brain::{
    Assistants, Brain, BrainError, PastCorpora, ProgressControl, QueryOptions, QueryResponse,
    Snapshot,
};
use gbrain_core::id::{Generation, IdError, PageKey, SourceId, WorkspaceId};
use gbrain_core::latency::TimingMethod;
use gbrain_core::provenance::{CorpusSnapshot, Provenance};
use gbrain_core::ranking::{
    ALL_BELOW, Edge, Hit, RERANK_THRESHOLD, Ranking, WhyNot, is_query_specific,
};
use gbrain_core::replay::{LiveContext, LostPage};
use gbrain_core::request::{Expansion, Filter, Request, RetrievalMode, Viewer};
use gbrain_core::search::candidate::Candidate;
use gbrain_core::target::{
    GraphEvidence, LOCAL, Question, QuestionFilter, RationaleEdge, RationaleEntity, StageFallback,
    StageIds, TargetAnswer, TargetError, TargetErrorKind, TargetResult, TargetTimings,
};

use super::{Capabilities, Retriever, RetrieverInfo};
use crate::EvalError;

type Progress<'a> = dyn Fn(i64, i64) -> Result<(), BrainError> + Sync + 'a;

pub struct LocalOptions<'a> {
    /// Settings and time for questions that specify none.
    pub live: LiveContext,
    /// The viewer of answers to questions that name none.
    pub viewer: Viewer,
    /// The owner's assisting models, if configured.
    pub assistants: Option<&'a Assistants>,
}

impl LocalOptions<'_> {
    /// Options for the owner, without models.
    pub fn new(live: LiveContext) -> Self {
        Self { live, viewer: Viewer::Trusted, assistants: None }
    }
}

pub struct LocalRetriever<'a> {
    snapshot: Snapshot,
    workspace: WorkspaceId,
    info: RetrieverInfo,
    viewer: Viewer,
    assistants: Option<&'a Assistants>,
    history: Option<History<'a>>,
}

struct History<'a> {
    brain: &'a Brain,
    past: PastCorpora<'a>,
    progress: Box<Progress<'a>>,
}

impl<'a> LocalRetriever<'a> {
    /// The brain as it is now. `progress` is called during indexing and may cancel it.
    pub fn new<P: ProgressControl + 'a>(
        brain: &'a Brain,
        options: LocalOptions<'a>,
        progress: &'a (dyn Fn(i64, i64) -> P + Sync),
    ) -> Result<Self, EvalError> {
        let newest = Self::newest(brain, options, &|done, total| progress(done, total))?;
        let progress = Box::new(move |done, total| progress(done, total).into_result());
        let history = Some(History { brain, past: brain.past(), progress });
        let capabilities = Capabilities { past_corpora: true, ..newest.info.capabilities };
        let info = RetrieverInfo { capabilities, ..newest.info };
        Ok(Self { info, history, ..newest })
    }

    /// The brain as it is now, without past corpora.
    pub fn newest<P: ProgressControl>(
        brain: &Brain,
        options: LocalOptions<'a>,
        progress: &dyn Fn(i64, i64) -> P,
    ) -> Result<Self, EvalError> {
        let snapshot = brain.snapshot(progress)?;
        let LocalOptions { live, viewer, assistants } = options;
        let info = RetrieverInfo {
            name: LOCAL.to_owned(),
            place: format!("workspace {}", brain.workspace()),
            provenance: Provenance {
                software: Some(software()),
                settings: Some(live.settings.clone()),
                corpus: Some(snapshot.corpus()),
                embedder: Some(snapshot.vector_model().map(str::to_owned)),
                target: None,
            },
            live,
            max_results: None,
            page_count: Some(snapshot.corpus().fingerprint.pages),
            capabilities: Capabilities {
                past_corpora: false,
                stage_details: true,
                blame: true,
                page_lookup: true,
                own_timing: false,
                is_saved: false,
            },
        };
        let workspace = brain.workspace().clone();
        Ok(Self { snapshot, workspace, info, viewer, assistants, history: None })
    }

    /// The corpus that is searched.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn request(&self, question: &Question) -> Result<Request, TargetError> {
        let refused = |message: String| TargetError::new(TargetErrorKind::BadRequest, message);
        if question.k == 0 || question.text.trim().is_empty() {
            return Err(refused("there is nothing to ask".to_owned()));
        }
        let own = self.workspace.as_str();
        if let Some(other) = question.workspace.as_deref().filter(|asked| *asked != own) {
            let message = format!("this brain is workspace {own}, not {other}");
            return Err(TargetError::new(TargetErrorKind::Unsupported, message));
        }
        let brain = &question.brain;
        let viewer = brain.viewer.unwrap_or(self.viewer);
        let filter = filter_of(&question.filter, viewer);
        let filter = filter.map_err(|error| refused(error.to_string()))?;
        let settings = brain.settings.as_ref().unwrap_or(&self.info.live.settings);
        let expands = self.assistants.is_some() && settings.expand >= 0.5;
        let expansion = if expands { Expansion::Requested } else { Expansion::Off };
        Ok(Request {
            operation: brain.operation,
            query: question.text.clone(),
            limit: question.k,
            detail: brain.detail,
            mode: question.mode.unwrap_or(RetrievalMode::Hybrid),
            filter: Filter { truth_only: brain.truth_only, ..filter },
            vectors: !brain.without_vectors,
            expansion: brain.expansion.clone().unwrap_or(expansion),
            now: question.now.unwrap_or(self.info.live.now),
            settings: settings.clone(),
        })
    }

    fn answer(
        &self,
        request: &Request,
        options: QueryOptions<'_>,
    ) -> Result<QueryResponse, BrainError> {
        let answer = |options: &QueryOptions<'_>| self.snapshot.answer(request, options);
        match self.assistants {
            Some(assistants) => assistants.with(options, answer),
            None => answer(&options),
        }
    }

    fn result(&self, hit: &Hit, question: &Question) -> Result<TargetResult, BrainError> {
        let passage = hit.passages.first();
        let viewer = question.brain.viewer.unwrap_or(self.viewer);
        let text = match passage.filter(|_| question.passages) {
            None => None,
            Some(passage) => self.snapshot.chunk_text(&hit.key, passage.ordinal, viewer)?,
        };
        Ok(TargetResult {
            document: hit.key.to_string(),
            chunk: passage.map(|passage| passage.chunk_id.clone()),
            source: Some(hit.key.source.to_string()),
            score: Some(hit.score),
            title: Some(hit.title.clone()),
            snippet: passage.map(|passage| passage.snippet.clone()),
            text,
        })
    }

    /// The edges that justify hits, and the names of the pages at their ends.
    fn rationale(&self, ranking: &Ranking, viewer: Viewer) -> Result<GraphEvidence, BrainError> {
        let mut edges: Vec<RationaleEdge> = Vec::new();
        let mut ends: BTreeSet<&PageKey> = BTreeSet::new();
        for edge in ranking.hits.iter().flat_map(|hit| &hit.edges) {
            ends.extend([&edge.from, &edge.to]);
            let edge = reason(edge);
            if !edges.contains(&edge) {
                edges.push(edge);
            }
        }
        ends.extend(ranking.relation.iter().flat_map(|relation| &relation.resolved));
        let entity = |key: &PageKey| {
            let aliases = self.snapshot.names_of(key, viewer)?;
            Ok(RationaleEntity { id: key.to_string(), aliases })
        };
        let entities = ends.into_iter().map(entity).collect::<Result<_, BrainError>>()?;
        Ok(GraphEvidence { edges, entities, evidence: Vec::new() })
    }
}

/// The pages that may answer a question. The local brain has no authors or states.
pub(crate) fn filter_of(filter: &QuestionFilter, viewer: Viewer) -> Result<Filter, IdError> {
    let QuestionFilter { sources, types, authors: _, states: _, labels, after, before } = filter;
    let sources = sources.iter().map(|id| SourceId::new(id)).collect::<Result<_, _>>()?;
    Ok(Filter {
        sources,
        types: types.clone(),
        tags: labels.iter().map(|label| label.to_lowercase()).collect(),
        since: *after,
        until: *before,
        trust: viewer,
        truth_only: false,
    })
}

fn reason(edge: &Edge) -> RationaleEdge {
    RationaleEdge {
        kind: edge.link_type.name().to_owned(),
        from: edge.from.to_string(),
        to: edge.to.to_string(),
        confidence: Some(edge.confidence),
        evidence: edge.evidence_chunk.iter().cloned().collect(),
    }
}

fn unavailable(error: BrainError) -> TargetError {
    TargetError::new(TargetErrorKind::Unavailable, error.to_string())
}

/// Parts of a question that the local brain does not support.
fn not_asked(question: &Question) -> Vec<&'static str> {
    let lists =
        [("filter.authors", &question.filter.authors), ("filter.states", &question.filter.states)];
    lists.iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| *name).collect()
}

impl Retriever for LocalRetriever<'_> {
    fn info(&self) -> &RetrieverInfo {
        &self.info
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        let request = self.request(question)?;
        let stages = RefCell::new(None);
        let on_candidates = |candidates: &[Candidate]| {
            *stages.borrow_mut() = Some(StageIds::of(candidates));
        };
        let mut options = QueryOptions::default();
        if question.stages {
            options.candidates = Some(&on_candidates);
        }
        let started = Instant::now();
        let answered = self.answer(&request, options).map_err(unavailable)?;
        let latency_ms = started.elapsed().as_secs_f64() * 1000.0;
        let ranking = &answered.ranking;
        let is_reranked = ranking.rerank_model.is_some();
        let laps = answered.served.timings.iter().map(|lap| (lap.stage, lap.micros));
        let results = ranking.hits.iter().map(|hit| self.result(hit, question));
        let min_score = request.settings.rerank_threshold;
        let threshold = (is_reranked && min_score > 0.0).then_some(min_score);
        let is_bypassed = ranking
            .degraded
            .iter()
            .any(|degraded| degraded.reason == ALL_BELOW || degraded.stage == RERANK_THRESHOLD);
        let degraded = ranking.degraded.iter().filter(|d| !is_query_specific(d.reason));
        Ok(TargetAnswer {
            results: results.collect::<Result<_, _>>().map_err(unavailable)?,
            timings: TargetTimings::of_stages(laps, is_reranked),
            latency_ms,
            attempts: 1,
            rationale: match question.rationale {
                true => Some(self.rationale(ranking, request.filter.trust).map_err(unavailable)?),
                false => None,
            },
            mode: Some(ranking.mode),
            fallbacks: degraded
                .map(|d| StageFallback { stage: d.stage.to_owned(), reason: d.reason.to_owned() })
                .collect(),
            threshold,
            threshold_applied: threshold.map(|_| !is_bypassed),
            stages: question.stages.then(|| stages.take().unwrap_or_default()),
            candidates: None,
            request_id: None,
            not_asked: not_asked(question),
            provenance: Provenance {
                settings: Some(request.settings),
                corpus: Some(self.snapshot.corpus()),
                embedder: Some(answered.ranking.embedder),
                ..self.info.provenance.clone()
            },
        })
    }

    fn timing(&self, question: &Question) -> TimingMethod {
        let request = self.request(question);
        match request.is_ok_and(|request| self.snapshot.is_answered_here(&request)) {
            true => TimingMethod::Cpu,
            false => TimingMethod::Wall,
        }
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let at = |snapshot: Snapshot| {
            let retriever = LocalRetriever {
                snapshot,
                workspace: self.workspace.clone(),
                info: self.info.clone(),
                viewer: self.viewer,
                assistants: self.assistants,
                history: None,
            };
            Some(Box::new(retriever) as Box<dyn Retriever>)
        };
        // Equal roots are equal corpora, whichever store holds them.
        if corpus.fingerprint == self.snapshot.corpus().fingerprint {
            return Ok(at(self.snapshot.clone()));
        }
        let Some(History { brain, past, progress }) = &self.history else { return Ok(None) };
        if corpus.store != brain.store().identity() {
            return Ok(None);
        }
        let generation = Generation(corpus.generation);
        let snapshot = past.at(generation, &|done, total| progress(done, total))?;
        // A purge changes every generation, so the corpus of the capture no longer exists.
        Ok(snapshot
            .filter(|snapshot| snapshot.corpus().fingerprint == corpus.fingerprint)
            .and_then(at))
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<LostPage> {
        let request = self.request(question).ok()?;
        let options = QueryOptions { why_not: Some(page.clone()), ..QueryOptions::default() };
        let WhyNot { key, stage, verdict, trace: _ } =
            self.answer(&request, options).ok()?.ranking.why_not?;
        Some(LostPage { page: key.to_string(), stage: stage.to_owned(), why: verdict })
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        let has = |name: &&str| match PageKey::parse(name, &SourceId::default()) {
            Ok(key) => Ok(self.snapshot.has_page(&key, viewer)?),
            // A name that is not a page key names no page.
            Err(_) => Ok(false),
        };
        names.iter().map(has).collect::<Result<Vec<bool>, EvalError>>().map(Some)
    }
}
