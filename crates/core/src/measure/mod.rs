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

pub use evaluate::{Evaluation, Missing, QueryScores, SegmentScores, Tied, evaluate};
pub use graded::{Found, Graded};
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
pub(crate) enum Kind {
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
    pub(crate) kind: Kind,
    /// Invariant: 1 unless the measure is about relevant and not relevant.
    pub(crate) rel: u32,
    /// Invariant: at least 1, and there for the measures that need it.
    pub(crate) cutoff: Option<usize>,
}

/// A measure's name, formula and source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// What it tells, with its formula.
    pub explanation: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
}

impl Measure {
    /// The value for one ranking.
    pub fn of(&self, graded: &Graded) -> f64 {
        let (rel, k) = (self.rel, self.cutoff);
        let value = match self.kind {
            Kind::Precision => precision::precision(graded, rel, self.depth()),
            Kind::Recall => recall::recall(graded, rel, self.depth()),
            Kind::RecallAny | Kind::Hit | Kind::Success => recall::any(graded, rel, self.depth()),
            Kind::RecallAll => recall::all(graded, rel, self.depth()),
            Kind::ReciprocalRank => reciprocal_rank::reciprocal_rank(graded, rel, k),
            Kind::AveragePrecision => average_precision::average_precision(graded, rel, k),
            Kind::Ndcg(gain) => ndcg::ndcg(graded, gain, k),
            Kind::Rbp { p } => rbp::rbp(graded, p, rel, k),
            Kind::Judged => judged::judged(graded, k),
            Kind::RPrecision => r_precision::r_precision(graded, rel),
            Kind::Bpref => bpref::bpref(graded, rel),
            Kind::ExpectedReciprocalRank { max } => {
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
            Kind::RPrecision | Kind::Bpref => self,
            _ => Self { cutoff: self.cutoff.or(Some(k.max(1))), ..self },
        }
    }

    /// How deep it looks; none for the whole ranking.
    pub fn cutoff(&self) -> Option<usize> {
        self.cutoff
    }

    /// What it tells and where it comes from.
    pub fn about(&self) -> About {
        match self.kind {
            Kind::Precision => precision::ABOUT,
            Kind::Recall => recall::ABOUT,
            Kind::RecallAny | Kind::Hit | Kind::Success => recall::ABOUT_ANY,
            Kind::RecallAll => recall::ABOUT_ALL,
            Kind::ReciprocalRank => reciprocal_rank::ABOUT,
            Kind::AveragePrecision => average_precision::ABOUT,
            Kind::Ndcg(Gain::Linear) => ndcg::ABOUT,
            Kind::Ndcg(Gain::Exponential) => ndcg::ABOUT_EXPONENTIAL,
            Kind::Rbp { .. } => rbp::ABOUT,
            Kind::Judged => judged::ABOUT,
            Kind::RPrecision => r_precision::ABOUT,
            Kind::Bpref => bpref::ABOUT,
            Kind::ExpectedReciprocalRank { .. } => expected_reciprocal_rank::ABOUT,
        }
    }

    /// `P@k`.
    pub fn precision(k: usize) -> Self {
        Self::at(Kind::Precision, k)
    }

    /// `R@k`.
    pub fn recall(k: usize) -> Self {
        Self::at(Kind::Recall, k)
    }

    /// `recall_any@k`.
    pub fn recall_any(k: usize) -> Self {
        Self::at(Kind::RecallAny, k)
    }

    /// `recall_all@k`.
    pub fn recall_all(k: usize) -> Self {
        Self::at(Kind::RecallAll, k)
    }

    /// `Success@k`.
    pub fn success(k: usize) -> Self {
        Self::at(Kind::Success, k)
    }

    /// `nDCG@k`, the gain being the grade.
    pub fn ndcg(k: usize) -> Self {
        Self::at(Kind::Ndcg(Gain::Linear), k)
    }

    /// `Judged@k`.
    pub fn judged(k: usize) -> Self {
        Self::at(Kind::Judged, k)
    }

    /// `RR` of the whole ranking.
    pub(crate) fn reciprocal_rank() -> Self {
        Self { kind: Kind::ReciprocalRank, rel: 1, cutoff: None }
    }

    /// `AP` of the whole ranking.
    pub(crate) fn average_precision() -> Self {
        Self { kind: Kind::AveragePrecision, rel: 1, cutoff: None }
    }

    fn at(kind: Kind, k: usize) -> Self {
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
