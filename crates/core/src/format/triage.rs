//! Triage of a failed run on the wire: causes and mitigations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::target::TargetErrorKind;
use crate::triage::{
    CaseEvidence, CaseFinding, DocumentPresence, FailureCause, FailureCauseFinding, Mitigation,
    Triage,
};

/// The version of [`TriageBody`].
pub(crate) const TRIAGE_VERSION: u32 = 1;

/// The triage of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Triage")]
pub struct TriageBody {
    /// Version of this format.
    pub schema_version: u32,
    /// The number of the run.
    pub run: i64,
    /// The alert that was triaged, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    pub suite: String,
    pub workspace: String,
    pub target: String,
    pub started_at: String,
    /// The verdict of the run itself.
    pub run_verdict: Verdict,
    /// The verdict of the triage: pass if nothing is wrong, fail if something is, inconclusive if
    /// it cannot be decided.
    pub verdict: Verdict,
    /// The class with the most cases; null when nothing is wrong.
    pub class: Option<FailureCause>,
    /// Findings, those with the most cases first.
    pub findings: Vec<WireFinding>,
    /// Checks that could not be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Cases that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriageFinding")]
pub struct WireFinding {
    pub class: FailureCause,
    /// Reasons that apply to the run as a whole.
    pub because: Vec<String>,
    pub advice: String,
    pub commands: Vec<String>,
    pub cases: Vec<WireTriagedCase>,
}

/// A failed case with its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriagedCase")]
pub struct WireTriagedCase {
    pub query_id: String,
    /// The query text, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Why its class was chosen.
    pub because: Vec<String>,
    pub evidence: WireEvidence,
}

/// The facts known about a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriageEvidence")]
pub struct WireEvidence {
    /// Why there is no answer.
    pub error: Option<TargetErrorKind>,
    /// Stages that fell back or failed.
    pub fallbacks: Vec<String>,
    /// Latency in milliseconds, if it was too high.
    pub took_ms: Option<f64>,
    /// Allowed latency in milliseconds.
    pub allowed_ms: Option<f64>,
    /// Whether the expected documents are in the corpus.
    pub presence: DocumentPresence,
    /// Whether the lexical search found it.
    pub in_words: Option<bool>,
    /// Whether the vector search found it.
    pub in_vectors: Option<bool>,
    /// Whether the graph search found it.
    #[serde(default)]
    pub in_graph: Option<bool>,
    /// Vector similarity to the query.
    pub similarity: Option<f64>,
    /// Median similarity of documents found by passing cases of the run.
    pub usual_similarity: Option<f64>,
    /// 10th percentile of these similarities.
    pub least_similarity: Option<f64>,
    pub rerank_score: Option<f64>,
    /// Rank among the documents the reranker scored.
    pub rerank_rank: Option<usize>,
    /// Number of documents the reranker scored.
    #[serde(default)]
    pub judged: usize,
    /// The threshold in force.
    pub threshold: Option<f64>,
    /// Whether the threshold was bypassed.
    pub threshold_bypassed: bool,
    /// Rank in a deeper answer.
    pub deeper_rank: Option<usize>,
    /// Maximum number of results.
    pub depth: usize,
    pub missed: bool,
    /// Whether the answer shows or claims something that no text supports.
    pub made_up: bool,
}

/// The input of [`TriageBody::new`].
#[derive(Debug, Clone, Copy)]
pub struct TriageParts<'a> {
    pub run: i64,
    /// The triaged run, as stored.
    pub body: &'a SuiteRun,
    /// The alert that was triaged.
    pub alert: Option<&'a str>,
    pub triage: &'a Triage,
    /// Checks that could not be made.
    pub notes: &'a [String],
}

impl TriageBody {
    /// The wire form. `texts` gives the text of a query, where the reader may see it.
    pub fn new(parts: &TriageParts<'_>, texts: &dyn Fn(&str) -> Option<String>) -> Self {
        let TriageParts { run, body, alert, triage, notes } = *parts;
        let Triage { class, findings, verdict } = triage;
        Self {
            schema_version: TRIAGE_VERSION,
            run,
            alert: alert.map(str::to_owned),
            suite: body.suite.clone(),
            workspace: body.workspace.clone(),
            target: body.target.clone(),
            started_at: body.started_at.clone(),
            run_verdict: body.verdict,
            verdict: *verdict,
            class: *class,
            findings: findings.iter().map(|one| WireFinding::new(one, texts)).collect(),
            notes: notes.to_vec(),
        }
    }

    /// Every case with its class, in order.
    pub fn cases(&self) -> impl Iterator<Item = (FailureCause, &WireTriagedCase)> {
        self.findings.iter().flat_map(|one| one.cases.iter().map(move |case| (one.class, case)))
    }
}

impl WireFinding {
    fn new(finding: &FailureCauseFinding, texts: &dyn Fn(&str) -> Option<String>) -> Self {
        let FailureCauseFinding { class, because, cases, mitigation } = finding.clone();
        let Mitigation { advice, commands } = mitigation;
        let case = |CaseFinding { id, because, evidence }: CaseFinding| WireTriagedCase {
            query: texts(&id),
            query_id: id,
            because,
            evidence: WireEvidence::from(&evidence),
        };
        Self { class, because, advice, commands, cases: cases.into_iter().map(case).collect() }
    }
}

impl From<&CaseEvidence> for WireEvidence {
    fn from(evidence: &CaseEvidence) -> Self {
        let CaseEvidence {
            error,
            fallbacks,
            latency,
            presence,
            // The commands say so.
            is_deleted: _,
            in_words,
            in_vectors,
            in_graph,
            similarity,
            rerank_score,
            rerank_rank,
            judged,
            threshold,
            is_bypassed,
            deeper_rank,
            depth,
            is_missed,
            is_made_up,
            // They are among the reasons.
            notes: _,
        } = evidence.clone();
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        Self {
            error,
            fallbacks,
            took_ms: finite(latency.map(|(took, _)| took)),
            allowed_ms: finite(latency.map(|(_, allowed)| allowed)),
            presence,
            in_words,
            in_vectors,
            in_graph,
            similarity: finite(similarity.map(|one| one.own)),
            usual_similarity: finite(similarity.map(|one| one.usual)),
            least_similarity: finite(similarity.map(|one| one.least)),
            rerank_score: finite(rerank_score),
            rerank_rank,
            judged,
            threshold: finite(threshold),
            threshold_bypassed: is_bypassed,
            deeper_rank,
            depth,
            missed: is_missed,
            made_up: is_made_up,
        }
    }
}
