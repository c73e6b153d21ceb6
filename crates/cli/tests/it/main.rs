//! The real binary, as a user runs it.

mod answers;
mod commands;
mod concurrent;
mod identity;
mod kill;
mod support;
mod trust;
