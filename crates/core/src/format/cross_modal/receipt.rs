//! The receipt of one judgement.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CROSS_MODAL_VERSION;
use crate::cross_modal::{
    Aggregate, Call, DimensionResult, Judged, Outcome, Panel, Reason, Rubric, Seat, Slot, Unsure,
    sha8,
};
use crate::gate::Verdict;
use crate::money::Usd;
use crate::repair::Repair;
use crate::stats::{Alpha, NoAlpha};

/// What a receipt is made of.
#[derive(Debug)]
pub struct ReceiptParts<'a> {
    /// When it was judged.
    pub at: Timestamp,
    /// What was asked for.
    pub task: &'a str,
    /// The right answer, where there is one.
    pub expected: Option<&'a str>,
    /// What the output is called.
    pub slug: &'a str,
    pub rubric: &'a Rubric,
    pub judged: &'a Judged,
    /// What it could have cost at most.
    pub estimate: Usd,
    /// Where the receipt is kept.
    pub path: Option<&'a str>,
}

/// One judgement: what `gbrain eval cross-modal --json` prints and keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalReceipt")]
pub struct Receipt {
    /// The version.
    pub schema_version: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// When it was judged.
    pub timestamp: String,
    /// What was asked for.
    pub task: String,
    /// The right answer, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What the output is called.
    pub slug: String,
    /// Who said what.
    #[serde(flatten)]
    pub judgement: WireJudgement,
    /// What it adds up to.
    pub aggregate: WireAggregate,
    /// What it could have cost at most.
    pub est_cost_usd: f64,
    /// Where the receipt is kept.
    pub receipt_path: Option<String>,
}

/// Who said what about one output, and what they saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalJudgement")]
pub struct WireJudgement {
    /// The first eight digits of the output's SHA-256.
    pub output_sha8: String,
    /// What was scored.
    pub rubric: WireRubric,
    /// The keys of its dimensions.
    pub dimensions: Vec<String>,
    /// Names the words that judges were given.
    pub prompt_sha256: String,
    /// Names what they were given to judge.
    pub input_sha256: String,
    /// How often each model was to be asked.
    pub cycles: u8,
    /// Every call, by cycle and slot.
    pub slots: Vec<WireCall>,
    /// What the calls cost.
    pub cost_usd: f64,
    /// What calls that could not change the verdict would have cost at most.
    pub saved_usd: f64,
}

/// A rubric by name and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalRubric")]
pub struct WireRubric {
    /// Its name.
    pub id: String,
    /// Its version.
    pub version: u32,
    /// Names every word of it.
    pub sha256: String,
}

/// One call of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalCall")]
pub struct WireCall {
    /// The slot.
    pub id: Slot,
    /// The model.
    pub model: String,
    /// Which time it was asked.
    pub cycle: u8,
    /// Whether it gave a vote.
    pub ok: bool,
    /// Why it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it was not asked: `settled`, `over_budget`, `cancelled`, `stale_cassette` or `not_recorded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_made: Option<String>,
    /// The vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsed: Option<WireVote>,
    /// What the call cost.
    pub cost_usd: f64,
}

/// A vote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalVote")]
pub struct WireVote {
    /// Scores by dimension.
    pub scores: BTreeMap<String, u8>,
    /// What the judge would have better.
    pub improvements: Vec<String>,
    /// What had to be put right to read the reply.
    pub repairs: Vec<Repair>,
}

/// What votes add up to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalAggregate")]
pub struct WireAggregate {
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconclusive_reason: Option<Unsure>,
    /// Every dimension, in the rubric's order.
    pub dimensions: Vec<WireDimension>,
    /// The mean of the dimensions' means.
    pub overall: Option<f64>,
    /// How many models voted.
    pub contributing_models: usize,
    /// How many calls gave a vote.
    pub votes: usize,
    /// How many calls failed.
    pub failed_calls: usize,
    /// How many calls were not made.
    pub calls_not_made: usize,
    /// How far the models agree.
    pub agreement: WireAgreement,
    /// What would make it better.
    pub improvements: Vec<String>,
}

/// What a panel says of one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalDimension")]
pub struct WireDimension {
    /// Its key.
    pub name: String,
    /// The mean of the models' means. The verdict compares exact fractions, not this number.
    pub mean: Option<f64>,
    /// The lowest single score.
    pub min: Option<u8>,
    /// The highest single score.
    pub max: Option<u8>,
    /// Each model's mean over its cycles.
    pub per_slot: BTreeMap<String, Option<f64>>,
    /// Why it fails.
    pub fail_reasons: Vec<Reason>,
}

/// Krippendorff's alpha for intervals: models are raters, dimensions of questions are units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalAgreement")]
pub struct WireAgreement {
    /// Alpha; null where it is not defined.
    pub krippendorff_alpha: Option<f64>,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined: Option<NoAlpha>,
    /// Units with at least two values.
    pub units: usize,
    /// Values in them.
    pub values: usize,
}

impl Receipt {
    /// The wire form of a judgement.
    pub fn new(parts: &ReceiptParts<'_>) -> Self {
        let ReceiptParts { at, task, expected, slug, rubric, judged, estimate, path } = *parts;
        let aggregate = judged.panel.aggregate();
        Self {
            schema_version: CROSS_MODAL_VERSION,
            verdict: aggregate.verdict,
            timestamp: format!("{at:.3}"),
            task: task.to_owned(),
            expected: expected.map(str::to_owned),
            slug: slug.to_owned(),
            judgement: WireJudgement::new(rubric, judged, &aggregate),
            aggregate: WireAggregate::new(aggregate, judged.panel.seats()),
            est_cost_usd: estimate.as_f64(),
            receipt_path: path.map(str::to_owned),
        }
    }
}

impl WireJudgement {
    pub(super) fn new(rubric: &Rubric, judged: &Judged, aggregate: &Aggregate) -> Self {
        let Judged { panel, prompt_sha, input_sha, output_sha } = judged;
        Self {
            output_sha8: sha8(*output_sha),
            rubric: rubric.into(),
            dimensions: panel.keys().to_vec(),
            prompt_sha256: prompt_sha.to_hex(),
            input_sha256: input_sha.to_hex(),
            cycles: panel.cycles(),
            slots: panel.calls().iter().map(|call| WireCall::new(call, panel)).collect(),
            cost_usd: aggregate.cost.as_f64(),
            saved_usd: aggregate.saved.as_f64(),
        }
    }
}

impl From<&Rubric> for WireRubric {
    fn from(rubric: &Rubric) -> Self {
        let Rubric { id, version, dimensions: _ } = rubric;
        Self { id: id.clone(), version: *version, sha256: rubric.sha().to_hex() }
    }
}

impl WireCall {
    fn new(call: &Call, panel: &Panel) -> Self {
        let Call { slot, cycle, outcome, cost } = call;
        let seat = panel.seats().iter().find(|seat| seat.slot == *slot);
        let (mut error, mut not_made, mut parsed) = (None, None, None);
        match outcome {
            Outcome::Scored(vote) => {
                let scores = panel.keys().iter().cloned().zip(vote.scores.iter().copied());
                parsed = Some(WireVote {
                    scores: scores.collect(),
                    improvements: vote.improvements.clone(),
                    repairs: vote.repairs.iter().copied().collect(),
                });
            }
            Outcome::Failed(why) => error = Some(why.clone()),
            Outcome::NotMade(why) => not_made = Some(why.name().to_owned()),
        }
        Self {
            id: *slot,
            model: seat.map_or_else(String::new, |seat| seat.model.clone()),
            cycle: *cycle,
            ok: parsed.is_some(),
            error,
            not_made,
            parsed,
            cost_usd: cost.as_f64(),
        }
    }
}

impl WireAggregate {
    pub(super) fn new(aggregate: Aggregate, seats: &[Seat]) -> Self {
        let Aggregate {
            verdict,
            unsure,
            dimensions,
            overall,
            contributing,
            votes,
            failed,
            not_made,
            improvements,
            agreement,
            cost: _,
            saved: _,
        } = aggregate;
        Self {
            verdict,
            inconclusive_reason: unsure,
            dimensions: dimensions.into_iter().map(|d| WireDimension::new(d, seats)).collect(),
            overall,
            contributing_models: contributing,
            votes,
            failed_calls: failed,
            calls_not_made: not_made,
            agreement: agreement.into(),
            improvements,
        }
    }
}

impl WireDimension {
    fn new(dimension: DimensionResult, seats: &[Seat]) -> Self {
        let DimensionResult { key, mean, min, max, by_seat, reasons } = dimension;
        let slots = seats.iter().map(|seat| seat.slot.name().to_owned());
        let per_slot = slots.zip(by_seat).collect();
        Self { name: key, mean, min, max, per_slot, fail_reasons: reasons }
    }
}

impl From<Result<Alpha, NoAlpha>> for WireAgreement {
    fn from(agreement: Result<Alpha, NoAlpha>) -> Self {
        match agreement {
            Ok(Alpha { value, units, values }) => {
                Self { krippendorff_alpha: Some(value), undefined: None, units, values }
            }
            Err(why) => {
                Self { krippendorff_alpha: None, undefined: Some(why), units: 0, values: 0 }
            }
        }
    }
}
