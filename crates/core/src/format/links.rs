//! Edges with their evidence: those of a page, and those that justify a hit.

use schemars::JsonSchema;
use serde::Serialize;

use crate::id::PageKey;
use crate::link::{DetectedBy, LinkType};
use crate::ranking::Edge;

use super::page::day;

/// What `links --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinksBody<'a> {
    /// The page, as `source::slug`.
    page: String,
    /// Edges out of it and into it, strongest first.
    edges: Vec<WireEdge<'a>>,
    /// Link targets for which there is no page yet.
    unresolved: &'a [String],
}

/// A typed, directed, dated edge.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Edge")]
pub(super) struct WireEdge<'a> {
    /// Its meaning: `from` TYPE `to`.
    #[serde(rename = "type")]
    link_type: LinkType,
    /// The page where it starts, as `source::slug`.
    from: String,
    /// The page where it ends, as `source::slug`.
    to: String,
    /// In an answer, how many steps it is from what the question names.
    #[serde(skip_serializing_if = "Option::is_none")]
    hop: Option<u32>,
    /// How sure, 0 to 1.
    confidence: f64,
    /// What found it.
    detected_by: DetectedBy,
    /// From when it held.
    #[schemars(extend("format" = "date"))]
    since: Option<String>,
    /// Until when it held.
    #[schemars(extend("format" = "date"))]
    until: Option<String>,
    /// The page that says so, as `source::slug`.
    evidence_page: String,
    /// The passage that says so; null when it is in the frontmatter.
    evidence_chunk: Option<&'a str>,
    /// First character of the evidence in that page's content.
    evidence_start: u32,
    /// One past its last.
    evidence_end: u32,
}

impl<'a> LinksBody<'a> {
    /// The wire form of a page's edges.
    pub fn new(page: &PageKey, edges: &'a [Edge], unresolved: &'a [String]) -> Self {
        Self {
            page: page.to_string(),
            edges: edges.iter().map(WireEdge::of_page).collect(),
            unresolved,
        }
    }
}

impl<'a> WireEdge<'a> {
    /// An edge of a page: nothing was asked, so it is no number of steps away.
    fn of_page(edge: &'a Edge) -> Self {
        Self { hop: None, ..Self::of_answer(edge) }
    }

    /// An edge of an answer.
    pub(super) fn of_answer(edge: &'a Edge) -> Self {
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
            link_type: *link_type,
            from: from.to_string(),
            to: to.to_string(),
            hop: Some(*hop),
            confidence: *confidence,
            detected_by: *detected_by,
            since: day(*since),
            until: day(*until),
            evidence_page: evidence_page.to_string(),
            evidence_chunk: evidence_chunk.as_deref(),
            evidence_start: *evidence_start,
            evidence_end: *evidence_end,
        }
    }
}
