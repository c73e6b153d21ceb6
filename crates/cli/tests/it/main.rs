//! The real binary, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod answers;
mod capture;
mod commands;
mod concurrent;
mod export;
mod gate;
mod identity;
mod kill;
mod meaning;
mod replay;
mod score;
mod support;
mod trust;
