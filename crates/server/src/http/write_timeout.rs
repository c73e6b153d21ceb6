//! A connection with a write timeout and a lingering close.
//!
//! A client that sends a request and does not read the response would keep its connection slot for
//! ever, so a write without progress times out and ends the connection. A client that was answered
//! while it still sends is read from for a while when the connection ends: closing at once would
//! make its side discard the response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::connection_slots::ConnectionSlot;

/// How much to read and discard at the end of a connection, and for how long.
const LINGER_BYTES: usize = 64 << 20;
const LINGER: Duration = Duration::from_secs(5);

/// A stream whose writes time out without progress.
pub(super) struct WriteTimeoutStream<S = TcpStream> {
    stream: S,
    timeout: Duration,
    /// Runs while a write is pending.
    stalled: Option<Pin<Box<Sleep>>>,
    slot: Option<Arc<ConnectionSlot>>,
    closing: Option<LingeringClose>,
}

/// Closing a connection whose client may still be sending.
struct LingeringClose {
    is_shut_down: bool,
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl<S> WriteTimeoutStream<S> {
    pub(super) fn new(stream: S, timeout: Duration, slot: Option<Arc<ConnectionSlot>>) -> Self {
        Self { stream, timeout, stalled: None, slot, closing: None }
    }

    fn lingers(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| slot.is_answered_early())
    }

    /// Returns the result of a write, or an error if it has been pending for too long.
    fn with_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let timeout = self.timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client accepts no data")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.with_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        // A flush completes after everything before it was written.
        if let (Poll::Ready(Ok(())), Some(slot)) = (&flushed, &self.slot) {
            slot.mark_flushed();
        }
        self.with_timeout(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.lingers() {
            return Pin::new(&mut self.stream).poll_shutdown(context);
        }
        let Self { stream, closing, .. } = &mut *self;
        let closing = closing.get_or_insert_with(|| LingeringClose {
            is_shut_down: false,
            left: LINGER_BYTES,
            until: Box::pin(tokio::time::sleep(LINGER)),
        });
        closing.poll(stream, context)
    }
}

impl LingeringClose {
    /// Shuts down the write side, then reads until the client closes.
    fn poll<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_shut_down {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            self.is_shut_down = true;
        }
        let mut bytes = [0; 8192];
        loop {
            if self.until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut into = ReadBuf::new(&mut bytes);
            let is_broken = ready!(Pin::new(&mut *stream).poll_read(context, &mut into)).is_err();
            let length = into.filled().len();
            match self.left.checked_sub(length) {
                Some(left) if length > 0 && !is_broken => self.left = left,
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_write_that_gets_nowhere_is_an_error() {
        let (ours, theirs) = tokio::io::duplex(8);
        let mut stream = WriteTimeoutStream::new(ours, Duration::from_millis(20), None);
        let error = stream.write_all(b"more than eight bytes").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    #[tokio::test]
    async fn a_slow_reader_is_waited_for() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut stream = WriteTimeoutStream::new(ours, Duration::from_secs(20), None);
        let reading = tokio::spawn(async move {
            let mut taken = [0; 4];
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(5)).await;
                theirs.read_exact(&mut taken).await.unwrap();
            }
        });
        stream.write_all(&[7; 16]).await.unwrap();
        reading.await.unwrap();
    }
}
