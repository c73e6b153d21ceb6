//! The lines of a prompt's logs: `.runs.jsonl`, `.eval.jsonl` and `.promotions.jsonl`. A line of `.usage.jsonl` is a
//! [`UsageRow`](super::usage::UsageRow) as it is.
//!
//! Runs and evaluations have the keys of a format that other tools write and read too, in its order, and so
//! carry no version; what we add to evaluations stands behind them. A line that lacks a key is not a
//! row, and neither is one that contradicts itself: what it says can't be trusted.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::usage::{Counts, RunRecord, second};
use super::{EvalRow, Evidence, HashScope, Move, Status};

/// The version of lines of `.promotions.jsonl`. In the first, `prompt_hash` is of the template alone.
pub const EVIDENCE_VERSION: u32 = 2;

/// The version of lines of `.runs.jsonl`.
pub const RUN_VERSION: u32 = 1;

/// The text that a sent run was of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunLine {
    /// The form of this line.
    pub schema_version: u32,
    /// When the row was appended, with nanoseconds.
    pub ts: String,
    /// The prompt as it was: template, hooks, defaults and model.
    pub prompt_hash: String,
    /// The line of the row in `.usage.jsonl`, without its end.
    pub row_hash: String,
}

impl RunLine {
    /// A record on its way out.
    pub fn new(record: &RunRecord) -> Self {
        let RunRecord { ts, prompt_hash, row_hash } = record;
        Self {
            schema_version: RUN_VERSION,
            ts: ts.to_string(),
            prompt_hash: prompt_hash.clone(),
            row_hash: row_hash.clone(),
        }
    }

    /// The record; none if it is of a version that is not known yet, or a hash is none.
    pub(crate) fn record(self) -> Option<RunRecord> {
        let Self { schema_version, ts, prompt_hash, row_hash } = self;
        let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|c| c.is_ascii_hexdigit());
        let is_sound = schema_version == RUN_VERSION && is_hash(&prompt_hash) && is_hash(&row_hash);
        let ts = ts.parse().ok()?;
        is_sound.then_some(RunRecord { ts, prompt_hash, row_hash })
    }
}

/// An evaluation: five keys of the shared format, then ours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvalLine {
    pub ts: String,
    /// Whether every case passed.
    pub all_passed: bool,
    /// How many cases there were.
    pub total: u64,
    pub passed: u64,
    /// The names of the others.
    pub failed_cases: Vec<String>,
    /// Whether only some cases were chosen.
    #[serde(default)]
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<String>,
    /// By which `eval.yml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_hash: Option<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl EvalLine {
    /// A row on its way out.
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

    /// The row; none if its figures can't be true together.
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

/// A change of a status, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceLine {
    /// The form of this line.
    pub schema_version: u32,
    /// When, in whole seconds.
    pub ts: String,
    pub action: Move,
    pub from: Status,
    pub to: Status,
    pub by: String,
    /// The version it had.
    pub version: String,
    /// The prompt it is about: template, hooks, defaults and model; in version 1 the template alone.
    pub prompt_hash: String,
    pub uses: u64,
    /// How many it took.
    pub min_uses: u64,
    /// Runs that were sent.
    pub sent: u64,
    pub verified: u64,
    pub refuted: u64,
    /// Of these, without a verifier.
    pub unverified: u64,
    /// What the rate of uses that count is at least, at 95 %.
    pub wilson_low: Option<f64>,
    /// What the evaluations said.
    pub eval: String,
    pub unmet: Vec<String>,
    /// Why, in somebody's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl EvidenceLine {
    /// Evidence on its way out.
    pub fn new(evidence: &Evidence) -> Self {
        let Evidence {
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
        let Counts { verified, refuted, unverified } = *runs;
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

    /// The evidence; none if it is of a version that is not known yet, or contradicts itself.
    pub(crate) fn evidence(self) -> Option<Evidence> {
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
        let runs = Counts { verified, refuted, unverified };
        let adds_up = runs.checked_all() == Some(sent) && uses <= sent;
        let is_open = unmet.is_empty() && uses >= min_uses;
        let is_step = match action {
            Move::Promoted => from < to && is_open,
            Move::Forced => from < to,
            Move::Demoted => to < from,
        };
        (adds_up && is_step).then_some(Evidence {
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
