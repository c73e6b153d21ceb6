//! The lines of a prompt's logs: `.usage.jsonl`, `.runs.jsonl`, `.eval.jsonl` and `.promotions.jsonl`.
//!
//! Runs and evaluations have the keys of a format that other tools write and read too, in its order, and so
//! carry no version; what we add to evaluations stands behind them. A line that lacks a key is not a
//! row, and neither is one that contradicts itself: what it says can't be trusted.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::prompt::{EvalRow, Evidence, HashScope, Move, Status};
use crate::usage::{Counts, RunRecord, UsageRow, second};

/// The version of lines of `.promotions.jsonl`. In the first, `prompt_hash` is of the template alone.
pub const EVIDENCE_VERSION: u32 = 2;

/// The version of lines of `.runs.jsonl`.
pub const RUN_VERSION: u32 = 1;

/// A run: these nine keys, in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UsageLine<'a> {
    /// When, in whole seconds of UTC.
    pub ts: Cow<'a, str>,
    /// The case whose inputs were used.
    // Without this a row that lacks the key would read as one without a case.
    #[serde(deserialize_with = "Option::deserialize")]
    pub case: Option<Cow<'a, str>>,
    /// The variables' signature.
    pub vars_hash: Cow<'a, str>,
    /// Whether a model was asked.
    pub sent: bool,
    /// How its command ended.
    pub exit_code: i64,
    /// What the verifier said.
    #[serde(deserialize_with = "Option::deserialize")]
    pub verified: Option<bool>,
    /// How long the run took.
    pub duration_ms: u64,
    /// Words of the prompt.
    pub prompt_words: u64,
    /// Words of the answer.
    pub output_words: u64,
}

impl<'a> UsageLine<'a> {
    /// A row on its way out.
    pub fn new(row: &'a UsageRow) -> Self {
        let UsageRow {
            ts,
            case,
            vars_hash,
            sent,
            exit_code,
            verified,
            duration_ms,
            prompt_words,
            output_words,
        } = row;
        Self {
            ts: second(*ts).into(),
            case: case.as_deref().map(Into::into),
            vars_hash: vars_hash.as_str().into(),
            sent: *sent,
            exit_code: *exit_code,
            verified: *verified,
            duration_ms: *duration_ms,
            prompt_words: *prompt_words,
            output_words: *output_words,
        }
    }

    /// The row; none if its time is none.
    pub(crate) fn row(self) -> Option<UsageRow> {
        let Self {
            ts,
            case,
            vars_hash,
            sent,
            exit_code,
            verified,
            duration_ms,
            prompt_words,
            output_words,
        } = self;
        Some(UsageRow {
            ts: ts.parse().ok()?,
            case: case.map(Into::into),
            vars_hash: vars_hash.into(),
            sent,
            exit_code,
            verified,
            duration_ms,
            prompt_words,
            output_words,
        })
    }
}

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
    /// When it ended.
    pub ts: String,
    /// Whether every case passed.
    pub all_passed: bool,
    /// How many cases there were.
    pub total: u64,
    /// How many passed.
    pub passed: u64,
    /// The names of the others.
    pub failed_cases: Vec<String>,
    /// Whether only some cases were chosen.
    #[serde(default)]
    pub partial: bool,
    /// Of which template.
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
    /// Which way.
    pub action: Move,
    /// From where.
    pub from: Status,
    /// To where.
    pub to: Status,
    /// Who did it.
    pub by: String,
    /// The version it had.
    pub version: String,
    /// The prompt it is about: template, hooks, defaults and model; in version 1 the template alone.
    pub prompt_hash: String,
    /// Uses that counted.
    pub uses: u64,
    /// How many it took.
    pub min_uses: u64,
    /// Runs that were sent.
    pub sent: u64,
    /// Of these, verified.
    pub verified: u64,
    /// Of these, refuted.
    pub refuted: u64,
    /// Of these, without a verifier.
    pub unverified: u64,
    /// What the rate of uses that count is at least, at 95 %.
    pub wilson_low: Option<f64>,
    /// What the evaluations said.
    pub eval: String,
    /// What was missing.
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
