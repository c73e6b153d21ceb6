//! Walks over typed links, with the edges and evidence that justify every page they reach.
//!
//! A link stores its target as the author wrote it; the target is resolved to a page when it is
//! read. So a link may precede the page it points to, and a corpus gives the same graph in any
//! write order.

use std::collections::BTreeMap;
use std::sync::Arc;

use gbrain_core::id::{PageId, PageKey, SourceId};
use gbrain_core::link::{Direction, LinkType};
use gbrain_core::ranking::Edge;
use gbrain_core::request::{Filter, Request, Viewer};
use gbrain_core::search::relation::{RelationFamily, RelationQuestion, WalkStep};
use gbrain_core::text::name_key;
use gbrain_index::{LinkEntry, NameKind, PageEntry, View};
use gbrain_store::Source;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::arms::GraphPage;
use super::names::{entitled, is_trusted};

/// An edge of a page, with the page at its other end.
#[derive(Debug, Clone)]
pub(crate) struct FoundEdge {
    pub(crate) edge: Edge,
    pub(crate) other: Arc<PageEntry>,
    /// Its direction, seen from the page that was queried.
    direction: Direction,
}

/// The graph of one view, as one caller may see it.
pub(crate) struct LinkGraph<'a> {
    view: &'a dyn View,
    sources: &'a [Source],
    trust: Viewer,
    resolved: FxHashMap<(String, SourceId), Option<Arc<PageEntry>>>,
    /// Whether the walk was cancelled: a page may have very many edges.
    is_stopped: &'a dyn Fn() -> bool,
}

type PagesByKey = BTreeMap<PageKey, GraphPage>;

impl<'a> LinkGraph<'a> {
    pub(crate) fn new(
        view: &'a dyn View,
        sources: &'a [Source],
        trust: Viewer,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { view, sources, trust, resolved: FxHashMap::default(), is_stopped }
    }

    fn check_stop(&self) -> Result<(), BrainError> {
        if (self.is_stopped)() { Err(BrainError::Halted) } else { Ok(()) }
    }

    /// The pages that answer a question, best first.
    pub(super) fn walk(
        &mut self,
        question: &RelationQuestion,
        seeds: &[Arc<PageEntry>],
        request: &Request,
    ) -> Result<Vec<GraphPage>, BrainError> {
        if question.family == RelationFamily::Connection {
            return self.connect(question, seeds, request);
        }
        let mut pages = PagesByKey::new();
        for seed in seeds {
            let first = self.step(seed, question.first, 1, request)?;
            if let Some(second) = question.second {
                for found in &first {
                    let behind = self.step(&found.other.clone(), second, 2, request)?;
                    add(&mut pages, behind, request);
                }
            }
            add(&mut pages, first, request);
        }
        for seed in seeds {
            pages.remove(&seed.key);
        }
        Ok(sorted_by_score(pages))
    }

    /// The pages between two seeds, or around one.
    fn connect(
        &mut self,
        question: &RelationQuestion,
        seeds: &[Arc<PageEntry>],
        request: &Request,
    ) -> Result<Vec<GraphPage>, BrainError> {
        let mut neighbourhoods = Vec::new();
        for seed in seeds {
            let mut pages = PagesByKey::new();
            for direction in [Direction::Out, Direction::In] {
                let step = WalkStep { direction, ..question.first };
                add(&mut pages, self.step(seed, step, 1, request)?, request);
            }
            neighbourhoods.push(pages);
        }
        let mut pages = neighbourhoods.pop().unwrap_or_default();
        for others in neighbourhoods {
            pages = intersect(pages, others, seeds);
        }
        Ok(sorted_by_score(pages))
    }

    /// The edges that one step follows from a page, strongest first, at most `graph_fanout`.
    fn step(
        &mut self,
        from: &PageEntry,
        step: WalkStep,
        hop: u32,
        request: &Request,
    ) -> Result<Vec<FoundEdge>, BrainError> {
        let mut edges = self.edges_of(from)?;
        edges.retain(|found| {
            found.direction == step.direction && step.types.contains(&found.edge.link_type)
        });
        edges.truncate(request.settings.graph_fanout as usize);
        for found in &mut edges {
            found.edge.hop = Some(hop);
        }
        Ok(edges)
    }

    /// All edges of a page, stated by itself or by others: one per link type and pair of pages,
    /// with the strongest evidence; strongest first, then by name.
    pub(crate) fn edges_of(&mut self, entry: &PageEntry) -> Result<Vec<FoundEdge>, BrainError> {
        let mut edges: BTreeMap<(LinkType, PageKey, PageKey), FoundEdge> = BTreeMap::new();
        for stated in self.view.links_of(entry.id, self.trust)? {
            self.check_stop()?;
            if let Some(other) = self.resolve(&stated.link.target, &entry.key.source)?
                && other.id != entry.id
            {
                keep_stronger(&mut edges, found(entry, &other, entry, &stated));
            }
        }
        for (_, name) in entry.names() {
            for stated in self.view.links_to(&name, self.trust)? {
                self.check_stop()?;
                if let Some(owner) = self.owner_of(&stated, entry.id)? {
                    keep_stronger(&mut edges, found(entry, &owner, &owner, &stated));
                }
            }
        }
        let mut edges: Vec<FoundEdge> = edges.into_values().collect();
        // Invariant: the map's order breaks ties, so the sort must be stable.
        edges.sort_by(|a, b| b.edge.confidence.total_cmp(&a.edge.confidence));
        Ok(edges)
    }

    /// The page that states a link, if the link resolves to `page` and not to a page of the same
    /// name.
    fn owner_of(
        &mut self,
        stated: &LinkEntry,
        page: PageId,
    ) -> Result<Option<Arc<PageEntry>>, BrainError> {
        if stated.owner == page {
            return Ok(None);
        }
        let Some(owner) = self.view.entry(stated.owner, self.trust)? else { return Ok(None) };
        let target = self.resolve(&stated.link.target, &owner.key.source)?;
        Ok(target.filter(|target| target.id == page).map(|_| owner))
    }

    /// Resolves a link target: first a slug in the link's own source, then a page entitled to the
    /// name, preferably in the link's own source.
    fn resolve(
        &mut self,
        target: &str,
        from: &SourceId,
    ) -> Result<Option<Arc<PageEntry>>, BrainError> {
        let key = name_key(target);
        let memo = (key, from.clone());
        if let Some(known) = self.resolved.get(&memo) {
            return Ok(known.clone());
        }
        let everything = Filter { trust: self.trust, ..Filter::default() };
        let named =
            if memo.0.is_empty() { Vec::new() } else { self.view.named(&memo.0, &everything)? };
        let own_slug =
            named.iter().find(|n| n.how == NameKind::Slug && n.entry.key.source == *from).cloned();
        let chosen = own_slug.or_else(|| {
            let mut candidates = entitled(named, self.sources);
            candidates.sort_by_key(|n| {
                (!is_trusted(self.sources, n), n.how, n.entry.key.source != *from)
            });
            candidates.into_iter().next()
        });
        let entry = chosen.map(|named| named.entry);
        self.resolved.insert(memo, entry.clone());
        Ok(entry)
    }

    /// Link targets of a page that resolve to no page.
    pub(crate) fn unresolved(&mut self, entry: &PageEntry) -> Result<Vec<String>, BrainError> {
        let mut targets = Vec::new();
        for stated in self.view.links_of(entry.id, self.trust)? {
            self.check_stop()?;
            if self.resolve(&stated.link.target, &entry.key.source)?.is_none() {
                targets.push(stated.link.target);
            }
        }
        targets.sort();
        targets.dedup();
        Ok(targets)
    }
}

/// An edge as seen from `at`, stated by `owner`, whose other end is `other`.
fn found(
    at: &PageEntry,
    other: &Arc<PageEntry>,
    owner: &PageEntry,
    stated: &LinkEntry,
) -> FoundEdge {
    let link = &stated.link;
    let owner_is_from = link.direction == Direction::Out;
    let at_is_from = owner_is_from == (owner.id == at.id);
    let (from, to) = if at_is_from { (&at.key, &other.key) } else { (&other.key, &at.key) };
    FoundEdge {
        edge: Edge {
            link_type: link.link_type,
            from: from.clone(),
            to: to.clone(),
            hop: None,
            confidence: link.confidence,
            detected_by: link.detected_by,
            since: link.since,
            until: link.until,
            evidence_page: owner.key.clone(),
            evidence_ordinal: link.evidence_chunk,
            evidence_chunk: None,
            evidence_start: link.evidence_start,
            evidence_end: link.evidence_end,
        },
        other: Arc::clone(other),
        direction: if at_is_from { Direction::Out } else { Direction::In },
    }
}

fn keep_stronger(edges: &mut BTreeMap<(LinkType, PageKey, PageKey), FoundEdge>, new: FoundEdge) {
    let key = (new.edge.link_type, new.edge.from.clone(), new.edge.to.clone());
    let rank = |found: &FoundEdge| {
        (found.edge.confidence, found.edge.since.is_some() || found.edge.until.is_some())
    };
    match edges.get(&key) {
        Some(old) if rank(old) >= rank(&new) => {}
        _ => {
            edges.insert(key, new);
        }
    }
}

fn add(pages: &mut PagesByKey, found: Vec<FoundEdge>, request: &Request) {
    let today = request.now.to_zoned(TimeZone::UTC).date();
    for FoundEdge { edge, other, .. } in found {
        let score = edge_score(&edge, today, request);
        let reached = pages.entry(other.key.clone()).or_insert_with(|| GraphPage {
            entry: other,
            score: 0.0,
            edges: Vec::new(),
        });
        reached.score = reached.score.max(score);
        reached.edges.push(edge);
    }
}

fn edge_score(edge: &Edge, today: Date, request: &Request) -> f64 {
    let settings = &request.settings;
    let is_over = edge.until.is_some_and(|until| until < today)
        || edge.since.is_some_and(|since| since > today);
    let age = if is_over { settings.graph_expired_factor } else { 1.0 };
    let distance =
        if edge.hop.is_some_and(|hop| hop > 1) { settings.graph_hop_factor } else { 1.0 };
    edge.confidence * age * distance
}

/// Pages that two neighbourhoods share; a seed counts if the other neighbourhood contains it.
fn intersect(a: PagesByKey, mut b: PagesByKey, seeds: &[Arc<PageEntry>]) -> PagesByKey {
    let is_seed = |key: &PageKey| seeds.iter().any(|seed| seed.key == *key);
    let mut shared = PagesByKey::new();
    for (key, mut reached) in a {
        match b.remove(&key) {
            Some(other) => {
                reached.score = reached.score.min(other.score);
                reached.edges.extend(other.edges);
                shared.insert(key, reached);
            }
            None if is_seed(&key) => {
                shared.insert(key, reached);
            }
            None => {}
        }
    }
    shared.extend(b.into_iter().filter(|(key, _)| is_seed(key)));
    shared
}

fn sorted_by_score(pages: PagesByKey) -> Vec<GraphPage> {
    let mut reached: Vec<GraphPage> = pages.into_values().collect();
    // Invariant: the map's order, by name, breaks ties.
    reached.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| b.edges.len().cmp(&a.edges.len()))
    });
    reached
}
