//! The HTTP API.
//!
//! Promises: nothing blocks the reactor; what can't be done soon is refused at once, with when to
//! come back; every answer has a request id and is JSON, or lines of JSON, unless the document says
//! otherwise; what goes wrong inside is told to the log and not to the caller.

mod endpoint;
mod enter;
mod events;
mod guard;
mod listen;
mod mcp;
mod openapi;
mod reply;
mod routes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use bytes::Bytes;
use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use gbrain_store::JobCounts;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub(crate) use endpoint::{Call, NoParameters, Origin};
pub(crate) use enter::RequestId;
pub(crate) use listen::Peer;
pub(crate) use reply::{NDJSON, Reply, is_inside};

pub use guard::Guard;
pub use listen::Connections;

use crate::access::Gatekeeper;
use crate::audit::{Audit, Event};
use crate::house::House;
use crate::lanes::{Lane, Lanes, Refused};
use crate::telemetry::metrics::{JobCount, Metrics, Outcome, Readings, Visible};
use crate::visitor::Visitor;
use endpoint::{Endpoint, Input};
use enter::{Action, Target};
use listen::listen;
use reply::Refusal;

/// How much and how long.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The largest body, in bytes.
    pub body: usize,
    /// How long a body may take to arrive.
    pub body_patience: Duration,
    /// How long an answer may take.
    pub patience: Duration,
}

/// What a server is made of.
pub struct Parts {
    /// The brains.
    pub house: Arc<House>,
    /// Who is let in.
    pub keeper: Gatekeeper,
    /// Under which names.
    pub guard: Guard,
    /// Where blocking work is done.
    pub lanes: Lanes,
    /// Where changes are written down.
    pub audit: Audit,
    /// How much and how long.
    pub bounds: Bounds,
}

/// What every request works with.
pub(crate) struct Shared {
    pub(crate) house: Arc<House>,
    pub(crate) lanes: Lanes,
    keeper: Arc<Gatekeeper>,
    guard: Guard,
    audit: Audit,
    bounds: Bounds,
    requests: AtomicU64,
    /// What the request ids of this process begin with.
    prefix: String,
    is_stopping: AtomicBool,
    open: AtomicUsize,
    /// Places for those who listen to events.
    listeners: Arc<Semaphore>,
}

impl Shared {
    fn new(parts: Parts) -> Self {
        let Parts { house, keeper, guard, lanes, audit, bounds } = parts;
        let mut seed = [0_u8; 6];
        // Ids need to differ, not to be secret: without randomness the clock will do.
        if getrandom::fill(&mut seed).is_err() {
            seed.copy_from_slice(&Timestamp::now().as_nanosecond().to_be_bytes()[10..]);
        }
        Self {
            house,
            lanes,
            keeper: Arc::new(keeper),
            guard,
            audit,
            bounds,
            requests: AtomicU64::new(0),
            prefix: seed.iter().map(|byte| format!("{byte:02x}")).collect(),
            is_stopping: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            listeners: Arc::new(Semaphore::new(events::LISTENERS)),
        }
    }

    fn next_request_id(&self) -> String {
        format!("{}-{}", self.prefix, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        self.house.metrics()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// What is looked up when somebody scrapes.
    fn readings(&self, visible: Visible<'_>) -> Readings {
        let store = self.house.store();
        let workspaces = store.workspaces().unwrap_or_default();
        let seen = workspaces.into_iter().filter(|workspace| visible.includes(&workspace.id));
        let jobs = seen.flat_map(|workspace| {
            let JobCounts { queued, running } =
                store.job_counts_of(&workspace.id).unwrap_or_default();
            [("queued", queued), ("running", running)].map(|(state, count)| JobCount {
                workspace: workspace.id.clone(),
                state,
                count,
            })
        });
        let depth = |lane| self.lanes.waiting(lane) as u64;
        Readings {
            connections: self.open.load(Ordering::Relaxed) as u64,
            queue_depth: vec![("read", depth(Lane::Read)), ("write", depth(Lane::Write))],
            jobs: jobs.collect(),
            spans_dropped: self.house.tracer().dropped(),
        }
    }

    /// Questions are not changes, though they come with a body.
    fn is_audited(&self, action: &str) -> bool {
        !matches!(action, "search" | "query" | "compare" | "mcp" | "none")
    }

    fn audit(&self, event: &Event<'_>) {
        self.audit.write(event, Timestamp::now());
    }
}

/// Serves until `shutdown` resolves; then begun requests end, and no new ones begin.
pub(crate) async fn serve(
    listener: TcpListener,
    parts: Parts,
    shutdown: impl Future<Output = ()>,
    connections: Connections,
) {
    let shared = Arc::new(Shared::new(parts));
    let read = Arc::downgrade(&shared);
    shared.metrics().read_with(move |visible| {
        read.upgrade().map(|shared| shared.readings(visible)).unwrap_or_default()
    });
    let app = router(shared.clone());
    let stopping = shared.clone();
    let until = async move {
        shutdown.await;
        stopping.is_stopping.store(true, Ordering::Release);
    };
    let counted = shared.clone();
    let on_count = move |open| counted.open.store(open, Ordering::Relaxed);
    listen(listener, app, connections, on_count, until).await;
}

/// The document that describes the API.
pub fn openapi() -> serde_json::Value {
    openapi::document(&routes::endpoints(), &routes::asides())
}

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for endpoint in routes::endpoints() {
        router = router.route(endpoint.path, method(endpoint));
    }
    let cors = cors(&shared.guard);
    let document: Bytes = openapi().to_string().into();
    router = router
        .route("/v1/openapi.json", axum::routing::get(async move || json_bytes(document)))
        .route("/v1/health", axum::routing::get(routes::health))
        .route("/v1/ready", axum::routing::get(routes::ready))
        .route("/metrics", axum::routing::get(routes::metrics))
        .route("/v1/runs/{id}/events", axum::routing::get(events::of_run))
        .route("/v1/jobs/{id}/events", axum::routing::get(events::of_job))
        .route("/mcp", mcp_route(&shared))
        .fallback(async || {
            Refusal::from(Fault::not_found("there is nothing at this address")).into_response()
        })
        .method_not_allowed_fallback(async || {
            Refusal::from(Fault::method_not_allowed("this address does not take this method"))
                .into_response()
        });
    let entering = axum::middleware::from_fn_with_state(shared.clone(), enter::enter);
    router.layer(cors).layer(entering).with_state(shared)
}

fn mcp_route(shared: &Shared) -> axum::routing::MethodRouter<Arc<Shared>> {
    let service = mcp::service(shared);
    axum::routing::post(async move |State(shared): State<Arc<Shared>>, request: Request| {
        mcp::answer(shared, service, request).await
    })
}

fn json_bytes(bytes: Bytes) -> Response {
    ([(CONTENT_TYPE, reply::JSON)], bytes).into_response()
}

fn cors(guard: &Guard) -> tower_http::cors::CorsLayer {
    let origins: Vec<_> = guard.origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let layer = tower_http::cors::CorsLayer::new();
    if origins.is_empty() {
        return layer;
    }
    use axum::http::Method;
    layer
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([axum::http::header::AUTHORIZATION, CONTENT_TYPE])
        .max_age(Duration::from_secs(600))
}

fn method(endpoint: Endpoint) -> axum::routing::MethodRouter<Arc<Shared>> {
    let filter = MethodFilter::try_from(endpoint.method.clone()).expect("a method of HTTP");
    let endpoint = Arc::new(endpoint);
    on(
        filter,
        async move |State(shared): State<Arc<Shared>>,
                    path: Result<RawPathParams, _>,
                    request: Request| {
            let (id, clock) = (endpoint.id, Instant::now());
            let workspace = request.extensions().get::<Visitor>().map(|who| who.workspace.clone());
            let (target, outcome) = answer(&shared, endpoint, path, request).await;
            if let Some(workspace) = workspace {
                let word = match &outcome {
                    Ok(_) => Outcome::Ok,
                    Err(refusal) if is_inside(&refusal.fault) => Outcome::Fault,
                    Err(_) => Outcome::Refused,
                };
                shared.metrics().workspace(&workspace).request(id, word, clock.elapsed());
            }
            let mut response =
                outcome.map_or_else(IntoResponse::into_response, IntoResponse::into_response);
            response.extensions_mut().insert(Action(id));
            if let Some(target) = target {
                response.extensions_mut().insert(Target(target));
            }
            response
        },
    )
}

async fn answer(
    shared: &Arc<Shared>,
    endpoint: Arc<Endpoint>,
    path: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    request: Request,
) -> (Option<String>, Result<Reply, Refusal>) {
    let Ok(path) = path else {
        return (None, Err(Fault::usage("the address can't be read as UTF-8").into()));
    };
    let target = path.iter().next().map(|(_, value)| value.to_owned());
    (target, answer_at(shared, endpoint, &path, request).await)
}

async fn answer_at(
    shared: &Arc<Shared>,
    endpoint: Arc<Endpoint>,
    path: &RawPathParams,
    request: Request,
) -> Result<Reply, Refusal> {
    let who = visitor(&request)?;
    if who.scope < endpoint.scope {
        return Err(
            Fault::forbidden(format!("this needs a token of scope {}", endpoint.scope)).into()
        );
    }
    let parameters = parameters(path, request.uri().query().unwrap_or_default());
    let caller = caller(request.headers())?;
    let origin = origin(&request);
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = body(request, &shared.bounds).await?;
    let input = Input { parameters, body, content_type };
    let house = shared.house.clone();
    let lane = endpoint.lane;
    let job = move || {
        let call = Call { house: &house, who: &who, now: Timestamp::now(), caller, origin };
        (endpoint.call)(&call, input)
    };
    in_time(shared, lane, job).await?.map_err(Refusal::from)
}

/// Does blocking work, and gives up waiting for it when it takes too long.
pub(crate) async fn in_time<T: Send + 'static>(
    shared: &Arc<Shared>,
    lane: Lane,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::time::timeout(shared.bounds.patience, shared.lanes.run(lane, job)).await {
        Ok(done) => done.map_err(|refused| refuse(shared, refused)),
        Err(_) => {
            shared.metrics().refused("timeout");
            Err(Fault::unavailable("it took too long, and may still be going on").into())
        }
    }
}

pub(crate) fn refuse(shared: &Shared, refused: Refused) -> Refusal {
    let fault = match refused {
        Refused::Full | Refused::Late => {
            shared.metrics().refused("queue_full");
            Fault::overloaded("more is asked than can be done at once: try again later")
        }
        Refused::Panicked => Fault::internal("an operation ended in a panic"),
    };
    fault.into()
}

pub(crate) fn visitor(request: &Request) -> Result<Visitor, Fault> {
    let visitor = request.extensions().get::<Visitor>().cloned();
    visitor.ok_or_else(|| Fault::internal("a request came in without a visitor"))
}

/// Path and query parameters together, as form pairs.
fn parameters(path: &RawPathParams, query: &str) -> String {
    let pairs: Vec<(&str, &str)> = path.iter().collect();
    let path = serde_urlencoded::to_string(pairs).unwrap_or_default();
    match (path.is_empty(), query.is_empty()) {
        (_, true) => path,
        (true, _) => query.to_owned(),
        _ => format!("{path}&{query}"),
    }
}

/// The job and the subagent on whose behalf a caller asks.
fn caller(headers: &HeaderMap) -> Result<Caller, Fault> {
    let number = |name: &str| {
        let Some(value) = headers.get(name) else { return Ok(None) };
        let number = value.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok());
        number.map(Some).ok_or_else(|| Fault::usage(format!("the header {name} is not a number")))
    };
    Ok(Caller {
        remote: true,
        job_id: number("x-gbrain-job-id")?,
        subagent_id: number("x-gbrain-subagent-id")?,
    })
}

fn origin(request: &Request) -> Origin {
    let traceparent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let request_id = request.extensions().get::<RequestId>();
    Origin {
        request_id: request_id.map(|id| id.0.to_string()).unwrap_or_default(),
        traceparent: traceparent.map(str::to_owned),
    }
}

/// The body, if it is not too large and comes in time.
async fn body(request: Request, bounds: &Bounds) -> Result<Bytes, Fault> {
    let too_large = || Fault::too_large(format!("the body is larger than {} bytes", bounds.body));
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n > bounds.body as u64) {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(request.into_body(), bounds.body);
    match tokio::time::timeout(bounds.body_patience, reading).await {
        Err(_) => Err(Fault::timeout("the body did not arrive in time")),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_length(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Fault::usage("the body broke off")),
    }
}

fn is_length(error: &axum::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}
