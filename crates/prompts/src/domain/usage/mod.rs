//! What runs of a prompt left behind: rows, and figures over any number of them.
//!
//! A row is one line of `.usage.jsonl`: nine keys in a fixed order, written once, never edited. A
//! line that is not such a row is counted and counts for nothing else.

mod glance;
mod median;
mod row;
mod runs;
mod summary;

pub use glance::Glance;
pub use median::{Median, Middle};
pub use row::{UsageRow, second};
pub use runs::{RunIndex, RunRecord, RunText};
pub use summary::{Counted, Counts, LONGEST_LINE, Lines, Summary};
