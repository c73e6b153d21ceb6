//! Draws the queries of a run: a number per source or in total, balanced over sources and
//! difficulties, by seed.
//!
//! Guarantees: the same queries and seed give the same sample in any input order. While a stratum
//! has queries left, no other stratum gets ahead of it by two.

use std::collections::BTreeMap;

use super::Sample;
use super::query::{CanonicalQuery, Difficulty};
use crate::hash::Hash;

/// The sampled queries, ordered by id.
pub fn draw<'q>(
    queries: &[&'q CanonicalQuery],
    sample: &Sample,
    seed: u64,
) -> Vec<&'q CanonicalQuery> {
    let mut strata: BTreeMap<(Option<&str>, Difficulty), Vec<&CanonicalQuery>> = BTreeMap::new();
    for query in queries {
        strata.entry((query.source.as_deref(), query.difficulty)).or_default().push(query);
    }
    for stratum in strata.values_mut() {
        stratum.sort_by_cached_key(|query| lot(seed, query));
    }
    let mut drawn = match sample {
        Sample::Total(total) => in_turn(&strata.into_values().collect::<Vec<_>>(), *total),
        Sample::PerSource { count, least: _, sources } => {
            let mut by_source: BTreeMap<Option<&str>, Vec<Vec<&CanonicalQuery>>> = BTreeMap::new();
            for ((source, _), stratum) in strata {
                let is_wanted =
                    source.is_some_and(|source| sources.iter().any(|one| one == source));
                if sources.is_empty() || is_wanted {
                    by_source.entry(source).or_default().push(stratum);
                }
            }
            by_source.values().flat_map(|strata| in_turn(strata, *count)).collect()
        }
    };
    drawn.sort_by(|a, b| a.id.cmp(&b.id));
    drawn
}

/// Takes one query of each stratum in turn until `count` are taken.
fn in_turn<'q>(strata: &[Vec<&'q CanonicalQuery>], count: usize) -> Vec<&'q CanonicalQuery> {
    let deepest = strata.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..deepest).flat_map(|at| strata.iter().filter_map(move |one| one.get(at)));
    rounds.take(count).copied().collect()
}

/// The sort key of a query. It depends only on the seed and the query's id, so a new query does not
/// move others.
fn lot(seed: u64, query: &CanonicalQuery) -> Hash {
    Hash::of_parts(&[&seed.to_le_bytes(), query.id.as_bytes()])
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::suite::query::{KeyKind, QueryOrigin, QueryState, ResultKey};

    /// A query that must find the document of its own name.
    pub(crate) fn query(id: &str, source: &str, difficulty: Difficulty) -> CanonicalQuery {
        CanonicalQuery {
            id: id.to_owned(),
            text: format!("what is {id}?"),
            original_hash: None,
            source: (!source.is_empty()).then(|| source.to_owned()),
            difficulty,
            mode: None,
            filter: crate::target::QuestionFilter::default(),
            family: None,
            expected: vec![ResultKey { kind: KeyKind::Document, id: id.to_owned() }],
            acceptable: Vec::new(),
            snippets: Vec::new(),
            entities: Vec::new(),
            answer_end: None,
            tags: Vec::new(),
            origin: QueryOrigin::Manual,
            state: QueryState::Active,
        }
    }

    fn many() -> Vec<CanonicalQuery> {
        let source = |at: usize| ["github", "slack", ""][at % 3];
        let difficulty = |at: usize| Difficulty::ALL[at / 3 % 3];
        (0..90).map(|at| query(&format!("q{at:02}"), source(at), difficulty(at))).collect()
    }

    fn ids(sample: &Sample, seed: u64) -> Vec<String> {
        let all = many();
        let queries: Vec<&CanonicalQuery> = all.iter().collect();
        draw(&queries, sample, seed).iter().map(|query| query.id.clone()).collect()
    }

    #[test]
    fn a_sample_is_fair_and_repeatable() {
        let sample = Sample::Total(25);
        let drawn = ids(&sample, 1);
        assert_eq!(drawn.len(), 25);
        assert_eq!(drawn, ids(&sample, 1));
        assert_ne!(drawn, ids(&sample, 2));
        let all = many();
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for query in all.iter().filter(|query| drawn.contains(&query.id)) {
            *counts.entry((&query.source, query.difficulty)).or_default() += 1;
        }
        assert_eq!(counts.len(), 9);
        assert!(counts.values().all(|count| (2..=3).contains(count)), "{counts:?}");
    }

    #[test]
    fn per_source() {
        let sources = |sources: &[&str]| sources.iter().map(|one| (*one).to_owned()).collect();
        let all = Sample::PerSource { count: 10, least: 10, sources: Vec::new() };
        assert_eq!(ids(&all, 1).len(), 30);
        let some = Sample::PerSource { count: 15, least: 15, sources: sources(&["slack"]) };
        assert_eq!(ids(&some, 1).len(), 15);
        let none = Sample::PerSource { count: 15, least: 15, sources: sources(&["notion"]) };
        assert_eq!(ids(&none, 1), Vec::<String>::new());
        let more = Sample::PerSource { count: 99, least: 99, sources: Vec::new() };
        assert_eq!(ids(&more, 1).len(), 90);
    }

    proptest! {
        #[test]
        fn order_does_not_matter(places in Just((0..90).collect::<Vec<usize>>()).prop_shuffle(), total in 0..100usize) {
            let all = many();
            let shuffled: Vec<&CanonicalQuery> = places.iter().map(|at| &all[*at]).collect();
            let drawn = draw(&shuffled, &Sample::Total(total), 7);
            let names: Vec<String> = drawn.iter().map(|query| query.id.clone()).collect();
            prop_assert_eq!(names, ids(&Sample::Total(total), 7));
        }
    }
}
