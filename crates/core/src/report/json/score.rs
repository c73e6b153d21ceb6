//! The scores of a run, as printed and stored.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::hash::Hash;
use crate::measure::{Evaluation, Measure, QueryScores, SegmentScores, TieCount};
use crate::qrels::{Qrels, SegmentBy};
use crate::run::Run;

/// The version of [`ScoreReport`].
pub(crate) const SCORE_VERSION: u32 = 1;

/// If less than this share of the first ten documents is judged, other measures are unreliable.
const JUDGED_FLOOR: f64 = 0.2;

/// The warning for a run that retrieves no judged document.
pub const NO_JUDGED_HIT: &str = "no retrieved document is judged, so the scores are meaningless: check that the judgements \
    and the run use the same document names (`people/ada`, `default::people/ada`)";

/// Whether the scores of single queries are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerQuery {
    /// Means only: there is no key `per_query`.
    Hide,
    Show,
}

/// The scores of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Score")]
pub struct ScoreReport {
    /// The version of this output format.
    pub schema_version: u32,
    /// The mean of every measure by name; null if no query counts.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub summary: Map<String, Value>,
    /// The scores of every query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_query: Option<Vec<QueryScore>>,
    /// The means by group, and the grouping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<Segments>,
    /// Numbers of queries, judgements and documents.
    pub counts: ScoreCounts,
    /// Content hash of the judgements.
    pub qrels_hash: String,
    /// Judged queries that the run does not rank.
    pub missing_in_run: Vec<String>,
    /// Ranked queries without judgements.
    pub missing_in_qrels: Vec<String>,
    /// Queries whose hits tie across a cutoff.
    pub ties_at_cutoff: Vec<TiedQueries>,
    /// Warnings about the scores.
    pub warnings: Vec<ScoreWarning>,
}

/// Means by group of queries.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Segments {
    /// How the queries were grouped.
    pub by: SegmentBy,
    /// Every group by name.
    pub groups: BTreeMap<String, SegmentScore>,
}

/// The means of one group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SegmentScore {
    /// Number of queries in the group.
    pub queries: usize,
    /// The mean of every measure by name.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub summary: Map<String, Value>,
}

impl Segments {
    /// Groups the queries of an evaluation.
    pub fn of(evaluation: &Evaluation, qrels: &Qrels, by: SegmentBy) -> Self {
        let keys: FxHashMap<&str, Vec<String>> =
            qrels.queries.iter().map(|query| (query.id.as_str(), query.segments(by))).collect();
        let groups = evaluation.by_segment(|id| keys.get(id).cloned().unwrap_or_default());
        let score = |(name, SegmentScores { queries, summary }): (String, SegmentScores)| {
            (name, SegmentScore { queries, summary: summary.iter().map(value).collect() })
        };
        Self { by, groups: groups.into_iter().map(score).collect() }
    }
}

fn value((measure, mean): &(Measure, Option<f64>)) -> (String, Value) {
    (measure.to_string(), mean.map_or(Value::Null, Value::from))
}

/// The scores of one query.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QueryScore {
    /// Id of the query.
    pub query_id: String,
    /// Number of retrieved documents; null if the run does not rank the query.
    pub retrieved: Option<usize>,
    /// Values of the query by measure.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub scores: Map<String, Value>,
}

/// Numbers of queries, judgements and documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScoreCounts {
    /// Queries that count in the means.
    pub queries: usize,
    /// Queries of the qrels.
    pub judged_queries: usize,
    /// Queries of the run.
    pub ranked_queries: usize,
    /// Judgements of the qrels.
    pub judgements: usize,
    /// Documents of the run.
    pub hits: usize,
    /// Documents of the run that are judged for their query.
    pub judged_hits: usize,
}

/// Ties at one cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TiedQueries {
    /// The rank at which the list is cut.
    pub cutoff: usize,
    /// Number of queries with a tie there.
    pub queries: usize,
}

/// A warning about the scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScoreWarning {
    /// A stable identifier of the warning.
    pub kind: &'static str,
    /// The warning as a sentence.
    pub message: String,
}

impl ScoreReport {
    pub fn of(evaluation: &Evaluation, qrels: &Qrels, run: &Run<'_>, per_query: PerQuery) -> Self {
        let counts = ScoreCounts {
            queries: evaluation.per_query.len(),
            judged_queries: qrels.queries.len(),
            ranked_queries: run.len(),
            judgements: qrels.judgements(),
            hits: run.hits(),
            judged_hits: evaluation.judged_hits,
        };
        let warnings = warnings(evaluation, qrels, run, &counts);
        let Evaluation {
            summary,
            per_query: queries,
            missing_in_run,
            missing_in_qrels,
            ties_at_cutoff,
            judged_hits: _,
        } = evaluation;
        let measures: Vec<String> =
            summary.iter().map(|(measure, _)| measure.to_string()).collect();
        Self {
            schema_version: SCORE_VERSION,
            summary: summary.iter().map(value).collect(),
            per_query: (per_query == PerQuery::Show)
                .then(|| queries.iter().map(|query| query_score(query, &measures)).collect()),
            segments: None,
            counts,
            qrels_hash: qrels_hash(qrels),
            missing_in_run: missing_in_run.clone(),
            missing_in_qrels: missing_in_qrels.clone(),
            ties_at_cutoff: ties_at_cutoff.iter().map(tied).collect(),
            warnings,
        }
    }
}

/// Hash of the judgements, independent of their file format.
fn qrels_hash(qrels: &Qrels) -> String {
    let mut lines: Vec<String> = qrels
        .queries
        .iter()
        .flat_map(|q| q.judgements.iter().map(|j| format!("{}\t{}\t{}", q.id, j.doc, j.grade)))
        .collect();
    lines.sort_unstable();
    Hash::of(lines.join("\n").as_bytes()).to_hex()
}

fn query_score(query: &QueryScores, measures: &[String]) -> QueryScore {
    let QueryScores { query_id, scores, retrieved } = query;
    let scores = measures.iter().cloned().zip(scores.iter().map(|score| Value::from(*score)));
    QueryScore { query_id: query_id.clone(), retrieved: *retrieved, scores: scores.collect() }
}

fn tied(tied: &TieCount) -> TiedQueries {
    let TieCount { cutoff, queries } = *tied;
    TiedQueries { cutoff, queries }
}

fn warnings(
    evaluation: &Evaluation,
    qrels: &Qrels,
    run: &Run<'_>,
    counts: &ScoreCounts,
) -> Vec<ScoreWarning> {
    let mut all: Vec<ScoreWarning> = qrels
        .lints
        .iter()
        .map(|lint| ScoreWarning { kind: lint.kind(), message: lint.to_string() })
        .collect();
    let mut warn = |kind, message| all.push(ScoreWarning { kind, message });
    let judged = counts.judged_queries;
    match evaluation.missing_in_run.len() {
        0 => (),
        n if n == judged => {
            warn("nothing_in_common", format!("judged queries in the run: none of {judged}"))
        }
        n => warn(
            "missing_in_run",
            format!("judged queries that are not in the run: {n} of {judged}"),
        ),
    }
    if !evaluation.missing_in_qrels.is_empty() {
        let n = evaluation.missing_in_qrels.len();
        warn(
            "missing_in_qrels",
            format!("queries of the run that are not judged and do not count: {n}"),
        );
    }
    if counts.judged_hits == 0 && evaluation.missing_in_run.len() < judged {
        warn("no_judged_hit", NO_JUDGED_HIT.to_owned());
    }
    if run.repeated > 0 {
        let n = run.repeated;
        warn(
            "repeated_hits",
            format!("hits that repeat a document, which counts at its first rank: {n}"),
        );
    }
    for TieCount { cutoff, queries } in evaluation.ties_at_cutoff.iter().filter(|t| t.queries > 0) {
        warn(
            "ties_at_cutoff",
            format!(
                "queries with equal scores across rank {cutoff}, where document ids decide: {queries}"
            ),
        );
    }
    let judged_10 = evaluation.mean(&Measure::judged(10));
    if let Some(share) = judged_10.filter(|share| *share < JUDGED_FLOOR && counts.judged_hits > 0) {
        warn(
            "few_judged",
            format!(
                "{:.0}% of the first ten are judged: other measures are lower bounds",
                share * 100.0
            ),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{MissingQueries, evaluate};

    #[test]
    fn the_wire_form() {
        let qrels = Qrels::parse(b"1 0 a 1\n2 0 b 1\n").unwrap();
        let run = Run::parse(b"1 Q0 a 1 1 t\n1 Q0 x 2 1 t\n3 Q0 x 1 1 t\n").unwrap();
        let measures = Measure::parse_list("P@1 RR").unwrap();
        let evaluation = evaluate(&qrels, &run, &measures, MissingQueries::Zero);
        let score = ScoreReport::of(&evaluation, &qrels, &run, PerQuery::Show);
        insta::assert_json_snapshot!(score, @r#"
        {
          "schema_version": 1,
          "summary": {
            "P@1": 0.0,
            "RR": 0.25
          },
          "per_query": [
            {
              "query_id": "1",
              "retrieved": 2,
              "scores": {
                "P@1": 0.0,
                "RR": 0.5
              }
            },
            {
              "query_id": "2",
              "retrieved": null,
              "scores": {
                "P@1": 0.0,
                "RR": 0.0
              }
            }
          ],
          "counts": {
            "queries": 2,
            "judged_queries": 2,
            "ranked_queries": 2,
            "judgements": 2,
            "hits": 3,
            "judged_hits": 1
          },
          "qrels_hash": "5e3b97749aa48ace8c62d5f24242ce287d157569de482e21f1a87ac3437afa42",
          "missing_in_run": [
            "2"
          ],
          "missing_in_qrels": [
            "3"
          ],
          "ties_at_cutoff": [
            {
              "cutoff": 1,
              "queries": 1
            }
          ],
          "warnings": [
            {
              "kind": "missing_in_run",
              "message": "judged queries that are not in the run: 1 of 2"
            },
            {
              "kind": "missing_in_qrels",
              "message": "queries of the run that are not judged and do not count: 1"
            },
            {
              "kind": "ties_at_cutoff",
              "message": "queries with equal scores across rank 1, where document ids decide: 1"
            }
          ]
        }
        "#);
        let hidden = ScoreReport::of(&evaluation, &qrels, &run, PerQuery::Hide);
        assert!(serde_json::to_value(&hidden).unwrap().get("per_query").is_none());
    }
}
