//! The correctness gate: compares answers with judged queries, counted in pages.

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::{ThresholdsError, check_rate};
use crate::qrels::{JudgedPages, JudgedQuery};
use crate::stats::clopper_pearson;

use super::check::smallest_drop;
use super::{Breach, CheckStatus, ConfidenceLevel, GateCheck, ThresholdSide, Verdict};

const EXAMPLES: usize = 5;

/// The thresholds that the answers must reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CorrectnessThresholds {
    /// Least mean share of relevant pages among the first k.
    pub recall_at_k: f64,
    /// Minimum share of queries whose first page is relevant.
    pub first_relevant_hit: f64,
    /// Minimum share of queries whose first page is the expected one.
    pub expected_top1: f64,
}

impl Default for CorrectnessThresholds {
    fn default() -> Self {
        Self { recall_at_k: 0.70, first_relevant_hit: 0.60, expected_top1: 0.50 }
    }
}

impl CorrectnessThresholds {
    /// Rejects a threshold that every answer would pass, or none at all.
    pub fn check(&self) -> Result<(), ThresholdsError> {
        check_rate("recall_at_k", self.recall_at_k)?;
        check_rate("first_relevant_hit", self.first_relevant_hit)?;
        check_rate("expected_top1", self.expected_top1)
    }
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryResult {
    /// The pages that came back, in order, without duplicates.
    Ranked(Vec<String>),
    /// The retriever failed, or a stage could not do its work.
    Errored(String),
}

/// A query with its result and measures.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedResult {
    pub query: JudgedQuery,
    /// Its relevant pages, as `source::slug`.
    pub relevant: Vec<String>,
    /// The returned pages, cut at k.
    pub result: QueryResult,
    /// Relevant pages among the first k, over all relevant pages.
    pub recall_at_k: Option<f64>,
    /// Whether the first page is relevant.
    pub first_relevant_hit: Option<bool>,
    /// Whether the first page is the expected one.
    pub expected_top1_hit: Option<bool>,
}

impl JudgedResult {
    /// Measures the result of a query.
    pub fn new(query: JudgedQuery, result: QueryResult, k: usize) -> Self {
        let relevant: Vec<String> = query.relevant().map(str::to_owned).collect();
        let QueryResult::Ranked(mut pages) = result else {
            return Self {
                query,
                relevant,
                result,
                recall_at_k: None,
                first_relevant_hit: None,
                expected_top1_hit: None,
            };
        };
        pages.truncate(k);
        let found = relevant.iter().filter(|page| pages.contains(page)).count();
        let first = pages.first();
        Self {
            recall_at_k: Some(found as f64 / relevant.len().max(1) as f64),
            first_relevant_hit: Some(first.is_some_and(|page| relevant.contains(page))),
            expected_top1_hit: query.expected_top1.as_ref().map(|page| first == Some(page)),
            result: QueryResult::Ranked(pages),
            relevant,
            query,
        }
    }

    /// Relevant pages that did not come back.
    pub fn missing(&self) -> Vec<&str> {
        match &self.result {
            QueryResult::Ranked(pages) => self
                .relevant
                .iter()
                .filter(|page| !pages.contains(page))
                .map(String::as_str)
                .collect(),
            QueryResult::Errored(_) => Vec::new(),
        }
    }
}

/// The result of the correctness gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Correctness {
    pub verdict: Verdict,
    /// Number of pages that count.
    pub k: usize,
    pub checks: Vec<GateCheck>,
    /// Why it is not green.
    pub breaches: Vec<Breach>,
    /// Warnings beside the verdict.
    pub warnings: Vec<String>,
    /// Every query with its evidence.
    pub queries: Vec<JudgedResult>,
}

/// Holds judged queries against thresholds.
pub fn correctness(
    queries: Vec<JudgedResult>,
    k: usize,
    thresholds: &CorrectnessThresholds,
    confidence: Option<ConfidenceLevel>,
    pages: &JudgedPages,
) -> Correctness {
    let mut checks = checks(&queries, thresholds, confidence);
    let mut warnings: Vec<String> = pages.warning().into_iter().collect();
    if *pages == JudgedPages::NotKnown && is_nothing_matched(&queries) {
        checks.iter_mut().for_each(not_measured);
        warnings.push(NOTHING_MATCHED.to_owned());
    }
    let mut breaches: Vec<Breach> = errored(&queries).into_iter().collect();
    breaches.extend(checks.iter().filter_map(GateCheck::breach));
    let verdict = checks.iter().map(GateCheck::verdict).fold(Verdict::Pass, Verdict::and);
    let verdict = if breaches.is_empty() { verdict } else { Verdict::Fail };
    Correctness { verdict, k, checks, breaches, warnings, queries }
}

/// A target that names pages in another way than the judgements do looks like one that finds nothing.
const NOTHING_MATCHED: &str = "none of the judged pages was retrieved for any query: the target may name \
    pages in another way than the judgements do; compare one of its answers with them (`gbrain targets \
    check`), and set the target's rules for ids or write judgements as source::slug";

/// Whether queries were answered and no relevant page is in any answer.
fn is_nothing_matched(queries: &[JudgedResult]) -> bool {
    let mut answered = queries.iter().filter_map(|judged| judged.recall_at_k).peekable();
    answered.peek().is_some() && answered.all(|recall| recall == 0.0)
}

fn not_measured(check: &mut GateCheck) {
    if check.status != CheckStatus::NotCompared {
        (check.status, check.observed, check.interval) = (CheckStatus::NotMeasured, None, None);
        check.smallest_drop = None;
    }
}

fn errored(queries: &[JudgedResult]) -> Option<Breach> {
    let examples: Vec<String> = queries
        .iter()
        .filter_map(|judged| match &judged.result {
            QueryResult::Errored(message) => Some(format!("{}: {message}", judged.query.id)),
            QueryResult::Ranked(_) => None,
        })
        .collect();
    (!examples.is_empty()).then(|| Breach {
        metric: "queries_errored",
        observed: Some(examples.len() as f64),
        threshold: Some(0.0),
        reason: Some("one_or_more_qrels_queries_threw"),
        examples: examples.into_iter().take(EXAMPLES).collect(),
    })
}

fn checks(
    queries: &[JudgedResult],
    thresholds: &CorrectnessThresholds,
    confidence: Option<ConfidenceLevel>,
) -> Vec<GateCheck> {
    let recalls: Vec<f64> = queries.iter().filter_map(|judged| judged.recall_at_k).collect();
    let firsts = Hits::of(queries, |judged| judged.first_relevant_hit);
    let expected = Hits::of(queries, |judged| judged.expected_top1_hit);
    let judged = distinct_texts(queries.iter().filter(|judged| judged.recall_at_k.is_some()));
    let recall = GateCheck::floor_of_means(
        "mean_recall_at_k",
        &recalls,
        Some(judged),
        thresholds.recall_at_k,
        confidence,
    );
    let first = rate("first_relevant_hit_rate", &firsts, thresholds.first_relevant_hit, confidence);
    let top1 = rate("expected_top1_hit_rate", &expected, thresholds.expected_top1, confidence);
    let must_be_sure = confidence.is_some();
    // Naming the page that must be first is optional.
    let top1 = if queries.iter().all(|judged| judged.query.expected_top1.is_none()) {
        GateCheck { status: CheckStatus::NotCompared, ..top1 }
    } else {
        top1.decide(must_be_sure)
    };
    vec![recall.decide(must_be_sure), first.decide(must_be_sure), top1]
}

/// Queries by their text; one without a text is a query of its own.
fn distinct_texts<'a>(queries: impl Iterator<Item = &'a JudgedResult>) -> usize {
    let key = |judged: &'a JudgedResult| match judged.query.text.as_deref() {
        Some(text) => ("text", text.trim()),
        None => ("id", judged.query.id.as_str()),
    };
    queries.map(key).collect::<std::collections::BTreeSet<_>>().len()
}

/// Hits by query, and the number of distinct ones.
struct Hits {
    hits: Vec<bool>,
    distinct: usize,
}

impl Hits {
    fn of(queries: &[JudgedResult], hit: impl Fn(&JudgedResult) -> Option<bool>) -> Self {
        let measured = queries.iter().filter(|judged| hit(judged).is_some());
        Self { hits: queries.iter().filter_map(&hit).collect(), distinct: distinct_texts(measured) }
    }
}

fn rate(
    metric: &'static str,
    Hits { hits, distinct }: &Hits,
    threshold: f64,
    confidence: Option<ConfidenceLevel>,
) -> GateCheck {
    let n = hits.len();
    let level = confidence.map_or(0.95, ConfidenceLevel::value);
    let values: Vec<f64> = hits.iter().map(|hit| f64::from(u8::from(*hit))).collect();
    let hit = hits.iter().filter(|hit| **hit).count();
    let observed = (n > 0).then(|| hit as f64 / n as f64);
    GateCheck {
        metric,
        baseline: None,
        observed,
        threshold,
        bound: ThresholdSide::Floor,
        n,
        distinct: (*distinct != n).then_some(*distinct),
        interval: clopper_pearson(hit as u64, n as u64, level),
        smallest_drop: smallest_drop(&values, threshold, confidence),
        status: CheckStatus::NotMeasured,
    }
}
