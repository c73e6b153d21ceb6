//! The real binary, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod answers;
mod commands;
mod concurrent;
mod identity;
mod kill;
mod meaning;
mod replay;
mod support;
mod trust;
