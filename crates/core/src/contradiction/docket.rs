//! The pairs of a run, each once, with the queries that surfaced them.

use rustc_hash::FxHashMap;

use crate::hash::Hash;
use crate::stats::rng::Rng;

use super::date::DateRule;
use super::pair::Pair;
use super::prompt::PairPrompt;
use super::verdict::{JudgeError, Judgement};

/// A query of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSetQuery {
    pub query: String,
    pub results: usize,
    /// Its pairs as indexes into [`PairSet::pairs`], in judging order.
    pub pairs: Vec<usize>,
    /// The error, if the search failed. Such a query counts in no rate.
    pub error: Option<String>,
}

/// A pair of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSetEntry {
    /// The pair as found by the first query.
    pub pair: Pair,
    pub prompt: PairPrompt,
    /// The rule that includes or excludes it.
    pub rule: DateRule,
}

/// The origin of a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Judge,
    Cache,
}

/// The outcome of judging a pair.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgingOutcome {
    Judged(Judgement, Origin),
    /// The judge was called and gave no judgement.
    Failed(JudgeError),
    /// The judge was not called.
    NotAsked,
}

/// The pairs of a run.
#[derive(Debug, Clone, Default)]
pub struct PairSet {
    asked: Vec<PairSetQuery>,
    pairs: Vec<PairSetEntry>,
    places: FxHashMap<Hash, usize>,
}

impl PairSet {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the pairs of a query. Pairs with the same prompt are the same pair.
    pub fn add(&mut self, query: &str, results: usize, pairs: Vec<Pair>, max_chars: usize) {
        let mut places = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let place = self.place(pair, max_chars);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        self.asked.push(PairSetQuery {
            query: query.to_owned(),
            results,
            pairs: places,
            error: None,
        });
    }

    /// Adds a query whose search failed.
    pub fn add_failed(&mut self, query: &str, error: &str) {
        let (query, error) = (query.to_owned(), Some(error.to_owned()));
        self.asked.push(PairSetQuery { query, results: 0, pairs: Vec::new(), error });
    }

    fn place(&mut self, pair: Pair, max_chars: usize) -> usize {
        let prompt = PairPrompt::of(&pair, max_chars);
        let next = self.pairs.len();
        let place = *self.places.entry(prompt.identity).or_insert(next);
        if place == next {
            let rule = DateRule::of(&pair);
            self.pairs.push(PairSetEntry { pair, prompt, rule });
        }
        place
    }

    /// The queries, in the order in which they were added.
    pub fn asked(&self) -> &[PairSetQuery] {
        &self.asked
    }

    /// Every pair once: by first query, then by score. If the budget runs out, the first queries
    /// are judged completely.
    pub fn pairs(&self) -> &[PairSetEntry] {
        &self.pairs
    }

    /// Indexes of the pairs to judge, in that order.
    pub fn to_judge(&self) -> impl Iterator<Item = usize> + '_ {
        self.pairs.iter().enumerate().filter(|(_, one)| one.rule.keeps()).map(|(place, _)| place)
    }
}

/// `count` random indexes below `total`, ascending; all of them if there are fewer.
pub fn sample(total: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..total).collect();
    Rng::new(seed).shuffle(&mut places);
    places.truncate(count);
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::super::pair::PairKind;
    use super::super::pair::tests::passage;
    use super::*;

    fn pair(a: &str, b: &str) -> Pair {
        Pair::new(PairKind::CrossPage, passage("a", 0, a), passage("b", 0, b), 1.0)
    }

    #[test]
    fn a_pair_is_there_once() {
        let mut docket = PairSet::new();
        docket.add("one", 2, vec![pair("x", "y"), pair("x", "z"), pair("x", "y")], 99);
        docket.add("two", 2, vec![pair("x", "z"), pair("on 2021-01-01", "on 2024-01-01")], 99);
        docket.add_failed("three", "no index");
        assert_eq!(docket.pairs().len(), 3);
        assert_eq!(docket.asked()[0].pairs, [0, 1]);
        assert_eq!(docket.asked()[1].pairs, [1, 2]);
        assert_eq!(docket.to_judge().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(docket.asked()[2].error.as_deref(), Some("no index"));
    }

    #[test]
    fn a_sample_follows_its_seed() {
        assert_eq!(sample(5, 9, 1), [0, 1, 2, 3, 4]);
        let one = sample(1000, 10, 1);
        assert_eq!((one.len(), sample(1000, 10, 1)), (10, one.clone()));
        assert!(one.is_sorted() && sample(1000, 10, 2) != one);
    }
}
