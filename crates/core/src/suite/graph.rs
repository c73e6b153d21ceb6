//! Questions about links: whether they are answered, with reasons, and whether the reasons are so.
//!
//! An answer is right if an expected entity stands at the answering end of an edge of an allowed kind,
//! or an expected document is among the results. Which end answers depends on the question: "what depends
//! on Y" is answered by where edges start, "what does Y depend on" by where they end; so either end counts
//! as long as the other is not the answer too. Reasons are faithful if every edge exists as it is claimed,
//! is of an allowed kind, and cites a passage that says so. More than two steps are too far.

use super::query::Family;
use crate::named;
use crate::target::{Rationale, RationaleEdge};

/// The most steps from one end of a rationale to the other.
pub const MOST_HOPS: usize = 2;

/// What is known of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// It exists, and what is cited says so.
    Holds,
    /// It exists, and nothing that is cited says so.
    Uncited,
    /// It does not exist, points the other way, or no longer holds.
    Unknown,
    /// Nobody here can tell.
    Unverifiable,
}

/// Looks an edge up.
pub type Facts<'a> = dyn Fn(&RationaleEdge) -> Fact + Sync + 'a;

/// Whether reasons are so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Faith {
    /// All of them are.
    Faithful,
    /// One is not.
    Unfaithful,
    /// There are none, or nobody can tell.
    Unverified,
}

named! {
    Faith { Faithful = "faithful", Unfaithful = "unfaithful", Unverified = "unverified" }
}

/// What a rationale is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphResult {
    /// Whether an expected entity is at an end of an allowed edge.
    pub names_answer: bool,
    /// Whether there are reasons.
    pub is_present: bool,
    /// Whether they are so.
    pub faith: Faith,
    /// What is wrong with them.
    pub problems: Vec<String>,
}

/// Judges a rationale.
pub fn judge(
    rationale: Option<&Rationale>,
    family: Option<Family>,
    entities: &[String],
    facts: &Facts<'_>,
) -> GraphResult {
    let edges = rationale.map_or(&[][..], |rationale| &rationale.edges);
    let is_allowed =
        |edge: &RationaleEdge| family.is_none_or(|family| is_one_of(&edge.kind, family.edges()));
    let names_answer = edges.iter().filter(|edge| is_allowed(edge)).any(|edge| {
        [&edge.from, &edge.to].into_iter().any(|end| is_named(end, rationale, entities))
    });
    let mut problems: Vec<String> = Vec::new();
    let mut is_verified = true;
    for edge in edges {
        let told = format!("{} -{}-> {}", edge.from, edge.kind, edge.to);
        if !is_allowed(edge) {
            problems.push(format!("{told}: not a kind of link that answers this"));
        }
        match facts(edge) {
            Fact::Holds => {}
            Fact::Uncited => problems.push(format!("{told}: no passage that is cited says so")),
            Fact::Unknown => problems.push(format!("{told}: there is no such link")),
            Fact::Unverifiable => is_verified = false,
        }
    }
    if longest_path(edges) > MOST_HOPS {
        problems.push(format!("the reasons take more than {MOST_HOPS} steps"));
    }
    let faith = match (edges.is_empty(), problems.is_empty(), is_verified) {
        (true, _, _) => Faith::Unverified,
        (_, false, _) => Faith::Unfaithful,
        (_, true, false) => Faith::Unverified,
        (_, true, true) => Faith::Faithful,
    };
    GraphResult { names_answer, is_present: !edges.is_empty(), faith, problems }
}

/// Whether an end of an edge is one of the expected entities, by id or by one of its names.
fn is_named(end: &str, rationale: Option<&Rationale>, entities: &[String]) -> bool {
    let entity = rationale.into_iter().flat_map(|one| &one.entities).find(|one| one.id == end);
    let names = entity.into_iter().flat_map(|entity| &entity.aliases).map(String::as_str);
    let mut names = names.chain([end]);
    names.any(|name| entities.iter().any(|wanted| same(wanted, name)))
}

/// Ids are compared whole, or by their slug where one of them has no source in front.
fn same(a: &str, b: &str) -> bool {
    let bare = |text: &str| text.rsplit("::").next().unwrap_or(text).to_lowercase();
    match (a.contains("::"), b.contains("::")) {
        (true, true) => a.eq_ignore_ascii_case(b),
        _ => bare(a) == bare(b),
    }
}

fn is_one_of(kind: &str, kinds: &[&str]) -> bool {
    kinds.iter().any(|one| one.eq_ignore_ascii_case(kind))
}

/// The most edges in a row, each from where the last one ended, in either direction. Rationales are short;
/// one of more edges than this is taken to be as long as it may look.
fn longest_path(edges: &[RationaleEdge]) -> usize {
    const SMALL: usize = 12;
    if edges.len() > SMALL {
        return steps_from_most_shared(edges);
    }
    (0..edges.len())
        .map(|start| 1 + walk(edges, 1 << start, &edges[start].to, &edges[start].from))
        .max()
        .unwrap_or(0)
}

fn walk(edges: &[RationaleEdge], used: u32, head: &str, from: &str) -> usize {
    let next = edges.iter().enumerate().filter(|(at, _)| used >> at & 1 == 0);
    let onward = next.filter_map(|(at, edge)| match () {
        () if edge.from == head && edge.to != from => Some((at, edge.to.as_str())),
        () if edge.to == head && edge.from != from => Some((at, edge.from.as_str())),
        () => None,
    });
    onward.map(|(at, to)| 1 + walk(edges, used | 1 << at, to, head)).max().unwrap_or(0)
}

/// Of a large rationale: how far the furthest end is from the one that most edges share.
fn steps_from_most_shared(edges: &[RationaleEdge]) -> usize {
    let ends = || edges.iter().flat_map(|edge| [edge.from.as_str(), edge.to.as_str()]);
    let degree = |one: &str| ends().filter(|end| *end == one).count();
    let Some(centre) = ends().max_by_key(|end| degree(end)) else { return 0 };
    let mut reached = vec![centre];
    let mut steps = 0;
    loop {
        let is_in = |end: &str| reached.contains(&end);
        let next: Vec<&str> = edges
            .iter()
            .flat_map(|edge| {
                [(edge.from.as_str(), edge.to.as_str()), (edge.to.as_str(), edge.from.as_str())]
            })
            .filter(|(known, new)| is_in(known) && !is_in(new))
            .map(|(_, new)| new)
            .collect();
        if next.is_empty() {
            return steps;
        }
        reached.extend(next);
        steps += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::RationaleEntity;

    fn edge(from: &str, kind: &str, to: &str) -> RationaleEdge {
        RationaleEdge {
            kind: kind.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            confidence: None,
            evidence: vec!["c1".to_owned()],
        }
    }

    fn judged(edges: Vec<RationaleEdge>, fact: Fact) -> GraphResult {
        let entities =
            vec![RationaleEntity { id: "t1".to_owned(), aliases: vec!["Routing Team".to_owned()] }];
        let rationale = Rationale { edges, entities, evidence: Vec::new() };
        judge(Some(&rationale), Some(Family::Ownership), &["routing team".to_owned()], &|_| fact)
    }

    #[test]
    fn an_answer_by_name() {
        let found = judged(vec![edge("planner", "OWNED_BY", "t1")], Fact::Holds);
        assert!(found.names_answer && found.is_present, "{found:?}");
        assert_eq!(found.faith, Faith::Faithful);
        let found = judged(vec![edge("planner", "OWNED_BY", "t2")], Fact::Holds);
        assert!(!found.names_answer);
    }

    #[test]
    fn reasons_that_are_not_so() {
        let faith = |edges, fact| judged(edges, fact).faith;
        let owned = || vec![edge("planner", "owned_by", "t1")];
        assert_eq!(faith(owned(), Fact::Unknown), Faith::Unfaithful);
        assert_eq!(faith(owned(), Fact::Uncited), Faith::Unfaithful);
        assert_eq!(faith(owned(), Fact::Unverifiable), Faith::Unverified);
        assert_eq!(
            faith(vec![edge("planner", "references", "t1")], Fact::Holds),
            Faith::Unfaithful
        );
        assert_eq!(faith(Vec::new(), Fact::Holds), Faith::Unverified);
    }

    #[test]
    fn more_than_two_steps_are_too_far() {
        let chain = |n: usize| -> Vec<RationaleEdge> {
            (0..n).map(|at| edge(&format!("n{at}"), "owned_by", &format!("n{}", at + 1))).collect()
        };
        assert_eq!(judged(chain(2), Fact::Holds).faith, Faith::Faithful);
        assert_eq!(judged(chain(3), Fact::Holds).faith, Faith::Unfaithful);
        let star: Vec<_> = (0..30).map(|at| edge(&format!("n{at}"), "owned_by", "t1")).collect();
        assert_eq!(judged(star, Fact::Holds).faith, Faith::Faithful);
        assert_eq!(judged(chain(30), Fact::Holds).faith, Faith::Unfaithful);
    }

    #[test]
    fn ids_with_and_without_their_source() {
        assert!(same("wiki::teams/routing", "teams/routing"));
        assert!(same("Teams/Routing", "wiki::teams/routing"));
        assert!(!same("wiki::teams/routing", "port::teams/routing"));
    }
}
