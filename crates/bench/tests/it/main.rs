//! Short forms of campaigns that need no `gbrain`: the same code with smaller numbers.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

mod budget;
mod contradictions;
mod statistics;
