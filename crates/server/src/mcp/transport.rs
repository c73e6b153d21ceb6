//! How clients reach us: standard input and output, or HTTP.
//!
//! Over HTTP there are no sessions: each request stands for itself, so nothing is kept between
//! requests, nothing has to expire, and any process can answer. The names of hosts and origins are
//! checked before a request gets here.

use std::sync::Arc;

use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

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
    serve(context, visitor, input, output, stop).await
}

/// Serves one client on any pair of streams.
pub(crate) async fn serve(
    context: Context,
    visitor: Visitor,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let transport =
        AsyncRwTransport::new_server(input, output).with_max_line_length(context.max_message);
    let handler = Handler::new(context, Entrance::Fixed(visitor));
    let mut stop = std::pin::pin!(stop);
    let begun = tokio::select! {
        begun = rmcp::serve_server(handler, transport) => begun,
        () = &mut stop => return Ok(()),
    };
    let service = match begun {
        Ok(service) => service,
        // A client that goes before it said anything has no complaint.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Begin(Box::new(error))),
    };
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
