//! The tests of core that need more than one room, or data.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

mod pages;
mod scrub;
mod split;
mod world;
