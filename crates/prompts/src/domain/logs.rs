//! The lines of a prompt's logs: `.runs.jsonl`, `.eval.jsonl` and `.promotions.jsonl`. A line of `.usage.jsonl` is a
//! [`UsageRow`](super::usage::UsageRow) as it is.
//!
//! Runs and evaluations use the keys of a format shared with other tools, in its order, and so have
//! no version; keys added by gbrain follow at the end. A line that lacks a key or contradicts
//! itself is not a row.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::usage::{RunRecord, VerdictCounts, second};
use super::{EvalRow, HashScope, PromotionAction, PromptStatus, StatusEvidence};

/// The version of lines of `.promotions.jsonl`. In version 1, `prompt_hash` covers the template
/// alone.
pub const EVIDENCE_VERSION: u32 = 2;

/// The version of lines of `.runs.jsonl`.
pub const RUN_VERSION: u32 = 1;

/// The record of the text of a sent run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunLine {
    /// The schema version of this line.
    pub schema_version: u32,
    /// The time at which the row was appended, with nanoseconds.
    pub ts: String,
    /// The hash of the prompt at that time: template, hooks, defaults and model.
    pub prompt_hash: String,
    /// The hash of the line in `.usage.jsonl`, without its newline.
    pub row_hash: String,
}

impl RunLine {
    /// The line for a record.
    pub fn new(record: &RunRecord) -> Self {
        let RunRecord { ts, prompt_hash, row_hash } = record;
        Self {
            schema_version: RUN_VERSION,
            ts: ts.to_string(),
            prompt_hash: prompt_hash.clone(),
            row_hash: row_hash.clone(),
        }
    }

    /// The record; `None` if its version is unknown or a hash is invalid.
    pub(crate) fn record(self) -> Option<RunRecord> {
        let Self { schema_version, ts, prompt_hash, row_hash } = self;
        let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|c| c.is_ascii_hexdigit());
        let is_sound = schema_version == RUN_VERSION && is_hash(&prompt_hash) && is_hash(&row_hash);
        let ts = ts.parse().ok()?;
        is_sound.then_some(RunRecord { ts, prompt_hash, row_hash })
    }
}

/// An evaluation: the five keys of the shared format, then gbrain's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvalLine {
    pub ts: String,
    /// Whether every case passed.
    pub all_passed: bool,
    /// The number of cases.
    pub total: u64,
    pub passed: u64,
    /// The names of the failed cases.
    pub failed_cases: Vec<String>,
    /// Whether only selected cases ran.
    #[serde(default)]
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<String>,
    /// The hash of `eval.yml` and its input files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_hash: Option<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl EvalLine {
    /// The line for a row.
    pub fn new(row: &EvalRow) -> Self {
        let EvalRow { ts, total, passed, failed_cases, partial, prompt_hash, eval_hash, model } =
            row;
        Self {
            ts: second(*ts),
            all_passed: row.all_passed(),
            total: *total,
            passed: *passed,
            failed_cases: failed_cases.clone(),
            partial: *partial,
            prompt_hash: prompt_hash.clone(),
            eval_hash: eval_hash.clone(),
            model: model.clone(),
        }
    }

    /// The row; `None` if its figures are inconsistent.
    pub(crate) fn row(self) -> Option<EvalRow> {
        let Self {
            ts,
            all_passed,
            total,
            passed,
            failed_cases,
            partial,
            prompt_hash,
            eval_hash,
            model,
        } = self;
        let ts = ts.parse().ok()?;
        let row =
            EvalRow { ts, total, passed, failed_cases, partial, prompt_hash, eval_hash, model };
        (row.all_passed() == all_passed && passed <= total).then_some(row)
    }
}

/// A change of a status with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceLine {
    /// The schema version of this line.
    pub schema_version: u32,
    /// The time, in whole seconds.
    pub ts: String,
    pub action: PromotionAction,
    pub from: PromptStatus,
    pub to: PromptStatus,
    pub by: String,
    /// The version of the prompt at that time.
    pub version: String,
    /// The hash of the prompt: template, hooks, defaults and model; in version 1 the template
    /// alone.
    pub prompt_hash: String,
    pub uses: u64,
    /// The number of uses required.
    pub min_uses: u64,
    /// Runs that were sent.
    pub sent: u64,
    pub verified: u64,
    pub refuted: u64,
    /// Of these, without a verifier.
    pub unverified: u64,
    /// Lower bound of the rate of uses that count, at 95 %.
    pub wilson_low: Option<f64>,
    /// The state of the evaluation at that time.
    pub eval: String,
    pub unmet: Vec<String>,
    /// The reason given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl EvidenceLine {
    /// The line for evidence.
    pub fn new(evidence: &StatusEvidence) -> Self {
        let StatusEvidence {
            ts,
            action,
            from,
            to,
            by,
            version,
            prompt_hash,
            hash_scope,
            uses,
            min_uses,
            runs,
            wilson_low,
            eval,
            unmet,
            reason,
        } = evidence;
        let VerdictCounts { verified, refuted, unverified } = *runs;
        let schema_version = match hash_scope {
            HashScope::Template => 1,
            HashScope::Prompt => EVIDENCE_VERSION,
        };
        Self {
            schema_version,
            ts: second(*ts),
            action: *action,
            from: *from,
            to: *to,
            by: by.clone(),
            version: version.clone(),
            prompt_hash: prompt_hash.clone(),
            uses: *uses,
            min_uses: *min_uses,
            sent: runs.all(),
            verified,
            refuted,
            unverified,
            wilson_low: *wilson_low,
            eval: eval.clone(),
            unmet: unmet.clone(),
            reason: reason.clone(),
        }
    }

    /// The evidence; `None` if its version is unknown or it contradicts itself.
    pub(crate) fn evidence(self) -> Option<StatusEvidence> {
        let Self {
            schema_version,
            ts,
            action,
            from,
            to,
            by,
            version,
            prompt_hash,
            uses,
            min_uses,
            sent,
            verified,
            refuted,
            unverified,
            wilson_low,
            eval,
            unmet,
            reason,
        } = self;
        let ts: Timestamp = ts.parse().ok()?;
        let hash_scope = match schema_version {
            1 => HashScope::Template,
            EVIDENCE_VERSION => HashScope::Prompt,
            _ => return None,
        };
        let runs = VerdictCounts { verified, refuted, unverified };
        let adds_up = runs.checked_total() == Some(sent) && uses <= sent;
        let is_open = unmet.is_empty() && uses >= min_uses;
        let is_step = match action {
            PromotionAction::Promoted => from < to && is_open,
            PromotionAction::Forced => from < to,
            PromotionAction::Demoted => to < from,
        };
        (adds_up && is_step).then_some(StatusEvidence {
            ts,
            action,
            from,
            to,
            by,
            version,
            prompt_hash,
            hash_scope,
            uses,
            min_uses,
            runs,
            wilson_low,
            eval,
            unmet,
            reason,
        })
    }
}
