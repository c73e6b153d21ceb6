//! The usage log of a prompt: its rows, and figures over any number of them.
//!
//! A row is one line of `.usage.jsonl`: nine keys in a fixed order, written once and never edited.
//! Other lines are counted as malformed and ignored.

mod glance;
mod median;
mod row;
mod runs;
mod summary;

pub use glance::UsageFields;
pub use median::{Median, Middle};
pub use row::{UsageRow, second};
pub use runs::{RunIndex, RunRecord, RunText};
pub use summary::{GateCounts, LONGEST_LINE, LineSplitter, Summary, VerdictCounts};
