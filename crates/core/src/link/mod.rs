//! Typed, directed, dated edges between pages, each with the evidence that justifies it.
//!
//! The type of an edge is read from frontmatter, from typed lines and from the words of the
//! sentence round a link, in falling order of confidence. Where the text does not say, the edge is
//! a mention: a wrong type costs more than a missing one. Nothing is resolved here: a target may
//! not exist yet.

mod clause;
mod cue;
mod extract;
mod find;
mod key;
mod when;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::named;

pub(crate) use self::extract::{Links, PageSubject, edge_of_relation, extract};
pub use self::find::{target_of_address, target_of_value};
pub(crate) use self::key::relation_of_key;

named! {
    /// The type of an edge. Directions read as `from TYPE to`: a person works_at a company.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum LinkType {
        WorksAt = "works_at",
        Founded = "founded",
        /// person or company → company
        InvestedIn = "invested_in",
        Advises = "advises",
        Attended = "attended",
        /// service, project, component, document → team or person
        OwnedBy = "owned_by",
        MemberOf = "member_of",
        DependsOn = "depends_on",
        BlockedBy = "blocked_by",
        /// change or ticket → issue
        Resolves = "resolves",
        /// project, ticket, page → goal
        AlignsWithGoal = "aligns_with_goal",
        /// A link whose type the text does not state.
        Mentions = "mentions",
    }
}

named! {
    /// Which end of the edge the page with the evidence is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Direction {
        /// The page is `from`, the target `to`.
        Out = "out",
        /// The page is `to`, the target `from`: a company's page that says who founded it.
        In = "in",
    }
}

named! {
    /// The method that found the edge.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DetectedBy {
        /// A typed relation in the frontmatter.
        Frontmatter = "frontmatter",
        /// A line such as `- depends_on: [[x]]`.
        TypedLine = "typed_line",
        /// The words of the sentence round the link.
        Sentence = "sentence",
        /// A link without further evidence.
        Link = "link",
    }
}

/// An edge, as the page states it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PageLink")]
pub struct Link {
    /// The type of the edge.
    #[serde(rename = "type")]
    pub link_type: LinkType,
    /// Whether the page is where the edge starts or where it ends.
    pub direction: Direction,
    // A slug, `source::slug`, a title or an alias. Resolved when it is read, so a link may come
    // before the page it points to.
    /// The other end, as written.
    pub target: String,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// The method that found it.
    pub detected_by: DetectedBy,
    /// From when it held.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub since: Option<Date>,
    /// Until when it held.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub until: Option<Date>,
    /// The chunk that holds the evidence; none when it is in the frontmatter.
    #[serde(skip)]
    pub evidence_chunk: Option<u32>,
    /// First character of the evidence in the content.
    pub evidence_start: u32,
    /// One past its last.
    pub evidence_end: u32,
}
