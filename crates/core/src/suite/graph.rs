//! Questions about links: whether they are answered, with reasons, and whether the reasons are so.
//!
//! An answer is right if an expected entity stands at the answering end of an edge of an allowed kind,
//! or an expected document is among the results. Which end answers depends on the question: "what depends
//! on Y" is answered by where edges start, "what does Y depend on" by where they end. A query may say which;
//! of one that does not, either end counts. Reasons are faithful if every edge exists as it is claimed, is
//! of an allowed kind, and cites a passage that says so. More than two steps are too far.

use std::collections::HashSet;

use super::query::{End, Family};
use crate::link::LinkType;
use crate::named;
use crate::target::{Rationale, RationaleEdge};

/// The most steps from one end of a rationale to the other.
pub(crate) const MOST_HOPS: usize = 2;

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

/// What a question about links is to be answered with.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its family, whose kinds of edges answer it.
    pub family: Family,
    /// Who or what the answer is: ids or names.
    pub entities: &'a [String],
    /// Which end of an edge it stands at; either if it is not said.
    pub end: Option<End>,
}

/// Judges a rationale.
pub fn judge(rationale: Option<&Rationale>, answer: &Wanted<'_>, facts: &Facts<'_>) -> GraphResult {
    let edges = rationale.map_or(&[][..], |rationale| &rationale.edges);
    let is_allowed = |edge: &RationaleEdge| is_one_of(&edge.kind, answer.family.link_types());
    let names_answer = edges.iter().filter(|edge| is_allowed(edge)).any(|edge| {
        let mut ends = answering(edge, answer.end);
        ends.any(|end| is_named(end, rationale, answer.entities))
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
    if steps(rationale, answer.entities) > MOST_HOPS {
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

/// The ends of an edge that may be the answer.
fn answering(edge: &RationaleEdge, end: Option<End>) -> impl Iterator<Item = &str> {
    let from = (end != Some(End::To)).then_some(edge.from.as_str());
    let to = (end != Some(End::From)).then_some(edge.to.as_str());
    from.into_iter().chain(to)
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

fn is_one_of(kind: &str, types: &[LinkType]) -> bool {
    types.iter().any(|one| one.name().eq_ignore_ascii_case(kind))
}

/// How many steps the reasons take: from the best of what the question is about to the furthest edge. What
/// it is about are the entities that the target names, but for the answer; where it names none, whichever
/// end is nearest to all edges. What is too far is not walked to its end: a target may say what it likes.
fn steps(rationale: Option<&Rationale>, answers: &[String]) -> usize {
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

/// The number of the step that takes the last edge, walking from one end in either direction; one more
/// than may be taken for edges that are further away or can't be reached.
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

    fn judged(edges: Vec<RationaleEdge>, fact: Fact) -> GraphResult {
        let entities =
            vec![RationaleEntity { id: "t1".to_owned(), aliases: vec!["Routing Team".to_owned()] }];
        let rationale = Rationale { edges, entities, evidence: Vec::new() };
        let entities = ["routing team".to_owned()];
        let wanted = Wanted { family: Family::Ownership, entities: &entities, end: None };
        judge(Some(&rationale), &wanted, &|_| fact)
    }

    /// A target that says too much is judged as soon as it is too far.
    #[test]
    fn a_long_chain_is_too_far() {
        let chain =
            (0..1_000).map(|at| edge(&format!("n{at}"), "OWNED_BY", &format!("n{}", at + 1)));
        let judged = judged(chain.collect(), Fact::Holds);
        assert_eq!(judged.faith, Faith::Unfaithful);
        assert_eq!(judged.problems, ["the reasons take more than 2 steps"]);
    }

    /// "What depends on Y" is answered by where edges start, "what does Y depend on" by where they end: an
    /// edge the other way round answers neither.
    #[test]
    fn which_end_answers() {
        let check = |from: &str, to: &str, end: Option<End>, expected: bool| {
            let entities = ["x".to_owned()];
            let wanted = Wanted { family: Family::Dependencies, entities: &entities, end };
            let edges = vec![edge(from, "DEPENDS_ON", to)];
            let rationale = Rationale { edges, ..Rationale::default() };
            let found = judge(Some(&rationale), &wanted, &|_| Fact::Unverifiable);
            assert_eq!(found.names_answer, expected, "{from} -> {to}, {end:?}");
        };
        check("x", "y", Some(End::From), true);
        check("y", "x", Some(End::From), false);
        check("y", "x", Some(End::To), true);
        check("x", "y", Some(End::To), false);
        check("x", "y", None, true);
        check("y", "x", None, true);
        check("y", "z", None, false);
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
        let about = |edges: Vec<RationaleEdge>, names: &[&str]| {
            let entity =
                |name: &&str| RationaleEntity { id: (*name).to_owned(), aliases: Vec::new() };
            let entities = names.iter().map(entity).collect();
            steps(Some(&Rationale { edges, entities, evidence: Vec::new() }), &["n3".to_owned()])
        };
        assert_eq!(about(chain(3), &["n0"]), 3);
        assert_eq!(about(chain(3), &["n0", "n3"]), 3, "the answer is not what it is about");
        assert_eq!(about(chain(2), &["n0"]), 2);
        // Nobody says what the question is about: from the middle.
        assert_eq!(about(chain(3), &[]), 2);
        assert_eq!(about(Vec::new(), &[]), 0);
        let apart = [chain(1), vec![edge("a", "owned_by", "b")]].concat();
        assert_eq!(about(apart, &["n0"]), MOST_HOPS + 1);
        let star: Vec<_> = (0..30).map(|at| edge(&format!("n{at}"), "owned_by", "t1")).collect();
        assert_eq!(judged(star, Fact::Holds).faith, Faith::Faithful);
        assert_eq!(judged(chain(30), Fact::Holds).faith, Faith::Unfaithful);
        // Reasons that meet are no longer than each of them.
        let ring = [edge("p", "owned_by", "t1"), edge("a", "member_of", "t1")];
        let ring = [&ring[..], &[edge("b", "member_of", "t1"), edge("p", "owned_by", "a")]];
        assert_eq!(judged(ring.concat(), Fact::Holds).faith, Faith::Faithful);
    }

    #[test]
    fn ids_with_and_without_their_source() {
        assert!(same("wiki::teams/routing", "teams/routing"));
        assert!(same("Teams/Routing", "wiki::teams/routing"));
        assert!(!same("wiki::teams/routing", "port::teams/routing"));
    }
}
