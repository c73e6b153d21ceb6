//! The real binary, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod answers;
mod bad_input;
mod capture;
mod commands;
mod compare;
mod concurrent;
mod doctor;
mod export;
mod gate;
mod hermetic_gate;
mod identity;
mod kill;
mod meaning;
mod replay;
mod score;
mod support;
mod trust;
mod workflow;
