//! Snapshots of the interfaces that must not change by accident: the HTTP API, MCP, help texts, JSON output, stored
//! rows and files.
//!
//! The snapshots are plain files below `tests/snapshots/interfaces`, compared byte for byte. After a change on
//! purpose, write them again and review the difference:
//! `GBRAIN_UPDATE_SNAPSHOTS=1 cargo xtask with cargo nextest run -p gbrain-cli -E 'test(interfaces::)'`.
//!
//! Values that differ from run to run are masked (`mask.rs`); everything else is pinned as it is. Messages on
//! stderr, reports in HTML, JUnit and Markdown, and the index on disk are not pinned here.

mod api;
mod demo;
mod files;
pub(crate) mod help;
mod mask;
mod prompts;
mod schema;
mod session;
mod snapshot;
mod tables;
