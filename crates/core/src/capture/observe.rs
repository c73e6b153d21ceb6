//! Builds the stored row of an answered request.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::format::capture::{ExtraParts, ReproductionFields, settings_map};
use crate::hash::Hash;
use crate::id::{PageKey, WorkspaceId};
use crate::identity::IdentityKey;
use crate::latency::CpuTime;
use crate::provenance::{CorpusSnapshot, Software};
use crate::ranking::{CacheUse, ServingInfo};
use crate::ranking::{DegradedStage, Hit, Ranking};
use crate::request::{Caller, Detail, Operation, Request};
use crate::scrub::Scrubber;
use crate::search::{SOURCE_WEIGHT, Settings};

use super::{CaptureFields, CapturedPage, ScrubbedAnswer};

/// The observation of one answer: enough to build a row later, and no more, since it is copied
/// while the caller waits.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedAnswer {
    pub request: Request,
    pub caller: Caller,
    /// The pages of the answer, in order.
    pub retrieved: Vec<PageKey>,
    /// The ids of their passages, in order.
    pub chunk_ids: Vec<String>,
    /// The detail it was answered in.
    pub detail_resolved: Detail,
    /// The embedding model of the search.
    pub embedder: Option<String>,
    /// Whether variants of the query took part.
    pub expansion_applied: bool,
    /// The model that judged the best candidates.
    pub rerank_model: Option<String>,
    /// How the answer cache was used.
    pub cache: CacheUse,
    /// Stages that could not do their work.
    pub degraded: Vec<DegradedStage>,
    /// The corpus that was searched.
    pub corpus: CorpusSnapshot,
    /// How long the answer took, in milliseconds.
    pub latency_ms: f64,
    /// CPU time of the caller's own call in milliseconds, cold or warm: whether asking again is cheap.
    pub call_cpu_ms: Option<f64>,
    /// The CPU time of the retrieval, measured after the answer; none where it was not.
    pub cpu_time: Option<CpuTime>,
}

impl ObservedAnswer {
    /// Copies the parts of an answer that its row needs. `at` is the store's name and how it was
    /// served.
    pub fn new(
        request: &Request,
        caller: Caller,
        ranking: &Ranking,
        at: (&str, &ServingInfo),
        latency_ms: f64,
    ) -> Self {
        let (store, ServingInfo { generation, behind: _, cache, timings: _, request_id: _ }) = at;
        let passages = ranking.hits.iter().flat_map(|hit| &hit.passages);
        Self {
            request: request.clone(),
            caller,
            retrieved: keys(&ranking.hits),
            chunk_ids: passages.map(|passage| passage.chunk_id.clone()).collect(),
            detail_resolved: ranking.detail,
            embedder: ranking.embedder.clone(),
            expansion_applied: ranking.expansion_applied,
            rerank_model: ranking.rerank_model.clone(),
            cache: *cache,
            degraded: ranking.degraded.clone(),
            corpus: CorpusSnapshot {
                store: store.to_owned(),
                generation: *generation,
                fingerprint: ranking.corpus,
            },
            latency_ms,
            call_cpu_ms: None,
            cpu_time: None,
        }
    }
}

/// The pages of an answer, in order.
pub fn keys(hits: &[Hit]) -> Vec<PageKey> {
    hits.iter().map(|hit| hit.key.clone()).collect()
}

/// How rows are made.
#[derive(Debug, Clone)]
pub struct CapturePolicy {
    /// Takes personal data out; none keeps queries as they were typed.
    pub scrubber: Option<Scrubber>,
    /// Keeps names apart that scrubbing makes the same; without it such rows can't be compared.
    pub identity: Option<IdentityKey>,
    /// Whether the brain is made up, so that its captures may be published anywhere.
    pub synthetic: bool,
    pub software: Software,
}

impl CapturePolicy {
    /// The policy of one workspace, whose hashes are its own.
    #[must_use]
    pub fn for_workspace(self, workspace: &WorkspaceId) -> Self {
        Self { identity: self.identity.map(|key| key.for_workspace(workspace)), ..self }
    }

    /// A page without personal data in its name, and with the hash of the name if that changed it. A
    /// name that has a marker of its own gets the hash too: it must not pass for a scrubbed one.
    pub fn page(&self, key: &PageKey) -> CapturedPage {
        let mut page = CapturedPage::from(key);
        let Some(scrubber) = &self.scrubber else { return page };
        let source = scrubber.scrub_name(key.source.as_str());
        let slug = scrubber.scrub_slug(key.slug.as_str());
        let is_changed = source != key.source.as_str() || slug != key.slug.as_str();
        if is_changed || page.is_scrubbed() {
            let key_hash = self.identity.map(|identity| identity.keyed_page_hash(key));
            page = CapturedPage { source: Some(source), slug, key_hash };
        }
        page
    }

    /// Settings without personal data: a weight names the pages that it is for.
    fn settings(&self, settings: &Settings) -> BTreeMap<String, f64> {
        let map = settings_map(settings);
        let Some(scrubber) = &self.scrubber else { return map };
        let scrubbed = |name: String| match name.strip_prefix(SOURCE_WEIGHT) {
            Some(prefix) => format!("{SOURCE_WEIGHT}{}", scrubber.scrub_slug(prefix)),
            None => name,
        };
        map.into_iter().map(|(name, value)| (scrubbed(name), value)).collect()
    }

    /// The row. `again` is the answer to the scrubbed text, where scrubbing changed it.
    pub fn row(&self, scrubbing: ScrubbedAnswer, again: Option<&Ranking>) -> CaptureFields {
        let ScrubbedAnswer { mut observed, families, text, variants, filter } = scrubbing;
        // A replay is held against the answer to the scrubbed text: what was searched for that one,
        // and what could not be, is what the replay must find again.
        if let Some(again) = again {
            observed.embedder.clone_from(&again.embedder);
            observed.expansion_applied = again.expansion_applied;
            observed.degraded.clone_from(&again.degraded);
        }
        let retrieved: Vec<CapturedPage> =
            observed.retrieved.iter().map(|key| self.page(key)).collect();
        let again: Option<Vec<CapturedPage>> =
            again.map(|ranking| ranking.hits.iter().map(|hit| self.page(&hit.key)).collect());
        let extra = ReproductionFields::new(ExtraParts {
            observed: &observed,
            retrieved: &retrieved,
            filter: &filter,
            settings: self.settings(&observed.request.settings),
            variants: &variants,
            scrub_families: &families,
            scrubbed_retrieved: again.as_deref(),
            identity: self.identity.as_ref(),
            software: &self.software,
            synthetic: self.synthetic,
        });
        let is_query = observed.request.operation == Operation::Query;
        CaptureFields {
            tool_name: observed.request.operation,
            query: text,
            retrieved_slugs: json(&distinct(retrieved.iter().map(|page| &page.slug))),
            retrieved_chunk_ids: json(
                &observed.chunk_ids.iter().map(|id| chunk_number(id)).collect::<Vec<_>>(),
            ),
            source_ids: json(&distinct(retrieved.iter().filter_map(|page| page.source.as_ref()))),
            expand_enabled: is_query.then_some(observed.request.expansion.is_requested()),
            detail: observed.request.detail,
            detail_resolved: Some(observed.detail_resolved),
            vector_enabled: observed.embedder.is_some(),
            expansion_applied: observed.expansion_applied,
            latency_ms: observed.latency_ms,
            remote: observed.caller.remote,
            job_id: observed.caller.job_id,
            subagent_id: observed.caller.subagent_id,
            extra: json(&extra),
        }
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = FxHashSet::default();
    names.filter(|name| seen.insert(name.as_str())).collect()
}

/// The contract has numbers for chunks: 53 bits of the hash of the id, which JSON holds exactly.
pub(crate) fn chunk_number(chunk_id: &str) -> u64 {
    let bytes = Hash::of(chunk_id.as_bytes()).0;
    let whole = u64::from_be_bytes([
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ]);
    whole >> 11
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
