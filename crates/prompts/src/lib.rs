//! `kick` and `eva`: prompts that are promoted on evidence.
//!
//! `domain` says what the files of a prompt mean and what follows from them; it does no I/O. `effects` reads and
//! writes those files and runs commands. Nothing is printed but what a command itself writes, and that goes where
//! the caller says.

pub mod domain;
mod effects;

pub use effects::*;
