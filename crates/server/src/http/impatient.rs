//! A connection whose other end must take what it is sent.
//!
//! Whoever asks and does not read would keep his place for ever: a write that gets nowhere for a
//! while is an error, which ends the connection. Whoever was answered while he still sends is read from for
//! a while when the connection ends: closing at once would make his side drop the answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::places::Place;

/// How much is read and forgotten at the end of a connection, and for how long.
const LINGER_BYTES: usize = 64 << 20;
const LINGER: Duration = Duration::from_secs(5);

/// A stream on which no write may get nowhere for long.
pub(super) struct Impatient<S = TcpStream> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
    place: Option<Arc<Place>>,
    ending: Option<Ending>,
}

/// The end of a connection whose other end may still be sending.
struct Ending {
    is_shut: bool,
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S, patience: Duration, place: Option<Arc<Place>>) -> Self {
        Self { stream, patience, stalled: None, place, ending: None }
    }

    fn lingers(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.is_answered_early())
    }

    /// Passes on what a write came to, unless it has waited too long.
    fn judged<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nobody takes what is sent")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judged(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judged(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        // A flush comes when everything before it was written.
        if let (Poll::Ready(Ok(())), Some(place)) = (&flushed, &self.place) {
            place.is_flushed();
        }
        self.judged(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.lingers() {
            return Pin::new(&mut self.stream).poll_shutdown(context);
        }
        let Self { stream, ending, .. } = &mut *self;
        let ending = ending.get_or_insert_with(|| Ending {
            is_shut: false,
            left: LINGER_BYTES,
            until: Box::pin(tokio::time::sleep(LINGER)),
        });
        ending.poll(stream, context)
    }
}

impl Ending {
    /// Says that nothing more comes from us, then reads until nothing more comes from there.
    fn poll<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            self.is_shut = true;
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
        let mut stream = Impatient::new(ours, Duration::from_millis(20), None);
        let error = stream.write_all(b"more than eight bytes").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    #[tokio::test]
    async fn a_slow_reader_is_waited_for() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut stream = Impatient::new(ours, Duration::from_secs(20), None);
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
