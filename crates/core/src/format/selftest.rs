//! The mutation test of a gate on the wire.

use schemars::JsonSchema;
use serde::Serialize;

use crate::gate::Verdict;

/// The version of [`SelftestBody`].
pub(crate) const SELFTEST_VERSION: u32 = 1;

/// What `eval gate --selftest --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SelftestBody<'a> {
    schema_version: u32,
    /// The verdict without any mutant.
    unmutated: Verdict,
    /// Mutants that the gate saw.
    killed: usize,
    /// Mutants that there was something to break for.
    applied: usize,
    /// The share of them that the gate saw; null when none applied.
    kill_score: Option<f64>,
    /// Every mutant.
    mutants: Vec<MutantRow<'a>>,
}

/// What became of a mutant.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MutantRow<'a> {
    /// Which.
    pub mutant: &'static str,
    /// Whether the gate saw it; null when there was nothing to break.
    pub killed: Option<bool>,
    /// What happened, in words.
    pub note: &'a str,
}

impl<'a> SelftestBody<'a> {
    /// The wire form of a mutation test.
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
