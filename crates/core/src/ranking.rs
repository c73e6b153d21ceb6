//! A ranking: the ordered answer to a request, without duplicate pages, each hit explained.

use std::collections::BTreeMap;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::chunk::PagePart;
use crate::hash::Hash;
use crate::id::PageKey;
use crate::link::{DetectedBy, LinkType};
use crate::named;
use crate::request::{Detail, RetrievalMode};
use crate::search::intent::{IntentKind, Recency};
use crate::search::relation::RelationFamily;

named! {
    /// A way of finding pages.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Arm {
        /// BM25 over title, section and body.
        Words = "words",
        Vectors = "vectors",
        /// Slugs, titles, aliases and identifiers equal to the whole query.
        Names = "names",
        /// Walks over typed links.
        Graph = "graph",
    }
}

named! {
    /// The strongest reason a hit is in the answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MatchEvidence {
        /// The query is a name of the page.
        ExactName = "exact_name",
        /// A typed edge answers the question.
        Relation = "relation",
        /// The title holds the query as a phrase.
        TitleMatch = "title_match",
        /// One passage holds every word of the query.
        AllWords = "all_words",
        /// A passage holds some of the words.
        SomeWords = "some_words",
        /// A passage is near in meaning and holds none of the words.
        Meaning = "meaning",
    }
}

named! {
    /// Whether an agent may conclude that the requested thing is already in the brain.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CreateSafety {
        /// It is there: do not create it again.
        Exists = "exists",
        /// It is probably there.
        Probable = "probable",
        Unknown = "unknown",
    }
}

named! {
    /// How well the brain answers a question as a whole, for an agent that decides whether to look elsewhere.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AnswerGrade {
        /// A name, a title or an edge says that the first page is meant.
        Strong = "strong",
        /// One passage of the first page holds every word.
        Moderate = "moderate",
        /// Some words or nearness alone, nothing, or nothing that a reranker found good enough. A cosine is no
        /// better ground: what is high differs from model to model and from question to question.
        Weak = "weak",
    }
}

/// A passage of a hit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Passage")]
pub struct PassageHit {
    /// The same on every machine.
    pub chunk_id: String,
    /// Its place in the page, from 0.
    pub ordinal: u32,
    /// Which part of the page it is from.
    pub part: PagePart,
    /// The headings above it.
    pub section: String,
    /// First character in the page's content.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Null when it was not found by words.
    pub score: Option<f64>,
    /// The part worth showing.
    pub snippet: String,
    /// Matching words, as ranges of characters in the snippet.
    pub highlights: Vec<(u32, u32)>,
}

/// A typed, directed, dated edge.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Edge {
    /// Its meaning: `from` TYPE `to`.
    #[serde(rename = "type")]
    pub link_type: LinkType,
    /// The page where it starts, as `source::slug`.
    pub from: PageKey,
    /// The page where it ends, as `source::slug`.
    pub to: PageKey,
    /// In an answer, the number of steps from the page that the question names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// The method that found the edge.
    pub detected_by: DetectedBy,
    /// From when it held.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub since: Option<Date>,
    /// Until when it held.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub until: Option<Date>,
    /// The page with the evidence, as `source::slug`.
    pub evidence_page: PageKey,
    /// Number of the chunk with the evidence in that page; none when it is in the frontmatter.
    #[serde(skip)]
    pub evidence_ordinal: Option<u32>,
    /// The passage with the evidence; null when it is in the frontmatter.
    pub evidence_chunk: Option<String>,
    /// First character of the evidence in that page's content.
    pub evidence_start: u32,
    /// One past its last.
    pub evidence_end: u32,
}

/// The effect of one stage on one page.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TraceStep {
    /// Name of the stage.
    pub stage: &'static str,
    /// The rank after it, from 1; null when the page was not in it.
    pub rank: Option<usize>,
    /// The score after it.
    pub score: Option<f64>,
    /// The effect in words.
    pub note: String,
    /// The effect in numbers: what the step adds to a page's score, and what it multiplies it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ScorePart>,
}

/// A part of a page's score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ScorePart {
    /// The arm or the boost.
    pub name: &'static str,
    // Its fields are documented in `ScoreEffectFields`.
    #[expect(missing_docs, reason = "the comment would be in schemas")]
    #[serde(flatten)]
    #[schemars(with = "ScoreEffectFields")]
    pub effect: ScoreEffect,
}

/// The effect of a part on a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreEffect {
    /// A share of the fused score.
    Adds(f64),
    /// A factor of the score so far.
    Times(f64),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes in schemas how `ScoreEffect` is written")]
struct ScoreEffectFields {
    /// What the part adds to the fused score.
    #[serde(skip_serializing_if = "Option::is_none")]
    adds: Option<f64>,
    /// What the part multiplies the score so far by.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<f64>,
}

/// One page of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// Rank, starting at 1.
    pub rank: usize,
    // Its fields are documented in `HitKeyFields`.
    #[expect(missing_docs, reason = "the comment would be in schemas")]
    #[serde(flatten, serialize_with = "PageKey::as_fields")]
    #[schemars(with = "HitKeyFields")]
    pub key: PageKey,
    /// Title of the page.
    pub title: String,
    /// Type of the page.
    #[serde(rename = "type")]
    pub page_type: String,
    /// The effective date of the page.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub effective_date: Option<Date>,
    // BM25 for `search`; for `query` fused and boosted, 1.0 being first in every arm unboosted.
    /// Comparable within one answer only.
    pub score: f64,
    /// The strongest reason that it is here.
    pub evidence: MatchEvidence,
    /// Whether an agent may conclude that the requested thing is already in the brain.
    pub create_safety: CreateSafety,
    /// Its best passages, best first.
    pub passages: Vec<PassageHit>,
    /// The edges that justify it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
    /// Pages left out because they say the same, as `source::slug`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<PageKey>,
    /// The effect of every stage on the hit, if a trace was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<TraceStep>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes in schemas what `PageKey::as_fields` writes")]
struct HitKeyFields {
    /// The source of the page.
    source_id: String,
    /// Its name in that source.
    slug: String,
}

/// The contribution of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArmReport {
    /// Name of the arm.
    pub arm: Arm,
    /// Weight of the arm in fusion.
    pub weight: f64,
    /// How many pages it brought.
    pub found: usize,
}

/// A stage that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Degraded")]
pub struct DegradedStage {
    /// Name of the stage.
    pub stage: &'static str,
    /// Why, as a stable word.
    pub reason: &'static str,
}

/// Whether a reason speaks of the question and the corpus, such as a name that no page bears, and
/// not of machinery that failed: it comes again wherever the same is asked of the same.
pub fn is_query_specific(reason: &str) -> bool {
    reason == NO_SEED
}

/// The reason of a relational question that names nothing there is a page of.
pub const NO_SEED: &str = "no_seed";

/// The stage that brings the index up to the store before it is searched.
pub const INDEX: &str = "index";

/// The stage that asks a model for other ways to ask the same.
pub const EXPANSION: &str = "expansion";

/// The stage that asks a model for the order of the best candidates.
pub const RERANK: &str = "rerank";

/// The reason of a reranker that found nothing good enough: its order is kept, and nothing is left
/// out.
pub const ALL_BELOW: &str = "all_below_threshold";

/// The stage that drops hits with a low reranker score.
pub const RERANK_THRESHOLD: &str = "rerank_threshold";

/// The reason of a threshold that was calibrated for another model: nothing is left out.
pub const STALE: &str = "stale";

/// How a relational question was understood.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Relation")]
pub struct RelationReport {
    /// Family of the relation.
    pub family: RelationFamily,
    /// The edges that may answer it.
    pub types: Vec<LinkType>,
    /// The names in the question, as written.
    pub seeds: Vec<String>,
    /// The pages that these are, as `source::slug`.
    pub resolved: Vec<PageKey>,
}

// Equal corpora have equal values on every engine.
/// The corpus that was searched, by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Corpus")]
pub struct CorpusFingerprint {
    /// Number of live pages.
    pub pages: u64,
    /// Number of their passages.
    pub chunks: u64,
    /// Their content, as one hash.
    pub root: Hash,
}

/// The stage that dropped the requested page.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhyNot {
    /// The page, as `source::slug`.
    #[serde(rename = "page")]
    pub key: PageKey,
    /// The stage at which it fell out; `answer` if it did not.
    pub stage: &'static str,
    /// The reason in one sentence.
    pub verdict: String,
    /// The effect of every stage on the page.
    pub trace: Vec<TraceStep>,
}

/// The ordered answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The recognised intent of the question.
    pub intent: IntentKind,
    /// Whether recent pages were preferred.
    pub recency: Recency,
    /// The detail it was answered in.
    pub detail: Detail,
    /// The mode it was answered in.
    pub mode: RetrievalMode,
    /// How a relational question was understood.
    pub relation: Option<RelationReport>,
    /// The model whose vectors were searched, if any were.
    pub embedder: Option<String>,
    /// Whether variants of the query took part.
    pub expansion_applied: bool,
    /// The model that judged the best candidates, if one did.
    pub rerank_model: Option<String>,
    /// The contribution of every arm.
    pub arms: Vec<ArmReport>,
    /// Stages that could not do their work.
    pub degraded: Vec<DegradedStage>,
    /// The corpus that was searched.
    pub corpus: CorpusFingerprint,
    pub hits: Vec<Hit>,
    /// Why the page that the caller asked about is missing.
    pub why_not: Option<WhyNot>,
}

/// How long a stage took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTime {
    pub stage: &'static str,
    pub micros: u64,
}

named! {
    /// How the answer cache was used.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum CacheUse {
        /// The answer came from the cache. It equals the result of a new search.
        Hit = "hit",
        /// The answer was not in the cache.
        Miss = "miss",
        /// The cache was not used: it is off, nothing remote takes part, or an explanation was
        /// requested.
        #[default]
        Off = "off",
    }
}

/// How the answer came about; the only part that may differ between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Served")]
pub struct ServingInfo {
    /// The change that the answer is as of.
    pub generation: i64,
    /// How many changes the store was ahead of it.
    pub behind: i64,
    /// Whether the answer came from the cache.
    pub cache: CacheUse,
    /// How long every stage took, in microseconds.
    #[serde(rename = "timings_us", serialize_with = "micros_by_stage")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub timings: Vec<StageTime>,
    /// The id of the answer for feedback; only where answers are logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

fn micros_by_stage<S: Serializer>(timings: &[StageTime], serializer: S) -> Result<S::Ok, S::Error> {
    let one = |StageTime { stage, micros }: &StageTime| ((*stage).to_owned(), (*micros).into());
    timings.iter().map(one).collect::<Map<String, Value>>().serialize(serializer)
}

impl Ranking {
    /// How well it answers, by the evidence of its first hit.
    pub fn grade(&self) -> AnswerGrade {
        if self.degraded.iter().any(|degraded| degraded.reason == ALL_BELOW) {
            return AnswerGrade::Weak;
        }
        match self.hits.first().map(|hit| hit.evidence) {
            Some(
                MatchEvidence::ExactName | MatchEvidence::Relation | MatchEvidence::TitleMatch,
            ) => AnswerGrade::Strong,
            Some(MatchEvidence::AllWords) => AnswerGrade::Moderate,
            Some(MatchEvidence::SomeWords | MatchEvidence::Meaning) | None => AnswerGrade::Weak,
        }
    }
}

impl MatchEvidence {
    /// Whether an agent may conclude from this answer that the thing exists.
    pub fn create_safety(self) -> CreateSafety {
        match self {
            Self::ExactName | Self::TitleMatch => CreateSafety::Exists,
            Self::AllWords => CreateSafety::Probable,
            Self::Relation | Self::SomeWords | Self::Meaning => CreateSafety::Unknown,
        }
    }
}
