//! An answer: what `search --json` and `query --json` print and the HTTP API returns.

use serde::Serialize;

use crate::ranking::{
    ArmReport, CorpusPrint, Degraded, Edge, Hit, PassageHit, Ranking, RelationReport, TraceStep,
    WhyNot,
};
use crate::request::{Filter, Request};

/// The version of [`Answer`].
pub const ANSWER_VERSION: u32 = 1;

/// How long a stage took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTime {
    /// The stage.
    pub stage: &'static str,
    /// Microseconds.
    pub micros: u64,
}

/// How an answer came about, as opposed to what it says: the only part of an answer that may
/// differ between two runs of one request on one corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The generation that was searched.
    pub generation: i64,
    /// How many changes the store was ahead of it.
    pub behind: i64,
    /// How long every stage took, in order.
    pub timings: Vec<StageTime>,
}

/// An answer on the wire.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    schema_version: u32,
    operation: &'static str,
    query: &'a str,
    request: WireRequest<'a>,
    intent: &'static str,
    recency: &'static str,
    detail_resolved: &'static str,
    retrieval_mode_resolved: &'static str,
    relation: Option<WireRelation<'a>>,
    vector_enabled: bool,
    embedder: Option<&'a str>,
    arms: Vec<WireArm>,
    degraded: Vec<WireDegraded>,
    corpus: WireCorpus,
    hits: Vec<WireHit<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WireWhyNot<'a>>,
    served: WireServed,
}

#[derive(Debug, Serialize)]
struct WireRequest<'a> {
    limit: usize,
    detail: Option<&'static str>,
    retrieval_mode: &'static str,
    sources: Vec<&'a str>,
    types: &'a [String],
    tags: &'a [String],
    since: Option<String>,
    until: Option<String>,
    trust: &'static str,
    vectors: bool,
    now: String,
    settings_hash: String,
}

#[derive(Debug, Serialize)]
struct WireRelation<'a> {
    family: &'static str,
    types: Vec<&'static str>,
    seeds: &'a [String],
    resolved: Vec<String>,
}

#[derive(Debug, Serialize)]
struct WireArm {
    arm: &'static str,
    weight: f64,
    found: usize,
}

#[derive(Debug, Serialize)]
struct WireDegraded {
    stage: &'static str,
    reason: &'static str,
}

#[derive(Debug, Serialize)]
struct WireCorpus {
    pages: u64,
    chunks: u64,
    root: String,
}

#[derive(Debug, Serialize)]
struct WireHit<'a> {
    rank: usize,
    source_id: &'a str,
    slug: &'a str,
    title: &'a str,
    #[serde(rename = "type")]
    page_type: &'a str,
    effective_date: Option<String>,
    score: f64,
    evidence: &'static str,
    create_safety: &'static str,
    passages: Vec<WirePassage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edges: Vec<WireEdge<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    duplicates: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<WireTrace<'a>>,
}

#[derive(Debug, Serialize)]
struct WirePassage<'a> {
    chunk_id: &'a str,
    ordinal: u32,
    part: &'static str,
    section: &'a str,
    start: u32,
    end: u32,
    score: Option<f64>,
    snippet: &'a str,
    highlights: &'a [(u32, u32)],
}

#[derive(Debug, Serialize)]
struct WireEdge<'a> {
    #[serde(rename = "type")]
    link_type: &'static str,
    from: String,
    to: String,
    hop: u32,
    confidence: f64,
    detected_by: &'static str,
    since: Option<String>,
    until: Option<String>,
    evidence_page: String,
    evidence_chunk: Option<&'a str>,
    evidence_start: u32,
    evidence_end: u32,
}

#[derive(Debug, Serialize)]
struct WireTrace<'a> {
    stage: &'static str,
    rank: Option<usize>,
    score: Option<f64>,
    note: &'a str,
}

#[derive(Debug, Serialize)]
struct WireWhyNot<'a> {
    page: String,
    stage: &'static str,
    verdict: &'a str,
    trace: Vec<WireTrace<'a>>,
}

#[derive(Debug, Serialize)]
struct WireServed {
    generation: i64,
    behind: i64,
    timings_us: serde_json::Map<String, serde_json::Value>,
}

impl<'a> Answer<'a> {
    /// The wire form of a ranking with the request it answers.
    pub fn new(request: &'a Request, ranking: &'a Ranking, served: &Served) -> Self {
        let Ranking {
            intent,
            recency,
            detail,
            mode,
            relation,
            embedder,
            arms,
            degraded,
            corpus,
            hits,
            why_not,
        } = ranking;
        Self {
            schema_version: ANSWER_VERSION,
            operation: request.operation.name(),
            query: &request.query,
            request: WireRequest::new(request),
            intent: intent.name(),
            recency: recency.name(),
            detail_resolved: detail.name(),
            retrieval_mode_resolved: mode.name(),
            relation: relation.as_ref().map(WireRelation::new),
            vector_enabled: embedder.is_some(),
            embedder: embedder.as_deref(),
            arms: arms.iter().map(WireArm::new).collect(),
            degraded: degraded.iter().map(WireDegraded::new).collect(),
            corpus: WireCorpus::new(corpus),
            hits: hits.iter().map(WireHit::new).collect(),
            why_not: why_not.as_ref().map(WireWhyNot::new),
            served: WireServed::new(served),
        }
    }
}

impl<'a> WireRequest<'a> {
    fn new(request: &'a Request) -> Self {
        let Request { operation: _, query: _, limit, detail, mode, filter, vectors, now, settings } =
            request;
        // `truth_only` follows from the resolved detail, which the answer carries.
        let Filter { sources, types, tags, since, until, trust, truth_only: _ } = filter;
        Self {
            limit: *limit,
            detail: detail.map(|detail| detail.name()),
            retrieval_mode: mode.name(),
            sources: sources.iter().map(|source| source.as_str()).collect(),
            types,
            tags,
            since: since.map(|date| date.to_string()),
            until: until.map(|date| date.to_string()),
            trust: trust.name(),
            vectors: *vectors,
            now: now.to_string(),
            settings_hash: settings.hash(),
        }
    }
}

impl<'a> WireRelation<'a> {
    fn new(report: &'a RelationReport) -> Self {
        let RelationReport { family, types, seeds, resolved } = report;
        Self {
            family: family.name(),
            types: types.iter().map(|link_type| link_type.name()).collect(),
            seeds,
            resolved: resolved.iter().map(ToString::to_string).collect(),
        }
    }
}

impl WireArm {
    fn new(report: &ArmReport) -> Self {
        let ArmReport { arm, weight, found } = report;
        Self { arm: arm.name(), weight: *weight, found: *found }
    }
}

impl WireDegraded {
    fn new(degraded: &Degraded) -> Self {
        let Degraded { stage, reason } = degraded;
        Self { stage, reason }
    }
}

impl WireCorpus {
    fn new(corpus: &CorpusPrint) -> Self {
        let CorpusPrint { pages, chunks, root } = corpus;
        Self { pages: *pages, chunks: *chunks, root: root.to_hex() }
    }
}

impl<'a> WireHit<'a> {
    fn new(hit: &'a Hit) -> Self {
        let Hit {
            rank,
            key,
            title,
            page_type,
            effective_date,
            score,
            evidence,
            create_safety,
            passages,
            edges,
            duplicates,
            trace,
        } = hit;
        Self {
            rank: *rank,
            source_id: key.source.as_str(),
            slug: key.slug.as_str(),
            title,
            page_type,
            effective_date: effective_date.map(|date| date.to_string()),
            score: *score,
            evidence: evidence.name(),
            create_safety: create_safety.name(),
            passages: passages.iter().map(WirePassage::new).collect(),
            edges: edges.iter().map(WireEdge::new).collect(),
            duplicates: duplicates.iter().map(ToString::to_string).collect(),
            trace: trace.iter().map(WireTrace::new).collect(),
        }
    }
}

impl<'a> WirePassage<'a> {
    fn new(passage: &'a PassageHit) -> Self {
        let PassageHit { chunk_id, ordinal, part, section, start, end, score, snippet, highlights } =
            passage;
        Self {
            chunk_id,
            ordinal: *ordinal,
            part: part.name(),
            section,
            start: *start,
            end: *end,
            score: *score,
            snippet,
            highlights,
        }
    }
}

impl<'a> WireEdge<'a> {
    fn new(edge: &'a Edge) -> Self {
        let Edge {
            link_type,
            from,
            to,
            hop,
            confidence,
            detected_by,
            since,
            until,
            evidence_page,
            evidence_ordinal: _,
            evidence_chunk,
            evidence_start,
            evidence_end,
        } = edge;
        Self {
            link_type: link_type.name(),
            from: from.to_string(),
            to: to.to_string(),
            hop: *hop,
            confidence: *confidence,
            detected_by: detected_by.name(),
            since: since.map(|date| date.to_string()),
            until: until.map(|date| date.to_string()),
            evidence_page: evidence_page.to_string(),
            evidence_chunk: evidence_chunk.as_deref(),
            evidence_start: *evidence_start,
            evidence_end: *evidence_end,
        }
    }
}

impl<'a> WireTrace<'a> {
    fn new(step: &'a TraceStep) -> Self {
        let TraceStep { stage, rank, score, note } = step;
        Self { stage, rank: *rank, score: *score, note }
    }
}

impl<'a> WireWhyNot<'a> {
    fn new(why_not: &'a WhyNot) -> Self {
        let WhyNot { key, stage, verdict, trace } = why_not;
        let trace = trace.iter().map(WireTrace::new).collect();
        Self { page: key.to_string(), stage, verdict, trace }
    }
}

impl WireServed {
    fn new(served: &Served) -> Self {
        let Served { generation, behind, timings } = served;
        let timings_us = timings
            .iter()
            .map(|StageTime { stage, micros }| ((*stage).to_owned(), (*micros).into()))
            .collect();
        Self { generation: *generation, behind: *behind, timings_us }
    }
}
