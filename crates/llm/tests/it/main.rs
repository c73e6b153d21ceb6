//! The door against a server that speaks the providers' formats, with faults, and a real ledger.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]
#![expect(clippy::disallowed_methods, reason = "the clock of a test is right")]

mod ask;
mod cassettes;
mod embedding;
mod money;
mod site;
