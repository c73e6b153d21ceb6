//! The body of a retrieval log, and the comment stored for a measured retrieval.
//!
//! Both hold ids only. The names follow the playbook's data model; `router_mode` in other documents
//! is the column `retrieval_mode`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::named;
use crate::suite::case::CaseDefect;
use crate::target::{RerankJudgement, StageIds, TargetAnswer, TargetErrorKind};

/// The version of [`RetrievalBody`].
pub const RETRIEVAL_BODY_VERSION: u32 = 1;

named! {
    /// The kind of feedback on a retrieval.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Signal {
        /// A user's vote: 1 or -1.
        UserVote = "user_vote",
        UserComment = "user_comment",
        /// A user marked a result barely relevant.
        BorderlineLabel = "borderline_label",
        /// Whether an expected result is in the top five.
        RecallAt5 = "eval_recall_at_5",
        /// Whether an expected result is in the top ten.
        RecallAt10 = "eval_recall_at_10",
        /// Whether the highlight shows the correct span.
        Snippet = "eval_snippet",
        /// Whether the rationale is correct.
        Rationale = "eval_rationale",
        /// Whether a graph question was answered.
        GraphAnswer = "eval_graph_answer",
        /// The reranker's score of a borderline pair.
        RerankScore = "eval_rerank_score",
    }
}

/// The part of a retrieval log that has no columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RetrievalBody {
    /// Version of this format.
    pub schema_version: u32,
    pub target: String,
    /// The canonical query, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<String>,
    /// The results, best first.
    #[serde(default)]
    pub result_ids: Vec<String>,
    /// Results of the lexical stage; `None` if the target does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical_ids: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_ids: Option<Vec<String>>,
    /// Results of the graph stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_ids: Option<Vec<String>>,
    /// Documents that were reranked, with scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank_ids: Option<Vec<RerankedId>>,
    /// Stage latencies in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies: BTreeMap<String, f64>,
    /// Latency measured by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ms: Option<f64>,
    #[serde(default)]
    pub attempts: u32,
    /// Stages that fell back or failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Whether the threshold was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_applied: Option<bool>,
    /// Edges given as rationale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graph_edges: Vec<String>,
    /// Passages given as evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rationale_ids: Vec<String>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TargetErrorKind>,
}

/// A document with its rerank score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RerankedId {
    pub id: String,
    pub score: Option<f64>,
}

/// Comment stored for a measured retrieval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseComment {
    pub suite: String,
    /// Key of the run.
    pub run_id: String,
    /// Query id of the case.
    pub case_id: String,
    /// Problems found in the case.
    pub flags: Vec<CaseDefect>,
}

impl RetrievalBody {
    /// The log of an answer.
    pub fn of_answer(target: &str, query_id: Option<&str>, answer: &TargetAnswer) -> Self {
        let edges = answer.rationale.iter().flat_map(|rationale| &rationale.edges);
        let timings = &answer.timings;
        let times = [
            ("lexical", timings.lexical_ms),
            ("dense", timings.dense_ms),
            ("rerank", timings.rerank_ms),
            ("hydration", timings.hydration_ms),
            ("total", timings.total_ms),
        ];
        let known = times.into_iter().filter_map(|(stage, ms)| {
            Some((stage.to_owned(), ms.filter(|ms: &f64| ms.is_finite())?))
        });
        let (lexical_ids, vector_ids, graph_ids, rerank_ids) = match answer.stages.clone() {
            None => (None, None, None, None),
            Some(StageIds { lexical, vector, graph, rerank }) => {
                let judged = rerank.into_iter().map(|RerankJudgement { document, score }| {
                    RerankedId { id: document, score: score.filter(|score| score.is_finite()) }
                });
                (Some(lexical), Some(vector), Some(graph), Some(judged.collect()))
            }
        };
        Self {
            schema_version: RETRIEVAL_BODY_VERSION,
            target: target.to_owned(),
            query_id: query_id.map(str::to_owned),
            result_ids: answer.results.iter().map(|found| found.document.clone()).collect(),
            lexical_ids,
            vector_ids,
            graph_ids,
            rerank_ids,
            latencies: known.collect(),
            seen_ms: Some(answer.latency_ms).filter(|ms| ms.is_finite()),
            attempts: answer.attempts,
            fallbacks: answer.fallback_stages(),
            threshold_applied: answer.threshold_applied,
            graph_edges: edges
                .clone()
                .map(|edge| format!("{} -{}-> {}", edge.from, edge.kind, edge.to))
                .collect(),
            rationale_ids: edges.flat_map(|edge| edge.evidence.iter().cloned()).collect(),
            error: None,
        }
    }

    /// The log of a failed query.
    pub fn of_error(target: &str, query_id: Option<&str>, error: TargetErrorKind) -> Self {
        Self {
            schema_version: RETRIEVAL_BODY_VERSION,
            target: target.to_owned(),
            query_id: query_id.map(str::to_owned),
            error: Some(error),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{TargetResult, TargetTimings};

    #[test]
    fn an_answer_there_and_back() {
        let stages = StageIds {
            lexical: vec!["a".to_owned()],
            vector: vec!["b".to_owned()],
            graph: vec!["c".to_owned()],
            rerank: vec![RerankJudgement { document: "a".to_owned(), score: Some(0.4) }],
        };
        let answer = TargetAnswer {
            results: vec![TargetResult { document: "a".to_owned(), ..TargetResult::default() }],
            timings: TargetTimings {
                dense_ms: Some(4.0),
                total_ms: Some(f64::NAN),
                ..Default::default()
            },
            latency_ms: 7.5,
            attempts: 2,
            stages: Some(stages),
            threshold_applied: Some(false),
            ..TargetAnswer::default()
        };
        let body = RetrievalBody::of_answer("prod", Some("q1"), &answer);
        assert_eq!(body.latencies.len(), 1, "no time is no number");
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!(serde_json::from_str::<RetrievalBody>(&text).unwrap(), body);
        assert!(text.contains(r#""rerank_ids":[{"id":"a","score":0.4}]"#), "{text}");
    }

    #[test]
    fn an_error_has_its_name() {
        let body = RetrievalBody::of_error("prod", None, TargetErrorKind::Timeout);
        let text = serde_json::to_string(&body).unwrap();
        assert!(text.contains(r#""error":"timeout""#), "{text}");
    }
}
