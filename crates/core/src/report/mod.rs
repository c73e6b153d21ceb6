//! Renders results as reports.
//!
//! One module per format: [`text`] for terminals, [`markdown`] for pull requests, [`junit`] for build
//! servers, [`github`] for workflow logs, [`json`] for programs and for the web pages of the console
//! crate, which are rendered from it.
//! Guarantees: pure functions; all formats are built from the same parts; untrusted text cannot
//! break a format or escape its place in it.
//!
//! Not here: colour, which belongs to the terminal, and any decision about the verdict.

pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod number;
pub mod text;

mod deltas;
mod escape;
mod headline;
mod rows;
mod suite;
mod tally;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

pub use escape::visible;

use crate::replay::{ReplaySummary, ReplayedRow};

/// Whether a report shows queries and pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queries {
    /// Shows queries, pages and messages, for readers who may see the brain.
    Shown,
    /// Shows only hashes, positions and counts, for reports that are shared.
    Hashed,
}

/// A replay to report.
#[derive(Debug, Clone, Copy)]
pub struct ReplayParts<'a> {
    pub rows: &'a [ReplayedRow],
    pub summary: &'a ReplaySummary,
    /// Number of worst rows to show.
    pub worst: usize,
}
