//! The retrieval log: a row beside the capture of a live query, with the candidates and the time of
//! each stage.
//!
//! It holds no more personal data than the capture: query and slugs are scrubbed, and the user is a
//! kind of caller, a job or a subagent.

use std::collections::HashMap;

use gbrain_core::capture::{CapturePolicy, ObservedAnswer, ScrubbedAnswer};
use gbrain_core::clock::moment;
use gbrain_core::format::suite::{RETRIEVAL_BODY_VERSION, RerankedId, RetrievalBody};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, PageKey};
use gbrain_core::ranking::ServingInfo;
use gbrain_core::ranking::{
    ALL_BELOW, Arm, DegradedStage, RERANK, RERANK_THRESHOLD, Ranking, is_query_specific,
};
use gbrain_core::request::{Caller, Request, Viewer};
use gbrain_core::search::candidate::Candidate;
use gbrain_core::target::{LOCAL, TargetTimings};
use gbrain_store::{NewRetrievalLog, RetrievalFields};
use jiff::Timestamp;

use crate::Snapshot;

/// User id of the owner at the keyboard.
pub const OWNER: &str = "local";

/// Minimum and maximum number of ids logged per stage; between them, the request's limit applies.
/// Lower ranks are not part of an answer, and every name costs storage.
const LOGGED_IDS: (usize, usize) = (10, 50);

/// The ranks of a page in the stages, by page number: names are looked up later, off the caller's
/// path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CandidateRank {
    page: PageId,
    words: Option<usize>,
    vectors: Option<usize>,
    /// Its rerank score, if it was judged.
    judged: Option<Option<f64>>,
}

/// The ranks of all candidates, in their order.
pub(super) fn candidate_ranks(candidates: &[Candidate]) -> Vec<CandidateRank> {
    let rank = |candidate: &Candidate, arm| candidate.arm_entry(arm).and_then(|entry| entry.rank);
    let candidate_rank = |candidate: &Candidate| CandidateRank {
        page: candidate.page,
        words: rank(candidate, Arm::Words),
        vectors: rank(candidate, Arm::Vectors),
        judged: candidate.trace.iter().find(|step| step.stage == RERANK).map(|step| step.score),
    };
    candidates.iter().map(candidate_rank).collect()
}

/// The fields that the log row of a retrieval has in addition to its capture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RetrievalTrace {
    pub(super) request_id: String,
    at: Timestamp,
    mode: &'static str,
    timings: TargetTimings,
    threshold: Option<f64>,
    ranks: Option<Vec<CandidateRank>>,
}

impl RetrievalTrace {
    pub(super) fn new(
        request_id: String,
        request: &Request,
        ranking: &Ranking,
        served: &ServingInfo,
        ranks: Option<Vec<CandidateRank>>,
    ) -> Self {
        let is_reranked = ranking.rerank_model.is_some();
        let laps = served.timings.iter().map(|lap| (lap.stage, lap.micros));
        let threshold = request.settings.rerank_threshold;
        Self {
            request_id,
            at: moment(std::time::SystemTime::now()),
            mode: ranking.mode.name(),
            timings: TargetTimings::of_stages(laps, is_reranked),
            threshold: (is_reranked && threshold > 0.0).then_some(threshold),
            ranks,
        }
    }
}

/// Cache of scrubbed page names for rows built together, because stages return the same pages
/// repeatedly. It is valid for one corpus and one viewer.
#[derive(Debug, Default)]
pub(super) struct ScrubbedNameCache {
    scope: Option<(Hash, Viewer)>,
    names: HashMap<PageId, String>,
}

impl ScrubbedNameCache {
    fn begin(&mut self, corpus: Hash, trust: Viewer) {
        if self.scope != Some((corpus, trust)) {
            self.scope = Some((corpus, trust));
            self.names.clear();
        }
    }

    fn name(&mut self, page: PageId, find: impl FnOnce() -> Option<String>) -> Option<String> {
        if let Some(name) = self.names.get(&page) {
            return Some(name.clone());
        }
        let name = find()?;
        self.names.insert(page, name.clone());
        Some(name)
    }
}

/// Builds the log row.
pub(super) fn row(
    policy: &CapturePolicy,
    scrubbing: &ScrubbedAnswer,
    trace: RetrievalTrace,
    snapshot: &Snapshot,
    names: &mut ScrubbedNameCache,
) -> NewRetrievalLog {
    let RetrievalTrace { request_id, at, mode, timings, threshold, ranks } = trace;
    let observed = scrubbing.observed();
    let trust = observed.request.filter.trust;
    names.begin(snapshot.view.corpus().root, trust);
    let mut name = |page: PageId| {
        names.name(page, || {
            let entry = snapshot.view.entry(page, trust).ok()??;
            Some(scrubbed_name(policy, &entry.key))
        })
    };
    let body = RetrievalBody {
        threshold_applied: threshold.map(|_| !observed.degraded.iter().any(is_bypass)),
        ..body(policy, observed, &timings)
    };
    let body = match ranks {
        Some(ranks) => {
            let max_ids = observed.request.limit.clamp(LOGGED_IDS.0, LOGGED_IDS.1);
            with_stages(body, ranks, max_ids, &mut name)
        }
        None => body,
    };
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

/// The scrubbed name of a page; a hash distinguishes names that scrubbing makes equal.
fn scrubbed_name(policy: &CapturePolicy, key: &PageKey) -> String {
    policy.page(key).to_string()
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
    observed: &ObservedAnswer,
    timings: &TargetTimings,
) -> RetrievalBody {
    let times = [
        ("lexical", timings.lexical_ms),
        ("dense", timings.dense_ms),
        ("rerank", timings.rerank_ms),
        ("hydration", timings.hydration_ms),
    ];
    let names = times.into_iter().filter_map(|(stage, ms)| Some((stage.to_owned(), ms?)));
    let failed = observed.degraded.iter().filter(|one| !is_query_specific(one.reason));
    RetrievalBody {
        schema_version: RETRIEVAL_BODY_VERSION,
        target: LOCAL.to_owned(),
        result_ids: observed.retrieved.iter().map(|key| scrubbed_name(policy, key)).collect(),
        latencies: names.collect(),
        attempts: 1,
        fallbacks: failed.map(|one| one.stage.to_owned()).collect(),
        ..RetrievalBody::default()
    }
}

/// The body with the first ids of each stage.
fn with_stages(
    body: RetrievalBody,
    ranks: Vec<CandidateRank>,
    max_ids: usize,
    name: &mut dyn FnMut(PageId) -> Option<String>,
) -> RetrievalBody {
    let mut ranked = |rank: &dyn Fn(&CandidateRank) -> Option<usize>| -> Vec<String> {
        let mut found: Vec<(usize, PageId)> = ranks
            .iter()
            .filter_map(|candidate_rank| Some((rank(candidate_rank)?, candidate_rank.page)))
            .collect();
        found.sort();
        found.into_iter().take(max_ids).filter_map(|(_, page)| name(page)).collect()
    };
    let (lexical_ids, vector_ids) = (
        ranked(&|candidate_rank| candidate_rank.words),
        ranked(&|candidate_rank| candidate_rank.vectors),
    );
    let judged = ranks
        .iter()
        .filter_map(|candidate_rank| Some((candidate_rank.page, candidate_rank.judged?)))
        .take(max_ids);
    let judged = judged.filter_map(|(page, score)| Some(RerankedId { id: name(page)?, score }));
    RetrievalBody {
        lexical_ids: Some(lexical_ids),
        vector_ids: Some(vector_ids),
        rerank_ids: Some(judged.collect()),
        ..body
    }
}

fn is_bypass(degraded: &DegradedStage) -> bool {
    degraded.reason == ALL_BELOW || degraded.stage == RERANK_THRESHOLD
}
