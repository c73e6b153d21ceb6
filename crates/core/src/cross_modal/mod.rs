//! Answers judged by a panel of models of different makers.
//!
//! ```text
//! rubric ─▶ prompt ─▶ (a model) ─▶ reply ─▶ vote ─▶ panel ─▶ aggregate: verdict, means, agreement
//!                                                     └─▶ standing: whether more calls can change it
//! ```
//!
//! Promises: the dimensions are the rubric's, and a reply that has others is no vote. Scores of cycles
//! are pooled, never the best of them. Nothing is rounded before it is compared. A call that failed or
//! was not made is counted, and without enough votes there is no verdict. What is judged can't speak to
//! the judge: it stands in a frame that it can't leave.
//!
//! Deliberately absent: calling models, and any model of how lenient a judge is.

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

pub use aggregate::{Aggregate, DimensionResult, Reason, Unsure, agreement};
pub use call::{Call, Outcome, Seat, Slot, Unmade};
pub use choice::{Answers, ChoiceError, choose};
pub use judged::{Judged, JudgingError};
pub use name::{SlugError, receipt_file, sha8, slug, summary_file};
pub use panel::{Panel, PanelError};
pub use prompt::{Case, PROMPT_VERSION, Prompt, prompt, schema};
pub use reply::{ReplyError, Vote, read};
pub use rubric::{Anchor, Band, Dimension, Rubric, RubricError};
pub use sequential::{Standing, standing, wave};

/// The lowest score.
pub const LOWEST: u8 = 1;
/// The highest score.
pub const HIGHEST: u8 = 10;
/// What the mean of every dimension must reach.
pub(crate) const MEAN_FLOOR: u8 = 7;
/// What every single score must reach.
pub(crate) const SCORE_FLOOR: u8 = 5;
/// How many models must have voted.
pub(crate) const QUORUM: usize = 2;
/// The most cycles.
pub const MAX_CYCLES: u8 = 3;
