//! Waiting until the local index holds what a run is to measure: events come before it does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_brain::{Brain, BrainError};
use gbrain_core::id::Generation;

/// How often it is looked.
const GLANCE: Duration = Duration::from_millis(100);

/// Whether the index holds what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It does.
    Fresh,
    /// It is so many changes behind, and nobody waits any longer.
    Behind(i64),
}

/// Brings the index up to a generation, or waits for whoever does, but not for ever.
pub fn await_index(
    brain: &Brain,
    wanted: Generation,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Freshness, BrainError> {
    loop {
        let going = |_: i64, _: i64| match stop.load(Ordering::Acquire) {
            true => Err(BrainError::Halted),
            false => Ok(()),
        };
        let held = brain.snapshot(&going)?.corpus().generation;
        if held >= wanted.0 {
            return Ok(Freshness::Fresh);
        }
        if Instant::now() + GLANCE >= until || stop.load(Ordering::Acquire) {
            return Ok(Freshness::Behind(wanted.0 - held));
        }
        std::thread::sleep(GLANCE);
    }
}
