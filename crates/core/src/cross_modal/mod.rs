//! Judges answers with a panel of models from different providers.
//!
//! ```text
//! rubric ─▶ prompt ─▶ (a model) ─▶ reply ─▶ vote ─▶ panel ─▶ aggregate: verdict, means, agreement
//!                                                     └─▶ panel status: whether more calls can change it
//! ```
//!
//! Guarantees: a vote has exactly the rubric's dimensions; any other reply is rejected. Scores of
//! cycles are pooled; the best one is never picked. Values are compared before rounding. Failed and
//! omitted calls are counted, and without enough votes there is no verdict. The judged text cannot
//! instruct the judge: it is enclosed in delimiters that it cannot close.
//!
//! Not here: calling models, and correcting for lenient judges.

mod aggregate;
pub mod batch;
mod call;
mod choice;
mod judged;
mod name;
mod panel;
mod prompt;
mod reply;
mod rubric;
mod sequential;
mod tally;

pub use aggregate::{Aggregate, DimensionFailure, DimensionResult, UndecidedReason, agreement};
pub use call::{Call, CallOutcome, CallSkipReason, PanelSeat, PanelSlot};
pub use choice::{AnswerCounts, ChoiceError, choose};
pub use judged::{JudgedOutput, JudgingError};
pub use name::{SlugError, receipt_file_name, sha8, slug, summary_file};
pub use panel::{Panel, PanelError};
pub use prompt::{JudgeInput, JudgePrompt, PROMPT_VERSION, prompt, schema};
pub use reply::{JudgeVote, ReplyError, read};
pub use rubric::{Rubric, RubricDimension, RubricError, ScoreAnchor, ScoreBand};
pub use sequential::{VerdictState, next_calls, verdict_state};

pub const LOWEST: u8 = 1;
pub const HIGHEST: u8 = 10;
/// Minimum mean of every dimension.
pub(crate) const MEAN_FLOOR: u8 = 7;
/// Minimum of every single score.
pub(crate) const SCORE_FLOOR: u8 = 5;
/// Minimum number of models that voted.
pub(crate) const QUORUM: usize = 2;
pub const MAX_CYCLES: u8 = 3;
