//! How clients reach us: standard input and output, or HTTP.
//!
//! Over HTTP there are no sessions: each request stands for itself, so nothing is kept between
//! requests, nothing has to expire, and any process can answer. The names of hosts and origins are
//! checked before a request gets here.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll};

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, Transport, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use super::dense::{WithoutDenseLines, refusal};
use super::handler::{Context, Entrance, Handler};
use crate::visitor::Visitor;

/// Why serving one client ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// What it sent first is not the protocol.
    #[error("the client did not begin as the protocol says")]
    Begin(#[source] Box<ServerInitializeError>),
    /// A mistake of ours.
    #[error("serving the client ended in a panic")]
    Panicked,
    /// Answers could not be written.
    #[error("stdout could not be written")]
    Output(#[source] io::Error),
}

/// Serves one client on standard input and output until its end, or until `stop` is ready. Stdout
/// carries the protocol and nothing else.
///
/// A read from a standard input that is no pipe can't be interrupted: end the runtime with
/// `shutdown_background`, or it waits for one more line.
pub(crate) async fn serve_stdio(
    context: Context,
    visitor: Visitor,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    let failure = Arc::new(Mutex::new(None));
    let output = RecordedOutput { output, failure: failure.clone() };
    let served = serve(context, visitor, input, output, stop).await;
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(served, |error| Err(ServeError::Output(error)))
}

/// An output that remembers why it could not be written. A client that has gone is no failure.
struct RecordedOutput<W> {
    output: W,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl<W> RecordedOutput<W> {
    fn record<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &done
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
        }
        done
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for RecordedOutput<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.output).poll_write(cx, bytes);
        self.record(done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.output).poll_flush(cx);
        self.record(done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.output).poll_shutdown(cx);
        self.record(done)
    }
}

/// Serves one client on any pair of streams.
pub(crate) async fn serve(
    context: Context,
    visitor: Visitor,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let input = WithoutDenseLines::new(input, context.max_message);
    let lines =
        AsyncRwTransport::new_server(input, output).with_max_line_length(context.max_message);
    let has_begun = Arc::new(AtomicBool::new(false));
    let answers = JoinSet::new();
    let transport = Patient { lines, has_begun: has_begun.clone(), answers };
    let handler = Handler::new(context, Entrance::Fixed(visitor));
    let mut stop = std::pin::pin!(stop);
    let begun = tokio::select! {
        begun = rmcp::serve_server(handler, transport) => begun,
        () = &mut stop => return Ok(()),
    };
    let service = match begun {
        Ok(service) => service,
        // A client that goes before it has begun has no complaint.
        Err(
            ServerInitializeError::ConnectionClosed(_)
            | ServerInitializeError::TransportError { .. },
        ) => return Ok(()),
        Err(error) => return Err(ServeError::Begin(Box::new(error))),
    };
    has_begun.store(true, Ordering::Release);
    let ending = service.cancellation_token();
    let mut waiting = std::pin::pin!(service.waiting());
    let ended = tokio::select! {
        ended = &mut waiting => ended,
        () = stop => {
            ending.cancel();
            waiting.await
        }
    };
    match ended {
        Ok(QuitReason::JoinError(_)) | Err(_) => Err(ServeError::Panicked),
        Ok(_) => Ok(()),
    }
}

/// Messages on streams. Only a request can begin a conversation, so whatever else comes before that
/// is passed over: the cancellation of a probe that took too long is no reason to hang up. A request that is
/// not read is answered here.
struct Patient<T> {
    lines: T,
    has_begun: Arc<AtomicBool>,
    /// Answers to requests that were not read, on their way: receiving may be given up at any moment.
    answers: JoinSet<()>,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.lines.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = match refusal(self.lines.receive().await?) {
                Ok(message) => message,
                Err(answer) => {
                    let sending = self.lines.send(*answer);
                    while self.answers.try_join_next().is_some() {}
                    // A client that has gone hears nothing.
                    self.answers.spawn(async { drop(sending.await) });
                    continue;
                }
            };
            let is_request = matches!(message, JsonRpcMessage::Request(_));
            if is_request || self.has_begun.load(Ordering::Acquire) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        while self.answers.join_next().await.is_some() {}
        self.lines.close().await
    }
}

/// What answers HTTP requests to the one address of the protocol. Each request must carry a
/// [`Visitor`] in its extensions; without one it is refused.
pub(crate) type HttpService = StreamableHttpService<Handler, NeverSessionManager>;

/// A service for requests that were let in.
pub(crate) fn http_service(context: Context) -> HttpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(context.max_message)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let handler = Handler::new(context, Entrance::Request);
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
}
