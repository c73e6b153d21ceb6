//! The mutation test of a gate on the wire.

use schemars::JsonSchema;
use serde::Serialize;

use crate::gate::Verdict;

/// The version of [`SelftestBody`].
pub(crate) const SELFTEST_VERSION: u32 = 1;

/// Output of `eval gate --selftest --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SelftestBody<'a> {
    schema_version: u32,
    /// The verdict without any mutant.
    unmutated: Verdict,
    /// Mutants that the gate detected.
    killed: usize,
    /// Mutants that changed anything.
    applied: usize,
    /// Share of applied mutants that the gate detected; null when none applied.
    kill_score: Option<f64>,
    mutants: Vec<MutantRow<'a>>,
}

/// Outcome of one mutant.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MutantRow<'a> {
    pub mutant: &'static str,
    /// Whether the gate detected it; null when the mutant did not apply.
    pub killed: Option<bool>,
    /// Explanation in plain text.
    pub note: &'a str,
}

impl<'a> SelftestBody<'a> {
    pub fn new(unmutated: Verdict, mutants: Vec<MutantRow<'a>>) -> Self {
        let applied = mutants.iter().filter(|row| row.killed.is_some()).count();
        let killed = mutants.iter().filter(|row| row.killed == Some(true)).count();
        Self {
            schema_version: SELFTEST_VERSION,
            unmutated,
            killed,
            applied,
            kill_score: (applied > 0).then(|| killed as f64 / applied as f64),
            mutants,
        }
    }
}
