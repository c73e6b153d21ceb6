//! The log of a live retrieval, beside its capture: what each stage saw and how long it took.
//!
//! It holds no more of a person than the capture does: the query and the slugs are scrubbed, and who asked is
//! a kind of caller, a job or a subagent.

use gbrain_core::capture::{CapturePolicy, Observed, Scrubbing};
use gbrain_core::format::Served;
use gbrain_core::format::suite::{RETRIEVAL_BODY_VERSION, RerankedId, RetrievalBody};
use gbrain_core::id::PageKey;
use gbrain_core::ranking::{ALL_BELOW, Degraded, RERANK_THRESHOLD, Ranking, is_of_the_question};
use gbrain_core::request::{Caller, Request};
use gbrain_core::target::{Judgement, LOCAL, StageIds, Timings};
use gbrain_store::{NewRetrievalLog, RetrievalFields};
use jiff::Timestamp;

/// Who asked, where it was the owner at the keyboard.
pub const OWNER: &str = "local";

/// As many ids are kept of a stage.
const IDS: usize = 50;

/// What is observed of a retrieval for its log, beside what its capture holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Traced {
    /// What names it.
    pub(super) request_id: String,
    at: Timestamp,
    mode: &'static str,
    timings: Timings,
    threshold: Option<f64>,
    stages: Option<StageIds>,
}

impl Traced {
    pub(super) fn new(
        request_id: String,
        request: &Request,
        ranking: &Ranking,
        served: &Served,
        stages: Option<StageIds>,
    ) -> Self {
        let is_reranked = ranking.rerank_model.is_some();
        let laps = served.timings.iter().map(|lap| (lap.stage, lap.micros));
        let least = request.settings.rerank_threshold;
        Self {
            request_id,
            at: Timestamp::now(),
            mode: ranking.mode.name(),
            timings: Timings::of_stages(laps, is_reranked),
            threshold: (is_reranked && least > 0.0).then_some(least),
            stages,
        }
    }
}

/// The row that is logged.
pub(super) fn row(
    policy: &CapturePolicy,
    scrubbing: &Scrubbing,
    traced: Traced,
) -> NewRetrievalLog {
    let Traced { request_id, at, mode, timings, threshold, stages } = traced;
    let observed = scrubbing.observed();
    let body = body(policy, observed, &timings, threshold, stages);
    let fields = RetrievalFields {
        request_id: Some(request_id),
        query_text: scrubbing.text().to_owned(),
        retrieval_mode: Some(mode.to_owned()),
        experiment_id: None,
        user_id: Some(user(observed.caller)),
        top_k: u32::try_from(observed.request.limit).ok(),
        rerank_threshold: threshold,
        total_ms: Some(observed.latency_ms),
        dense_ms: timings.dense_ms,
        rerank_ms: timings.rerank_ms,
        hydration_ms: timings.hydration_ms,
        body: Some(serde_json::to_string(&body).expect("our values have text keys only")),
    };
    NewRetrievalLog { at, fields, feedback: Vec::new() }
}

fn user(Caller { remote, job_id, subagent_id }: Caller) -> String {
    match (subagent_id, job_id) {
        (Some(id), _) => format!("subagent:{id}"),
        (None, Some(id)) => format!("job:{id}"),
        (None, None) => if remote { "remote" } else { OWNER }.to_owned(),
    }
}

fn body(
    policy: &CapturePolicy,
    observed: &Observed,
    timings: &Timings,
    threshold: Option<f64>,
    stages: Option<StageIds>,
) -> RetrievalBody {
    let key = |key: &PageKey| format!("{}::{}", key.source, policy.slug(key.slug.as_str()));
    let named = |document: &str| match document.split_once("::") {
        Some((source, slug)) => format!("{source}::{}", policy.slug(slug)),
        None => policy.slug(document),
    };
    let first =
        |ids: Vec<String>| -> Vec<String> { ids.iter().take(IDS).map(|id| named(id)).collect() };
    let judged = |judgements: Vec<Judgement>| -> Vec<RerankedId> {
        let judged = judgements.into_iter().take(IDS);
        judged.map(|one| RerankedId { id: named(&one.document), score: one.score }).collect()
    };
    let (lexical_ids, vector_ids, rerank_ids) = match stages {
        None => (None, None, None),
        Some(StageIds { lexical, vector, rerank }) => {
            (Some(first(lexical)), Some(first(vector)), Some(judged(rerank)))
        }
    };
    let times = [
        ("lexical", timings.lexical_ms),
        ("dense", timings.dense_ms),
        ("rerank", timings.rerank_ms),
        ("hydration", timings.hydration_ms),
    ];
    let failed = observed.degraded.iter().filter(|one| !is_of_the_question(one.reason));
    RetrievalBody {
        schema_version: RETRIEVAL_BODY_VERSION,
        target: LOCAL.to_owned(),
        result_ids: observed.retrieved.iter().map(key).collect(),
        lexical_ids,
        vector_ids,
        rerank_ids,
        latencies: times
            .into_iter()
            .filter_map(|(stage, ms)| Some((stage.to_owned(), ms?)))
            .collect(),
        attempts: 1,
        fallbacks: failed.map(|one| one.stage.to_owned()).collect(),
        threshold_applied: threshold.map(|_| !observed.degraded.iter().any(is_bypass)),
        ..RetrievalBody::default()
    }
}

fn is_bypass(degraded: &Degraded) -> bool {
    degraded.reason == ALL_BELOW || degraded.stage == RERANK_THRESHOLD
}
