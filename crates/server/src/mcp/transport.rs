//! Transports: standard input and output, or HTTP.
//!
//! HTTP has no sessions: each request is independent, so no state is kept or expires, and any
//! process can answer. Hosts and origins are checked before a request gets here.

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

use super::dense::{DenseLineFilter, refusal};
use super::handler::{McpContext, McpHandler, PrincipalSource};
use crate::principal::Principal;

/// Why serving a client ended with an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// The first message is not valid MCP.
    #[error("the client's first message is not a valid MCP handshake")]
    Begin(#[source] Box<ServerInitializeError>),
    #[error("serving the client panicked")]
    Panicked,
    /// Responses could not be written.
    #[error("cannot write to stdout")]
    Output(#[source] io::Error),
}

/// Serves one client on standard input and output until it disconnects or `stop` resolves. Only
/// protocol messages are written to stdout.
///
/// A read from standard input that is not a pipe cannot be interrupted: end the runtime with
/// `shutdown_background`, or it waits for one more line.
pub(crate) async fn serve_stdio(
    context: McpContext,
    principal: Principal,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    let failure = Arc::new(Mutex::new(None));
    let output = RecordedOutput { output, failure: failure.clone() };
    let served = serve(context, principal, input, output, stop).await;
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(served, |error| Err(ServeError::Output(error)))
}

/// An output that records its first write error. A disconnected client is not an error.
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

pub(crate) async fn serve(
    context: McpContext,
    principal: Principal,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let input = DenseLineFilter::new(input, context.max_message);
    let lines =
        AsyncRwTransport::new_server(input, output).with_max_line_length(context.max_message);
    let has_begun = Arc::new(AtomicBool::new(false));
    let answers = JoinSet::new();
    let transport = HandshakeTransport { lines, has_begun: has_begun.clone(), answers };
    let handler = McpHandler::new(context, PrincipalSource::Fixed(principal));
    let mut stop = std::pin::pin!(stop);
    let begun = tokio::select! {
        begun = rmcp::serve_server(handler, transport) => begun,
        () = &mut stop => return Ok(()),
    };
    let service = match begun {
        Ok(service) => service,
        // A client that disconnects before the handshake is not an error.
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

/// A transport that ignores messages other than requests before the handshake: the cancellation of
/// a probe that timed out must not end the connection. Requests that are too large to parse are
/// answered here.
struct HandshakeTransport<T> {
    lines: T,
    has_begun: Arc<AtomicBool>,
    /// Pending answers to refused requests; they run as tasks because `receive` may be cancelled.
    answers: JoinSet<()>,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for HandshakeTransport<T> {
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
                    // The client may have disconnected.
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

/// The HTTP service of the MCP endpoint. Each request must carry a [`Principal`] in its extensions;
/// otherwise it is refused.
pub(crate) type HttpService = StreamableHttpService<McpHandler, NeverSessionManager>;

/// A service for authenticated requests.
pub(crate) fn http_service(context: McpContext) -> HttpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(context.max_message)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let handler = McpHandler::new(context, PrincipalSource::Request);
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
}
