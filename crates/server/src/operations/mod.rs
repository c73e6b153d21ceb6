//! The operations that remote callers may run: one file per subject, synchronous, on the workspace
//! of the authenticated caller. HTTP and MCP both use them, so neither can do more than the other.
//!
//! Invariant: no operation reads a private page for a caller, or a workspace other than its own.

pub(crate) mod activity;
pub(crate) mod alerts;
pub(crate) mod ask;
pub(crate) mod benchmarks;
pub(crate) mod bounds;
pub(crate) mod calibration;
pub(crate) mod capture_list;
pub(crate) mod captures;
pub(crate) mod compare;
pub(crate) mod contradictions;
pub(crate) mod documents;
pub(crate) mod explain;
pub(crate) mod feedback;
pub(crate) mod incidents;
pub(crate) mod jobs;
pub(crate) mod labelling;
pub(crate) mod labels;
pub(crate) mod limits;
pub(crate) mod pages;
pub(crate) mod probe;
pub(crate) mod prompts;
pub(crate) mod sources;
pub(crate) mod status;
pub(crate) mod suites;

#[cfg(test)]
mod tests;
