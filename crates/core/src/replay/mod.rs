//! Replay: runs captured requests again and reports the changes.
//!
//! Running them is the work of the eval crate; this module builds the requests, compares the rows,
//! summarises them and interprets the result.

mod ask;
mod compare;
mod diagnose;
mod identity;
mod row;
mod summary;

pub use ask::{Caveat, LiveContext, ReplayRequest, SettingsSource, SkipReason, ask};
pub use compare::{RankingPair, compare};
pub(crate) use diagnose::not_comparable;
pub use diagnose::{MetricHealth, ReplayHealth, diagnose, healths};
pub use identity::{PageMatcher, comparable, first_page_without_source};
pub use row::{LostPage, ReplayedRow, RowComparison, RowOutcome};
pub use summary::{LatencySummary, ReplaySummary, TimingSummary, summarise};
