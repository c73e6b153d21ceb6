//! The real binary, as a user runs it.

mod answers;
mod commands;
mod support;
mod trust;
