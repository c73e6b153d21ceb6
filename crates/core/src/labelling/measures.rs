//! The measures of the current rankings under the current labels.

use schemars::JsonSchema;
use serde::Serialize;

use crate::gate::{
    CheckStatus, Correctness, CorrectnessThresholds, GateCheck, JudgedResult, QueryResult, Verdict,
    correctness,
};
use crate::measure::{GradedRanking, Measure};
use crate::qrels::{JudgedPages, JudgedQuery};

/// The labels of a query, with the pages that the brain returns for it, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedLabels {
    pub query: JudgedQuery,
    pub ranking: Vec<String>,
}

/// What the labels say about the brain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LabelMeasures {
    /// The verdict of `gbrain eval gate --qrels` on these labels: recall and first page. nDCG has no
    /// part in it.
    pub verdict: Verdict,
    /// Number of pages that count.
    pub k: usize,
    /// Queries with at least one relevant page. Others measure nothing.
    pub queries: usize,
    /// Labelled queries without a relevant page.
    pub queries_left_out: usize,
    /// Recall, first relevant page and nDCG with interval, floor and smallest detectable drop.
    pub checks: Vec<GateCheck>,
    /// What would have to be there to decide.
    pub missing: Vec<String>,
}

/// Measures rankings under labels. `floor` is that of recall and of nDCG; that of the first page is
/// the gate's.
pub fn label_measures(ranked: &[RankedLabels], k: usize, floor: f64) -> LabelMeasures {
    let measured: Vec<&RankedLabels> =
        ranked.iter().filter(|one| one.query.relevant().next().is_some()).collect();
    let thresholds = CorrectnessThresholds { recall_at_k: floor, ..Default::default() };
    let results = measured.iter().map(|one| {
        JudgedResult::new(one.query.clone(), QueryResult::Ranked(one.ranking.clone()), k)
    });
    // Only existing pages are labelled, so none is missing.
    let pages = JudgedPages::Known { judged: measured.len(), missing: Vec::new() };
    let Correctness { verdict, mut checks, .. } =
        correctness(results.collect(), k, &thresholds, None, &pages);
    checks.retain(|check| check.status != CheckStatus::NotCompared);
    checks.push(GateCheck::mean_floor("mean_ndcg_at_k", &ndcg(&measured, k), floor, None));
    LabelMeasures {
        verdict,
        k,
        queries: measured.len(),
        queries_left_out: ranked.len() - measured.len(),
        missing: checks.iter().filter_map(GateCheck::too_few_rows).collect(),
        checks,
    }
}

fn ndcg(measured: &[&RankedLabels], k: usize) -> Vec<f64> {
    let measure = Measure::ndcg(k);
    let value = |one: &&RankedLabels| {
        let ranking = one.ranking.iter().map(String::as_str);
        measure.of(&GradedRanking::of(&one.query.judgements, ranking)).min(1.0)
    };
    measured.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qrels::Judgement;

    fn labels(id: &str, grades: &[(&str, f64)], ranking: &[&str]) -> RankedLabels {
        let judgement =
            |(doc, grade): &(&str, f64)| Judgement { doc: (*doc).to_owned(), grade: *grade };
        let query = JudgedQuery {
            id: id.to_owned(),
            text: Some(id.to_owned()),
            judgements: grades.iter().map(judgement).collect(),
            ..JudgedQuery::default()
        };
        RankedLabels { query, ranking: ranking.iter().map(|page| (*page).to_owned()).collect() }
    }

    fn check<'a>(measures: &'a LabelMeasures, metric: &str) -> &'a GateCheck {
        measures.checks.iter().find(|check| check.metric == metric).unwrap()
    }

    #[test]
    fn without_labels_nothing_is_decided() {
        let found = label_measures(&[labels("q", &[("a", 0.0)], &["a"])], 10, 0.7);
        assert_eq!(
            (found.verdict, found.queries, found.queries_left_out),
            (Verdict::Inconclusive, 0, 1)
        );
        assert_eq!(check(&found, "mean_recall_at_k").status, CheckStatus::NotMeasured);
        assert_eq!(check(&found, "mean_ndcg_at_k").status, CheckStatus::NotMeasured);
    }

    #[test]
    fn by_hand() {
        let rows: Vec<RankedLabels> = (0..10)
            .map(|at| match at {
                0 => labels("q0", &[("a", 1.0), ("b", 1.0)], &["x", "a"]),
                at => labels(&format!("q{at}"), &[("a", 3.0)], &["a", "x"]),
            })
            .collect();
        let found = label_measures(&rows, 2, 0.7);
        let recall = check(&found, "mean_recall_at_k");
        assert_eq!((recall.n, recall.status), (10, CheckStatus::Pass));
        assert!((recall.observed.unwrap() - 0.95).abs() < 1e-12);
        let discount = 1.0 / 3f64.log2();
        let ndcg = check(&found, "mean_ndcg_at_k");
        let expected = (9.0 + discount / (1.0 + discount)) / 10.0;
        assert!((ndcg.observed.unwrap() - expected).abs() < 1e-12);
        assert!(ndcg.interval.is_some() && ndcg.smallest_drop.is_some());
        assert_eq!(found.verdict, Verdict::Pass);
    }

    #[test]
    fn too_few_queries_say_how_many_are_needed() {
        let found = label_measures(&[labels("q", &[("a", 1.0)], &["a"])], 10, 0.9);
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(found.missing.iter().any(|why| why.contains("needs 10")), "{:?}", found.missing);
    }

    #[test]
    fn ndcg_has_no_part_in_the_verdict() {
        // The relevant page is always second: recall holds, the first page does not.
        let rows: Vec<RankedLabels> =
            (0..10).map(|at| labels(&at.to_string(), &[("a", 1.0)], &["a"])).collect();
        let found = label_measures(&rows, 10, 0.7);
        assert_eq!(found.verdict, Verdict::Pass);
        assert_eq!(found.checks.len(), 3);
    }
}
