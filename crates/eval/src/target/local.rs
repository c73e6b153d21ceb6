//! The local brain as a target: its newest corpus, held, so that a write in the middle of a run does not
//! split it. Nothing that is asked here is captured.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Instant;

use gbrain_brain::{Answered, Ask as How, Assistants, Brain, BrainError, Onward, Snapshot};
use gbrain_core::id::{IdError, PageKey, SourceId, WorkspaceId};
use gbrain_core::ranking::{ALL_BELOW, Edge, Hit, RERANK_THRESHOLD, Ranking, is_of_the_question};
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_core::search::candidate::Candidate;
use gbrain_core::target::{
    Found, LOCAL, Question, QuestionFilter, Rationale, RationaleEdge, RationaleEntity, StageIds,
    TargetAnswer, TargetError, TargetErrorKind, Timings,
};
use jiff::Timestamp;

use super::Ask;
use crate::EvalError;

/// How the local brain answers.
pub struct LocalOptions<'a> {
    /// Every number of the pipeline.
    pub settings: Settings,
    /// The time of questions that have none.
    pub now: Timestamp,
    /// Whose eyes answers are for.
    pub trust: Viewer,
    /// Models that help, where the owner named some.
    pub assistants: Option<&'a Assistants>,
}

/// The local brain.
pub struct LocalAsk<'a> {
    snapshot: Snapshot,
    workspace: WorkspaceId,
    options: LocalOptions<'a>,
}

impl<'a> LocalAsk<'a> {
    /// A brain as it is now. `progress` is called while it is indexed, and may end that.
    pub fn new<P: Onward>(
        brain: &Brain,
        options: LocalOptions<'a>,
        progress: &dyn Fn(i64, i64) -> P,
    ) -> Result<Self, EvalError> {
        let snapshot = brain.snapshot(progress)?;
        Ok(Self { snapshot, workspace: brain.workspace().clone(), options })
    }

    /// The corpus that answers.
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
        let filter = filter_of(&question.filter, self.options.trust);
        let LocalOptions { settings, now, trust: _, assistants } = &self.options;
        let expands = assistants.is_some() && settings.expand >= 0.5;
        Ok(Request {
            operation: Operation::Query,
            query: question.text.clone(),
            limit: question.k,
            detail: None,
            mode: question.mode.unwrap_or(RetrievalMode::Hybrid),
            filter: filter.map_err(|error| refused(error.to_string()))?,
            vectors: true,
            expansion: if expands { Expansion::Wanted } else { Expansion::Off },
            now: question.now.unwrap_or(*now),
            settings: settings.clone(),
        })
    }

    fn answered(&self, request: &Request) -> Result<(Answered, StageIds), BrainError> {
        let stages = RefCell::new(StageIds::default());
        let look = |candidates: &[Candidate]| *stages.borrow_mut() = StageIds::of(candidates);
        let how = How { candidates: Some(&look), ..How::default() };
        let answer = |how: &How<'_>| self.snapshot.answer(request, how);
        let answered = match self.options.assistants {
            Some(assistants) => assistants.with(how, answer),
            None => answer(&how),
        }?;
        Ok((answered, stages.into_inner()))
    }

    fn found(&self, hit: &Hit) -> Result<Found, BrainError> {
        let passage = hit.passages.first();
        let text = match passage {
            None => None,
            Some(passage) => {
                self.snapshot.chunk_text(&hit.key, passage.ordinal, self.options.trust)?
            }
        };
        Ok(Found {
            document: hit.key.to_string(),
            chunk: passage.map(|passage| passage.chunk_id.clone()),
            source: Some(hit.key.source.to_string()),
            score: Some(hit.score),
            title: Some(hit.title.clone()),
            snippet: passage.map(|passage| passage.snippet.clone()),
            text,
        })
    }

    /// The edges that justify hits, and what the pages at their ends are called.
    fn rationale(&self, ranking: &Ranking) -> Result<Rationale, BrainError> {
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
            let aliases = self.snapshot.names_of(key, self.options.trust)?;
            Ok(RationaleEntity { id: key.to_string(), aliases })
        };
        let entities = ends.into_iter().map(entity).collect::<Result<_, BrainError>>()?;
        Ok(Rationale { edges, entities, evidence: Vec::new() })
    }
}

/// Which pages may answer a question. The local brain knows neither authors nor states.
pub(crate) fn filter_of(filter: &QuestionFilter, trust: Viewer) -> Result<Filter, IdError> {
    let QuestionFilter { sources, types, authors: _, states: _, labels, after, before } = filter;
    let sources = sources.iter().map(|id| SourceId::new(id)).collect::<Result<_, _>>()?;
    Ok(Filter {
        sources,
        types: types.clone(),
        tags: labels.iter().map(|label| label.to_lowercase()).collect(),
        since: *after,
        until: *before,
        trust,
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

impl Ask for LocalAsk<'_> {
    fn ask(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        let failed =
            |error: BrainError| TargetError::new(TargetErrorKind::Unavailable, error.to_string());
        let request = self.request(question)?;
        let started = Instant::now();
        let (answered, stages) = self.answered(&request).map_err(failed)?;
        let latency_ms = started.elapsed().as_secs_f64() * 1000.0;
        let ranking = &answered.ranking;
        let is_reranked = ranking.rerank_model.is_some();
        let laps = answered.served.timings.iter().map(|lap| (lap.stage, lap.micros));
        let results = ranking.hits.iter().map(|hit| self.found(hit)).collect::<Result<_, _>>();
        let least = request.settings.rerank_threshold;
        let threshold = (is_reranked && least > 0.0).then_some(least);
        let is_bypassed = ranking
            .degraded
            .iter()
            .any(|degraded| degraded.reason == ALL_BELOW || degraded.stage == RERANK_THRESHOLD);
        let degraded = ranking.degraded.iter().filter(|d| !is_of_the_question(d.reason));
        let lost = [
            ("filter.authors", &question.filter.authors),
            ("filter.states", &question.filter.states),
        ];
        Ok(TargetAnswer {
            results: results.map_err(failed)?,
            timings: Timings::of_stages(laps, is_reranked),
            latency_ms,
            attempts: 1,
            rationale: match question.rationale {
                true => Some(self.rationale(ranking).map_err(failed)?),
                false => None,
            },
            mode: Some(ranking.mode),
            fallbacks: degraded.map(|degraded| degraded.stage.to_owned()).collect(),
            threshold,
            threshold_applied: threshold.map(|_| !is_bypassed),
            stages: Some(stages),
            candidates: None,
            request_id: None,
            not_asked: lost
                .iter()
                .filter(|(_, list)| !list.is_empty())
                .map(|(name, _)| *name)
                .collect(),
        })
    }

    fn name(&self) -> &str {
        LOCAL
    }

    fn place(&self) -> String {
        format!("workspace {}", self.workspace)
    }
}
