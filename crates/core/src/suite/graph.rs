//! Scores graph answers and their rationales.
//!
//! An answer is correct if an expected entity is at the answering end of an edge of an allowed
//! type, or an expected document is among the results. The question determines the answering end:
//! "what depends on Y" is answered by the start of an edge, "what does Y depend on" by its end. A
//! query may name the end; otherwise either end counts. A rationale is faithful if every edge
//! exists as claimed, has an allowed type, and cites a passage that supports it. A rationale may
//! span at most two hops.

use std::collections::HashSet;

use super::query::{EdgeEnd, QuestionFamily};
use crate::link::LinkType;
use crate::named;
use crate::target::{GraphEvidence, RationaleEdge};

/// The maximum number of hops in a rationale.
pub(crate) const MOST_HOPS: usize = 2;

/// The result of checking an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeCheck {
    /// The edge exists and a cited passage supports it.
    Holds,
    /// The edge exists, but no cited passage supports it.
    Uncited,
    /// The edge does not exist, has the other direction, or is no longer valid.
    Unknown,
    /// The edge cannot be checked here.
    Unverifiable,
}

pub type EdgeChecker<'a> = dyn Fn(&RationaleEdge) -> EdgeCheck + Sync + 'a;

named! {
    /// Whether a rationale is faithful.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Faithfulness {
        /// Every edge is confirmed.
        Faithful = "faithful",
        Unfaithful = "unfaithful",
        /// There is no rationale, or its edges cannot be checked.
        Unverified = "unverified",
    }
}

/// The assessment of a rationale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphResult {
    /// Whether an expected entity is at the answering end of an allowed edge.
    pub names_answer: bool,
    pub is_present: bool,
    pub faith: Faithfulness,
    pub problems: Vec<String>,
}

/// The expected answer to a graph question.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedAnswer<'a> {
    /// Determines the allowed edge types.
    pub family: QuestionFamily,
    /// Expected entities, by id or name.
    pub entities: &'a [String],
    /// The answering end of an edge; either end if none.
    pub end: Option<EdgeEnd>,
}

pub fn judge(
    rationale: Option<&GraphEvidence>,
    answer: &ExpectedAnswer<'_>,
    facts: &EdgeChecker<'_>,
) -> GraphResult {
    let edges = rationale.map_or(&[][..], |rationale| &rationale.edges);
    let is_allowed = |edge: &RationaleEdge| is_one_of(&edge.kind, answer.family.link_types());
    let names_answer = edges.iter().filter(|edge| is_allowed(edge)).any(|edge| {
        let mut ends = answering(edge, answer.end);
        ends.any(|end| is_named(end, rationale, answer.entities))
    });
    let mut problems: Vec<String> = Vec::new();
    let mut is_verified = true;
    for edge in edges {
        let edge_text = format!("{} -{}-> {}", edge.from, edge.kind, edge.to);
        if !is_allowed(edge) {
            problems.push(format!("{edge_text}: this link type does not answer the question"));
        }
        match facts(edge) {
            EdgeCheck::Holds => {}
            EdgeCheck::Uncited => {
                problems.push(format!("{edge_text}: no cited passage supports it"))
            }
            EdgeCheck::Unknown => problems.push(format!("{edge_text}: no such link")),
            EdgeCheck::Unverifiable => is_verified = false,
        }
    }
    if steps(rationale, answer.entities) > MOST_HOPS {
        problems.push(format!("the rationale spans more than {MOST_HOPS} hops"));
    }
    let faith = match (edges.is_empty(), problems.is_empty(), is_verified) {
        (true, _, _) => Faithfulness::Unverified,
        (_, false, _) => Faithfulness::Unfaithful,
        (_, true, false) => Faithfulness::Unverified,
        (_, true, true) => Faithfulness::Faithful,
    };
    GraphResult { names_answer, is_present: !edges.is_empty(), faith, problems }
}

/// The ends of an edge that may hold the answer.
fn answering(edge: &RationaleEdge, end: Option<EdgeEnd>) -> impl Iterator<Item = &str> {
    let from = (end != Some(EdgeEnd::To)).then_some(edge.from.as_str());
    let to = (end != Some(EdgeEnd::From)).then_some(edge.to.as_str());
    from.into_iter().chain(to)
}

/// Whether an end of an edge is an expected entity, by id or by name.
fn is_named(end: &str, rationale: Option<&GraphEvidence>, entities: &[String]) -> bool {
    let entity = rationale.into_iter().flat_map(|one| &one.entities).find(|one| one.id == end);
    let names = entity.into_iter().flat_map(|entity| &entity.aliases).map(String::as_str);
    let mut names = names.chain([end]);
    names.any(|name| entities.iter().any(|wanted| same(wanted, name)))
}

/// Compares whole ids, or slugs if one id has no source.
fn same(a: &str, b: &str) -> bool {
    let bare = |text: &str| text.rsplit("::").next().unwrap_or(text).to_lowercase();
    match (a.contains("::"), b.contains("::")) {
        (true, true) => a.eq_ignore_ascii_case(b),
        _ => bare(a) == bare(b),
    }
}

fn is_one_of(kind: &str, types: &[LinkType]) -> bool {
    types.iter().any(|one| one.name().eq_ignore_ascii_case(kind))
}

/// Number of hops from the question's entity to the furthest edge. The starting points are the
/// entities that the target names, without the answers; if it names none, the end nearest to all
/// edges. The walk stops beyond the maximum, because the rationale is untrusted input.
fn steps(rationale: Option<&GraphEvidence>, answers: &[String]) -> usize {
    let Some(rationale) = rationale else { return 0 };
    let mut ends: Vec<&str> =
        rationale.edges.iter().flat_map(|edge| [edge.from.as_str(), edge.to.as_str()]).collect();
    ends.sort_unstable();
    ends.dedup();
    let entities: HashSet<&str> = rationale.entities.iter().map(|one| one.id.as_str()).collect();
    let is_asked_about =
        |end: &&str| entities.contains(end) && !is_named(end, Some(rationale), answers);
    let named: Vec<&str> = ends.iter().copied().filter(is_asked_about).collect();
    let starts = if named.is_empty() { &ends } else { &named };
    starts.iter().map(|start| furthest(&rationale.edges, start)).min().unwrap_or(0)
}

/// Number of hops from `start` to the furthest edge, in either direction. Edges that are too far or
/// unreachable count as one hop more than the maximum.
fn furthest(edges: &[RationaleEdge], start: &str) -> usize {
    let mut reached = HashSet::from([start]);
    let mut left: Vec<&RationaleEdge> = edges.iter().collect();
    for steps in 0..=MOST_HOPS {
        if left.is_empty() {
            return steps;
        }
        let is_near = |edge: &&RationaleEdge| {
            [&edge.from, &edge.to].iter().any(|end| reached.contains(end.as_str()))
        };
        let (near, far): (Vec<&RationaleEdge>, Vec<&RationaleEdge>) =
            left.into_iter().partition(is_near);
        reached.extend(near.iter().flat_map(|edge| [edge.from.as_str(), edge.to.as_str()]));
        left = far;
    }
    MOST_HOPS + 1
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

    fn judged(edges: Vec<RationaleEdge>, fact: EdgeCheck) -> GraphResult {
        let entities =
            vec![RationaleEntity { id: "t1".to_owned(), aliases: vec!["Routing Team".to_owned()] }];
        let rationale = GraphEvidence { edges, entities, evidence: Vec::new() };
        let entities = ["routing team".to_owned()];
        let wanted =
            ExpectedAnswer { family: QuestionFamily::Ownership, entities: &entities, end: None };
        judge(Some(&rationale), &wanted, &|_| fact)
    }

    /// A target that says too much is judged as soon as it is too far.
    #[test]
    fn a_long_chain_is_too_far() {
        let chain =
            (0..1_000).map(|at| edge(&format!("n{at}"), "OWNED_BY", &format!("n{}", at + 1)));
        let judged = judged(chain.collect(), EdgeCheck::Holds);
        assert_eq!(judged.faith, Faithfulness::Unfaithful);
        assert_eq!(judged.problems, ["the rationale spans more than 2 hops"]);
    }

    /// "What depends on Y" is answered by where edges start, "what does Y depend on" by where they end: an
    /// edge the other way round answers neither.
    #[test]
    fn which_end_answers() {
        let check = |from: &str, to: &str, end: Option<EdgeEnd>, expected: bool| {
            let entities = ["x".to_owned()];
            let wanted =
                ExpectedAnswer { family: QuestionFamily::Dependencies, entities: &entities, end };
            let edges = vec![edge(from, "DEPENDS_ON", to)];
            let rationale = GraphEvidence { edges, ..GraphEvidence::default() };
            let found = judge(Some(&rationale), &wanted, &|_| EdgeCheck::Unverifiable);
            assert_eq!(found.names_answer, expected, "{from} -> {to}, {end:?}");
        };
        check("x", "y", Some(EdgeEnd::From), true);
        check("y", "x", Some(EdgeEnd::From), false);
        check("y", "x", Some(EdgeEnd::To), true);
        check("x", "y", Some(EdgeEnd::To), false);
        check("x", "y", None, true);
        check("y", "x", None, true);
        check("y", "z", None, false);
    }

    #[test]
    fn an_answer_by_name() {
        let found = judged(vec![edge("planner", "OWNED_BY", "t1")], EdgeCheck::Holds);
        assert!(found.names_answer && found.is_present, "{found:?}");
        assert_eq!(found.faith, Faithfulness::Faithful);
        let found = judged(vec![edge("planner", "OWNED_BY", "t2")], EdgeCheck::Holds);
        assert!(!found.names_answer);
    }

    #[test]
    fn reasons_that_are_not_so() {
        let faith = |edges, fact| judged(edges, fact).faith;
        let owned = || vec![edge("planner", "owned_by", "t1")];
        assert_eq!(faith(owned(), EdgeCheck::Unknown), Faithfulness::Unfaithful);
        assert_eq!(faith(owned(), EdgeCheck::Uncited), Faithfulness::Unfaithful);
        assert_eq!(faith(owned(), EdgeCheck::Unverifiable), Faithfulness::Unverified);
        assert_eq!(
            faith(vec![edge("planner", "references", "t1")], EdgeCheck::Holds),
            Faithfulness::Unfaithful
        );
        assert_eq!(faith(Vec::new(), EdgeCheck::Holds), Faithfulness::Unverified);
    }

    #[test]
    fn more_than_two_steps_are_too_far() {
        let chain = |n: usize| -> Vec<RationaleEdge> {
            (0..n).map(|at| edge(&format!("n{at}"), "owned_by", &format!("n{}", at + 1))).collect()
        };
        let about = |edges: Vec<RationaleEdge>, names: &[&str]| {
            let entity =
                |name: &&str| RationaleEntity { id: (*name).to_owned(), aliases: Vec::new() };
            let entities = names.iter().map(entity).collect();
            steps(
                Some(&GraphEvidence { edges, entities, evidence: Vec::new() }),
                &["n3".to_owned()],
            )
        };
        assert_eq!(about(chain(3), &["n0"]), 3);
        assert_eq!(about(chain(3), &["n0", "n3"]), 3, "the answer is not what it is about");
        assert_eq!(about(chain(2), &["n0"]), 2);
        // The query does not name a subject: the path is read from the middle.
        assert_eq!(about(chain(3), &[]), 2);
        assert_eq!(about(Vec::new(), &[]), 0);
        let apart = [chain(1), vec![edge("a", "owned_by", "b")]].concat();
        assert_eq!(about(apart, &["n0"]), MOST_HOPS + 1);
        let star: Vec<_> = (0..30).map(|at| edge(&format!("n{at}"), "owned_by", "t1")).collect();
        assert_eq!(judged(star, EdgeCheck::Holds).faith, Faithfulness::Faithful);
        assert_eq!(judged(chain(30), EdgeCheck::Holds).faith, Faithfulness::Unfaithful);
        // Reasons that meet are no longer than each of them.
        let ring = [edge("p", "owned_by", "t1"), edge("a", "member_of", "t1")];
        let ring = [&ring[..], &[edge("b", "member_of", "t1"), edge("p", "owned_by", "a")]];
        assert_eq!(judged(ring.concat(), EdgeCheck::Holds).faith, Faithfulness::Faithful);
    }

    #[test]
    fn ids_with_and_without_their_source() {
        assert!(same("wiki::teams/routing", "teams/routing"));
        assert!(same("Teams/Routing", "wiki::teams/routing"));
        assert!(!same("wiki::teams/routing", "port::teams/routing"));
    }
}
