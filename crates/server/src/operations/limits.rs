//! What reading documents may take, for readers that count while they read.

use std::cell::RefCell;
use std::error::Error;

use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::reading::meter::MeterError;

use crate::http::Call;

/// The limits of one call, as a [`Meter`](gbrain_core::reading::meter::Meter) asks for them.
pub(crate) struct CallLimits<'c> {
    call: &'c Call<'c>,
    /// Why memory was refused last.
    refused: RefCell<Option<Fault>>,
}

impl<'c> CallLimits<'c> {
    pub(crate) fn new(call: &'c Call<'c>) -> Self {
        Self { call, refused: RefCell::default() }
    }

    /// Takes bytes until the call is over; false when there are none for it.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let taken = self.call.memory.take(bytes);
        taken.map_err(|fault| *self.refused.borrow_mut() = Some(fault)).is_ok()
    }

    /// Whether the caller has gone.
    pub(crate) fn is_stopped(&self) -> bool {
        self.call.stop.is_stopped()
    }

    /// The fault of an error of a reader, which may have been interrupted.
    pub(crate) fn fault(&self, error: &dyn Error, interrupted: Option<MeterError>) -> Fault {
        match interrupted {
            None => Fault::of(FaultKind::Input, error),
            Some(MeterError::Stopped) => {
                Fault::cancelled("the caller no longer waits for an answer")
            }
            Some(MeterError::NoMemory) => match self.refused.take() {
                // There would be memory at another time.
                Some(fault) if fault.kind == FaultKind::Overloaded => fault,
                _ => Fault::of(FaultKind::TooLarge, error).hint("send it in parts"),
            },
        }
    }
}
