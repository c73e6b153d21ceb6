//! The log of a live retrieval, beside its capture: what each stage saw and how long it took.
//!
//! It holds no more of a person than the capture does: the query and the slugs are scrubbed, and who asked is
//! a kind of caller, a job or a subagent.

use std::collections::HashMap;

use gbrain_core::capture::{CapturePolicy, Observed, Scrubbing};
use gbrain_core::clock::moment;
use gbrain_core::format::suite::{RETRIEVAL_BODY_VERSION, RerankedId, RetrievalBody};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, PageKey};
use gbrain_core::ranking::Served;
use gbrain_core::ranking::{
    ALL_BELOW, Arm, Degraded, RERANK, RERANK_THRESHOLD, Ranking, is_of_the_question,
};
use gbrain_core::request::{Caller, Request, Viewer};
use gbrain_core::search::candidate::Candidate;
use gbrain_core::target::{LOCAL, Timings};
use gbrain_store::{NewRetrievalLog, RetrievalFields};
use jiff::Timestamp;

use crate::Snapshot;

/// Who asked, where it was the owner at the keyboard.
pub const OWNER: &str = "local";

/// As many ids are kept of a stage as were asked for, between these: what stands further down is nobody's
/// answer, and every name costs whoever stores it.
const IDS: (usize, usize) = (10, 50);

/// What the stages saw of a page, by numbers: names are looked up later, on nobody's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sight {
    page: PageId,
    words: Option<usize>,
    vectors: Option<usize>,
    /// Its score, if it was judged.
    judged: Option<Option<f64>>,
}

/// What the stages saw, in the order of the candidates.
pub(super) fn sights(candidates: &[Candidate]) -> Vec<Sight> {
    let rank = |candidate: &Candidate, arm| candidate.in_arm(arm).and_then(|entry| entry.rank);
    let sight = |candidate: &Candidate| Sight {
        page: candidate.page,
        words: rank(candidate, Arm::Words),
        vectors: rank(candidate, Arm::Vectors),
        judged: candidate.trace.iter().find(|step| step.stage == RERANK).map(|step| step.score),
    };
    candidates.iter().map(sight).collect()
}

/// What is observed of a retrieval for its log, beside what its capture holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Traced {
    pub(super) request_id: String,
    at: Timestamp,
    mode: &'static str,
    timings: Timings,
    threshold: Option<f64>,
    sights: Option<Vec<Sight>>,
}

impl Traced {
    pub(super) fn new(
        request_id: String,
        request: &Request,
        ranking: &Ranking,
        served: &Served,
        sights: Option<Vec<Sight>>,
    ) -> Self {
        let is_reranked = ranking.rerank_model.is_some();
        let laps = served.timings.iter().map(|lap| (lap.stage, lap.micros));
        let least = request.settings.rerank_threshold;
        Self {
            request_id,
            at: moment(std::time::SystemTime::now()),
            mode: ranking.mode.name(),
            timings: Timings::of_stages(laps, is_reranked),
            threshold: (is_reranked && least > 0.0).then_some(least),
            sights,
        }
    }
}

/// Names of pages without personal data, for rows that are made together: stages see the same pages again
/// and again. They are those of one corpus, as one kind of caller may see it.
#[derive(Debug, Default)]
pub(super) struct Names {
    of: Option<(Hash, Viewer)>,
    known: HashMap<PageId, String>,
}

impl Names {
    fn begin(&mut self, corpus: Hash, trust: Viewer) {
        if self.of != Some((corpus, trust)) {
            self.of = Some((corpus, trust));
            self.known.clear();
        }
    }

    fn name(&mut self, page: PageId, made: impl FnOnce() -> Option<String>) -> Option<String> {
        if let Some(name) = self.known.get(&page) {
            return Some(name.clone());
        }
        let name = made()?;
        self.known.insert(page, name.clone());
        Some(name)
    }
}

/// The row that is logged.
pub(super) fn row(
    policy: &CapturePolicy,
    scrubbing: &Scrubbing,
    traced: Traced,
    snapshot: &Snapshot,
    names: &mut Names,
) -> NewRetrievalLog {
    let Traced { request_id, at, mode, timings, threshold, sights } = traced;
    let observed = scrubbing.observed();
    let trust = observed.request.filter.trust;
    names.begin(snapshot.view.corpus().root, trust);
    let mut name = |page: PageId| {
        names.name(page, || {
            let entry = snapshot.view.entry(page, trust).ok()??;
            Some(named(policy, &entry.key))
        })
    };
    let body = RetrievalBody {
        threshold_applied: threshold.map(|_| !observed.degraded.iter().any(is_bypass)),
        ..body(policy, observed, &timings)
    };
    let body = match sights {
        Some(sights) => {
            let most = observed.request.limit.clamp(IDS.0, IDS.1);
            with_stages(body, sights, most, &mut name)
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

/// A page by its name, without personal data; a hash keeps apart what scrubbing makes the same.
fn named(policy: &CapturePolicy, key: &PageKey) -> String {
    policy.page(key).to_string()
}

fn user(Caller { remote, job_id, subagent_id }: Caller) -> String {
    match (subagent_id, job_id) {
        (Some(id), _) => format!("subagent:{id}"),
        (None, Some(id)) => format!("job:{id}"),
        (None, None) => if remote { "remote" } else { OWNER }.to_owned(),
    }
}

fn body(policy: &CapturePolicy, observed: &Observed, timings: &Timings) -> RetrievalBody {
    let times = [
        ("lexical", timings.lexical_ms),
        ("dense", timings.dense_ms),
        ("rerank", timings.rerank_ms),
        ("hydration", timings.hydration_ms),
    ];
    let known = times.into_iter().filter_map(|(stage, ms)| Some((stage.to_owned(), ms?)));
    let failed = observed.degraded.iter().filter(|one| !is_of_the_question(one.reason));
    RetrievalBody {
        schema_version: RETRIEVAL_BODY_VERSION,
        target: LOCAL.to_owned(),
        result_ids: observed.retrieved.iter().map(|key| named(policy, key)).collect(),
        latencies: known.collect(),
        attempts: 1,
        fallbacks: failed.map(|one| one.stage.to_owned()).collect(),
        ..RetrievalBody::default()
    }
}

/// The same with the first of what each stage saw.
fn with_stages(
    body: RetrievalBody,
    sights: Vec<Sight>,
    most: usize,
    name: &mut dyn FnMut(PageId) -> Option<String>,
) -> RetrievalBody {
    let mut ranked = |rank: &dyn Fn(&Sight) -> Option<usize>| -> Vec<String> {
        let mut found: Vec<(usize, PageId)> =
            sights.iter().filter_map(|sight| Some((rank(sight)?, sight.page))).collect();
        found.sort();
        found.into_iter().take(most).filter_map(|(_, page)| name(page)).collect()
    };
    let (lexical_ids, vector_ids) = (ranked(&|sight| sight.words), ranked(&|sight| sight.vectors));
    let judged = sights.iter().filter_map(|sight| Some((sight.page, sight.judged?))).take(most);
    let judged = judged.filter_map(|(page, score)| Some(RerankedId { id: name(page)?, score }));
    RetrievalBody {
        lexical_ids: Some(lexical_ids),
        vector_ids: Some(vector_ids),
        rerank_ids: Some(judged.collect()),
        ..body
    }
}

fn is_bypass(degraded: &Degraded) -> bool {
    degraded.reason == ALL_BELOW || degraded.stage == RERANK_THRESHOLD
}
