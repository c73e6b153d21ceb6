//! Whether two results may be compared at all.

use rustc_hash::FxHashMap;

use super::{EvalResultKind, ResultRow, ResultTable};

/// Why two results can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncomparableReason {
    /// One is of another kind.
    #[error("`{reference}` is {a} output and `{other}` is {b} output; compare results of one kind", a = kinds.0, b = kinds.1)]
    Kinds { reference: String, other: String, kinds: (EvalResultKind, EvalResultKind) },
    #[error("`{condition}` is {a} in `{reference}` and {b} in `{other}`", a = values.0, b = values.1)]
    Condition { reference: String, other: String, condition: String, values: (String, String) },
    /// Shared queries were measured against something else.
    #[error(
        "{queries} shared queries of `{reference}` and `{other}` were measured against other \
         rankings or judgements"
    )]
    Against { reference: String, other: String, queries: usize },
    /// They have no query in common.
    #[error("`{reference}` and `{other}` have no query in common")]
    NothingShared { reference: String, other: String },
    /// They measure nothing in common.
    #[error("`{reference}` and `{other}` have no measure in common")]
    NoMeasure { reference: String, other: String },
    /// A measure that shall decide and cannot.
    #[error("`{measure}` cannot decide: choose one of {known}")]
    Primary {
        measure: String,
        /// The measures that can, separated by blanks.
        known: String,
    },
}

impl IncomparableReason {
    /// Whether a comparison can be forced, being possible if hardly meaningful.
    pub fn can_be_forced(&self) -> bool {
        matches!(self, Self::Condition { .. } | Self::Against { .. })
    }
}

/// Everything that speaks against comparing two results.
pub fn incomparable(reference: &ResultTable, other: &ResultTable) -> Vec<IncomparableReason> {
    let names = || (reference.name.clone(), other.name.clone());
    let mut reasons = Vec::new();
    if reference.kind != other.kind {
        let ((reference, other), kinds) = (names(), (reference.kind, other.kind));
        return vec![IncomparableReason::Kinds { reference, other, kinds }];
    }
    for (condition, value) in &reference.conditions {
        let differs = |(name, found): &&(String, String)| name == condition && found != value;
        if let Some((_, found)) = other.conditions.iter().find(differs) {
            let (reference, other) = names();
            let (condition, values) = (condition.clone(), (value.clone(), found.clone()));
            reasons.push(IncomparableReason::Condition { reference, other, condition, values });
        }
    }
    let (shared, moved) = shared(reference, other);
    if shared == 0 {
        let (reference, other) = names();
        reasons.push(IncomparableReason::NothingShared { reference, other });
    }
    if moved > 0 {
        let (reference, other) = names();
        reasons.push(IncomparableReason::Against { reference, other, queries: moved });
    }
    let is_shared = |measure: &str| other.columns.iter().any(|column| column.measure == measure);
    if !reference.columns.iter().any(|column| is_shared(&column.measure)) {
        let (reference, other) = names();
        reasons.push(IncomparableReason::NoMeasure { reference, other });
    }
    reasons
}

/// Number of queries that both have, and how many of these were measured against something else.
fn shared(reference: &ResultTable, other: &ResultTable) -> (usize, usize) {
    let rows: FxHashMap<&str, &ResultRow> =
        other.rows.iter().map(|row| (row.key.as_str(), row)).collect();
    let pairs = reference.rows.iter().filter_map(|row| Some((row, *rows.get(row.key.as_str())?)));
    let (mut shared, mut moved) = (0, 0);
    for (a, b) in pairs {
        shared += 1;
        moved += usize::from(a.against.is_some() && b.against.is_some() && a.against != b.against);
    }
    (shared, moved)
}
