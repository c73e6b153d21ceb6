//! The answers of targets, with results, timings and stages.

use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::capture::CapturedPage;
use crate::provenance::Provenance;
use crate::ranking::{Arm, RERANK};
use crate::request::RetrievalMode;
use crate::search::candidate::Candidate;

/// One result of a target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(rename = "TargetResult")]
pub struct TargetResult {
    /// The document as it is compared.
    // The target's id after the rules for ids of its settings; `source::slug` of the local brain.
    pub document: String,
    /// Id of the chunk, if the result is one.
    pub chunk: Option<String>,
    /// Source of the document.
    pub source: Option<String>,
    /// Comparable within one answer only.
    pub score: Option<f64>,
    /// Title of the document.
    pub title: Option<String>,
    /// The passage that is shown.
    pub snippet: Option<String>,
    /// Full text of the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Times in milliseconds; null where the target does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(rename = "TargetTimings")]
pub struct TargetTimings {
    pub lexical_ms: Option<f64>,
    // Embedding the question is a part of it.
    pub dense_ms: Option<f64>,
    pub rerank_ms: Option<f64>,
    pub hydration_ms: Option<f64>,
    pub total_ms: Option<f64>,
}

impl TargetTimings {
    /// The times of this program's own stages, in microseconds, as the playbook counts them: embedding
    /// the question is a part of finding by meaning.
    pub fn of_stages<'a>(
        stages: impl IntoIterator<Item = (&'a str, u64)>,
        is_reranked: bool,
    ) -> Self {
        let mut timings = Self::default();
        let add = |field: &mut Option<f64>, ms| *field = Some(field.unwrap_or(0.0) + ms);
        for (stage, micros) in stages {
            let ms = micros as f64 / 1000.0;
            add(&mut timings.total_ms, ms);
            match stage {
                "words" => add(&mut timings.lexical_ms, ms),
                "embed" | "vectors" => add(&mut timings.dense_ms, ms),
                "rerank" if is_reranked => add(&mut timings.rerank_ms, ms),
                "hydrate" => add(&mut timings.hydration_ms, ms),
                _ => (),
            }
        }
        timings
    }
}

/// An edge of a rationale.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TargetEdge")]
pub struct RationaleEdge {
    /// Type of the edge, such as `owned_by`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Entity where the edge starts.
    pub from: String,
    /// Entity where the edge ends.
    pub to: String,
    /// Confidence, 0 to 1.
    pub confidence: Option<f64>,
    /// Chunks that say so.
    pub evidence: Vec<String>,
}

/// Something that the question was about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TargetEntity")]
pub struct RationaleEntity {
    pub id: String,
    pub aliases: Vec<String>,
}

/// The edges that justify an answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(rename = "TargetRationale")]
pub struct GraphEvidence {
    /// Edges between these entities.
    pub edges: Vec<RationaleEdge>,
    /// Entities that the question is about.
    pub entities: Vec<RationaleEntity>,
    /// Chunks that support the rationale as a whole.
    pub evidence: Vec<String>,
}

/// The judgement of a reranker.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TargetJudgement")]
pub struct RerankJudgement {
    pub document: String,
    pub score: Option<f64>,
}

/// The documents of each stage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(rename = "TargetStages")]
pub struct StageIds {
    /// Found by keyword search.
    pub lexical: Vec<String>,
    /// Found by vector search.
    pub vector: Vec<String>,
    /// Found by walking links.
    pub graph: Vec<String>,
    /// Judged by a reranker.
    pub rerank: Vec<RerankJudgement>,
}

impl StageIds {
    /// The input of each stage of the local brain.
    pub fn of(candidates: &[Candidate]) -> Self {
        let arm_entry = |arm| {
            let ranked = |c: &Candidate| Some((c.arm_entry(arm)?.rank?, c.key.to_string()));
            let mut ranked: Vec<(usize, String)> = candidates.iter().filter_map(ranked).collect();
            ranked.sort();
            ranked.into_iter().map(|(_, document)| document).collect()
        };
        let judged = candidates.iter().filter_map(|candidate| {
            let step = candidate.trace.iter().find(|step| step.stage == RERANK)?;
            Some(RerankJudgement { document: candidate.key.to_string(), score: step.score })
        });
        Self {
            lexical: arm_entry(Arm::Words),
            vector: arm_entry(Arm::Vectors),
            graph: arm_entry(Arm::Graph),
            rerank: judged.collect(),
        }
    }
}

/// A stage that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFallback {
    /// `rerank`, `graph`, `vectors` and so on.
    pub stage: String,
    pub reason: String,
}

impl Serialize for StageFallback {
    /// Only the name of the stage: reasons are not part of an answer's format.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.stage)
    }
}

impl StageFallback {
    /// A stage of a target that gives no reason.
    pub fn unexplained(stage: impl Into<String>) -> Self {
        Self { stage: stage.into(), reason: "fallback".to_owned() }
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct TargetAnswer {
    /// The results, best first.
    // At most as many as were requested.
    pub results: Vec<TargetResult>,
    /// Durations of the stages in milliseconds, as the target reports them.
    pub timings: TargetTimings,
    /// Duration in milliseconds, measured by the client.
    // Without waiting for a turn and without attempts that failed.
    pub latency_ms: f64,
    /// Attempts that were made.
    // The good one included.
    pub attempts: u32,
    /// The edges that justify the answer; null if the target does not tell.
    pub rationale: Option<GraphEvidence>,
    /// The half that answered; null if the target does not report it.
    pub mode: Option<RetrievalMode>,
    /// Stages that did not do their work.
    #[schemars(with = "Vec<String>")]
    pub fallbacks: Vec<StageFallback>,
    /// Minimum reranker score of a result.
    pub threshold: Option<f64>,
    /// Whether that threshold decided anything.
    // False when the target kept more so as not to answer with nothing.
    pub threshold_applied: Option<bool>,
    /// The input of each stage; null if the target reports no stages.
    pub stages: Option<StageIds>,
    /// Number of documents that were considered.
    pub candidates: Option<u64>,
    /// The target's name for the request.
    pub request_id: Option<String>,
    /// Parts of the question that the target has no place for.
    // It did not get them: `mode`, `filter.types` and so on.
    pub not_asked: Vec<&'static str>,
    #[serde(skip)]
    pub provenance: Provenance,
}

impl TargetAnswer {
    /// The documents, best first, each once.
    pub fn documents(&self) -> Vec<&str> {
        let mut seen = FxHashSet::default();
        let documents = self.results.iter().map(|found| found.document.as_str());
        documents.filter(|document| seen.insert(*document)).collect()
    }

    /// The documents as pages, best first, each once.
    pub fn pages(&self) -> Vec<CapturedPage> {
        self.documents().into_iter().map(CapturedPage::parse).collect()
    }

    /// The names of the stages that could not do their work.
    pub fn fallback_stages(&self) -> Vec<String> {
        self.fallbacks.iter().map(|fallback| fallback.stage.clone()).collect()
    }

    /// The total as the target says, or else as seen from here.
    pub fn total_ms(&self) -> f64 {
        self.timings.total_ms.unwrap_or(self.latency_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_stand_once() {
        let found = |document: &str| TargetResult {
            document: document.to_owned(),
            ..TargetResult::default()
        };
        let answer = TargetAnswer {
            results: vec![found("b"), found("a"), found("b"), found("c")],
            ..TargetAnswer::default()
        };
        assert_eq!(answer.documents(), ["b", "a", "c"]);
    }

    #[test]
    fn stages_add_up() {
        let stages =
            [("plan", 100), ("words", 2000), ("embed", 500), ("vectors", 1500), ("rerank", 3)];
        let timings = TargetTimings::of_stages(stages, false);
        assert_eq!((timings.lexical_ms, timings.dense_ms), (Some(2.0), Some(2.0)));
        assert_eq!((timings.rerank_ms, timings.hydration_ms), (None, None));
        assert_eq!(timings.total_ms, Some(4.103));
        assert_eq!(TargetTimings::of_stages(stages, true).rerank_ms, Some(0.003));
    }

    #[test]
    fn the_total_is_the_targets_where_it_says_one() {
        let mut answer = TargetAnswer { latency_ms: 30.0, ..TargetAnswer::default() };
        assert_eq!(answer.total_ms(), 30.0);
        answer.timings.total_ms = Some(20.0);
        assert_eq!(answer.total_ms(), 20.0);
    }
}
