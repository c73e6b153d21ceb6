//! A ranking: the ordered answer to a request, without duplicate pages, each hit explained.

use jiff::civil::Date;

use crate::chunk::Part;
use crate::hash::Hash;
use crate::id::PageKey;
use crate::link::{DetectedBy, LinkType};
use crate::named;
use crate::request::{Detail, RetrievalMode};
use crate::search::intent::{IntentKind, Recency};
use crate::search::relation::Family;

/// A way of finding pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arm {
    /// BM25 over title, section and body.
    Words,
    /// Meaning.
    Vectors,
    /// Slugs, titles, aliases and identifiers equal to the whole query.
    Names,
    /// Walks over typed links.
    Graph,
}

/// The strongest reason a hit is in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Evidence {
    /// The query is a name of the page.
    ExactName,
    /// A typed edge answers the question.
    Relation,
    /// The title holds the query as a phrase.
    TitleMatch,
    /// One passage holds every word of the query.
    AllWords,
    /// A passage holds some of the words.
    SomeWords,
    /// A passage is near in meaning and holds none of the words.
    Meaning,
}

/// What an agent may conclude about whether the thing it looked for is already in the brain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CreateSafety {
    /// It is there: do not create it again.
    Exists,
    /// It is probably there.
    Probable,
    /// Nothing says so.
    Unknown,
}

/// How well the brain answers a question as a whole, for an agent that decides whether to look elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grade {
    /// A name, a title or an edge says that the first page is meant.
    Strong,
    /// One passage of the first page holds every word.
    Moderate,
    /// Some words or nearness alone, nothing, or nothing that a reranker found good enough. A cosine is no
    /// better ground: what is high differs from model to model and from question to question.
    Weak,
}

/// A passage of a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageHit {
    /// The chunk's id.
    pub chunk_id: String,
    /// Its place in the page.
    pub ordinal: u32,
    /// Which part of the page it is from.
    pub part: Part,
    /// The headings above it.
    pub section: String,
    /// First character in the page's content.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// BM25 of the passage; none when another arm brought it.
    pub score: Option<f64>,
    /// The part of the passage worth showing.
    pub snippet: String,
    /// Matching words, as character ranges into the snippet.
    pub highlights: Vec<(u32, u32)>,
}

/// An edge that justifies a hit, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// Its meaning.
    pub link_type: LinkType,
    /// Where it starts.
    pub from: PageKey,
    /// Where it ends.
    pub to: PageKey,
    /// How many steps from what the question names: 1 or 2.
    pub hop: u32,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// What found it.
    pub detected_by: DetectedBy,
    /// From when it held.
    pub since: Option<Date>,
    /// Until when it held.
    pub until: Option<Date>,
    /// The page that says so.
    pub evidence_page: PageKey,
    /// The place of the chunk that says so in that page; none when it is in the frontmatter.
    pub evidence_ordinal: Option<u32>,
    /// That chunk's id; filled in when an answer is made.
    pub evidence_chunk: Option<String>,
    /// First character of the evidence in that page's content.
    pub evidence_start: u32,
    /// One past the last.
    pub evidence_end: u32,
}

/// What one stage did to one page.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceStep {
    /// The stage: an arm, `fuse`, a boost, `dedup`, `cut`, `limit`.
    pub stage: &'static str,
    /// The page's rank after it, from 1; none when the page was not in it.
    pub rank: Option<usize>,
    /// The page's score after it.
    pub score: Option<f64>,
    /// What happened, in words.
    pub note: String,
}

/// One page of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// Its name.
    pub key: PageKey,
    /// Its title.
    pub title: String,
    /// Its type.
    pub page_type: String,
    /// When what it tells of happened.
    pub effective_date: Option<Date>,
    /// BM25 for `search`; for `query` fused and boosted, 1.0 being first in every arm unboosted.
    pub score: f64,
    /// Why it is here.
    pub evidence: Evidence,
    /// What an agent may conclude.
    pub create_safety: CreateSafety,
    /// Its best passages, best first.
    pub passages: Vec<PassageHit>,
    /// The edges that justify it.
    pub edges: Vec<Edge>,
    /// Pages left out because they say the same.
    pub duplicates: Vec<PageKey>,
    /// What every stage did to it; empty unless asked for.
    pub trace: Vec<TraceStep>,
}

/// What an arm brought.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmReport {
    /// The arm.
    pub arm: Arm,
    /// Its weight in fusion.
    pub weight: f64,
    /// How many pages it brought.
    pub found: usize,
}

/// A stage that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Degraded {
    /// The stage.
    pub stage: &'static str,
    /// Why, as a stable word.
    pub reason: &'static str,
}

/// Whether a reason speaks of the question and the corpus, such as a name that no page bears, and
/// not of machinery that failed: it comes again wherever the same is asked of the same.
pub fn is_of_the_question(reason: &str) -> bool {
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

/// The stage that leaves out what a reranker scored low.
pub const RERANK_THRESHOLD: &str = "rerank_threshold";

/// The reason of a threshold that was calibrated for another model: nothing is left out.
pub const STALE: &str = "stale";

/// How a relational question was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationReport {
    /// Its family.
    pub family: Family,
    /// The edges that may answer it.
    pub types: Vec<LinkType>,
    /// What it names, as written.
    pub seeds: Vec<String>,
    /// The pages that these resolved to.
    pub resolved: Vec<PageKey>,
}

/// The corpus that was searched, by content: equal corpora have equal values on every engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusPrint {
    /// Live pages.
    pub pages: u64,
    /// Live chunks.
    pub chunks: u64,
    /// Their content, order-independent.
    pub root: Hash,
}

/// Where a page that was asked about fell out.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyNot {
    /// The page.
    pub key: PageKey,
    /// The stage at which it fell out: `corpus`, `filter`, an arm, `dedup`, `cut`, `limit`; or
    /// `answer`, if it did not.
    pub stage: &'static str,
    /// In one sentence.
    pub verdict: String,
    /// What every stage did to it.
    pub trace: Vec<TraceStep>,
}

/// The ordered answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// What the question was understood to be.
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
    /// What every arm brought.
    pub arms: Vec<ArmReport>,
    /// Stages that could not do their work.
    pub degraded: Vec<Degraded>,
    /// The corpus that was searched.
    pub corpus: CorpusPrint,
    /// The answer.
    pub hits: Vec<Hit>,
    /// Where the page fell out that the caller asked about.
    pub why_not: Option<WhyNot>,
}

named! { Arm { Words = "words", Vectors = "vectors", Names = "names", Graph = "graph" } }
named! {
    Evidence {
        ExactName = "exact_name",
        Relation = "relation",
        TitleMatch = "title_match",
        AllWords = "all_words",
        SomeWords = "some_words",
        Meaning = "meaning",
    }
}
named! { Grade { Strong = "strong", Moderate = "moderate", Weak = "weak" } }
named! { CreateSafety { Exists = "exists", Probable = "probable", Unknown = "unknown" } }

impl Ranking {
    /// How well it answers, by the evidence of its first hit.
    pub fn grade(&self) -> Grade {
        if self.degraded.iter().any(|degraded| degraded.reason == ALL_BELOW) {
            return Grade::Weak;
        }
        match self.hits.first().map(|hit| hit.evidence) {
            Some(Evidence::ExactName | Evidence::Relation | Evidence::TitleMatch) => Grade::Strong,
            Some(Evidence::AllWords) => Grade::Moderate,
            Some(Evidence::SomeWords | Evidence::Meaning) | None => Grade::Weak,
        }
    }
}

impl Evidence {
    /// What an agent may conclude from it.
    pub fn create_safety(self) -> CreateSafety {
        match self {
            Self::ExactName | Self::TitleMatch => CreateSafety::Exists,
            Self::AllWords => CreateSafety::Probable,
            Self::Relation | Self::SomeWords | Self::Meaning => CreateSafety::Unknown,
        }
    }
}
