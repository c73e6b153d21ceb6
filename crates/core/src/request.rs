//! A request: everything that a retrieval depends on besides the corpus.
//!
//! Time-dependent stages take `now` from here, so replaying a request years later asks the same
//! thing.

use jiff::Timestamp;
use jiff::civil::Date;

use crate::hook::HookError;
use crate::id::SourceId;
use crate::named;
use crate::search::Settings;

/// The version of the request record.
pub(crate) const REQUEST_VERSION: u32 = 1;

named! {
    /// The operation of a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Operation {
        Search = "search",
        #[default]
        Query = "query",
    }
}

named! {
    /// How much of each page an answer shows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Detail {
        /// Compiled truth only, one passage a page.
        Low = "low",
        /// Truth and timeline, up to two passages a page.
        Medium = "medium",
        /// Everything, up to three passages a page.
        High = "high",
    }
}

named! {
    /// Which half of the brain answers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum RetrievalMode {
        /// Words, names and meaning.
        Knowledge = "knowledge",
        /// Names and typed links.
        Graph = "graph",
        Hybrid = "hybrid",
    }
}

named! {
    /// Whether the caller may see private pages.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Viewer {
        /// Sees world-visible pages only. The default: trust is given, never assumed.
        #[default]
        Untrusted = "untrusted",
        /// The owner at the keyboard.
        Trusted = "trusted",
    }
}

/// Which pages may be in the answer. Applied inside every arm, before anything is cut.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these sources; empty means all.
    pub sources: Vec<SourceId>,
    /// Only these page types; empty means all.
    pub types: Vec<String>,
    /// Only pages with at least one of these tags; empty means all.
    pub tags: Vec<String>,
    /// Only pages dated on or after this day. A page without a date does not pass.
    pub since: Option<Date>,
    /// Only pages dated on or before this day. A page without a date does not pass.
    pub until: Option<Date>,
    /// The viewer whose visibility rules apply.
    pub trust: Viewer,
    pub truth_only: bool,
}

/// The caller. No ranking depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caller {
    /// Whether the request came over a wire.
    pub remote: bool,
    /// Number of the calling job.
    pub job_id: Option<i64>,
    /// Number of the calling subagent.
    pub subagent_id: Option<i64>,
}

impl Caller {
    /// Range of the numbers of jobs and subagents: integers that every JSON reader represents
    /// exactly.
    pub const ID_RANGE: std::ops::RangeInclusive<i64> = 0..=(1 << 53) - 1;
}

/// Query variants made by a model.
///
/// The model's output is part of the request: a replay uses the same variants and calls no model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expansion {
    /// Expansion was not requested.
    #[default]
    Off,
    /// Requested, but no model has been called yet.
    Requested,
    /// The variants in the model's order. Never empty.
    Variants(Vec<String>),
    /// Requested, but no variants could be obtained.
    Failed(HookError),
}

/// A versioned record of everything a retrieval depends on besides the corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub operation: Operation,
    /// The query as typed. It is text, never syntax.
    pub query: String,
    /// How many pages to answer with.
    pub limit: usize,
    /// The requested detail; none lets the intent decide.
    pub detail: Option<Detail>,
    /// Which half of the brain answers.
    pub mode: RetrievalMode,
    /// Which pages may be in the answer.
    pub filter: Filter,
    /// Whether the vector arm may run.
    pub vectors: bool,
    /// Other ways to ask the same.
    pub expansion: Expansion,
    /// The time that recency is measured against.
    pub now: Timestamp,
    /// Every number of the pipeline.
    pub settings: Settings,
}

impl Expansion {
    /// Whether expansion was requested.
    pub fn is_requested(&self) -> bool {
        *self != Self::Off
    }

    /// The variants, in their order.
    pub fn variants(&self) -> &[String] {
        match self {
            Self::Variants(variants) => variants,
            Self::Off | Self::Requested | Self::Failed(_) => &[],
        }
    }
}
