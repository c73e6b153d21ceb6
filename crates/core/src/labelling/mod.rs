//! Labelling: which query to judge next, what the labels measure, and whether reviewers agree.
//!
//! Promises: pure functions of their arguments, the same result in the same order every time. The
//! measures and the smallest detectable drop are those of the correctness gate.
//!
//! Deliberately absent: rankings and labels themselves, which the caller reads from a brain and a
//! store.

mod agreement;
mod measures;
mod order;

pub use agreement::{Agreement, GradedReview, ReviewerCount, agreement, is_conflict};
pub use measures::{LabelMeasures, RankedLabels, label_measures};
pub use order::{ORDER_RULE, possible_change};
