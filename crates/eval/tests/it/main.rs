//! Reading and writing files, whatever is in them; asking targets, whatever they do.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]
#![expect(clippy::disallowed_methods, reason = "the clock of a test is right")]

mod alert;
mod files;
mod target;
