//! Names of measures, both ways: `Name(parameter=value,...)@cutoff`.
//!
//! Printed as ir_measures prints them. Read in any case, and in trec_eval's spelling too
//! (`ndcg_cut_10`, `recip_rank`, `map`).

use std::fmt;
use std::str::FromStr;

use super::expected_reciprocal_rank::USUAL_MAX;
use super::{Gain, Measure, MeasureKind};

/// Why a name means no measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The name of an unknown measure.
    #[error(
        "there is no measure `{0}`; there are P@k, R@k, recall_any@k, recall_all@k, hit@k, Success@k, \
         RR, AP, nDCG, nDCG(dcg='exp-log2'), RBP(p=0.8), ERR(max=4) and Judged, each with @k where it has \
         none, and Rprec and Bpref, which have no cutoff"
    )]
    Unknown(String),
    /// A measure that needs a cutoff and has none.
    #[error("`{0}` needs a cutoff, such as `{0}@10`")]
    NoCutoff(String),
    /// A cutoff on a measure of the whole ranking.
    #[error("`{0}` has a cutoff, and the measure takes none: it is over the whole ranking")]
    TakesNoCutoff(String),
    /// A cutoff that is no depth.
    #[error("`{0}` has no valid cutoff; write a whole number from 1 on, such as `@10`")]
    BadCutoff(String),
    /// A parameter that the measure does not take, or a value that it cannot have.
    #[error("`{parameter}` is no parameter of `{measure}`; expected {expected}")]
    Parameter {
        measure: String,
        parameter: String,
        /// The accepted names of measures.
        expected: &'static str,
    },
}

impl Measure {
    /// Reads names separated by blanks or commas; a comma inside of brackets is part of a name.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, MeasureError> {
        let mut depth = 0usize;
        let between = |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => (),
            }
            depth == 0 && (c == ',' || c.is_whitespace())
        };
        text.split(between).filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            MeasureKind::Precision => "P",
            MeasureKind::Recall => "R",
            MeasureKind::RecallAny => "recall_any",
            MeasureKind::RecallAll => "recall_all",
            MeasureKind::Hit => "hit",
            MeasureKind::Success => "Success",
            MeasureKind::ReciprocalRank => "RR",
            MeasureKind::AveragePrecision => "AP",
            MeasureKind::Ndcg(_) => "nDCG",
            MeasureKind::Rbp { .. } => "RBP",
            MeasureKind::Judged => "Judged",
            MeasureKind::RPrecision => "Rprec",
            MeasureKind::Bpref => "Bpref",
            MeasureKind::ExpectedReciprocalRank { .. } => "ERR",
        };
        f.write_str(name)?;
        match (self.kind, self.rel) {
            (MeasureKind::Ndcg(Gain::Exponential), _) => f.write_str("(dcg='exp-log2')")?,
            (MeasureKind::Rbp { p }, 1) => write!(f, "(p={p})")?,
            (MeasureKind::Rbp { p }, rel) => write!(f, "(p={p},rel={rel})")?,
            (MeasureKind::ExpectedReciprocalRank { max }, _) if max != USUAL_MAX => {
                write!(f, "(max={max})")?
            }
            (_, 1) => (),
            (_, rel) => write!(f, "(rel={rel})")?,
        }
        self.cutoff.map_or(Ok(()), |k| write!(f, "@{k}"))
    }
}

impl FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Self, MeasureError> {
        let text = text.trim();
        let (body, cutoff) = match text.rsplit_once('@') {
            Some((body, k)) => (body, Some(cutoff(text, k)?)),
            None => (text, None),
        };
        let (name, parameters) = match body.strip_suffix(')').and_then(|b| b.split_once('(')) {
            Some((name, parameters)) => (name, parameters),
            None => (body, ""),
        };
        let name = name.trim().to_ascii_lowercase();
        if let Some((kind, k)) = trec_name(&name).filter(|_| cutoff.is_none()) {
            return Self { kind, rel: 1, cutoff: k }.with(text, parameters)?.checked(text);
        }
        let kind = kind(&name).ok_or_else(|| MeasureError::Unknown(text.to_owned()))?;
        Self { kind, rel: 1, cutoff }.with(text, parameters)?.checked(text)
    }
}

impl Measure {
    fn with(mut self, whole: &str, parameters: &str) -> Result<Self, MeasureError> {
        let expected = match self.kind {
            MeasureKind::Ndcg(_) => "dcg='log2' or dcg='exp-log2'",
            MeasureKind::Rbp { .. } => "p between 0 and 1, and rel from 1 on",
            MeasureKind::Judged => "none",
            MeasureKind::ExpectedReciprocalRank { .. } => "max from 1 to 60",
            _ => "rel from 1 on",
        };
        for parameter in parameters.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let refused = || MeasureError::Parameter {
                measure: whole.to_owned(),
                parameter: parameter.to_owned(),
                expected,
            };
            let (key, value) = parameter.split_once('=').ok_or_else(refused)?;
            self = self.set(key.trim(), value.trim()).ok_or_else(refused)?;
        }
        Ok(self)
    }

    fn set(mut self, key: &str, value: &str) -> Option<Self> {
        match (self.kind, key) {
            (MeasureKind::Ndcg(_), "dcg") => match value.trim_matches(['\'', '"']) {
                "log2" => self.kind = MeasureKind::Ndcg(Gain::Linear),
                "exp-log2" => self.kind = MeasureKind::Ndcg(Gain::Exponential),
                _ => return None,
            },
            (MeasureKind::Rbp { .. }, "p") => {
                let p = value.parse().ok().filter(|p| (0.0..=1.0).contains(p))?;
                self.kind = MeasureKind::Rbp { p };
            }
            (MeasureKind::ExpectedReciprocalRank { .. }, "max") => {
                let max = value.parse().ok().filter(|max| (1..=60).contains(max))?;
                self.kind = MeasureKind::ExpectedReciprocalRank { max };
            }
            (
                MeasureKind::Ndcg(_)
                | MeasureKind::Judged
                | MeasureKind::ExpectedReciprocalRank { .. },
                _,
            ) => return None,
            (_, "rel") => self.rel = value.parse().ok().filter(|rel| *rel >= 1)?,
            _ => return None,
        }
        Some(self)
    }

    fn checked(self, whole: &str) -> Result<Self, MeasureError> {
        let needs_cutoff = matches!(
            self.kind,
            MeasureKind::Precision
                | MeasureKind::Recall
                | MeasureKind::RecallAny
                | MeasureKind::RecallAll
                | MeasureKind::Hit
                | MeasureKind::Success
        );
        if needs_cutoff && self.cutoff.is_none() {
            return Err(MeasureError::NoCutoff(whole.to_owned()));
        }
        let takes_none = matches!(self.kind, MeasureKind::RPrecision | MeasureKind::Bpref);
        if takes_none && self.cutoff.is_some() {
            return Err(MeasureError::TakesNoCutoff(whole.to_owned()));
        }
        Ok(self)
    }
}

fn cutoff(whole: &str, text: &str) -> Result<usize, MeasureError> {
    let k = text.trim().parse::<u32>().ok().filter(|k| *k >= 1);
    k.map(|k| k as usize).ok_or_else(|| MeasureError::BadCutoff(whole.to_owned()))
}

fn kind(name: &str) -> Option<MeasureKind> {
    Some(match name {
        "p" | "precision" => MeasureKind::Precision,
        "r" | "recall" => MeasureKind::Recall,
        "recall_any" => MeasureKind::RecallAny,
        "recall_all" => MeasureKind::RecallAll,
        "hit" => MeasureKind::Hit,
        "success" => MeasureKind::Success,
        "rr" | "mrr" | "recip_rank" => MeasureKind::ReciprocalRank,
        "ap" | "map" => MeasureKind::AveragePrecision,
        "ndcg" => MeasureKind::Ndcg(Gain::Linear),
        "rbp" => MeasureKind::Rbp { p: 0.8 },
        "judged" => MeasureKind::Judged,
        "rprec" => MeasureKind::RPrecision,
        "bpref" => MeasureKind::Bpref,
        "err" => MeasureKind::ExpectedReciprocalRank { max: USUAL_MAX },
        _ => return None,
    })
}

/// trec_eval's spelling: the cutoff after the last underscore.
fn trec_name(name: &str) -> Option<(MeasureKind, Option<usize>)> {
    let (name, k) = name.rsplit_once('_')?;
    let k = k.parse::<u32>().ok().filter(|k| *k >= 1)? as usize;
    let kind = match name {
        "p" => MeasureKind::Precision,
        "recall" => MeasureKind::Recall,
        "success" => MeasureKind::Success,
        "map_cut" => MeasureKind::AveragePrecision,
        "ndcg_cut" => MeasureKind::Ndcg(Gain::Linear),
        _ => return None,
    };
    Some((kind, Some(k)))
}
