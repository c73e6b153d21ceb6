//! Reports: what was found, in the form that its reader needs.
//!
//! One room per form: [`text`] for a terminal, [`markdown`] for a pull request, [`html`] for a
//! browser, [`junit`] for a build server, [`github`] for the log of a workflow, [`json`] for
//! programs. Promises: pure, every form is made from the same parts, and no text that came
//! from outside can break a form or reach past its place in it.
//!
//! Deliberately absent: colour, which belongs to the terminal, and any decision about the verdict.

pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;

mod deltas;
mod escape;
mod headline;
mod number;
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

use crate::replay::{ReplayedRow, Summary};

/// Whether a report shows what was asked and what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queries {
    /// Queries, pages and messages: for readers who may see the brain.
    Shown,
    /// Hashes, places and counts: for reports that travel.
    Hashed,
}

/// A replay to report.
#[derive(Debug, Clone, Copy)]
pub struct ReplayParts<'a> {
    pub rows: &'a [ReplayedRow],
    /// What they add up to.
    pub summary: &'a Summary,
    /// How many of the worst rows to tell of.
    pub worst: usize,
}
