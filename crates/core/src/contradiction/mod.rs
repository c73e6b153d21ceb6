//! Finds contradictions: pairs of statements that cannot both be true, and their rate in a brain.
//!
//! Passages that answer the same query are paired with each other and with the takes of their page
//! ([`pair`]). Pairs about different times are excluded ([`date`]). A model judges the others
//! ([`prompt`]), or the offline judge does ([`offline`]); the result is a [`Judgement`]
//! ([`verdict`]). Planted pairs with known answers ([`canary`]) measure the judge's error rate, and
//! the pair rate is corrected for it ([`rate`]). Findings carry suggested resolutions
//! ([`resolution`]); a [`report`] combines all of it.
//!
//! Guarantees: nothing is changed automatically; a pair is judged once, however many queries
//! surface it; a verdict depends only on the prompt. The prompt does not contain the query, so a
//! cached judgement equals a fresh one.
//!
//! Not here: calling a model, caching its answers and paying for them.

pub mod canary;
pub mod date;
pub mod docket;
pub mod offline;
pub mod pair;
pub mod prompt;
pub mod rate;
pub mod report;
pub mod resolution;
pub mod verdict;

pub use canary::{Canary, canaries};
pub use date::DateRule;
pub use docket::{JudgingOutcome, Origin, PairSet, PairSetEntry};
pub use pair::{
    CurationTier, Pair, PairKind, RankedStatement, Statement, StatementDate, StatementDateOrigin,
    StatementLocation, pairs_of,
};
pub use prompt::PairPrompt;
pub use rate::{CanaryCounts, CorrectedRate, HitCount};
pub use report::{Report, RunStatus};
pub use resolution::ResolutionSuggestion;
pub use verdict::{JudgeError, Judgement, ResolutionKind, Severity, StatementRelation, parse};
