//! The queue: which query to label next, its results, and the measures under the current labels.

use std::sync::Arc;

use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::id::PageKey;
use gbrain_core::labelling::{
    LabelMeasures, ORDER_RULE, RankedLabels, label_measures, possible_change,
};
use gbrain_core::qrels::{JudgedQuery, Judgement};
use gbrain_core::ranking::{Hit, MatchEvidence};
use gbrain_store::LabelReview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{CandidateQuery, Candidates, QueueOrigin, ReviewedLabel, candidates};
use crate::http::{OperationCall, Reply};
use crate::operations::bounds::within;
use crate::operations::labels::exist;
use crate::rankings::Ranker;

const DEFAULT_K: u16 = 10;
const MAX_K: u16 = 20;
const DEFAULT_QUERIES: u16 = 100;
const MAX_QUERIES: u16 = 500;
const DEFAULT_FLOOR: f64 = 0.7;

/// Which queries are in the queue, and how deep their results are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowQueue {
    /// Number of results per query; 10 by default.
    #[schemars(range(min = 1, max = 20))]
    k: Option<u16>,
    /// Maximum number of queries; 100 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u16>,
}

/// A query of the queue by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowQueuedQuery {
    /// The id, or `next` for the first query of the queue.
    id: String,
    /// Number of results; 10 by default.
    #[schemars(range(min = 1, max = 20))]
    k: Option<u16>,
    /// Maximum number of queries in the queue; 100 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u16>,
}

/// What to measure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureLabels {
    /// Number of results that count; 10 by default.
    #[schemars(range(min = 1, max = 20))]
    k: Option<u16>,
    /// Maximum number of queries in the queue; 100 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u16>,
    /// The floor of recall and of nDCG, from 0 to 1; 0.7 by default.
    #[schemars(range(min = 0, max = 1))]
    floor: Option<f64>,
}

/// The queue, in order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueueBody {
    /// Number of results per query.
    k: u16,
    /// The rule of the order.
    rule: &'static str,
    queries: Vec<QueueEntry>,
    /// Queries beyond `limit`.
    left_out: usize,
    /// Queries left out because scrubbing changed their text.
    scrubbed: usize,
    /// Whether captured queries are in the queue: that takes scope admin.
    has_captured: bool,
}

/// A query of the queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct QueueEntry {
    /// Names the query in the queue.
    id: String,
    query: String,
    /// Where it is from: labelled, canonical, captured.
    origins: Vec<QueueOrigin>,
    /// How often it was captured.
    captured: u64,
    /// Number of its results, at most `k`.
    results: usize,
    /// Results without a label.
    unjudged: usize,
    /// Its judged pages, among the results or not.
    judged: usize,
    /// How much labels can still change its measures.
    possible_change: f64,
}

/// A query with its results.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueuedQueryBody {
    #[serde(flatten)]
    entry: QueueEntry,
    /// Place in the queue, from 1.
    place: usize,
    /// Number of queries in the queue.
    of: usize,
    /// The query before it in the queue.
    previous: Option<String>,
    /// The query after it.
    next: Option<String>,
    /// The name under which the caller labels.
    reviewer: String,
    hits: Vec<QueuedResult>,
    /// Judged pages that are not among the results.
    elsewhere_judged: Vec<JudgedPage>,
}

/// A result of a query with its label.
#[derive(Debug, Serialize, JsonSchema)]
struct QueuedResult {
    /// Rank, from 1.
    rank: usize,
    /// The page, as `source::slug`.
    page: PageKey,
    title: String,
    #[serde(rename = "type")]
    page_type: String,
    /// The strongest reason that it is here.
    evidence: MatchEvidence,
    /// The best passage.
    snippet: String,
    /// Matching words, as ranges of characters in the snippet.
    highlights: Vec<(u32, u32)>,
    label: Option<ResultLabel>,
}

/// A judged page.
#[derive(Debug, Serialize, JsonSchema)]
struct JudgedPage {
    /// The page, as `source::slug`.
    page: PageKey,
    label: ResultLabel,
}

/// A label with the judgements of its reviewers.
#[derive(Debug, Serialize, JsonSchema)]
struct ResultLabel {
    id: i64,
    /// The grade that counts.
    grade: i64,
    /// The reviewer who chose the grade where reviewers disagreed.
    settled_by: Option<String>,
    reviews: Vec<LabelReview>,
}

/// What the labels measure over the queries of the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MeasuresBody {
    #[serde(flatten)]
    measures: LabelMeasures,
    /// Queries in the queue.
    queue: usize,
    /// Results in the queue, over all queries.
    results: usize,
    /// Results with a label.
    judged_results: usize,
}

/// A query with its results.
struct RankedQuery {
    candidate: CandidateQuery,
    hits: Arc<Vec<Hit>>,
    entry: QueueEntry,
}

pub(crate) fn queue(call: &OperationCall<'_>, input: ShowQueue) -> Result<Reply, Fault> {
    let ShowQueue { k, limit } = input;
    let k = depth(k)?;
    let (ranked, left_out, scrubbed) = ranked(call, k, limit)?;
    Reply::json(&QueueBody {
        k,
        rule: ORDER_RULE,
        queries: ranked.into_iter().map(|one| one.entry).collect(),
        left_out,
        scrubbed,
        has_captured: call.principal.scope >= Scope::Admin,
    })
}

pub(crate) fn query(call: &OperationCall<'_>, input: ShowQueuedQuery) -> Result<Reply, Fault> {
    let ShowQueuedQuery { id, k, limit } = input;
    let (ranked, ..) = ranked(call, depth(k)?, limit)?;
    let at = match id.as_str() {
        "next" if !ranked.is_empty() => Some(0),
        id => ranked.iter().position(|one| one.entry.id == id),
    };
    let at = at.ok_or_else(|| {
        Fault::not_found(format!("there is no query `{id}` in the queue"))
            .hint("the queue has labelled and canonical queries, and captured ones for scope admin")
    })?;
    let id_at = |at: usize| ranked.get(at).map(|one| one.entry.id.clone());
    let (previous, next) = (at.checked_sub(1).and_then(id_at), id_at(at + 1));
    let (of, place) = (ranked.len(), at + 1);
    let RankedQuery { candidate, hits, entry } = ranked.into_iter().nth(at).expect("it was found");
    let mut labels = candidate.labels;
    let hits = visible(call, &hits)?;
    let hits = hits.into_iter().map(|hit| result(hit, &mut labels)).collect();
    let elsewhere_judged = labels
        .into_iter()
        .map(|one| JudgedPage { page: one.label.key.clone(), label: result_label(one) })
        .collect();
    let reviewer = call.principal.name.clone();
    Reply::json(&QueuedQueryBody {
        entry,
        place,
        of,
        previous,
        next,
        reviewer,
        hits,
        elsewhere_judged,
    })
}

pub(crate) fn measures(call: &OperationCall<'_>, input: MeasureLabels) -> Result<Reply, Fault> {
    let MeasureLabels { k, limit, floor } = input;
    within("floor", floor, 0.0..=1.0)?;
    let k = depth(k)?;
    let (ranked, ..) = ranked(call, k, limit)?;
    let labelled: Vec<RankedLabels> =
        ranked.iter().filter(|one| !one.candidate.labels.is_empty()).map(judged).collect();
    let results: usize = ranked.iter().map(|one| one.entry.results).sum();
    let unjudged: usize = ranked.iter().map(|one| one.entry.unjudged).sum();
    Reply::json(&MeasuresBody {
        measures: label_measures(&labelled, usize::from(k), floor.unwrap_or(DEFAULT_FLOOR)),
        queue: ranked.len(),
        results,
        judged_results: results - unjudged,
    })
}

fn depth(k: Option<u16>) -> Result<u16, Fault> {
    within("k", k, 1..=MAX_K)?;
    Ok(k.unwrap_or(DEFAULT_K))
}

/// The queue in its order, with the numbers of queries that are left out: beyond the limit, and
/// scrubbed.
fn ranked(
    call: &OperationCall<'_>,
    k: u16,
    limit: Option<u16>,
) -> Result<(Vec<RankedQuery>, usize, usize), Fault> {
    within("limit", limit, 1..=MAX_QUERIES)?;
    let limit = usize::from(limit.unwrap_or(DEFAULT_QUERIES));
    let Candidates { queries, left_out, scrubbed } = candidates(call, limit)?;
    if queries.is_empty() {
        return Ok((Vec::new(), left_out, scrubbed));
    }
    let ws = &call.principal.workspace;
    let service = call.registry.query_service(ws)?;
    let ranker = Ranker::new(call.registry.rankings(), ws, &service, call.now, k)?;
    let mut ranked = Vec::with_capacity(queries.len());
    for candidate in queries {
        call.check_stop()?;
        let hits = ranker.rank(&candidate.text, &|| call.stop.is_stopped())?;
        let entry = entry(&candidate, &hits);
        ranked.push(RankedQuery { candidate, hits, entry });
    }
    ranked.sort_by(|a, b| order(&a.entry, &b.entry));
    Ok((ranked, left_out, scrubbed))
}

/// The order of [`ORDER_RULE`].
fn order(a: &QueueEntry, b: &QueueEntry) -> std::cmp::Ordering {
    b.possible_change
        .total_cmp(&a.possible_change)
        .then(a.judged.cmp(&b.judged))
        .then_with(|| a.query.cmp(&b.query))
}

fn entry(candidate: &CandidateQuery, hits: &[Hit]) -> QueueEntry {
    let is_judged = |hit: &&Hit| candidate.labels.iter().any(|one| one.label.key == hit.key);
    let unjudged: Vec<usize> =
        hits.iter().filter(|hit| !is_judged(hit)).map(|hit| hit.rank).collect();
    let judged = candidate.labels.len();
    QueueEntry {
        id: candidate.id(),
        query: candidate.text.clone(),
        origins: candidate.origins.clone(),
        captured: candidate.captured,
        results: hits.len(),
        unjudged: unjudged.len(),
        judged,
        possible_change: possible_change(judged, &unjudged),
    }
}

/// The results that are not private now.
fn visible<'h>(call: &OperationCall<'_>, hits: &'h [Hit]) -> Result<Vec<&'h Hit>, Fault> {
    let keys: Vec<PageKey> = hits.iter().map(|hit| hit.key.clone()).collect();
    let exist = exist(call, &keys)?;
    Ok(hits.iter().zip(exist).filter(|(_, exists)| *exists).map(|(hit, _)| hit).collect())
}

/// A result with its label, which is taken out of `labels`.
fn result(hit: &Hit, labels: &mut Vec<ReviewedLabel>) -> QueuedResult {
    let at = labels.iter().position(|one| one.label.key == hit.key);
    let passage = hit.passages.first();
    QueuedResult {
        rank: hit.rank,
        page: hit.key.clone(),
        title: hit.title.clone(),
        page_type: hit.page_type.clone(),
        evidence: hit.evidence,
        snippet: passage.map(|passage| passage.snippet.clone()).unwrap_or_default(),
        highlights: passage.map(|passage| passage.highlights.clone()).unwrap_or_default(),
        label: at.map(|at| result_label(labels.remove(at))),
    }
}

fn result_label(ReviewedLabel { label, reviews }: ReviewedLabel) -> ResultLabel {
    ResultLabel { id: label.id, grade: label.grade, settled_by: label.settled_by, reviews }
}

/// The labels of a query, and its ranking.
fn judged(ranked: &RankedQuery) -> RankedLabels {
    let judgement = |one: &ReviewedLabel| Judgement {
        doc: one.label.key.to_string(),
        grade: one.label.grade as f64,
    };
    let query = JudgedQuery {
        id: ranked.entry.id.clone(),
        text: Some(ranked.candidate.text.clone()),
        judgements: ranked.candidate.labels.iter().map(judgement).collect(),
        ..JudgedQuery::default()
    };
    RankedLabels { query, ranking: ranked.hits.iter().map(|hit| hit.key.to_string()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(query: &str, judged: usize, possible_change: f64) -> QueueEntry {
        QueueEntry {
            id: String::new(),
            query: query.to_owned(),
            origins: Vec::new(),
            captured: 0,
            results: 0,
            unjudged: 0,
            judged,
            possible_change,
        }
    }

    #[test]
    fn the_order_is_by_possible_change_then_judgements_then_text() {
        let mut queue = [
            entry("b", 0, 0.0),
            entry("d", 1, 0.0),
            entry("c", 0, 0.5),
            entry("a", 0, 0.0),
            entry("e", 9, 2.0),
        ];
        queue.sort_by(order);
        let queries: Vec<&str> = queue.iter().map(|one| one.query.as_str()).collect();
        assert_eq!(queries, ["e", "c", "a", "b", "d"]);
    }
}
