//! Evidence from the logs of a run: the candidates of each stage, scores, and the threshold.

use std::collections::BTreeMap;

use gbrain_core::format::suite::{RerankedId, RetrievalBody};
use gbrain_core::id::WorkspaceId;
use gbrain_core::target::{RerankJudgement, StageIds};
use gbrain_core::triage::CaseEvidence;
use gbrain_store::{RetrievalFilter, RetrievalOrigin, Store, StoreError};

#[derive(Debug, Clone, Default)]
pub(super) struct LoggedCase {
    /// The candidates of each stage; `None` if the target did not report them.
    pub(super) stages: Option<StageIds>,
    /// The threshold that was applied.
    pub(super) threshold: Option<f64>,
    /// Whether the threshold was bypassed.
    pub(super) is_bypassed: bool,
    /// The edges in the answer's rationale.
    pub(super) edges: Vec<String>,
}

/// The logs of a run, by query id. Unreadable logs are skipped.
pub(super) fn logs(
    store: &Store,
    ws: &WorkspaceId,
    key: &str,
) -> Result<BTreeMap<String, LoggedCase>, StoreError> {
    let own = RetrievalFilter {
        traffic: Some(RetrievalOrigin::Experiment(key.to_owned())),
        ..RetrievalFilter::default()
    };
    let read = |log: gbrain_store::RetrievalLog| {
        let body: RetrievalBody = serde_json::from_str(log.fields.body.as_deref()?).ok()?;
        let id = body.query_id.clone()?;
        let is_bypassed = body.threshold_applied == Some(false);
        let threshold = log.fields.rerank_threshold;
        let edges = body.graph_edges.clone();
        Some((id, LoggedCase { stages: stages(body), threshold, is_bypassed, edges }))
    };
    Ok(store.retrieval_logs(ws, &own)?.into_iter().filter_map(read).collect())
}

fn stages(body: RetrievalBody) -> Option<StageIds> {
    let RetrievalBody { lexical_ids, vector_ids, graph_ids, rerank_ids, .. } = body;
    if lexical_ids.is_none() && vector_ids.is_none() && rerank_ids.is_none() {
        return None;
    }
    let judged = rerank_ids.unwrap_or_default().into_iter();
    Some(StageIds {
        lexical: lexical_ids.unwrap_or_default(),
        vector: vector_ids.unwrap_or_default(),
        graph: graph_ids.unwrap_or_default(),
        rerank: judged
            .map(|RerankedId { id, score }| RerankJudgement { document: id, score })
            .collect(),
    })
}

/// Adds the stages at which an expected result appears. A stage without any candidates was not run.
pub(super) fn add_stages(
    stages: &StageIds,
    is_it: &dyn Fn(&str) -> bool,
    evidence: &mut CaseEvidence,
) {
    let had = |ids: &[String]| match ids {
        [] => None,
        ids => Some(ids.iter().any(|id| is_it(id))),
    };
    evidence.in_words = had(&stages.lexical);
    evidence.in_vectors = had(&stages.vector);
    evidence.in_graph = had(&stages.graph);
    evidence.judged = stages.rerank.len();
    let place = stages.rerank.iter().position(|one| is_it(&one.document));
    if let Some(at) = place {
        evidence.rerank_rank = Some(at + 1);
        evidence.rerank_score = stages.rerank[at].score;
    }
}

/// Adds the evidence of the answer's edges: a document at an end of one was reached by links. A
/// target may report edges without reporting its stages.
pub(super) fn add_edges(
    edges: &[String],
    is_it: &dyn Fn(&str) -> bool,
    evidence: &mut CaseEvidence,
) {
    let ends = |edge: &str| -> Option<(String, String)> {
        let (from, rest) = edge.split_once(" -")?;
        let (_, to) = rest.split_once("-> ")?;
        Some((from.to_owned(), to.to_owned()))
    };
    let names_it = |edge: &String| ends(edge).is_some_and(|(from, to)| is_it(&from) || is_it(&to));
    if evidence.in_graph != Some(true) && edges.iter().any(names_it) {
        evidence.in_graph = Some(true);
    }
}
