//! The receipt of one panel judgement.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CROSS_MODAL_VERSION;
use crate::cross_modal::{
    Aggregate, Call, CallOutcome, DimensionFailure, DimensionResult, JudgedOutput, Panel,
    PanelSeat, PanelSlot, Rubric, UndecidedReason, sha8,
};
use crate::gate::Verdict;
use crate::money::Usd;
use crate::repair::Repair;
use crate::stats::{Alpha, AlphaError};

/// The input of [`Receipt::new`].
#[derive(Debug)]
pub struct ReceiptParts<'a> {
    /// Time of the judgement.
    pub at: Timestamp,
    /// The task that produced the output.
    pub task: &'a str,
    /// The expected answer, if known.
    pub expected: Option<&'a str>,
    /// Name of the output.
    pub slug: &'a str,
    pub rubric: &'a Rubric,
    pub judged: &'a JudgedOutput,
    /// Maximum cost estimated beforehand.
    pub estimate: Usd,
    /// Path of the stored receipt.
    pub path: Option<&'a str>,
}

/// One judgement: printed by `gbrain eval cross-modal --json` and stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalReceipt")]
pub struct Receipt {
    /// Version of this format.
    pub schema_version: u32,
    /// Verdict of the panel.
    pub verdict: Verdict,
    /// Time of the judgement.
    pub timestamp: String,
    /// The task that produced the output.
    pub task: String,
    /// The expected answer, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Name of the output.
    pub slug: String,
    /// The calls with their votes.
    #[serde(flatten)]
    pub judgement: WireJudgement,
    /// Aggregate of the votes.
    pub aggregate: WireAggregate,
    /// Maximum cost estimated beforehand, in US dollars.
    pub est_cost_usd: f64,
    /// Path of the stored receipt.
    pub receipt_path: Option<String>,
}

/// The calls and votes on one output, with hashes of the judges' input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalJudgement")]
pub struct WireJudgement {
    /// First eight digits of the output's SHA-256.
    pub output_sha8: String,
    /// Rubric of the scores.
    pub rubric: WireRubric,
    /// Keys of the rubric's dimensions.
    pub dimensions: Vec<String>,
    /// Hash of the prompt.
    pub prompt_sha256: String,
    /// Hash of the judged input.
    pub input_sha256: String,
    /// Number of planned calls per model.
    pub cycles: u8,
    /// All calls, by cycle and slot.
    pub slots: Vec<WireCall>,
    /// Cost of the calls in US dollars.
    pub cost_usd: f64,
    /// Maximum cost of the skipped calls that could not change the verdict.
    pub saved_usd: f64,
}

/// A rubric by name and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalRubric")]
pub struct WireRubric {
    /// Id of the rubric.
    pub id: String,
    /// Version of the rubric.
    pub version: u32,
    /// Hash of the rubric's text.
    pub sha256: String,
}

/// One call to a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalCall")]
pub struct WireCall {
    /// Slot of the judge.
    pub id: PanelSlot,
    /// Model of the judge.
    pub model: String,
    /// Cycle of the call.
    pub cycle: u8,
    /// Whether the call returned a vote.
    pub ok: bool,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the call was not made: `settled`, `over_budget`, `cancelled`, `stale_cassette` or
    /// `not_recorded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_made: Option<String>,
    /// The parsed vote of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsed: Option<WireVote>,
    /// Cost of the call in US dollars.
    pub cost_usd: f64,
}

/// The vote of a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalVote")]
pub struct WireVote {
    /// Scores by dimension key.
    pub scores: BTreeMap<String, u8>,
    /// Improvements that the judge suggests.
    pub improvements: Vec<String>,
    /// Repairs needed to parse the reply.
    pub repairs: Vec<Repair>,
}

/// Aggregate of the votes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalAggregate")]
pub struct WireAggregate {
    /// Verdict of the panel.
    pub verdict: Verdict,
    /// Why the verdict is inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconclusive_reason: Option<UndecidedReason>,
    /// All dimensions, in the rubric's order.
    pub dimensions: Vec<WireDimension>,
    /// Mean of the dimensions' means.
    pub overall: Option<f64>,
    /// Number of models that voted.
    pub contributing_models: usize,
    /// Number of calls that returned a vote.
    pub votes: usize,
    /// Number of failed calls.
    pub failed_calls: usize,
    /// Number of calls not made.
    pub calls_not_made: usize,
    /// Agreement between the models.
    pub agreement: WireAgreement,
    /// Suggested improvements of all judges.
    pub improvements: Vec<String>,
}

/// Scores of one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalDimension")]
pub struct WireDimension {
    /// Key of the dimension.
    pub name: String,
    /// Mean of the models' means. The verdict compares exact fractions, not this number.
    pub mean: Option<f64>,
    /// Lowest score of a single vote.
    pub min: Option<u8>,
    /// Highest score of a single vote.
    pub max: Option<u8>,
    /// Mean of each model over its cycles.
    pub per_slot: BTreeMap<String, Option<f64>>,
    /// Reasons why it fails.
    pub fail_reasons: Vec<DimensionFailure>,
}

/// Krippendorff's alpha for intervals: models are raters, dimensions of questions are units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalAgreement")]
pub struct WireAgreement {
    /// Alpha; null if it is undefined.
    pub krippendorff_alpha: Option<f64>,
    /// Why alpha is undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined: Option<AlphaError>,
    /// Units with at least two values.
    pub units: usize,
    /// Number of values in these units.
    pub values: usize,
}

impl Receipt {
    /// Builds the receipt of a judgement.
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
    pub(super) fn new(rubric: &Rubric, judged: &JudgedOutput, aggregate: &Aggregate) -> Self {
        let JudgedOutput { panel, prompt_sha, input_sha, output_sha } = judged;
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
            CallOutcome::Scored(vote) => {
                let scores = panel.keys().iter().cloned().zip(vote.scores.iter().copied());
                parsed = Some(WireVote {
                    scores: scores.collect(),
                    improvements: vote.improvements.clone(),
                    repairs: vote.repairs.iter().copied().collect(),
                });
            }
            CallOutcome::Failed(why) => error = Some(why.clone()),
            CallOutcome::NotMade(why) => not_made = Some(why.name().to_owned()),
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
    pub(super) fn new(aggregate: Aggregate, seats: &[PanelSeat]) -> Self {
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
    fn new(dimension: DimensionResult, seats: &[PanelSeat]) -> Self {
        let DimensionResult { key, mean, min, max, by_seat, reasons } = dimension;
        let slots = seats.iter().map(|seat| seat.slot.name().to_owned());
        let per_slot = slots.zip(by_seat).collect();
        Self { name: key, mean, min, max, per_slot, fail_reasons: reasons }
    }
}

impl From<Result<Alpha, AlphaError>> for WireAgreement {
    fn from(agreement: Result<Alpha, AlphaError>) -> Self {
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
