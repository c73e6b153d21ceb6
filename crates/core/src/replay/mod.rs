//! Replay: asking captured requests again and saying what moved.
//!
//! Running them is the work of the eval crate; here is what to ask, how a row compares, what the
//! rows add up to and what that means.

mod ask;
mod compare;
mod diagnose;
mod identity;
mod row;
mod summary;

pub use ask::{Asked, Caveat, Live, SettingsFrom, Skip, ask};
pub use compare::{Sides, compare};
pub(crate) use diagnose::not_comparable;
pub use diagnose::{Health, Healths, diagnose, healths};
pub use identity::{PageMatcher, comparable, unsourced};
pub use row::{Compared, Lost, Outcome, ReplayedRow};
pub use summary::{Latency, Summary, TimingSummary, summarise};
