//! The contract of an index, checked on both implementations.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

mod conformance;
mod corpus;
mod damage;
mod differential;
mod durability;
mod vectors;
