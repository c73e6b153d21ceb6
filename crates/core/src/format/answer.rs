//! An answer: what `search --json` and `query --json` print and the HTTP API returns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::chunk::Part;
use crate::link::LinkType;
use crate::ranking::{
    Arm, ArmReport, CorpusPrint, CreateSafety, Degraded, Evidence, Grade, Hit, PassageHit, Ranking,
    RelationReport, TraceStep, WhyNot,
};
use crate::request::{Detail, Filter, Operation, Request, RetrievalMode, Viewer};
use crate::search::Least;
use crate::search::intent::{IntentKind, Recency};
use crate::search::relation::Family;

use super::links::WireEdge;

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

/// What the cache of answers did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheUse {
    /// The answer was kept from before. It is what would have been found.
    Hit,
    /// It could have been kept, and was not there.
    Miss,
    /// It was not asked: it is off, nothing remote takes part, or an explanation was asked for.
    #[default]
    Off,
}

crate::named! { CacheUse { Hit = "hit", Miss = "miss", Off = "off" } }

/// How an answer came about, as opposed to what it says: the only part of an answer that may
/// differ between two runs of one request on one corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The generation that was searched.
    pub generation: i64,
    /// How many changes the store was ahead of it.
    pub behind: i64,
    /// What the cache of answers did.
    pub cache: CacheUse,
    /// How long every stage took, in order.
    pub timings: Vec<StageTime>,
    /// What names the answer in the log of retrievals; none where nothing is logged.
    pub request_id: Option<String>,
}

/// An answer on the wire.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// The version of this shape.
    schema_version: u32,
    /// What was asked for.
    operation: Operation,
    /// What was asked, as typed.
    query: &'a str,
    /// The rest of the request.
    request: WireRequest<'a>,
    /// What the question was understood to be.
    intent: IntentKind,
    /// Whether recent pages were preferred.
    recency: Recency,
    /// The detail it was answered in.
    detail_resolved: Detail,
    /// The mode it was answered in.
    retrieval_mode_resolved: RetrievalMode,
    /// How a relational question was understood; null for others.
    relation: Option<WireRelation<'a>>,
    /// Whether vectors were searched.
    vector_enabled: bool,
    /// The model whose vectors were searched.
    embedder: Option<&'a str>,
    /// Whether variants of the query took part.
    expansion_applied: bool,
    /// The model that judged the best candidates; null when none did.
    rerank_model: Option<&'a str>,
    /// The score of that model below which results were left out; null when none was.
    rerank_threshold: Option<f64>,
    /// What every way of finding pages brought.
    arms: Vec<WireArm>,
    /// Stages that could not do their work; the answer is what the others found.
    degraded: Vec<WireDegraded>,
    /// The corpus that was searched.
    corpus: WireCorpus,
    /// How well the brain answers: strong, moderate or weak, by the evidence of the first hit.
    grade: Grade,
    /// The answer, best first.
    hits: Vec<WireHit<'a>>,
    /// Where the page fell out that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WireWhyNot<'a>>,
    /// How the answer came about.
    served: WireServed,
}

/// The request as it was understood.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AskedRequest")]
struct WireRequest<'a> {
    /// How many pages were asked for.
    limit: usize,
    /// The detail that was asked for.
    detail: Option<Detail>,
    /// The mode that was asked for.
    retrieval_mode: RetrievalMode,
    /// Only these sources; all when empty.
    sources: Vec<&'a str>,
    /// Only these types; all when empty.
    types: &'a [String],
    /// Only these tags; all when empty.
    tags: &'a [String],
    /// Only from this day on.
    #[schemars(extend("format" = "date"))]
    since: Option<String>,
    /// Only up to this day.
    #[schemars(extend("format" = "date"))]
    until: Option<String>,
    /// Whose eyes the answer is for.
    trust: Viewer,
    /// Whether vectors were allowed.
    vectors: bool,
    /// Whether other ways to ask the same were asked for.
    expand: bool,
    /// These other ways, in the order in which the model gave them.
    variants: &'a [String],
    /// The time that recency is measured against.
    #[schemars(extend("format" = "date-time"))]
    now: String,
    /// Names the settings.
    settings_hash: String,
}

/// How a relational question was understood.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Relation")]
struct WireRelation<'a> {
    /// Its family.
    family: Family,
    /// The edges that may answer it.
    types: &'a [LinkType],
    /// What it names, as written.
    seeds: &'a [String],
    /// The pages that these are, as `source::slug`.
    resolved: Vec<String>,
}

/// What one way of finding pages brought.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArmReport")]
struct WireArm {
    /// Which.
    arm: Arm,
    /// Its weight.
    weight: f64,
    /// How many pages it brought.
    found: usize,
}

/// A stage that could not do its work.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Degraded")]
struct WireDegraded {
    /// Which.
    stage: &'static str,
    /// Why, as a stable word.
    reason: &'static str,
}

/// The corpus that was searched, by content.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Corpus")]
struct WireCorpus {
    /// Live pages.
    pages: u64,
    /// Their passages.
    chunks: u64,
    /// Their content, as one hash.
    root: String,
}

/// One page of the answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hit")]
struct WireHit<'a> {
    /// From 1.
    rank: usize,
    /// The source of the page.
    source_id: &'a str,
    /// Its name in that source.
    slug: &'a str,
    /// Its title.
    title: &'a str,
    /// Its type.
    #[serde(rename = "type")]
    page_type: &'a str,
    /// When what it tells of happened.
    #[schemars(extend("format" = "date"))]
    effective_date: Option<String>,
    /// Comparable within one answer only.
    score: f64,
    /// The strongest reason that it is here.
    evidence: Evidence,
    /// What may be concluded about whether the thing looked for is already in the brain.
    create_safety: CreateSafety,
    /// Its best passages, best first.
    passages: Vec<WirePassage<'a>>,
    /// The edges that justify it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edges: Vec<WireEdge<'a>>,
    /// Pages left out because they say the same, as `source::slug`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    duplicates: Vec<String>,
    /// What every stage did to it, if that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<WireTrace<'a>>,
}

/// A passage of a hit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Passage")]
struct WirePassage<'a> {
    /// The same on every machine.
    chunk_id: &'a str,
    /// Its place in the page, from 0.
    ordinal: u32,
    /// Which part of the page it is from.
    part: Part,
    /// The headings above it.
    section: &'a str,
    /// First character in the page's content.
    start: u32,
    /// One past the last.
    end: u32,
    /// Null when it was not found by words.
    score: Option<f64>,
    /// The part worth showing.
    snippet: &'a str,
    /// Matching words, as ranges of characters in the snippet.
    highlights: &'a [(u32, u32)],
}

/// What one stage did to one page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TraceStep")]
struct WireTrace<'a> {
    /// Which.
    stage: &'static str,
    /// The rank after it, from 1; null when the page was not in it.
    rank: Option<usize>,
    /// The score after it.
    score: Option<f64>,
    /// What happened, in words.
    note: &'a str,
}

/// Where the page fell out that was asked about.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WhyNot")]
struct WireWhyNot<'a> {
    /// The page, as `source::slug`.
    page: String,
    /// The stage at which it fell out; `answer` if it did not.
    stage: &'static str,
    /// In one sentence.
    verdict: &'a str,
    /// What every stage did to it.
    trace: Vec<WireTrace<'a>>,
}

/// How the answer came about; the only part that may differ between two runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Served")]
struct WireServed {
    /// The change that the answer is as of.
    generation: i64,
    /// How many changes the store was ahead of it.
    behind: i64,
    /// Whether the answer was kept from before.
    cache: CacheUse,
    /// How long every stage took, in microseconds.
    #[schemars(with = "BTreeMap<String, u64>")]
    timings_us: serde_json::Map<String, serde_json::Value>,
    /// What to name the answer by in feedback; only where answers are logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
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
            expansion_applied,
            rerank_model,
            arms,
            degraded,
            corpus,
            hits,
            why_not,
        } = ranking;
        Self {
            schema_version: ANSWER_VERSION,
            operation: request.operation,
            query: &request.query,
            request: WireRequest::new(request),
            intent: *intent,
            recency: *recency,
            detail_resolved: *detail,
            retrieval_mode_resolved: *mode,
            relation: relation.as_ref().map(WireRelation::new),
            vector_enabled: embedder.is_some(),
            embedder: embedder.as_deref(),
            expansion_applied: *expansion_applied,
            rerank_model: rerank_model.as_deref(),
            rerank_threshold: rerank_model.as_deref().and_then(|model| {
                match request.settings.least_for(model) {
                    Least::Score(least) => Some(least),
                    Least::Nothing | Least::OfAnother => None,
                }
            }),
            arms: arms.iter().map(WireArm::new).collect(),
            degraded: degraded.iter().map(WireDegraded::new).collect(),
            corpus: WireCorpus::new(corpus),
            grade: ranking.grade(),
            hits: hits.iter().map(WireHit::new).collect(),
            why_not: why_not.as_ref().map(WireWhyNot::new),
            served: WireServed::new(served),
        }
    }
}

impl<'a> WireRequest<'a> {
    fn new(request: &'a Request) -> Self {
        let Request {
            operation: _,
            query: _,
            limit,
            detail,
            mode,
            filter,
            vectors,
            expansion,
            now,
            settings,
        } = request;
        // `truth_only` follows from the resolved detail, which the answer carries.
        let Filter { sources, types, tags, since, until, trust, truth_only: _ } = filter;
        Self {
            limit: *limit,
            detail: *detail,
            retrieval_mode: *mode,
            sources: sources.iter().map(|source| source.as_str()).collect(),
            types,
            tags,
            since: since.map(|date| date.to_string()),
            until: until.map(|date| date.to_string()),
            trust: *trust,
            vectors: *vectors,
            expand: expansion.is_asked(),
            variants: expansion.variants(),
            now: now.to_string(),
            settings_hash: settings.hash(),
        }
    }
}

impl<'a> WireRelation<'a> {
    fn new(report: &'a RelationReport) -> Self {
        let RelationReport { family, types, seeds, resolved } = report;
        Self {
            family: *family,
            types,
            seeds,
            resolved: resolved.iter().map(ToString::to_string).collect(),
        }
    }
}

impl WireArm {
    fn new(report: &ArmReport) -> Self {
        let ArmReport { arm, weight, found } = report;
        Self { arm: *arm, weight: *weight, found: *found }
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
            evidence: *evidence,
            create_safety: *create_safety,
            passages: passages.iter().map(WirePassage::new).collect(),
            edges: edges.iter().map(WireEdge::of_answer).collect(),
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
            part: *part,
            section,
            start: *start,
            end: *end,
            score: *score,
            snippet,
            highlights,
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
        let Served { generation, behind, cache, timings, request_id } = served;
        let timings_us = timings
            .iter()
            .map(|StageTime { stage, micros }| ((*stage).to_owned(), (*micros).into()))
            .collect();
        let (cache, request_id) = (*cache, request_id.clone());
        Self { generation: *generation, behind: *behind, cache, timings_us, request_id }
    }
}
