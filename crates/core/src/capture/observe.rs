//! From an answered request to the row that is kept of it.

use rustc_hash::FxHashSet;

use crate::format::capture::{Extra, ExtraParts};
use crate::format::{CacheUse, Served};
use crate::hash::Hash;
use crate::id::PageKey;
use crate::provenance::{CorpusAt, Software};
use crate::ranking::{Degraded, Hit, Ranking};
use crate::request::{Caller, Detail, Expansion, Operation, Request};
use crate::scrub::{Family, Scrubber};

use super::CaptureFields;

/// What was observed of one answer: enough to make a row of it later, and no more, since it is
/// copied while the caller waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What was asked.
    pub request: Request,
    /// Who asked.
    pub caller: Caller,
    /// The pages of the answer, in order.
    pub retrieved: Vec<PageKey>,
    /// The ids of their passages, in order.
    pub chunk_ids: Vec<String>,
    /// The detail it was answered in.
    pub detail_resolved: Detail,
    /// The model whose vectors were searched.
    pub embedder: Option<String>,
    /// Whether variants of the query took part.
    pub expansion_applied: bool,
    /// The model that judged the best candidates.
    pub rerank_model: Option<String>,
    /// What the cache of answers did.
    pub cache: CacheUse,
    /// Stages that could not do their work.
    pub degraded: Vec<Degraded>,
    /// The corpus that was searched.
    pub corpus: CorpusAt,
    /// How long the answer took, in milliseconds.
    pub latency_ms: f64,
}

impl Observed {
    /// What is kept of an answer until its row is made. `at` is the store's name and how it was
    /// served.
    pub fn new(
        request: &Request,
        caller: Caller,
        ranking: &Ranking,
        at: (&str, &Served),
        latency_ms: f64,
    ) -> Self {
        let (store, Served { generation, behind: _, cache, timings: _, request_id: _ }) = at;
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
            corpus: CorpusAt {
                store: store.to_owned(),
                generation: *generation,
                print: ranking.corpus,
            },
            latency_ms,
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
    /// Whether the brain is made up, so that its captures may be published anywhere.
    pub synthetic: bool,
    /// What answered.
    pub software: Software,
}

/// An observation with its query and the variants of it scrubbed.
#[derive(Debug)]
pub struct Scrubbing {
    observed: Observed,
    families: Vec<Family>,
    text: String,
    variants: Vec<String>,
}

impl CapturePolicy {
    /// Takes personal data out of an observation.
    pub fn scrub(&self, observed: Observed) -> Scrubbing {
        let mut families: Vec<Family> = Vec::new();
        let mut scrub = |text: &String| {
            let Some(scrubber) = &self.scrubber else { return text.clone() };
            let scrubbed = scrubber.scrub(text);
            families.extend(scrubbed.found.iter().map(|found| found.family));
            scrubbed.text
        };
        let text = scrub(&observed.request.query);
        // A model repeats what it was asked, and with it whatever must not be kept.
        let variants = observed.request.expansion.variants().iter().map(scrub).collect();
        families.sort_unstable();
        families.dedup();
        Scrubbing { text, variants, families, observed }
    }

    /// A slug without personal data.
    pub fn slug(&self, slug: &str) -> String {
        self.scrubber.as_ref().map_or_else(|| slug.to_owned(), |scrubber| scrubber.scrub_slug(slug))
    }

    /// The row. `again` is the answer to the scrubbed text, where scrubbing changed it.
    pub fn row(&self, scrubbing: Scrubbing, again: Option<&Ranking>) -> CaptureFields {
        let Scrubbing { mut observed, families, text, variants } = scrubbing;
        // A replay is held against the answer to the scrubbed text: what was searched for that one,
        // and what could not be, is what the replay must find again.
        if let Some(again) = again {
            observed.embedder.clone_from(&again.embedder);
            observed.expansion_applied = again.expansion_applied;
            observed.degraded.clone_from(&again.degraded);
        }
        let slug = |key: &PageKey| self.slug(key.slug.as_str());
        let retrieved: Vec<(String, String)> =
            observed.retrieved.iter().map(|key| (key.source.to_string(), slug(key))).collect();
        let again = again.map(|ranking| {
            let hits = ranking.hits.iter();
            hits.map(|hit| (hit.key.source.to_string(), slug(&hit.key))).collect::<Vec<_>>()
        });
        let extra = Extra::new(ExtraParts {
            observed: &observed,
            retrieved: &retrieved,
            variants: &variants,
            scrub_families: &families,
            scrubbed_retrieved: again.as_deref(),
            software: &self.software,
            synthetic: self.synthetic,
        });
        let is_query = observed.request.operation == Operation::Query;
        CaptureFields {
            tool_name: observed.request.operation,
            query: text,
            retrieved_slugs: json(&distinct(retrieved.iter().map(|(_, slug)| slug))),
            retrieved_chunk_ids: json(
                &observed.chunk_ids.iter().map(|id| chunk_number(id)).collect::<Vec<_>>(),
            ),
            source_ids: json(&distinct(retrieved.iter().map(|(source, _)| source))),
            expand_enabled: is_query.then_some(observed.request.expansion.is_asked()),
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

impl Scrubbing {
    /// What was observed, unscrubbed.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// What was asked, scrubbed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The request with the scrubbed texts, if scrubbing changed one: what a replay will ask.
    pub fn replayed_request(&self) -> Option<Request> {
        let request = &self.observed.request;
        let are_changed = self.variants != request.expansion.variants();
        (are_changed || self.text != request.query).then(|| Request {
            query: self.text.clone(),
            expansion: match &request.expansion {
                Expansion::Given(_) => Expansion::Given(self.variants.clone()),
                other => other.clone(),
            },
            ..request.clone()
        })
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = FxHashSet::default();
    names.filter(|name| seen.insert(name.as_str())).collect()
}

/// The contract has numbers for chunks: 53 bits of the hash of the id, which JSON holds exactly.
fn chunk_number(chunk_id: &str) -> u64 {
    let bytes = Hash::of(chunk_id.as_bytes()).0;
    let whole = u64::from_be_bytes([
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ]);
    whole >> 11
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
