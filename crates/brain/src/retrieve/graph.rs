//! Walks over typed links, with the edges and evidence that justify every page they reach.
//!
//! A link names its other end as its author wrote it; which page that is, is decided here, when it
//! is read. So a link may come before the page it points to, and the same corpus gives the same
//! graph in whatever order it was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use gbrain_core::id::{PageId, PageKey, SourceId};
use gbrain_core::link::{Direction, LinkType};
use gbrain_core::ranking::Edge;
use gbrain_core::request::{Filter, Request, Viewer};
use gbrain_core::search::relation::{Family, RelationQuestion, Step};
use gbrain_core::text::name_key;
use gbrain_index::{LinkEntry, NameKind, PageEntry, View};
use gbrain_store::Source;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::arms::Reached;
use super::names::{is_trusted, rightful};

/// An edge at a page, with the page at its other end.
#[derive(Debug, Clone)]
pub(crate) struct FoundEdge {
    pub(crate) edge: Edge,
    pub(crate) other: Arc<PageEntry>,
    /// Which way it leads, seen from the page that was asked about.
    direction: Direction,
}

/// The graph of one view, as one caller may see it.
pub(crate) struct Graph<'a> {
    view: &'a dyn View,
    sources: &'a [Source],
    trust: Viewer,
    resolved: FxHashMap<(String, SourceId), Option<Arc<PageEntry>>>,
    /// Whether nobody waits for the walk any more: a page may have very many edges.
    is_stopped: &'a dyn Fn() -> bool,
}

type Reaches = BTreeMap<PageKey, Reached>;

impl<'a> Graph<'a> {
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
    ) -> Result<Vec<Reached>, BrainError> {
        if question.family == Family::Connection {
            return self.connect(question, seeds, request);
        }
        let mut reaches = Reaches::new();
        for seed in seeds {
            let first = self.step(seed, question.first, 1, request)?;
            if let Some(second) = question.second {
                for found in &first {
                    let behind = self.step(&found.other.clone(), second, 2, request)?;
                    add(&mut reaches, behind, request);
                }
            }
            add(&mut reaches, first, request);
        }
        for seed in seeds {
            reaches.remove(&seed.key);
        }
        Ok(in_order(reaches))
    }

    /// What lies between two pages, or round one.
    fn connect(
        &mut self,
        question: &RelationQuestion,
        seeds: &[Arc<PageEntry>],
        request: &Request,
    ) -> Result<Vec<Reached>, BrainError> {
        let mut neighbourhoods = Vec::new();
        for seed in seeds {
            let mut reaches = Reaches::new();
            for direction in [Direction::Out, Direction::In] {
                let step = Step { direction, ..question.first };
                add(&mut reaches, self.step(seed, step, 1, request)?, request);
            }
            neighbourhoods.push(reaches);
        }
        let mut reaches = neighbourhoods.pop().unwrap_or_default();
        for others in neighbourhoods {
            reaches = both(reaches, others, seeds);
        }
        Ok(in_order(reaches))
    }

    /// The edges that one step follows from a page, strongest first, at most `graph_fanout`.
    fn step(
        &mut self,
        from: &PageEntry,
        step: Step,
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

    /// Every edge at a page: what it states itself and what others state of it. One per meaning
    /// and pair of pages, by its strongest evidence; strongest first, then by name.
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

    /// The page that states a link, if the link really means `page` and not a namesake.
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

    /// Which page a link's target is: a slug of the link's own source first, then whoever bears
    /// the name rightfully, in the link's own source if it can be.
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
        let anybody = Filter { trust: self.trust, ..Filter::default() };
        let named =
            if memo.0.is_empty() { Vec::new() } else { self.view.named(&memo.0, &anybody)? };
        let own_slug =
            named.iter().find(|n| n.how == NameKind::Slug && n.entry.key.source == *from).cloned();
        let chosen = own_slug.or_else(|| {
            let mut candidates = rightful(named, self.sources);
            candidates.sort_by_key(|n| {
                (!is_trusted(self.sources, n), n.how, n.entry.key.source != *from)
            });
            candidates.into_iter().next()
        });
        let entry = chosen.map(|named| named.entry);
        self.resolved.insert(memo, entry.clone());
        Ok(entry)
    }

    /// Link targets of a page for which there is no page.
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

fn add(reaches: &mut Reaches, found: Vec<FoundEdge>, request: &Request) {
    let today = request.now.to_zoned(TimeZone::UTC).date();
    for FoundEdge { edge, other, .. } in found {
        let score = worth(&edge, today, request);
        let reached = reaches.entry(other.key.clone()).or_insert_with(|| Reached {
            entry: other,
            score: 0.0,
            edges: Vec::new(),
        });
        reached.score = reached.score.max(score);
        reached.edges.push(edge);
    }
}

fn worth(edge: &Edge, today: Date, request: &Request) -> f64 {
    let settings = &request.settings;
    let is_over = edge.until.is_some_and(|until| until < today)
        || edge.since.is_some_and(|since| since > today);
    let age = if is_over { settings.graph_expired_factor } else { 1.0 };
    let distance =
        if edge.hop.is_some_and(|hop| hop > 1) { settings.graph_hop_factor } else { 1.0 };
    edge.confidence * age * distance
}

/// Pages that two neighbourhoods share; the seeds themselves count when they are each other's.
fn both(a: Reaches, mut b: Reaches, seeds: &[Arc<PageEntry>]) -> Reaches {
    let is_seed = |key: &PageKey| seeds.iter().any(|seed| seed.key == *key);
    let mut shared = Reaches::new();
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

fn in_order(reaches: Reaches) -> Vec<Reached> {
    let mut reached: Vec<Reached> = reaches.into_values().collect();
    // Invariant: the map's order, by name, breaks ties.
    reached.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| b.edges.len().cmp(&a.edges.len()))
    });
    reached
}
