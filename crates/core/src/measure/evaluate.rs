//! A run against qrels: every measure for every judged query, and their means.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::Measure;
use super::graded::Grader;
use crate::qrels::{JudgedQuery, Qrels};
use crate::run::{OrderedBy, Run, RunHit};

/// How judged queries count that the run does not rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingQueries {
    /// 0 in every measure, as `trec_eval -c`.
    Zero,
    /// Nothing: means are over the queries that both have.
    Skip,
}

/// The scores of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryScores {
    pub query_id: String,
    /// One value per measure, in their order.
    pub scores: Vec<f64>,
    /// How many documents were retrieved; none when the run does not rank the query.
    pub retrieved: Option<usize>,
}

/// Queries whose hits at a cutoff and just past it have one score: which of them counts is decided
/// by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TieCount {
    pub cutoff: usize,
    pub queries: usize,
}

/// The means of a group of queries.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentScores {
    /// How many queries it has.
    pub queries: usize,
    /// The mean of every measure.
    pub summary: Vec<(Measure, Option<f64>)>,
}

/// The result of evaluating a run with qrels.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The mean of every measure; none when no query counts.
    pub summary: Vec<(Measure, Option<f64>)>,
    /// Every query that counts, in the order of the qrels.
    pub per_query: Vec<QueryScores>,
    /// Judged queries that the run does not rank.
    pub missing_in_run: Vec<String>,
    /// Ranked queries without judgements; they count nothing.
    pub missing_in_qrels: Vec<String>,
    pub ties_at_cutoff: Vec<TieCount>,
    /// How many retrieved documents of judged queries are judged. None where some were retrieved
    /// means that the two files name documents differently.
    pub judged_hits: usize,
}

/// Evaluates a run with qrels.
pub fn evaluate(
    qrels: &Qrels,
    run: &Run<'_>,
    measures: &[Measure],
    missing: MissingQueries,
) -> Evaluation {
    let ranked = qrels.queries.iter().map(|query| as_ranked(query, run.ranking(&query.id)));
    let ranked: Vec<Option<JudgedQuery>> = ranked.collect();
    let mut grader = Grader::default();
    let mut ties = TieCounter::new(measures, run.ordered_by);
    let (mut per_query, mut missing_in_run, mut judged_hits) = (Vec::new(), Vec::new(), 0);
    for (query, as_ranked) in qrels.queries.iter().zip(&ranked) {
        let ranking = run.ranking(&query.id);
        if ranking.is_none() {
            missing_in_run.push(query.id.clone());
            if missing == MissingQueries::Skip {
                continue;
            }
        }
        let hits = ranking.unwrap_or_default();
        ties.count(hits);
        let judgements = as_ranked.as_ref().map_or(&query.judgements, |query| &query.judgements);
        let graded = grader.grade(judgements, hits, |hit| &hit.doc);
        judged_hits += graded.found.len();
        per_query.push(QueryScores {
            query_id: query.id.clone(),
            scores: measures.iter().map(|measure| measure.of(graded)).collect(),
            retrieved: ranking.map(<[_]>::len),
        });
    }
    Evaluation {
        summary: means(measures, per_query.iter()),
        per_query,
        missing_in_run,
        missing_in_qrels: not_judged(qrels, run),
        ties_at_cutoff: ties.all,
        judged_hits,
    }
}

/// A query whose bare slugs are read as the ids that a run has; none if it names none.
fn as_ranked(query: &JudgedQuery, ranking: Option<&[RunHit<'_>]>) -> Option<JudgedQuery> {
    let mut query = Some(query).filter(|query| !query.bare.is_empty())?.clone();
    let ids: FxHashSet<&str> = ranking?.iter().map(|hit| hit.doc.as_ref()).collect();
    query.as_bare_ids(|id| ids.contains(id));
    Some(query)
}

impl Evaluation {
    /// The mean of a measure.
    pub fn mean(&self, measure: &Measure) -> Option<f64> {
        self.summary.iter().find(|(one, _)| one == measure).and_then(|(_, mean)| *mean)
    }

    /// The values of a measure, in the order of `per_query`; none if it was not evaluated.
    pub fn values(&self, measure: &Measure) -> Option<Vec<f64>> {
        let at = self.summary.iter().position(|(one, _)| one == measure)?;
        Some(self.per_query.iter().map(|query| query.scores[at]).collect())
    }

    /// The means by groups of queries: a query is in the group of each of its keys, and without
    /// one in none.
    pub fn by_segment<K: Ord, I: IntoIterator<Item = K>>(
        &self,
        keys: impl Fn(&str) -> I,
    ) -> BTreeMap<K, SegmentScores> {
        let mut groups: BTreeMap<K, Vec<&QueryScores>> = BTreeMap::new();
        for query in &self.per_query {
            for key in keys(&query.query_id) {
                groups.entry(key).or_default().push(query);
            }
        }
        let measures: Vec<Measure> = self.summary.iter().map(|(measure, _)| *measure).collect();
        let mean = |(key, group): (K, Vec<&QueryScores>)| {
            let (queries, summary) = (group.len(), means(&measures, group.into_iter()));
            (key, SegmentScores { queries, summary })
        };
        groups.into_iter().map(mean).collect()
    }
}

fn means<'s>(
    measures: &[Measure],
    queries: impl Iterator<Item = &'s QueryScores>,
) -> Vec<(Measure, Option<f64>)> {
    let (mut sums, mut n) = (vec![0.0; measures.len()], 0usize);
    for query in queries {
        n += 1;
        sums.iter_mut().zip(&query.scores).for_each(|(sum, score)| *sum += score);
    }
    let mean = |sum: f64| (n > 0).then(|| (sum / n as f64).min(1.0));
    measures.iter().copied().zip(sums.into_iter().map(mean)).collect()
}

fn not_judged(qrels: &Qrels, run: &Run<'_>) -> Vec<String> {
    let judged: FxHashSet<&str> = qrels.queries.iter().map(|query| query.id.as_str()).collect();
    let queries = run.rankings().map(|(query, _)| query);
    queries.filter(|query| !judged.contains(query)).map(str::to_owned).collect()
}

/// Counts ties at the cutoffs of measures.
struct TieCounter {
    all: Vec<TieCount>,
}

impl TieCounter {
    fn new(measures: &[Measure], ordered_by: OrderedBy) -> Self {
        let mut cutoffs: Vec<usize> = match ordered_by {
            OrderedBy::Score => measures.iter().filter_map(Measure::cutoff).collect(),
            OrderedBy::Position => Vec::new(),
        };
        cutoffs.sort_unstable();
        cutoffs.dedup();
        Self { all: cutoffs.into_iter().map(|cutoff| TieCount { cutoff, queries: 0 }).collect() }
    }

    fn count(&mut self, hits: &[RunHit<'_>]) {
        for TieCount { cutoff, queries } in &mut self.all {
            if let Some([last, next]) = hits.get(*cutoff - 1..=*cutoff) {
                *queries += usize::from(last.score == next.score);
            }
        }
    }
}
