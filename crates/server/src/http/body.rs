//! Request bodies: limits on size, time and memory.
//!
//! All bodies share one memory budget. Bytes are counted as they arrive; the memory for parsing
//! them is counted by the request ([`RequestMemoryAccount`](super::memory::RequestMemoryAccount)).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use gbrain_core::fault::Fault;
use gbrain_core::reading::shape::ShapeError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServerState;
use super::connection_slots::ConnectionSlot;
use crate::telemetry::metrics::Metrics;

/// Memory for all bodies and the values parsed from them, in KiB.
const MEMORY_KIB: usize = 256 << 10;

/// The memory budget that bodies share.
#[derive(Clone)]
pub(crate) struct MemoryBudget {
    kib: Arc<Semaphore>,
    /// Called before a body is parsed, so that tests can block there.
    #[cfg(test)]
    pub(super) before_reading: Arc<std::sync::OnceLock<Box<dyn Fn() + Send + Sync>>>,
}

impl MemoryBudget {
    pub(crate) fn new() -> Self {
        Self {
            kib: Arc::new(Semaphore::new(MEMORY_KIB)),
            #[cfg(test)]
            before_reading: Arc::default(),
        }
    }

    /// Takes this many KiB, if they are available.
    pub(crate) fn acquire(&self, kib: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        self.kib.clone().try_acquire_many_owned(kib).ok()
    }

    /// The number of KiB that are not taken.
    #[cfg(test)]
    pub(crate) fn available(&self) -> usize {
        self.kib.available_permits()
    }
}

pub(super) fn refused(error: ShapeError) -> Fault {
    match error {
        ShapeError::TooDeep => Fault::usage(format!("cannot read the body: {error}")),
        ShapeError::TooDense { .. } => {
            Fault::too_large(format!("cannot read the body: {error}")).hint("send it in parts")
        }
    }
}

pub(super) fn no_memory(metrics: &Metrics) -> Fault {
    metrics.refused("memory");
    Fault::overloaded("other requests use all the memory for bodies")
}

/// A body, with permits for its memory.
pub(crate) struct BufferedBody {
    pub(crate) bytes: Bytes,
    pub(super) held: Vec<OwnedSemaphorePermit>,
}

/// Reads the body within the limits on size, time and memory.
pub(super) async fn buffer(request: Request, shared: &ServerState) -> Result<BufferedBody, Fault> {
    buffer_up_to(request, shared, shared.limits.body).await
}

/// The same with a limit on size of its own.
pub(crate) async fn buffer_up_to(
    request: Request,
    shared: &ServerState,
    max_bytes: usize,
) -> Result<BufferedBody, Fault> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n > max_bytes as u64) {
        return Err(too_large(max_bytes));
    }
    let slot = request.extensions().get::<Arc<ConnectionSlot>>().cloned();
    let reading = read(request.into_body(), shared, max_bytes);
    let whole = match tokio::time::timeout(shared.limits.body_timeout, reading).await {
        Err(_) => Err(Fault::timeout("the body did not arrive in time")),
        Ok(read) => read,
    }?;
    // A client that sent a whole request keeps its connection until it is answered.
    if slot.is_some_and(|slot| !slot.mark_request_read()) {
        return Err(Fault::unavailable("the connection was closed in favour of another client"));
    }
    Ok(whole)
}

fn too_large(max_bytes: usize) -> Fault {
    Fault::too_large(format!("the body is larger than {max_bytes} bytes"))
}

/// Reads in pieces, so that a slow client uses no more memory than it has sent.
async fn read(body: Body, shared: &ServerState, max_bytes: usize) -> Result<BufferedBody, Fault> {
    let mut pieces = body.into_data_stream();
    let (mut bytes, mut held) = (BytesMut::new(), Vec::new());
    let mut counted_kib = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Fault::usage("the body was cut off"))?;
        if bytes.len() + piece.len() > max_bytes {
            return Err(too_large(max_bytes));
        }
        bytes.extend_from_slice(&piece);
        let kib = (bytes.len() >> 10) as u32;
        if kib > counted_kib {
            let more = shared.memory.acquire((kib - counted_kib) as usize);
            held.push(more.ok_or_else(|| no_memory(shared.metrics()))?);
            counted_kib = kib;
        }
    }
    Ok(BufferedBody { bytes: bytes.freeze(), held })
}
