//! One report on a port of its own: no brain, no API and nothing that changes anything.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use gbrain_console::Page;
use gbrain_console::page::message::{self, Message};
use gbrain_console::page::view::RowView;
use gbrain_console::report::Report;
use gbrain_core::fault::Fault;
use tokio::net::TcpListener;

use crate::console::{asset, html};
use crate::http::{OriginGuard, set_security_headers};
use crate::run::stop_signal;

/// The report that is served.
#[derive(Clone)]
struct ServedDocument {
    report: Arc<Report>,
    guard: Arc<OriginGuard>,
}

/// Serves a report until a signal arrives. Calls `on_listening` with the address when requests are
/// accepted.
pub fn serve_document(
    report: Report,
    listen: SocketAddr,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<(), Fault> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::io("a reactor", &error))?;
    let document = ServedDocument { report: Arc::new(report), guard: Arc::default() };
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Fault::io(format!("can't listen on {listen}"), &error)
                .hint("another process may have this address: try --listen 127.0.0.1:0")
        })?;
        let stop = stop_signal()?;
        on_listening(listener.local_addr().unwrap_or(listen));
        let served = axum::serve(listener, router(document)).with_graceful_shutdown(stop).await;
        served.map_err(|error| Fault::io("the server", &error))
    })
}

fn router(document: ServedDocument) -> Router {
    Router::new()
        .route("/", get(whole))
        .route("/rows/{line}", get(row))
        .route("/assets/{name}", get(asset))
        .fallback(async || not_found("There is no such page."))
        .layer(from_fn_with_state(document.clone(), guarded))
        .with_state(document)
}

/// Refuses requests of other sites, and sets the headers of every response.
async fn guarded(State(document): State<ServedDocument>, request: Request, next: Next) -> Response {
    let mut response = match document.guard.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => (StatusCode::FORBIDDEN, fault.message).into_response(),
    };
    set_security_headers("", response.headers_mut());
    response
}

type Parameters = Query<Vec<(String, String)>>;

async fn whole(State(document): State<ServedDocument>, Query(fields): Parameters) -> Response {
    let field = |name: &str| {
        let found = fields.iter().find(|(one, value)| one == name && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    match RowView::of(&field) {
        Ok(view) => {
            rendered(move || Some(document.report.page(&RowView { base: "/".to_owned(), ..view })))
                .await
        }
        Err(message) => show(StatusCode::BAD_REQUEST, "Bad request", &message),
    }
}

async fn row(State(document): State<ServedDocument>, Path(line): Path<String>) -> Response {
    let Ok(line) = line.parse::<u64>() else { return not_found("The line of a row is a number.") };
    let view = RowView { base: "/".to_owned(), ..RowView::default() };
    rendered(move || document.report.row_page(line, &view)).await
}

/// Renders off the reactor.
async fn rendered(render: impl FnOnce() -> Option<Page> + Send + 'static) -> Response {
    let text =
        tokio::task::spawn_blocking(|| render().map(|page| gbrain_console::document(&page))).await;
    match text {
        Ok(Some(text)) => html(StatusCode::OK, text),
        Ok(None) => not_found("This report lists no such row."),
        Err(_) => {
            show(StatusCode::INTERNAL_SERVER_ERROR, "Error", "the page could not be rendered")
        }
    }
}

fn not_found(text: &str) -> Response {
    show(StatusCode::NOT_FOUND, "Not found", text)
}

fn show(status: StatusCode, title: &str, text: &str) -> Response {
    let page = message::page(gbrain_console::Section::Runs, &Message { title, text, hints: &[] });
    html(status, gbrain_console::document(&page))
}
