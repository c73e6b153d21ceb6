//! `kick` and `eva`: run prompts and promote them on evidence.
//!
//! `domain` parses the files of a prompt and derives results, without I/O. `effects` reads and
//! writes those files and runs commands. Nothing is printed except the output of commands, which
//! goes where the caller directs it.

pub mod domain;
mod effects;

pub use effects::*;
