//! What a server that is left running says of itself: numbers, lines and spans.
//!
//! Promises: none of them holds a query, a page's text or a token unless somebody asked for it by
//! name; neither numbers nor spans can make a caller wait; what a scrape shows of one workspace
//! shows nothing of another.
//!
//! Deliberately absent: sending anything anywhere that the user did not name. Numbers are read by
//! who comes for them, lines go to stderr, spans leave only for an address that was given.

pub mod logs;
pub mod metrics;

pub use logs::{LogError, LogFormat, LogOptions};
pub use metrics::{JobCount, Metrics, Outcome, Readings, Visible, WorkspaceMetrics};
