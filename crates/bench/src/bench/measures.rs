//! nDCG@k and recall@k, as trec_eval computes them.
//!
//! A ranking is taken in the order given; a run file is put in trec_eval's order (score, then
//! document id, both descending) by whoever reads it.

use rustc_hash::FxHashMap;

/// What is relevant to one query: document id to grade.
pub(crate) type Grades = FxHashMap<String, i64>;

/// The measures of one query, or their means over queries.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Measures {
    pub(crate) ndcg_10: f64,
    pub(crate) recall_5: f64,
    pub(crate) recall_10: f64,
    pub(crate) recall_100: f64,
}

impl Measures {
    /// The measures of one ranking.
    pub(crate) fn of<S: AsRef<str>>(ranked: &[S], grades: &Grades) -> Self {
        Self {
            ndcg_10: ndcg(ranked, grades, 10),
            recall_5: recall(ranked, grades, 5),
            recall_10: recall(ranked, grades, 10),
            recall_100: recall(ranked, grades, 100),
        }
    }

    /// The means over queries.
    pub(crate) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Self {
            ndcg_10: mean(|measures| measures.ndcg_10),
            recall_5: mean(|measures| measures.recall_5),
            recall_10: mean(|measures| measures.recall_10),
            recall_100: mean(|measures| measures.recall_100),
        }
    }
}

/// `ndcg_cut_k`: the gain is the grade, the discount of rank i is log2(i + 1), and the ideal takes
/// the k highest grades (Järvelin and Kekäläinen 2002).
fn ndcg<S: AsRef<str>>(ranked: &[S], grades: &Grades, k: usize) -> f64 {
    let gains = ranked.iter().map(|id| grades.get(id.as_ref()).copied().unwrap_or(0));
    let mut ideal: Vec<i64> = grades.values().copied().collect();
    ideal.sort_unstable_by_key(|grade| std::cmp::Reverse(*grade));
    let best = dcg(ideal.into_iter(), k);
    if best == 0.0 { 0.0 } else { dcg(gains, k) / best }
}

fn dcg(gains: impl Iterator<Item = i64>, k: usize) -> f64 {
    let discounted = |(at, gain): (usize, i64)| gain.max(0) as f64 / (at as f64 + 2.0).log2();
    gains.take(k).enumerate().map(discounted).sum()
}

/// `recall_k`: the share of the relevant documents that is among the first k.
fn recall<S: AsRef<str>>(ranked: &[S], grades: &Grades, k: usize) -> f64 {
    let relevant = grades.values().filter(|grade| **grade > 0).count();
    let is_relevant = |id: &&S| grades.get(id.as_ref()).is_some_and(|grade| *grade > 0);
    let found = ranked.iter().take(k).filter(is_relevant).count();
    if relevant == 0 { 0.0 } else { found as f64 / relevant as f64 }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn by_hand() {
        let graded = [("a", 3), ("b", 1), ("c", 0)];
        let grades: Grades = graded.map(|(id, grade)| (id.to_owned(), grade)).into_iter().collect();
        // b at rank 1, a at rank 3; ideally a, then b.
        let expected = (1.0 + 3.0 / 2.0) / (3.0 + 1.0 / 3f64.log2());
        let found = Measures::of(&["b", "c", "a"], &grades);
        assert!((found.ndcg_10 - expected).abs() < 1e-12);
        assert_eq!(found.recall_5, 1.0);
        assert_eq!(recall(&["c", "b", "a"], &grades, 2), 0.5);
        assert_eq!(Measures::of(&["c"], &Grades::default()), Measures::default());
    }

    #[test]
    fn every_query_of_the_golden_sets_is_as_trec_eval_says() {
        let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
            eprintln!(
                "SKIPPED: GBRAIN_TEST_DATA is not set: measures are not compared with trec_eval"
            );
            return;
        };
        for set in ["cacm_anserini_bm25", "cranfield_bm25s", "trec_eval_test"] {
            check_golden(&Path::new(&data).join("metrics/golden").join(set));
        }
    }

    #[track_caller]
    fn check_golden(dir: &Path) {
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("the set is whole");
        let runs = read_run(&read("run.trec"));
        let mut all: FxHashMap<String, Grades> = FxHashMap::default();
        for line in read("qrels.txt").lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let grade = fields[3].parse().expect("a grade");
            all.entry(fields[0].to_owned()).or_default().insert(fields[2].to_owned(), grade);
        }
        let mut checked = 0;
        for line in read("trec_eval.q.c.txt").lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(grades), none) = (all.get(fields[1]), Vec::new()) else { continue };
            let measures = Measures::of(runs.get(fields[1]).unwrap_or(&none), grades);
            let found = match fields[0] {
                "ndcg_cut_10" => measures.ndcg_10,
                "recall_5" => measures.recall_5,
                "recall_10" => measures.recall_10,
                "recall_100" => measures.recall_100,
                _ => continue,
            };
            assert_eq!(format!("{found:.4}"), fields[2], "{}: {line}", dir.display());
            checked += 1;
        }
        assert!(checked >= 12, "{} holds {checked} figures", dir.display());
    }

    /// Document ids by query, in trec_eval's order.
    fn read_run(text: &str) -> FxHashMap<String, Vec<String>> {
        let mut scored: FxHashMap<String, Vec<(f32, String)>> = FxHashMap::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let score = fields[4].parse().expect("a score");
            scored.entry(fields[0].to_owned()).or_default().push((score, fields[2].to_owned()));
        }
        let sorted = scored.into_iter().map(|(query, mut ranked)| {
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
            (query, ranked.into_iter().map(|(_, id)| id).collect())
        });
        sorted.collect()
    }
}
