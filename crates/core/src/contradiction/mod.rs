//! Contradictions: pairs of statements that can't both be so, and how many of them a brain holds.
//!
//! Passages that answer the same question are paired with each other and with the takes of their
//! page ([`pair`]). Pairs that speak of different times are left out ([`date`]). A judge is shown the
//! rest ([`prompt`]) or the offline judge reads them ([`offline`]); what it says is a [`Judgement`]
//! ([`verdict`]). Planted pairs whose answer is known ([`canary`]) tell how often the judge errs, and
//! the rate is corrected for it ([`rate`]). Findings carry what to do about them ([`resolution`]); all
//! of it together is a [`report`].
//!
//! Promises: nothing is changed by itself; a pair is judged once however many queries surface it; a
//! verdict depends on what the judge is shown and on nothing else. The query is not shown to it, so
//! that an answer that is remembered is the answer that would be given.
//!
//! Deliberately absent: asking a model, remembering its answers and paying for them.

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
pub use docket::{Docket, Docketed, Origin, Outcome};
pub use pair::{DateFrom, Dated, Pair, PairKind, Place, Ranked, Statement, Tier, pairs_of};
pub use prompt::Prompt;
pub use rate::{CanaryCounts, CorrectedRate, Counted};
pub use report::{Report, RunStatus};
pub use resolution::Resolution;
pub use verdict::{Contradicts, JudgeError, Judgement, ResolutionKind, Severity, parse};
