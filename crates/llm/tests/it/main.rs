//! The door against a server that speaks the providers' formats, with faults, and a real ledger.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]
#![expect(clippy::disallowed_methods, reason = "the clock of a test is right")]

#[expect(unreachable_pub, dead_code, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/listener.rs"]
mod listener;
#[expect(unreachable_pub, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/providers.rs"]
mod providers;

mod ask;
mod cassettes;
mod embedding;
mod money;
mod site;
