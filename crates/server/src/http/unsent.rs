//! Answers that were not sent yet: bounded in the memory they take together.
//!
//! An answer is in memory until the other end has taken it, which may be as slow as it likes. Large answers
//! are counted in one budget from when they are made until the last of their bytes was handed to the
//! operating system; those for which nothing is left are refused. Small ones are always sent, so that whoever
//! changed something hears of it. Answers that come in pieces, such as lines and events, hold few pieces at once
//! and are not counted.

use std::sync::Arc;

use axum::response::Response;
use gbrain_core::fault::Fault;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::telemetry::metrics::Metrics;

/// How much answers take together at most, in KiB.
const MEMORY_KIB: usize = 256 << 10;

/// Answers of at most so many bytes are not counted.
const SMALL: u64 = 64 << 10;

/// The memory that answers share.
#[derive(Clone)]
pub(super) struct UnsentMemory {
    kib: Arc<Semaphore>,
}

/// The memory of one answer, counted until this is dropped.
#[derive(Debug, Clone)]
pub(super) struct Unsent {
    _kib: Arc<OwnedSemaphorePermit>,
}

impl UnsentMemory {
    pub(super) fn new() -> Self {
        Self { kib: Arc::new(Semaphore::new(MEMORY_KIB)) }
    }

    /// Counts an answer; its extensions then hold an [`Unsent`]. An answer that is larger than all of the
    /// memory takes all of it.
    pub(super) fn count(
        &self,
        mut response: Response,
        metrics: &Metrics,
    ) -> Result<Response, Fault> {
        let bytes = response.body().size_hint().exact().unwrap_or(0);
        if bytes <= SMALL {
            return Ok(response);
        }
        let kib = usize::try_from(bytes >> 10).unwrap_or(MEMORY_KIB).min(MEMORY_KIB);
        match self.kib.clone().try_acquire_many_owned(kib as u32) {
            Ok(permit) => {
                response.extensions_mut().insert(Unsent { _kib: Arc::new(permit) });
                Ok(response)
            }
            Err(_) => {
                metrics.refused("unsent");
                Err(Fault::overloaded(
                    "answers that other callers have not taken yet use all the memory for answers",
                )
                .hint("try again later"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::house::House;

    #[test]
    fn large_answers_share_one_budget() {
        let dir = tempfile::tempdir().unwrap();
        let house = House::in_dir(dir.path());
        let memory = UnsentMemory::new();
        let count = |mib: usize| {
            let body = Body::from(vec![0_u8; mib << 20]);
            memory.count(Response::new(body), house.metrics())
        };
        let mut held: Vec<Response> = (0..16).map(|_| count(16).unwrap()).collect();
        assert_eq!(count(1).unwrap_err().kind.name(), "overloaded");
        let small = Response::new(Body::from(vec![0_u8; SMALL as usize]));
        assert!(memory.count(small, house.metrics()).is_ok(), "small ones are always sent");
        held.pop();
        assert!(count(16).is_ok());
        held.clear();
        assert!(count(300).is_ok(), "one that is larger than all of it");
    }
}
