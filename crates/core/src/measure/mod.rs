//! Measures of rankings against judgements.
//!
//! A measure is a value that prints as it is written (`nDCG@10`, `P(rel=2)@5`) and parses back.
//! Names and formulas are those of ir_measures and trec_eval. Promises: every value is in 0..=1 and
//! never NaN; a document counts at its first rank only; the ideal ranking comes from the judgements,
//! never from what was retrieved. A query without a relevant document scores 0, as in trec_eval.
//!
//! Deliberately absent: a model that judges, and any measure that has one name for two formulas.

mod average_precision;
mod bpref;
mod evaluate;
mod expected_reciprocal_rank;
mod graded;
mod judged;
mod name;
mod ndcg;
mod precision;
mod r_precision;
mod rbp;
mod recall;
mod reciprocal_rank;

pub use evaluate::{Evaluation, MissingQueries, QueryScores, SegmentScores, TieCount, evaluate};
pub use graded::{GradedRanking, JudgedHit};
pub use name::MeasureError;

/// How a grade becomes a gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Gain {
    /// The grade itself, as trec_eval.
    Linear,
    /// 2^grade - 1, as web search (`dcg='exp-log2'` in ir_measures).
    Exponential,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MeasureKind {
    Precision,
    Recall,
    RecallAny,
    RecallAll,
    Hit,
    Success,
    ReciprocalRank,
    AveragePrecision,
    Ndcg(Gain),
    Rbp {
        p: f64,
    },
    Judged,
    RPrecision,
    Bpref,
    /// Expected reciprocal rank, with the highest grade there is.
    ExpectedReciprocalRank {
        max: u32,
    },
}

/// A measure: what is measured, from which grade on a document is relevant, and how deep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    pub(crate) kind: MeasureKind,
    /// Invariant: 1 unless the measure is about relevant and not relevant.
    pub(crate) rel: u32,
    /// Invariant: at least 1, and there for the measures that need it.
    pub(crate) cutoff: Option<usize>,
}

/// A measure's name, formula and source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureInfo {
    /// The meaning of the measure, with its formula.
    pub explanation: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
}

impl Measure {
    /// The value for one ranking.
    pub fn of(&self, graded: &GradedRanking) -> f64 {
        let (rel, k) = (self.rel, self.cutoff);
        let value = match self.kind {
            MeasureKind::Precision => precision::precision(graded, rel, self.depth()),
            MeasureKind::Recall => recall::recall(graded, rel, self.depth()),
            MeasureKind::RecallAny | MeasureKind::Hit | MeasureKind::Success => {
                recall::any(graded, rel, self.depth())
            }
            MeasureKind::RecallAll => recall::all(graded, rel, self.depth()),
            MeasureKind::ReciprocalRank => reciprocal_rank::reciprocal_rank(graded, rel, k),
            MeasureKind::AveragePrecision => average_precision::average_precision(graded, rel, k),
            MeasureKind::Ndcg(gain) => ndcg::ndcg(graded, gain, k),
            MeasureKind::Rbp { p } => rbp::rbp(graded, p, rel, k),
            MeasureKind::Judged => judged::judged(graded, k),
            MeasureKind::RPrecision => r_precision::r_precision(graded, rel),
            MeasureKind::Bpref => bpref::bpref(graded, rel),
            MeasureKind::ExpectedReciprocalRank { max } => {
                expected_reciprocal_rank::expected_reciprocal_rank(graded, max, k)
            }
        };
        // The sum of no numbers is -0.0.
        value + 0.0
    }

    /// The same with a cutoff, if it has none and can have one.
    #[must_use]
    pub(crate) fn at_depth(self, k: usize) -> Self {
        match self.kind {
            MeasureKind::RPrecision | MeasureKind::Bpref => self,
            _ => Self { cutoff: self.cutoff.or(Some(k.max(1))), ..self },
        }
    }

    /// How deep it looks; none for the whole ranking.
    pub fn cutoff(&self) -> Option<usize> {
        self.cutoff
    }

    /// The meaning of the measure and its source.
    pub fn about(&self) -> MeasureInfo {
        match self.kind {
            MeasureKind::Precision => precision::ABOUT,
            MeasureKind::Recall => recall::ABOUT,
            MeasureKind::RecallAny | MeasureKind::Hit | MeasureKind::Success => recall::ABOUT_ANY,
            MeasureKind::RecallAll => recall::ABOUT_ALL,
            MeasureKind::ReciprocalRank => reciprocal_rank::ABOUT,
            MeasureKind::AveragePrecision => average_precision::ABOUT,
            MeasureKind::Ndcg(Gain::Linear) => ndcg::ABOUT,
            MeasureKind::Ndcg(Gain::Exponential) => ndcg::ABOUT_EXPONENTIAL,
            MeasureKind::Rbp { .. } => rbp::ABOUT,
            MeasureKind::Judged => judged::ABOUT,
            MeasureKind::RPrecision => r_precision::ABOUT,
            MeasureKind::Bpref => bpref::ABOUT,
            MeasureKind::ExpectedReciprocalRank { .. } => expected_reciprocal_rank::ABOUT,
        }
    }

    /// Precision at k (`P@k`).
    pub fn precision(k: usize) -> Self {
        Self::at(MeasureKind::Precision, k)
    }

    /// Recall at k (`R@k`).
    pub fn recall(k: usize) -> Self {
        Self::at(MeasureKind::Recall, k)
    }

    /// Recall of any relevant document at k (`recall_any@k`).
    pub fn recall_any(k: usize) -> Self {
        Self::at(MeasureKind::RecallAny, k)
    }

    /// Recall of all relevant documents at k (`recall_all@k`).
    pub fn recall_all(k: usize) -> Self {
        Self::at(MeasureKind::RecallAll, k)
    }

    /// Success at k (`Success@k`).
    pub fn success(k: usize) -> Self {
        Self::at(MeasureKind::Success, k)
    }

    /// `nDCG@k`, the gain being the grade.
    pub fn ndcg(k: usize) -> Self {
        Self::at(MeasureKind::Ndcg(Gain::Linear), k)
    }

    /// Share of judged documents at k (`Judged@k`).
    pub fn judged(k: usize) -> Self {
        Self::at(MeasureKind::Judged, k)
    }

    /// `RR` of the whole ranking.
    pub(crate) fn reciprocal_rank() -> Self {
        Self { kind: MeasureKind::ReciprocalRank, rel: 1, cutoff: None }
    }

    /// `AP` of the whole ranking.
    pub(crate) fn average_precision() -> Self {
        Self { kind: MeasureKind::AveragePrecision, rel: 1, cutoff: None }
    }

    fn at(kind: MeasureKind, k: usize) -> Self {
        Self { kind, rel: 1, cutoff: Some(k.max(1)) }
    }

    /// The cutoff of a measure that always has one.
    fn depth(&self) -> usize {
        self.cutoff.unwrap_or(usize::MAX)
    }
}

/// The measures of a report that asks for none.
pub fn defaults() -> Vec<Measure> {
    vec![
        Measure::ndcg(10),
        Measure::average_precision(),
        Measure::reciprocal_rank(),
        Measure::precision(5),
        Measure::recall(5),
        Measure::recall(10),
        Measure::recall(100),
        Measure::judged(10),
    ]
}

#[cfg(test)]
mod tests;
