//! Why a run failed, and what to do about it, on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Verdict;
use crate::suite::SuiteRun;
use crate::target::TargetErrorKind;
use crate::triage::{CaseFinding, Class, Evidence, Finding, Mitigation, Presence, Triage};

/// The version of [`TriageBody`].
pub(crate) const TRIAGE_VERSION: u32 = 1;

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Triage")]
pub struct TriageBody {
    /// The version of this form.
    pub schema_version: u32,
    /// The run.
    pub run: i64,
    /// The alert that was asked about, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// The suite.
    pub suite: String,
    /// The workspace.
    pub workspace: String,
    /// Who was asked.
    pub target: String,
    /// When the run began.
    pub started_at: String,
    /// What the run said.
    pub run_verdict: Verdict,
    /// pass if nothing is wrong, fail if something is, inconclusive if nothing can be said.
    pub verdict: Verdict,
    /// The class of most cases; null where nothing is wrong.
    pub class: Option<Class>,
    /// By how many cases, most first.
    pub findings: Vec<WireFinding>,
    /// What could not be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What is wrong in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriageFinding")]
pub struct WireFinding {
    /// Which.
    pub class: Class,
    /// What the run as a whole says of it.
    pub because: Vec<String>,
    /// What to do.
    pub advice: String,
    /// In commands.
    pub commands: Vec<String>,
    /// The cases.
    pub cases: Vec<WireTriaged>,
}

/// A case with why it failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriagedCase")]
pub struct WireTriaged {
    /// The query's id.
    pub query_id: String,
    /// Its text, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// What its class was chosen by.
    pub because: Vec<String>,
    /// What is known of it.
    pub evidence: WireEvidence,
}

/// What is known of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriageEvidence")]
pub struct WireEvidence {
    /// Why there is no answer.
    pub error: Option<TargetErrorKind>,
    /// Stages that did not do their work.
    pub fallbacks: Vec<String>,
    /// How long it took, in milliseconds, where that was too long.
    pub took_ms: Option<f64>,
    /// How long it may take.
    pub allowed_ms: Option<f64>,
    /// What is known of what must be found.
    pub presence: Presence,
    /// Whether words had it.
    pub in_words: Option<bool>,
    /// Whether meaning had it.
    pub in_vectors: Option<bool>,
    /// Whether links led to it.
    #[serde(default)]
    pub in_graph: Option<bool>,
    /// How close it is to the query by meaning.
    pub similarity: Option<f64>,
    /// How close what passing cases of the run found usually is.
    pub usual_similarity: Option<f64>,
    /// How close the farthest of it is, but for a tenth.
    pub least_similarity: Option<f64>,
    /// What the reranker said of it.
    pub rerank_score: Option<f64>,
    /// Its place among what the reranker judged.
    pub rerank_rank: Option<usize>,
    /// How many documents the reranker judged.
    #[serde(default)]
    pub judged: usize,
    /// The threshold that was in force.
    pub threshold: Option<f64>,
    /// Whether the threshold let everything through.
    pub threshold_bypassed: bool,
    /// Its rank in a deeper answer.
    pub deeper_rank: Option<usize>,
    /// How many results there may be.
    pub depth: usize,
    /// Whether it was missed.
    pub missed: bool,
    /// Whether something is shown or claimed that no text says.
    pub made_up: bool,
}

/// What a triage is told with.
#[derive(Debug, Clone, Copy)]
pub struct TriageParts<'a> {
    /// The number of the run.
    pub run: i64,
    /// What is kept of it.
    pub body: &'a SuiteRun,
    /// The alert that was asked about.
    pub alert: Option<&'a str>,
    pub triage: &'a Triage,
    /// What could not be looked at.
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
    pub fn cases(&self) -> impl Iterator<Item = (Class, &WireTriaged)> {
        self.findings.iter().flat_map(|one| one.cases.iter().map(move |case| (one.class, case)))
    }
}

impl WireFinding {
    fn new(finding: &Finding, texts: &dyn Fn(&str) -> Option<String>) -> Self {
        let Finding { class, because, cases, mitigation } = finding.clone();
        let Mitigation { advice, commands } = mitigation;
        let case = |CaseFinding { id, because, evidence }: CaseFinding| WireTriaged {
            query: texts(&id),
            query_id: id,
            because,
            evidence: WireEvidence::from(&evidence),
        };
        Self { class, because, advice, commands, cases: cases.into_iter().map(case).collect() }
    }
}

impl From<&Evidence> for WireEvidence {
    fn from(evidence: &Evidence) -> Self {
        let Evidence {
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
