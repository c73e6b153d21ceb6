//! Memory limit for responses that were not sent yet.
//!
//! A response stays in memory until the client has received it, which may be slow. Large responses
//! are counted in one budget until their last byte was handed to the operating system; they are
//! refused when it is used up. Small ones are always sent, so that a caller always learns that its
//! change was made. Streamed responses, such as JSON lines and events, hold little at once and are
//! not counted.

use std::sync::Arc;

use axum::response::Response;
use gbrain_core::fault::Fault;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::telemetry::metrics::Metrics;

/// Memory for all counted responses, in KiB.
const MEMORY_KIB: usize = 256 << 10;

/// Responses of at most this many bytes are not counted.
const SMALL: u64 = 64 << 10;

/// The memory budget that responses share.
#[derive(Clone)]
pub(super) struct ResponseMemory {
    kib: Arc<Semaphore>,
}

/// The memory of one response; dropping it releases it.
#[derive(Debug, Clone)]
pub(super) struct ResponsePermit {
    _kib: Arc<OwnedSemaphorePermit>,
}

impl ResponseMemory {
    pub(super) fn new() -> Self {
        Self { kib: Arc::new(Semaphore::new(MEMORY_KIB)) }
    }

    /// Counts a response and stores a [`ResponsePermit`] in its extensions. A response larger than
    /// the whole budget takes all of it.
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
                response.extensions_mut().insert(ResponsePermit { _kib: Arc::new(permit) });
                Ok(response)
            }
            Err(_) => {
                metrics.refused("unsent");
                Err(Fault::overloaded(
                    "responses that other callers have not received yet use all the memory for responses",
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
    use crate::workspace_registry::WorkspaceRegistry;

    #[test]
    fn large_answers_share_one_budget() {
        let dir = tempfile::tempdir().unwrap();
        let registry = WorkspaceRegistry::in_dir(dir.path());
        let memory = ResponseMemory::new();
        let count = |mib: usize| {
            let body = Body::from(vec![0_u8; mib << 20]);
            memory.count(Response::new(body), registry.metrics())
        };
        let mut held: Vec<Response> = (0..16).map(|_| count(16).unwrap()).collect();
        assert_eq!(count(1).unwrap_err().kind.name(), "overloaded");
        let small = Response::new(Body::from(vec![0_u8; SMALL as usize]));
        assert!(memory.count(small, registry.metrics()).is_ok(), "small ones are always sent");
        held.pop();
        assert!(count(16).is_ok());
        held.clear();
        assert!(count(300).is_ok(), "one that is larger than all of it");
    }
}
