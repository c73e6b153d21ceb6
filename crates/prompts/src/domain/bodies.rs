//! What `eva` and `kick` print with `--json`.

use serde::Serialize;

use super::logs::EvidenceLine;
use super::usage::{Median, Middle, Summary, UsageRow};
use super::{Finding, Gate, Input, MissingEvidence, Stale, Status};

/// The version of these bodies.
pub const PROMPTS_VERSION: u32 = 1;

/// What a log says.
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

/// How far a prompt is on the way to its next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateBody {
    pub transition: &'static str,
    pub uses: u64,
    /// How many it takes.
    pub min_uses: u64,
    pub counts: &'static str,
    /// Sent runs that count for another text, verifier, default or model.
    pub other_text: u64,
    /// Sent runs that have no record of their text: they count for nothing.
    pub unknown_text: u64,
    /// What the rate of uses that count is at least, at 95 %.
    pub wilson_low: Option<f64>,
    /// Whether a green evaluation is needed.
    pub require_eval: bool,
    /// What the evaluations say.
    pub eval: &'static str,
    /// What is missing; open when empty.
    pub unmet: Vec<String>,
}

impl GateBody {
    /// A gate on the wire.
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

/// What `eva show --json` prints.
#[derive(Debug, Serialize)]
pub struct ShowBody<'a> {
    /// The form of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// The name for people.
    pub title: &'a str,
    pub summary: &'a str,
    /// How far it has come.
    pub status: Status,
    pub version: &'a str,
    /// The day of the last edit or promotion.
    pub updated: &'a str,
    pub inputs: &'a [Input],
    pub cases: Vec<String>,
    /// What names its text, hooks, defaults and model.
    pub prompt_hash: String,
    pub usage: UsageBody,
    /// The way to its next step; nothing above ready.
    pub gate: Option<GateBody>,
    /// What its evaluations say.
    pub eval: &'static str,
    /// What its status rests on.
    pub evidence: Option<EvidenceLine>,
    /// Why that is about another text.
    pub stale: Option<String>,
    /// Why its status does not rest on evidence.
    pub missing_evidence: Option<String>,
}

/// What `eva list --json` and `eva stats --json` print.
#[derive(Debug, Serialize)]
pub struct PromptsBody {
    /// The form of this document.
    pub schema_version: u32,
    /// Every prompt, by name.
    pub prompts: Vec<PromptRow>,
}

/// A prompt in a list: what is known of it, or why nothing is.
#[derive(Debug, Default, Serialize)]
pub struct PromptRow {
    pub id: String,
    /// How far it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Verbs that run it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Its runs, in `eva stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageBody>,
    /// The durations of its latest sent runs, oldest first, in `eva stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_durations_ms: Option<Vec<u64>>,
    /// The way to its next step, in `eva stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateBody>,
    /// Why its status is about another text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Why its status does not rest on evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_evidence: Option<String>,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What `eva promote --json` and `eva demote --json` print.
#[derive(Debug, Serialize)]
pub struct MoveBody<'a> {
    /// The form of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// Whether its status changed.
    pub moved: bool,
    pub status: Status,
    /// What was written down.
    pub evidence: Option<EvidenceLine>,
    /// How far it was.
    pub gate: Option<GateBody>,
    /// Why its former status was about another text.
    pub stale: Option<String>,
}

/// What `eva eval --json` prints.
#[derive(Debug, Serialize)]
pub struct EvalBody<'a> {
    /// The form of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// Whether every case passed; no case is no pass.
    pub all_passed: bool,
    /// How many cases there were.
    pub total: u64,
    pub passed: u64,
    /// Whether only some were chosen.
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

/// What `eva doctor --json` prints.
#[derive(Debug, Serialize)]
pub struct CheckupBody {
    /// The form of this document.
    pub schema_version: u32,
    /// How many prompts were looked at.
    pub prompts: usize,
    pub findings: Vec<FindingBody>,
}

impl CheckupBody {
    /// Findings, each with its prompt.
    pub fn new(prompts: usize, findings: Vec<(String, Finding)>) -> Self {
        let findings = findings.into_iter().map(|(id, finding)| FindingBody { id, finding });
        Self { schema_version: PROMPTS_VERSION, prompts, findings: findings.collect() }
    }
}

/// Something that is wrong with a prompt.
#[derive(Debug, Serialize)]
pub struct FindingBody {
    pub id: String,
    #[serde(flatten)]
    pub finding: Finding,
}

/// What `kick --json` prints.
#[derive(Debug, Serialize)]
pub struct KickBody<'a> {
    /// The form of this document.
    pub schema_version: u32,
    pub id: &'a str,
    /// The row that was appended.
    pub row: &'a UsageRow,
    /// The prompt as it was rendered.
    pub prompt: &'a str,
    /// Variables that had no value.
    pub unset: &'a [String],
    /// The answer, if a model was asked.
    pub output: Option<String>,
    /// Why the command did not run.
    pub trouble: Option<&'a str>,
    /// What went wrong with a run that was sent.
    pub problems: Vec<String>,
    /// Whether the run counts for the gates of this text.
    pub counts: bool,
}

/// A stale status in words.
pub fn stale(stale: Option<&Stale>) -> Option<String> {
    stale.map(ToString::to_string)
}

/// A status without evidence in words.
pub fn missing_evidence(missing_evidence: Option<&MissingEvidence>) -> Option<String> {
    missing_evidence.map(ToString::to_string)
}
