//! The lines of a prompt's logs: `.usage.jsonl`, `.eval.jsonl` and `.promotions.jsonl`.
//!
//! The first two have the keys of a format that other tools write and read too, in its order, and so
//! carry no version; what we add to evaluations stands behind them. A line that lacks a key is not a
//! row, and neither is one that contradicts itself: what it says can't be trusted.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::prompt::{EvalRow, Evidence, Move, Status};
use crate::usage::{Counts, UsageRow, second};

/// The version of lines of `.promotions.jsonl`.
pub const EVIDENCE_VERSION: u32 = 1;

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
    /// The template it is about.
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
            uses,
            min_uses,
            runs,
            wilson_low,
            eval,
            unmet,
            reason,
        } = evidence;
        let Counts { verified, refuted, unverified } = *runs;
        Self {
            schema_version: EVIDENCE_VERSION,
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

    /// The evidence; none if it is of a version that nobody wrote yet, or its counts do not add up.
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
        let runs = Counts { verified, refuted, unverified };
        let adds_up = runs.checked_all() == Some(sent) && uses <= sent;
        (schema_version == EVIDENCE_VERSION && adds_up).then_some(Evidence {
            ts,
            action,
            from,
            to,
            by,
            version,
            prompt_hash,
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
