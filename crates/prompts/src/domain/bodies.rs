//! The `--json` output of `eva` and `kick`.

use serde::Serialize;

use super::logs::EvidenceLine;
use super::usage::{Median, Middle, Summary, UsageRow};
use super::{CheckupFinding, Gate, MissingEvidence, PromptInput, PromptStatus, Stale};

/// The schema version of these bodies.
pub const PROMPTS_VERSION: u32 = 1;

/// The figures of a usage log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageBody {
    pub total: u64,
    /// Rows that were sent.
    pub sent: u64,
    pub verified_true: u64,
    pub verified_false: u64,
    /// Of these, without a verifier.
    pub verified_null: u64,
    /// When the latest row was written.
    pub last_ts: Option<String>,
    /// Over sent rows; nothing without any.
    pub median_duration_ms: Option<f64>,
    pub median_prompt_words: Option<f64>,
    pub median_output_words: Option<f64>,
    /// False if a median is right to a thousandth only.
    pub medians_exact: bool,
    /// Lines that are not rows; they count for nothing.
    pub malformed: u64,
    /// The number of the first of them.
    pub first_malformed_line: Option<u64>,
}

impl UsageBody {
    /// The figures of a log.
    pub fn new(summary: &Summary) -> Self {
        let medians = [&summary.duration_ms, &summary.prompt_words, &summary.output_words];
        let [duration, prompt, output] = medians.map(Median::middle);
        let value = |middle: Option<Middle>| middle.map(|middle| middle.value);
        let is_exact = |middle: Option<Middle>| middle.is_none_or(|m| m.is_exact);
        Self {
            total: summary.total,
            sent: summary.sent.all(),
            verified_true: summary.sent.verified,
            verified_false: summary.sent.refuted,
            verified_null: summary.sent.unverified,
            last_ts: summary.last().map(str::to_owned),
            median_duration_ms: value(duration),
            median_prompt_words: value(prompt),
            median_output_words: value(output),
            medians_exact: [duration, prompt, output].into_iter().all(is_exact),
            malformed: summary.malformed,
            first_malformed_line: summary.first_malformed,
        }
    }
}

/// The progress of a prompt towards its next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateBody {
    pub transition: &'static str,
    pub uses: u64,
    /// The number of uses required.
    pub min_uses: u64,
    pub counts: &'static str,
    /// Sent runs that count for another text, verifier, default or model.
    pub other_text: u64,
    /// Sent runs that have no record of their text: they count for nothing.
    pub unknown_text: u64,
    /// Lower bound of the rate of uses that count, at 95 %.
    pub wilson_low: Option<f64>,
    /// Whether a green evaluation is needed.
    pub require_eval: bool,
    /// The state of the evaluation.
    pub eval: &'static str,
    /// The unmet requirements; the gate is open if there are none.
    pub unmet: Vec<String>,
}

impl GateBody {
    /// The body of a gate.
    pub fn new(gate: &Gate) -> Self {
        let Gate { requirement, uses, sent: _, other_text, unknown_text, wilson_low, eval, unmet } =
            gate;
        Self {
            transition: requirement.transition.name(),
            uses: *uses,
            min_uses: requirement.min_uses,
            counts: requirement.transition.counts(),
            other_text: *other_text,
            unknown_text: *unknown_text,
            wilson_low: *wilson_low,
            require_eval: requirement.require_eval,
            eval: eval.name(),
            unmet: unmet.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The output of `eva show --json`.
#[derive(Debug, Serialize)]
pub struct ShowBody<'a> {
    /// The schema version of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// The title for people.
    pub title: &'a str,
    pub summary: &'a str,
    /// Draft, tested or ready.
    pub status: PromptStatus,
    pub version: &'a str,
    /// The day of the last edit or promotion.
    pub updated: &'a str,
    pub inputs: &'a [PromptInput],
    pub cases: Vec<String>,
    /// The hash of template, hooks, defaults and model.
    pub prompt_hash: String,
    pub usage: UsageBody,
    /// The gate to its next step; `None` for a ready prompt.
    pub gate: Option<GateBody>,
    /// The state of the evaluation.
    pub eval: &'static str,
    /// The evidence for its status.
    pub evidence: Option<EvidenceLine>,
    /// Describes evidence that is about another text.
    pub stale: Option<String>,
    /// Describes missing evidence for its status.
    pub missing_evidence: Option<String>,
}

/// The output of `eva list --json` and `eva stats --json`.
#[derive(Debug, Serialize)]
pub struct PromptsBody {
    /// The schema version of this document.
    pub schema_version: u32,
    /// Every prompt, by name.
    pub prompts: Vec<PromptRow>,
}

/// A prompt in a list, or the reason that it cannot be read.
#[derive(Debug, Default, Serialize)]
pub struct PromptRow {
    pub id: String,
    /// Draft, tested or ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PromptStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Shell aliases that run it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Its runs, in `eva stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageBody>,
    /// The durations of its latest sent runs, oldest first, in `eva stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_durations_ms: Option<Vec<u64>>,
    /// The gate to its next step, in `eva stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateBody>,
    /// Describes evidence that is about another text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Describes missing evidence for its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_evidence: Option<String>,
    /// The error, if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The output of `eva promote --json` and `eva demote --json`.
#[derive(Debug, Serialize)]
pub struct MoveBody<'a> {
    /// The schema version of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// Whether its status changed.
    pub moved: bool,
    pub status: PromptStatus,
    /// The recorded promotion or demotion.
    pub evidence: Option<EvidenceLine>,
    /// The state of the gate.
    pub gate: Option<GateBody>,
    /// Describes evidence of the former status that was about another text.
    pub stale: Option<String>,
}

/// The output of `eva eval --json`.
#[derive(Debug, Serialize)]
pub struct EvalBody<'a> {
    /// The schema version of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// Whether every case passed; an evaluation without cases does not pass.
    pub all_passed: bool,
    /// The number of cases.
    pub total: u64,
    pub passed: u64,
    /// Whether only selected cases ran.
    pub partial: bool,
    pub cases: Vec<CaseBody<'a>>,
}

/// A case of an evaluation.
#[derive(Debug, Serialize)]
pub struct CaseBody<'a> {
    pub name: &'a str,
    pub passed: bool,
    pub failures: &'a [String],
}

/// The output of `eva doctor --json`.
#[derive(Debug, Serialize)]
pub struct CheckupBody {
    /// The schema version of this document.
    pub schema_version: u32,
    /// The number of checked prompts.
    pub prompts: usize,
    pub findings: Vec<FindingBody>,
}

impl CheckupBody {
    /// Findings, each with its prompt.
    pub fn new(prompts: usize, findings: Vec<(String, CheckupFinding)>) -> Self {
        let findings = findings.into_iter().map(|(id, finding)| FindingBody { id, finding });
        Self { schema_version: PROMPTS_VERSION, prompts, findings: findings.collect() }
    }
}

/// A finding about a prompt.
#[derive(Debug, Serialize)]
pub struct FindingBody {
    pub id: String,
    #[serde(flatten)]
    pub finding: CheckupFinding,
}

/// The output of `kick --json`.
#[derive(Debug, Serialize)]
pub struct KickBody<'a> {
    /// The schema version of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// The row that was appended.
    pub row: &'a UsageRow,
    /// The prompt with its variables filled in.
    pub prompt: &'a str,
    /// Variables that had no value.
    pub unset: &'a [String],
    /// The answer, if a model was asked.
    pub output: Option<String>,
    /// The reason that the command did not run.
    pub trouble: Option<&'a str>,
    /// Problems of a run that was sent.
    pub problems: Vec<String>,
    /// Whether the run counts for the gates of this text.
    pub counts: bool,
}

/// A description of stale evidence.
pub fn stale(stale: Option<&Stale>) -> Option<String> {
    stale.map(ToString::to_string)
}

/// A description of missing evidence.
pub fn missing_evidence(missing_evidence: Option<&MissingEvidence>) -> Option<String> {
    missing_evidence.map(ToString::to_string)
}
