//! Replay: asking captured requests again and saying what moved.
//!
//! Running them is the work of the eval crate; here is what to ask, how a row compares, what the
//! rows add up to and what that means.

mod ask;
mod compare;
mod diagnose;
mod row;
mod summary;

pub use ask::{Asked, Caveat, Live, SettingsFrom, Skip, ask};
pub use compare::{Sides, compare, sides};
pub use diagnose::{Health, Healths, diagnose, healths};
pub use row::{Compared, Lost, Outcome, ReplayedRow};
pub use summary::{Latency, Summary, summarise};
