//! Memory and stop checks for readers that meter themselves.

use std::cell::RefCell;
use std::error::Error;

use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::reading::meter::ReadingMeterError;

use crate::http::OperationCall;

/// The limits of one call, for a [`ReadingMeter`](gbrain_core::reading::meter::ReadingMeter).
pub(crate) struct CallLimits<'c> {
    call: &'c OperationCall<'c>,
    /// Why the last reservation was refused.
    refused: RefCell<Option<Fault>>,
}

impl<'c> CallLimits<'c> {
    pub(crate) fn new(call: &'c OperationCall<'c>) -> Self {
        Self { call, refused: RefCell::default() }
    }

    /// Reserves bytes until the call ends; false if the limit is reached.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let taken = self.call.memory.take(bytes);
        taken.map_err(|fault| *self.refused.borrow_mut() = Some(fault)).is_ok()
    }

    /// Whether the caller no longer waits.
    pub(crate) fn is_stopped(&self) -> bool {
        self.call.stop.is_stopped()
    }

    /// Converts a reader's error, which may be an interruption.
    pub(crate) fn fault(&self, error: &dyn Error, interrupted: Option<ReadingMeterError>) -> Fault {
        match interrupted {
            None => Fault::of(FaultKind::Input, error),
            Some(ReadingMeterError::Stopped) => {
                Fault::cancelled("the caller no longer waits for an answer")
            }
            Some(ReadingMeterError::NoMemory) => match self.refused.take() {
                // Memory may be available later.
                Some(fault) if fault.kind == FaultKind::Overloaded => fault,
                _ => Fault::of(FaultKind::TooLarge, error).hint("send it in parts"),
            },
        }
    }
}
