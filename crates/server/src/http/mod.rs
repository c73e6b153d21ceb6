//! The HTTP API.
//!
//! Promises: nothing blocks the reactor; what can't be done soon is refused at once, with when to
//! come back; every answer has a request id and is JSON, or lines of JSON, unless the document says
//! otherwise; what goes wrong inside is told to the log and not to the caller.

mod body;
mod endpoint;
mod enter;
mod events;
mod guard;
mod impatient;
mod listen;
mod mcp;
mod memory;
mod openapi;
mod places;
mod reply;
mod routes;
#[cfg(test)]
mod tests;
mod unsent;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use bytes::Bytes;
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use gbrain_store::JobCounts;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

pub(crate) use body::BodyMemory;
pub(crate) use endpoint::{Call, NoParameters, Origin};
pub(crate) use enter::RequestId;
pub(crate) use listen::Peer;
pub(crate) use memory::{CallMemory, Reserved};
pub(crate) use reply::{NDJSON, Reply, is_inside, masked};

pub use guard::Guard;
pub use listen::Connections;
pub(crate) use places::RESERVED;

use crate::access::Gatekeeper;
use crate::audit::Audit;
use crate::house::House;
use crate::lanes::{Lane, Lanes, Refused, StopFlag};
use crate::mcp::took_too_long;
use crate::rate::{Limits, Rate};
use crate::telemetry::metrics::{JobCount, MAX_WORKSPACES, Metrics, Outcome, Readings, Visible};
use crate::visitor::Visitor;
use body::Whole;
use endpoint::{Endpoint, Input};
use enter::{Action, Target};
use events::Listeners;
use listen::listen;
use reply::Refusal;
use unsent::UnsentMemory;

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
    pub house: Arc<House>,
    /// Who is let in.
    pub keeper: Gatekeeper,
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
    open: Arc<AtomicUsize>,
    /// Places for those who listen to events.
    listeners: Listeners,
    denials: Limits<Option<IpAddr>>,
    memory: BodyMemory,
    unsent: UnsentMemory,
    /// Where messages of the Model Context Protocol are read and answered: its reader works on the
    /// thread that polls it, and must not keep the reactor from others.
    messages: Handle,
    readiness: tokio::sync::Mutex<Option<(Instant, Result<(), &'static str>)>>,
}

/// How many refusals of one sender are written down.
const DENIALS_NOTED: Rate = Rate { per_second: 0.2, burst: 20.0 };

impl Shared {
    fn new(parts: Parts, messages: Handle) -> Self {
        let Parts { house, keeper, guard, lanes, audit, bounds } = parts;
        let mut seed = [0_u8; 6];
        // Ids need to differ, not to be secret: without randomness the clock will do.
        if getrandom::fill(&mut seed).is_err() {
            seed.copy_from_slice(
                &moment(std::time::SystemTime::now()).as_nanosecond().to_be_bytes()[10..],
            );
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
            open: Arc::default(),
            listeners: Listeners::default(),
            denials: Limits::default(),
            memory: BodyMemory::new(),
            unsent: UnsentMemory::new(),
            messages,
            readiness: tokio::sync::Mutex::default(),
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
        let seen: Vec<_> =
            workspaces.into_iter().filter(|workspace| visible.includes(&workspace.id)).collect();
        let now = moment(std::time::SystemTime::now());
        let suites = seen.iter().take(MAX_WORKSPACES);
        let suites = suites.filter_map(|one| gbrain_eval::alert::reading(store, &one.id, now).ok());
        let jobs = seen.iter().flat_map(|workspace| {
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
            suites: suites.collect(),
        }
    }

    /// Whether one more refusal of this sender is worth a line: whoever knocks without end would
    /// fill the disk.
    fn is_denial_noted(&self, peer: Option<Peer>) -> bool {
        let (peer, clock) = (peer.map(|peer| peer.0), Instant::now());
        self.denials.take(&peer, DENIALS_NOTED, clock).is_ok()
    }
}

/// Serves until `shutdown` resolves; then begun requests end, and no new ones begin. `messages` are the threads
/// of `/mcp`.
pub(crate) async fn serve(
    listener: TcpListener,
    parts: Parts,
    messages: Handle,
    shutdown: impl Future<Output = ()>,
    connections: Connections,
) {
    let shared = Arc::new(Shared::new(parts, messages));
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
    listen(listener, app, connections, shared.open.clone(), until).await;
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
    let origins = shared.guard.origins.clone();
    let router = router.layer(entering).with_state(shared);
    match origins.as_slice() {
        [] => router,
        // Outermost, so that a page reads refusals too.
        origins => router.layer(cors(origins)),
    }
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

fn cors(origins: &[String]) -> tower_http::cors::CorsLayer {
    let origins: Vec<_> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let named = HeaderName::from_static;
    tower_http::cors::CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            enter::REQUEST_ID.clone(),
            named(JOB_HEADER),
            named(SUBAGENT_HEADER),
            named("mcp-protocol-version"),
            named("mcp-method"),
            named("mcp-name"),
            named("traceparent"),
        ])
        .expose_headers([enter::REQUEST_ID.clone(), RETRY_AFTER, WWW_AUTHENTICATE])
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
                    Err(refusal) if is_inside(refusal.fault.kind) => Outcome::Fault,
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
    let Whole { bytes: body, held } = body::whole(request, shared).await?;
    let input = Input { parameters, body, content_type };
    let (house, budget) = (shared.house.clone(), shared.memory.clone());
    let lane = endpoint.lane;
    let job = move |stop: &StopFlag| {
        let _held = held;
        let memory = CallMemory::new(&budget, house.metrics(), input.body.len());
        if let Some(cost) = endpoint.reading_cost {
            memory.read_body(&input.body, cost)?;
        }
        let now = moment(std::time::SystemTime::now());
        let call = Call { house: &house, who: &who, now, caller, origin, stop, memory: &memory };
        (endpoint.call)(&call, input)
    };
    in_time(shared, lane, job).await?.map_err(Refusal::from)
}

/// Does blocking work. When it takes too long it is told to stop, and is not waited for.
pub(crate) async fn in_time<T: Send + 'static>(
    shared: &Arc<Shared>,
    lane: Lane,
    job: impl FnOnce(&StopFlag) -> T + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::time::timeout(shared.bounds.patience, shared.lanes.run(lane, job)).await {
        Ok(done) => done.map_err(|refused| refuse(shared, refused)),
        Err(_) => {
            shared.metrics().refused("timeout");
            Err(took_too_long(lane).into())
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

const JOB_HEADER: &str = "x-gbrain-job-id";
const SUBAGENT_HEADER: &str = "x-gbrain-subagent-id";

/// The job and the subagent on whose behalf a caller asks.
fn caller(headers: &HeaderMap) -> Result<Caller, Fault> {
    let number = |name: &str| {
        let Some(value) = headers.get(name) else { return Ok(None) };
        let number = value.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok());
        let number = number.filter(|number| Caller::NUMBERS.contains(number));
        number.map(Some).ok_or_else(|| Fault::usage(format!("the header {name} is not a number")))
    };
    Ok(Caller { remote: true, job_id: number(JOB_HEADER)?, subagent_id: number(SUBAGENT_HEADER)? })
}

fn origin(request: &Request) -> Origin {
    let traceparent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let request_id = request.extensions().get::<RequestId>();
    Origin {
        request_id: request_id.map(|id| id.0.to_string()).unwrap_or_default(),
        traceparent: traceparent.map(str::to_owned),
    }
}
