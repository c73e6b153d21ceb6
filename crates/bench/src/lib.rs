//! The code that campaigns and their short forms in the tests share.
//!
//! The program `gbrain-bench` measures and hunts; the hunts are a library, so that the tests of the
//! command line run the same code with smaller numbers.

#![expect(
    clippy::disallowed_methods,
    reason = "measurements and campaigns run with a clock that is right"
)]

pub mod campaign;
pub mod program;
