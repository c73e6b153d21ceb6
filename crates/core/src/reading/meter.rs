//! Counts the memory that reading a document takes while it is read, and stops when the caller has
//! gone.
//!
//! Readers of documents that others send say what they are about to allocate. Where that is more than the
//! caller allows, or the caller has gone, reading ends with an error before the memory is taken. Amounts
//! are estimates that include what a list needs while it grows.

/// Memory is checked in steps of this many bytes.
const STEP: usize = 64 << 10;

/// Why reading ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadingMeterError {
    /// The caller has gone.
    #[error("the work was stopped because nobody waits for its result")]
    Stopped,
    /// Reading would exceed the memory limit.
    #[error("it takes more memory than may be used to read it")]
    NoMemory,
}

pub struct ReadingMeter<'a> {
    reserve: &'a dyn Fn(usize) -> bool,
    is_stopped: &'a dyn Fn() -> bool,
    held: usize,
    /// The most bytes at once that do not stay.
    passing: usize,
    reserved: usize,
}

impl<'a> ReadingMeter<'a> {
    /// A meter that asks `reserve` for bytes, and `is_stopped` whether to go on.
    pub fn new(reserve: &'a dyn Fn(usize) -> bool, is_stopped: &'a dyn Fn() -> bool) -> Self {
        Self { reserve, is_stopped, held: 0, passing: 0, reserved: 0 }
    }

    /// A meter without limits, for documents of the user's own.
    pub fn unlimited() -> Self {
        Self::new(&|_| true, &|| false)
    }

    /// Fails if the caller has gone.
    pub fn check(&self) -> Result<(), ReadingMeterError> {
        if (self.is_stopped)() { Err(ReadingMeterError::Stopped) } else { Ok(()) }
    }

    /// Whether the caller has gone.
    pub fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }

    /// Takes bytes that stay until all is done.
    pub fn count_held(&mut self, bytes: usize) -> Result<(), ReadingMeterError> {
        self.held = self.held.saturating_add(bytes);
        self.settle()
    }

    /// Takes bytes for one step. Steps come after each other, so the largest one counts.
    pub fn count_temporary(&mut self, bytes: usize) -> Result<(), ReadingMeterError> {
        self.passing = self.passing.max(bytes);
        self.settle()
    }

    fn settle(&mut self) -> Result<(), ReadingMeterError> {
        self.check()?;
        let needed = self.held.saturating_add(self.passing);
        if needed > self.reserved {
            let more = (needed - self.reserved).next_multiple_of(STEP);
            if !(self.reserve)(more) {
                return Err(ReadingMeterError::NoMemory);
            }
            self.reserved += more;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn held_memory_adds_up_and_the_largest_step_counts() {
        let given = Cell::new(0);
        let reserve = |bytes: usize| {
            given.set(given.get() + bytes);
            given.get() <= 10 * STEP
        };
        let mut meter = ReadingMeter::new(&reserve, &|| false);
        meter.count_held(1).unwrap();
        meter.count_temporary(STEP).unwrap();
        meter.count_temporary(2 * STEP - 1).unwrap();
        meter.count_temporary(STEP).unwrap();
        assert_eq!(given.get(), 2 * STEP);
        meter.count_held(8 * STEP).unwrap();
        assert_eq!(given.get(), 10 * STEP);
        assert_eq!(meter.count_held(1), Err(ReadingMeterError::NoMemory));
        assert_eq!(ReadingMeter::unlimited().count_held(usize::MAX / 2), Ok(()));
    }

    #[test]
    fn a_stopped_reader_reads_nothing() {
        let mut meter = ReadingMeter::new(&|_| true, &|| true);
        assert_eq!(meter.check(), Err(ReadingMeterError::Stopped));
        assert_eq!(meter.count_held(0), Err(ReadingMeterError::Stopped));
    }
}
