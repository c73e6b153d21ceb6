//! The summary of a batch of panel judgements.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CROSS_MODAL_VERSION, WireAggregate, WireAgreement, WireJudgement, WireRubric};
use crate::cross_modal::batch::{
    BatchVerdict, MalformedLine, RowVerdict, Rows, UnansweredRow, VerdictCounts,
};
use crate::cross_modal::{
    Aggregate, JudgedOutput, JudgingError, PanelSeat, PanelSlot, Rubric, agreement,
};
use crate::money::Usd;

/// The `kind` of a [`Summary`].
pub(crate) const BATCH_SUMMARY: &str = "cross_modal_batch_summary";

/// The input of [`Summary::new`].
#[derive(Debug)]
pub struct SummaryParts<'a> {
    /// End of the batch.
    pub at: Timestamp,
    pub rubric: &'a Rubric,
    /// Rows of the input file.
    pub rows: &'a Rows,
    /// Outcome of each question, in the order of the rows.
    pub judged: &'a [(String, Result<JudgedOutput, JudgingError>)],
    /// Judges of the panel.
    pub seats: &'a [PanelSeat],
    /// Number of planned calls per model and question.
    pub cycles: u8,
    /// Number of questions judged concurrently.
    pub concurrent: usize,
    /// Maximum cost estimated beforehand.
    pub estimate: Usd,
}

/// A batch of judgements: printed by `gbrain eval cross-modal --batch --json` and stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalBatchSummary")]
pub struct Summary {
    /// Version of this format.
    pub schema_version: u32,
    /// Always `cross_modal_batch_summary`, the kind of this file.
    pub kind: String,
    /// End of the batch.
    pub timestamp: String,
    /// Number of rows and malformed lines.
    pub total: usize,
    /// Number of rows that pass.
    pub pass_count: usize,
    /// Number of rows that fail.
    pub fail_count: usize,
    /// Number of inconclusive rows.
    pub inconclusive_count: usize,
    /// Number of rows that could not be judged.
    pub error_count: usize,
    /// Number of rows without an answer to judge.
    pub upstream_error_count: usize,
    /// Number of malformed lines.
    pub malformed_count: usize,
    /// Number of questions beyond the limit; they were not judged.
    pub beyond_limit_count: usize,
    /// Worst verdict of the rows.
    pub verdict: BatchVerdict,
    /// Maximum cost estimated beforehand, in US dollars.
    pub est_cost_usd: f64,
    /// Cost in US dollars.
    pub cost_usd: f64,
    /// Maximum cost of the skipped calls that could not change a verdict.
    pub saved_usd: f64,
    /// Rubric of the scores.
    pub rubric: WireRubric,
    /// Judges of the panel.
    pub slots: Vec<WireSeat>,
    /// Number of planned calls per model and question.
    pub cycles_per_question: u8,
    /// Number of questions judged concurrently.
    pub concurrent: usize,
    /// Agreement between the models over all questions.
    pub agreement: WireAgreement,
    /// One entry per row.
    pub per_question: Vec<WireQuestion>,
    /// All lines that could not be parsed.
    pub malformed: Vec<WireMalformed>,
}

/// A judge of the panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalSeat")]
pub struct WireSeat {
    /// Slot of the judge.
    pub id: PanelSlot,
    /// Model of the judge.
    pub model: String,
}

/// Outcome of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalQuestion")]
pub struct WireQuestion {
    /// Id of the question.
    pub question_id: String,
    /// Verdict of the row.
    pub verdict: RowVerdict,
    /// Why it has no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Aggregate of the votes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_aggregate: Option<WireAggregate>,
    /// The calls with their votes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<WireJudgement>,
}

/// A malformed line of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalMalformed")]
pub struct WireMalformed {
    /// Number of the line.
    pub line: usize,
    /// Error in the line.
    pub why: String,
}

impl Summary {
    /// Builds the summary of a batch.
    pub fn new(parts: &SummaryParts<'_>) -> Self {
        let SummaryParts { at, rubric, rows, judged, seats, cycles, concurrent, estimate } = *parts;
        let judged: Vec<SummaryRow<'_>> = judged.iter().map(SummaryRow::new).collect();
        let aggregates = || judged.iter().filter_map(|row| Some(&row.result.as_ref().ok()?.1));
        let agreement = agreement(aggregates().flat_map(|aggregate| &aggregate.dimensions)).into();
        let cost: Usd = judged.iter().map(SummaryRow::cost).sum();
        let saved: Usd = aggregates().map(|aggregate| aggregate.saved).sum();
        let questions = judged.into_iter().map(|row| row.on_the_wire(rubric));
        let per_question: Vec<WireQuestion> =
            questions.chain(rows.upstream.iter().map(WireQuestion::from)).collect();
        let counts =
            VerdictCounts::of(per_question.iter().map(|row| row.verdict), rows.malformed.len());
        let VerdictCounts { pass, fail, inconclusive, error, upstream_error, malformed } = counts;
        Self {
            schema_version: CROSS_MODAL_VERSION,
            kind: BATCH_SUMMARY.to_owned(),
            timestamp: format!("{at:.3}"),
            total: counts.total(),
            pass_count: pass,
            fail_count: fail,
            inconclusive_count: inconclusive,
            error_count: error,
            upstream_error_count: upstream_error,
            malformed_count: malformed,
            beyond_limit_count: rows.beyond_limit,
            verdict: counts.verdict(),
            est_cost_usd: estimate.as_f64(),
            cost_usd: cost.as_f64(),
            saved_usd: saved.as_f64(),
            rubric: rubric.into(),
            slots: seats.iter().map(WireSeat::from).collect(),
            cycles_per_question: cycles,
            concurrent,
            agreement,
            per_question,
            malformed: rows.malformed.iter().map(WireMalformed::from).collect(),
        }
    }
}

/// A question with the aggregate of its votes, computed once.
struct SummaryRow<'a> {
    id: &'a str,
    result: Result<(&'a JudgedOutput, Aggregate), &'a JudgingError>,
}

impl<'a> SummaryRow<'a> {
    fn new((id, judged): &'a (String, Result<JudgedOutput, JudgingError>)) -> Self {
        let result = judged.as_ref().map(|judged| (judged, judged.panel.aggregate()));
        Self { id, result }
    }

    fn cost(&self) -> Usd {
        self.result.as_ref().map_or_else(|error| error.cost, |(_, aggregate)| aggregate.cost)
    }

    fn on_the_wire(self, rubric: &Rubric) -> WireQuestion {
        let question_id = self.id.to_owned();
        match self.result {
            Ok((judged, aggregate)) => WireQuestion {
                question_id,
                verdict: aggregate.verdict.into(),
                error: None,
                receipt: Some(WireJudgement::new(rubric, judged, &aggregate)),
                final_aggregate: Some(WireAggregate::new(aggregate, judged.panel.seats())),
            },
            Err(error) => WireQuestion {
                question_id,
                verdict: RowVerdict::Error,
                error: Some(error.message.clone()),
                final_aggregate: None,
                receipt: None,
            },
        }
    }
}

impl From<&PanelSeat> for WireSeat {
    fn from(seat: &PanelSeat) -> Self {
        let PanelSeat { slot, model } = seat;
        Self { id: *slot, model: model.clone() }
    }
}

impl From<&MalformedLine> for WireMalformed {
    fn from(malformed: &MalformedLine) -> Self {
        let MalformedLine { line, why } = malformed;
        Self { line: *line, why: why.clone() }
    }
}

impl From<&UnansweredRow> for WireQuestion {
    fn from(upstream: &UnansweredRow) -> Self {
        let UnansweredRow { id, error } = upstream;
        Self {
            question_id: id.clone(),
            verdict: RowVerdict::UpstreamError,
            error: Some(error.clone()),
            final_aggregate: None,
            receipt: None,
        }
    }
}
