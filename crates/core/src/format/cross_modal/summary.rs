//! The summary of a batch.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CROSS_MODAL_VERSION, WireAggregate, WireAgreement, WireJudgement, WireRubric};
use crate::cross_modal::batch::{BatchVerdict, Counts, Malformed, RowVerdict, Rows, Upstream};
use crate::cross_modal::{Aggregate, Judged, JudgingError, Rubric, Seat, Slot, agreement};
use crate::money::Usd;

/// What a [`Summary`] says it is.
pub(crate) const BATCH_SUMMARY: &str = "cross_modal_batch_summary";

/// What a summary is made of.
#[derive(Debug)]
pub struct SummaryParts<'a> {
    /// When the batch ended.
    pub at: Timestamp,
    pub rubric: &'a Rubric,
    /// The rows of the file.
    pub rows: &'a Rows,
    /// What came of each question, in the order of the rows.
    pub judged: &'a [(String, Result<Judged, JudgingError>)],
    /// Who sat on the panel.
    pub seats: &'a [Seat],
    /// How often each model was to be asked.
    pub cycles: u8,
    /// How many questions were judged at a time.
    pub concurrent: usize,
    /// What it could have cost at most.
    pub estimate: Usd,
}

/// Many judgements: what `gbrain eval cross-modal --batch --json` prints and keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalBatchSummary")]
pub struct Summary {
    /// The version.
    pub schema_version: u32,
    /// `cross_modal_batch_summary`.
    pub kind: String,
    /// When the batch ended.
    pub timestamp: String,
    /// Rows and lines that were counted.
    pub total: usize,
    /// Rows that pass.
    pub pass_count: usize,
    /// Rows that fail.
    pub fail_count: usize,
    /// Rows without a verdict.
    pub inconclusive_count: usize,
    /// Rows that could not be judged.
    pub error_count: usize,
    /// Rows that were not answered.
    pub upstream_error_count: usize,
    /// Lines that are no rows.
    pub malformed_count: usize,
    /// Questions beyond the limit, which nobody judged.
    pub beyond_limit_count: usize,
    /// The worst of the rows.
    pub verdict: BatchVerdict,
    /// What it could have cost at most.
    pub est_cost_usd: f64,
    /// What it cost.
    pub cost_usd: f64,
    /// What calls that could not change a verdict would have cost at most.
    pub saved_usd: f64,
    /// What was scored.
    pub rubric: WireRubric,
    /// Who sat on the panel.
    pub slots: Vec<WireSeat>,
    /// How often each model was to be asked about a question.
    pub cycles_per_question: u8,
    /// How many questions were judged at a time.
    pub concurrent: usize,
    /// How far the models agree over all questions.
    pub agreement: WireAgreement,
    /// Every row.
    pub per_question: Vec<WireQuestion>,
    /// Every line that is no row.
    pub malformed: Vec<WireMalformed>,
}

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalSeat")]
pub struct WireSeat {
    /// The slot.
    pub id: Slot,
    /// The model.
    pub model: String,
}

/// What came of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalQuestion")]
pub struct WireQuestion {
    /// Its id.
    pub question_id: String,
    /// Its verdict.
    pub verdict: RowVerdict,
    /// Why it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the votes add up to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_aggregate: Option<WireAggregate>,
    /// Who said what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<WireJudgement>,
}

/// A line that is no row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CrossModalMalformed")]
pub struct WireMalformed {
    /// Its number.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Summary {
    /// The wire form of a batch.
    pub fn new(parts: &SummaryParts<'_>) -> Self {
        let SummaryParts { at, rubric, rows, judged, seats, cycles, concurrent, estimate } = *parts;
        let judged: Vec<Row<'_>> = judged.iter().map(Row::new).collect();
        let aggregates = || judged.iter().filter_map(|row| Some(&row.result.as_ref().ok()?.1));
        let agreement = agreement(aggregates().flat_map(|aggregate| &aggregate.dimensions)).into();
        let cost: Usd = judged.iter().map(Row::cost).sum();
        let saved: Usd = aggregates().map(|aggregate| aggregate.saved).sum();
        let questions = judged.into_iter().map(|row| row.on_the_wire(rubric));
        let per_question: Vec<WireQuestion> =
            questions.chain(rows.upstream.iter().map(WireQuestion::from)).collect();
        let counts = Counts::of(per_question.iter().map(|row| row.verdict), rows.malformed.len());
        let Counts { pass, fail, inconclusive, error, upstream_error, malformed } = counts;
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

/// A question with what its votes add up to, added up once.
struct Row<'a> {
    id: &'a str,
    result: Result<(&'a Judged, Aggregate), &'a JudgingError>,
}

impl<'a> Row<'a> {
    fn new((id, judged): &'a (String, Result<Judged, JudgingError>)) -> Self {
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

impl From<&Seat> for WireSeat {
    fn from(seat: &Seat) -> Self {
        let Seat { slot, model } = seat;
        Self { id: *slot, model: model.clone() }
    }
}

impl From<&Malformed> for WireMalformed {
    fn from(malformed: &Malformed) -> Self {
        let Malformed { line, why } = malformed;
        Self { line: *line, why: why.clone() }
    }
}

impl From<&Upstream> for WireQuestion {
    fn from(upstream: &Upstream) -> Self {
        let Upstream { id, error } = upstream;
        Self {
            question_id: id.clone(),
            verdict: RowVerdict::UpstreamError,
            error: Some(error.clone()),
            final_aggregate: None,
            receipt: None,
        }
    }
}
