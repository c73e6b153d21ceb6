//! LongMemEval's own retrieval figures, by its formulas and under its names.
//!
//! On a ranked list of corpus ids: `recall_any@k` is 1 if any gold id is among the first k,
//! `recall_all@k` if all are. `ndcg_any@k` has binary gains and DCG = rel_1 + Σ_{i≥2} rel_i / log2(i),
//! so rank 2 is not discounted: it is not nDCG@k and never printed as such. Its ideal counts every
//! entry of the corpus list that is gold, also where an id comes again. A list of turns becomes one
//! of sessions by growing k until k distinct sessions are seen. The corpus is what users said:
//! sessions as a whole or turn by turn. Means leave out abstention questions and those without a
//! user's turn that answers.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DatasetQuestion, Granularity, Haystack};

/// The depths it measures at.
pub const DEPTHS: [usize; 6] = [1, 3, 5, 10, 30, 50];

/// The speaker whose turns make up the corpus.
pub const USER: &str = "user";

/// Figures by name, such as `recall_any@5`.
pub type Figures = BTreeMap<String, f64>;

/// The figures of one question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LongMemEvalFigures")]
pub struct OfficialFigures {
    /// The figures of sessions.
    pub session: Figures,
    /// Of turns, where turns were ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Figures>,
    /// Whether its means count the question.
    pub counts: bool,
}

/// Input of the measures: the corpus in any order, the ranking by places in it, and the gold ids.
#[derive(Debug, Clone, Copy)]
pub struct CorpusRanking<'a> {
    /// The id of every entry of the corpus; ids may come again.
    pub corpus: &'a [&'a str],
    /// Places in the corpus, best first. Entries may be missing at the end.
    pub ranked: &'a [usize],
    /// The ids that are right.
    pub gold: &'a FxHashSet<&'a str>,
}

impl CorpusRanking<'_> {
    /// 1 if any gold id is among the first k.
    pub fn recall_any(&self, k: usize) -> f64 {
        let found = self.seen(k);
        f64::from(u8::from(self.gold.iter().any(|id| found.contains(id))))
    }

    /// 1 if all gold ids are among the first k; so also if there are none.
    pub fn recall_all(&self, k: usize) -> f64 {
        let found = self.seen(k);
        f64::from(u8::from(self.gold.iter().all(|id| found.contains(id))))
    }

    /// The figure `ndcg_any@k` of a ranking.
    pub fn ndcg_any(&self, k: usize) -> f64 {
        let is_gold = |at: &usize| self.gold.contains(self.corpus[*at]);
        let ideal = (0..self.corpus.len()).filter(is_gold).count();
        let best = dcg((0..self.corpus.len()).map(|at| at < ideal), k);
        if best == 0.0 {
            return 0.0;
        }
        dcg(self.ranked.iter().map(is_gold), k) / best
    }

    /// Every figure at every depth.
    pub fn figures(&self) -> Figures {
        self.figures_at(|k| k)
    }

    /// The figures of sessions when turns were ranked: the corpus holds the session of each turn.
    pub(crate) fn figures_of_wholes(&self) -> Figures {
        self.figures_at(|k| self.grown(k))
    }

    fn figures_at(&self, depth: impl Fn(usize) -> usize) -> Figures {
        let mut figures = Figures::new();
        for k in DEPTHS {
            let depth = depth(k);
            figures.insert(format!("recall_any@{k}"), self.recall_any(depth));
            figures.insert(format!("recall_all@{k}"), self.recall_all(depth));
            figures.insert(format!("ndcg_any@{k}"), self.ndcg_any(depth));
        }
        figures
    }

    /// The least depth from `k` on at which `k` distinct ids are seen, or one past the corpus.
    fn grown(&self, k: usize) -> usize {
        let mut depth = k;
        while depth <= self.corpus.len() && self.seen(depth).len() < k {
            depth += 1;
        }
        depth
    }

    fn seen(&self, k: usize) -> FxHashSet<&str> {
        self.ranked.iter().take(k).map(|at| self.corpus[*at]).collect()
    }
}

fn dcg(gains: impl Iterator<Item = bool>, k: usize) -> f64 {
    let gain = |(rank, is_gold): (usize, bool)| match (is_gold, rank) {
        (false, _) => 0.0,
        (true, 1) => 1.0,
        (true, rank) => 1.0 / (rank as f64).log2(),
    };
    // The sum of no numbers is -0.0.
    (1..).zip(gains.take(k)).map(gain).sum::<f64>() + 0.0
}

/// The figures of one question. `found` ranks the haystack's documents by place, best first.
/// Documents without a user's words are not part of its corpus and are skipped.
pub fn of(
    haystack: &Haystack,
    question: &DatasetQuestion,
    granularity: Granularity,
    found: &[usize],
) -> OfficialFigures {
    let is_entry = |at: &usize| {
        let turns = haystack.documents[*at].turns();
        turns.iter().any(|turn| turn.speaker == USER)
    };
    let ranked: Vec<usize> = found.iter().copied().filter(is_entry).collect();
    let answers = answers(haystack, question);
    let wholes: Vec<&str> = haystack.documents.iter().map(|d| d.whole.as_str()).collect();
    let sessions: FxHashSet<&str> = answers.iter().map(|(session, _)| *session).collect();
    let counts = !question.is_abstention && !answers.is_empty();
    let by_session = CorpusRanking { corpus: &wholes, ranked: &ranked, gold: &sessions };
    match granularity {
        Granularity::Session | Granularity::Document => {
            OfficialFigures { session: by_session.figures(), turn: None, counts }
        }
        Granularity::Turn => {
            let ids: Vec<&str> = haystack.documents.iter().map(|d| d.id.as_str()).collect();
            let turns: FxHashSet<&str> = answers.iter().map(|(_, turn)| *turn).collect();
            let by_turn = CorpusRanking { corpus: &ids, ranked: &ranked, gold: &turns };
            let session = by_session.figures_of_wholes();
            OfficialFigures { session, turn: Some(by_turn.figures()), counts }
        }
    }
}

/// The users' turns that answer, in gold sessions, each with its session.
fn answers<'a>(haystack: &'a Haystack, question: &DatasetQuestion) -> Vec<(&'a str, &'a str)> {
    let mut answers = Vec::new();
    for document in &haystack.documents {
        for turn in document.turns() {
            if turn.speaker == USER && question.gold_turns.contains(&turn.id) {
                answers.push((document.whole.as_str(), turn.id.as_str()));
            }
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A ranking of `corpus` in its own order.
    #[track_caller]
    fn check(corpus: &[&str], gold: &[&str], k: usize, expected: [f64; 3]) {
        let ranked: Vec<usize> = (0..corpus.len()).collect();
        let gold: FxHashSet<&str> = gold.iter().copied().collect();
        let ranking = CorpusRanking { corpus, ranked: &ranked, gold: &gold };
        let found = [ranking.recall_any(k), ranking.recall_all(k), ranking.ndcg_any(k)];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn by_hand() {
        check(&["a", "b", "c"], &["a"], 1, [1.0, 1.0, 1.0]);
        // Rank 2 is not discounted.
        check(&["b", "a", "c"], &["a"], 2, [1.0, 1.0, 1.0]);
        check(&["b", "c", "a"], &["a"], 3, [1.0, 1.0, 1.0 / 3.0_f64.log2()]);
        check(&["a", "b", "c"], &["a", "c"], 2, [1.0, 0.0, 0.5]);
        check(&["a", "b"], &["x"], 2, [0.0, 0.0, 0.0]);
        check(&["a", "b"], &[], 2, [0.0, 1.0, 0.0]);
        // An id that comes again is gold twice.
        check(&["a", "a", "b"], &["a"], 1, [1.0, 1.0, 1.0]);
        check(&["b", "a", "a"], &["a"], 2, [1.0, 1.0, 0.5]);
    }

    #[test]
    fn turns_grow_until_there_are_enough_sessions() {
        let corpus = ["a", "a", "a", "b", "c"];
        let gold = FxHashSet::from_iter(["b"]);
        let ranking = CorpusRanking { corpus: &corpus, ranked: &[0, 1, 2, 3, 4], gold: &gold };
        let figures = ranking.figures_of_wholes();
        assert_eq!((figures["recall_any@1"], figures["recall_any@3"]), (0.0, 1.0));
        assert_eq!(ranking.grown(2), 4);
        assert_eq!(ranking.grown(4), 6);
    }

    /// The formulas once more, from their description alone and as plainly as they can be put.
    mod second {
        pub(super) fn recall(list: &[&str], gold: &[&str], k: usize, all: bool) -> f64 {
            let first = &list[..k.min(list.len())];
            let mut found = 0;
            for id in gold {
                if first.contains(id) {
                    found += 1;
                }
            }
            if if all { found == gold.len() } else { found > 0 } { 1.0 } else { 0.0 }
        }

        fn dcg(gains: &[f64]) -> f64 {
            let mut sum = 0.0;
            for (at, gain) in gains.iter().enumerate() {
                sum += if at == 0 { *gain } else { gain / ((at + 1) as f64).log2() };
            }
            sum
        }

        pub(super) fn ndcg(corpus: &[&str], list: &[&str], gold: &[&str], k: usize) -> f64 {
            let gain = |id: &&str| if gold.contains(id) { 1.0 } else { 0.0 };
            let mut ideal: Vec<f64> = corpus.iter().map(gain).collect();
            ideal.sort_by(|a, b| b.total_cmp(a));
            ideal.truncate(k);
            let found: Vec<f64> = list.iter().take(k).map(gain).collect();
            let best = dcg(&ideal);
            if best == 0.0 { 0.0 } else { dcg(&found) / best }
        }

        pub(super) fn grown(list: &[&str], corpus: usize, k: usize) -> usize {
            let distinct = |depth: usize| {
                let mut ids: Vec<&str> = list[..depth.min(list.len())].to_vec();
                ids.sort_unstable();
                ids.dedup();
                ids.len()
            };
            let mut depth = k;
            while depth <= corpus && distinct(depth) < k {
                depth += 1;
            }
            depth
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Corpora with ids that come again, rankings that stop early, gold that is nowhere.
        #[test]
        fn a_second_implementation_agrees(
            corpus in prop::collection::vec(0..12u8, 1..40),
            order in any::<u64>(),
            kept in 0..40usize,
            gold in prop::collection::btree_set(0..15u8, 0..5),
        ) {
            let names: Vec<String> = corpus.iter().map(|n| format!("answer_{n}")).collect();
            let corpus: Vec<&str> = names.iter().map(String::as_str).collect();
            let gold: Vec<String> = gold.iter().map(|n| format!("answer_{n}")).collect();
            let gold: Vec<&str> = gold.iter().map(String::as_str).collect();
            let mut ranked: Vec<usize> = (0..corpus.len()).collect();
            ranked.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(order | 1));
            ranked.truncate(kept.min(corpus.len()));
            let list: Vec<&str> = ranked.iter().map(|at| corpus[*at]).collect();
            let set: FxHashSet<&str> = gold.iter().copied().collect();
            let ranking = CorpusRanking { corpus: &corpus, ranked: &ranked, gold: &set };
            let (plain, wholes) = (ranking.figures(), ranking.figures_of_wholes());
            for k in DEPTHS {
                for (figures, depth) in [(&plain, k), (&wholes, second::grown(&list, corpus.len(), k))] {
                    let found = |name: &str| figures[&format!("{name}@{k}")];
                    prop_assert_eq!(found("recall_any"), second::recall(&list, &gold, depth, false));
                    prop_assert_eq!(found("recall_all"), second::recall(&list, &gold, depth, true));
                    let ndcg = second::ndcg(&corpus, &list, &gold, depth);
                    prop_assert!((found("ndcg_any") - ndcg).abs() < 1e-12);
                }
            }
        }
    }
}
