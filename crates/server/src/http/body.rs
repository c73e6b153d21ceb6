//! Bodies: bounded in size, in how long they take, and in the memory that reading them takes.
//!
//! The memory of all bodies comes from one budget. Bytes are counted as they arrive; what is read from them
//! is counted by the request that reads it ([`CallMemory`](super::memory::CallMemory)).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use gbrain_core::fault::Fault;
use gbrain_core::reading::shape::ShapeError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::places::Place;
use super::{Bounds, Shared};
use crate::telemetry::metrics::Metrics;

/// How much bodies, and what is read from them, may take together, in KiB.
const MEMORY_KIB: usize = 256 << 10;

/// The memory that bodies share.
#[derive(Clone)]
pub(crate) struct BodyMemory {
    kib: Arc<Semaphore>,
    /// Called when a body is about to be read, to hold it there.
    #[cfg(test)]
    pub(super) before_reading: Arc<std::sync::OnceLock<Box<dyn Fn() + Send + Sync>>>,
}

impl BodyMemory {
    pub(crate) fn new() -> Self {
        Self {
            kib: Arc::new(Semaphore::new(MEMORY_KIB)),
            #[cfg(test)]
            before_reading: Arc::default(),
        }
    }

    /// So many KiB of it, if there are as many.
    pub(crate) fn acquire(&self, kib: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        self.kib.clone().try_acquire_many_owned(kib).ok()
    }

    /// How many KiB nobody has.
    #[cfg(test)]
    pub(crate) fn available(&self) -> usize {
        self.kib.available_permits()
    }
}

pub(super) fn refused(error: ShapeError) -> Fault {
    match error {
        ShapeError::TooDeep => Fault::usage(format!("the body can't be read: {error}")),
        ShapeError::TooDense { .. } => {
            Fault::too_large(format!("the body can't be read: {error}")).hint("send it in parts")
        }
    }
}

pub(super) fn no_memory(metrics: &Metrics) -> Fault {
    metrics.refused("memory");
    Fault::overloaded("bodies of other requests take all the memory there is for them")
}

/// A body, and the memory that is counted for it until it is dropped.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    pub(super) held: Vec<OwnedSemaphorePermit>,
}

/// The body, if it is not too large, comes in time, and there is memory for it.
pub(super) async fn whole(request: Request, shared: &Shared) -> Result<Whole, Fault> {
    let bounds = &shared.bounds;
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n > bounds.body as u64) {
        return Err(too_large(bounds));
    }
    let place = request.extensions().get::<Arc<Place>>().cloned();
    let reading = read(request.into_body(), shared);
    let whole = match tokio::time::timeout(bounds.body_patience, reading).await {
        Err(_) => Err(Fault::timeout("the body did not arrive in time")),
        Ok(read) => read,
    }?;
    // Whoever has sent all of a request keeps the connection until it is answered.
    if place.is_some_and(|place| !place.is_whole()) {
        return Err(Fault::unavailable("the connection was given to somebody else"));
    }
    Ok(whole)
}

fn too_large(bounds: &Bounds) -> Fault {
    Fault::too_large(format!("the body is larger than {} bytes", bounds.body))
}

/// Reads piece by piece, so that somebody who is slow holds no more than what he sent.
async fn read(body: Body, shared: &Shared) -> Result<Whole, Fault> {
    let mut pieces = body.into_data_stream();
    let (mut bytes, mut held) = (BytesMut::new(), Vec::new());
    let mut counted_kib = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Fault::usage("the body broke off"))?;
        if bytes.len() + piece.len() > shared.bounds.body {
            return Err(too_large(&shared.bounds));
        }
        bytes.extend_from_slice(&piece);
        let kib = (bytes.len() >> 10) as u32;
        if kib > counted_kib {
            let more = shared.memory.acquire((kib - counted_kib) as usize);
            held.push(more.ok_or_else(|| no_memory(shared.metrics()))?);
            counted_kib = kib;
        }
    }
    Ok(Whole { bytes: bytes.freeze(), held })
}
