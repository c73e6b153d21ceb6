//! The HTTP API.
//!
//! Guarantees: nothing blocks the reactor; work that cannot be done soon is refused at once with
//! `retry-after`; every response has a request id and is JSON or JSON lines unless the OpenAPI
//! document says otherwise; internal errors are logged and hidden from the caller.

mod body;
mod connection_slots;
mod endpoint;
mod events;
mod guard;
mod listen;
mod mcp;
mod memory;
mod middleware;
mod openapi;
mod reply;
mod response_memory;
mod routes;
#[cfg(test)]
mod tests;
mod write_timeout;

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

pub(crate) use body::{BufferedBody, MemoryBudget, buffer_up_to};
pub(crate) use endpoint::{Endpoint, NoParameters, OperationCall, RequestInput, RequestOrigin};
pub(crate) use events::{of_job, of_run};
pub(crate) use listen::ClientAddress;
pub(crate) use memory::{MemoryReservation, RequestMemoryAccount};
pub(crate) use middleware::{
    AuditTarget, EndpointName, RequestId, SignedInAs, set_security_headers,
};
pub(crate) use reply::{ErrorResponse, JSON, NDJSON, Reply, is_internal, masked, status_of};

pub(crate) use connection_slots::RESERVED;
pub use guard::OriginGuard;
pub use listen::ConnectionOptions;

use crate::access::Authenticator;
use crate::audit::Audit;
use crate::console::{self, EndpointTable, ReportCache};
use crate::mcp::timeout_fault;
use crate::principal::Principal;
use crate::rate::{Rate, RateLimiters};
use crate::telemetry::metrics::{
    JobCount, MAX_WORKSPACES, MetricReadings, Metrics, RequestOutcome, ScrapeScope,
};
use crate::token::TokenKey;
use crate::work_queue::{QueueError, StopFlag, WorkQueue, WorkQueues};
use crate::workspace_registry::WorkspaceRegistry;
use events::ListenerCounts;
use listen::listen;
use response_memory::ResponseMemory;

/// Limits on the size and time of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body: usize,
    pub body_timeout: Duration,
    pub timeout: Duration,
}

/// Dependencies of a server.
pub struct ServerComponents {
    pub registry: Arc<WorkspaceRegistry>,
    pub authenticator: Authenticator,
    pub guard: OriginGuard,
    pub queues: WorkQueues,
    pub audit: Audit,
    pub limits: RequestLimits,
}

/// State shared by all requests.
pub(crate) struct ServerState {
    pub(crate) registry: Arc<WorkspaceRegistry>,
    pub(crate) queues: WorkQueues,
    authenticator: Arc<Authenticator>,
    guard: OriginGuard,
    audit: Audit,
    limits: RequestLimits,
    requests: AtomicU64,
    /// Prefix of the request ids of this process.
    prefix: String,
    is_stopping: AtomicBool,
    open: Arc<AtomicUsize>,
    listeners: ListenerCounts,
    denials: RateLimiters<Option<IpAddr>>,
    memory: MemoryBudget,
    unsent: ResponseMemory,
    /// Runtime that parses and answers MCP messages: the protocol's reader parses on the polling
    /// thread and would block the reactor.
    messages: Handle,
    readiness: tokio::sync::Mutex<Option<(Instant, Result<(), &'static str>)>>,
    /// The endpoints by their ids, for the pages of the console.
    endpoints: EndpointTable,
    /// Signs the forms of readers without a session. Without randomness there is none, and forms are
    /// refused.
    form_key: Option<TokenKey>,
    /// Parsed results of runs, for the pages of the console.
    reports: ReportCache,
}

/// How many denied requests of one address are audited.
const AUDITED_DENIALS: Rate = Rate { per_second: 0.2, burst: 20.0 };

impl ServerState {
    fn new(components: ServerComponents, messages: Handle) -> Self {
        let ServerComponents { registry, authenticator, guard, queues, audit, limits } = components;
        let mut seed = [0_u8; 6];
        // Ids must be unique, not secret: without randomness the clock will do.
        if getrandom::fill(&mut seed).is_err() {
            seed.copy_from_slice(
                &moment(std::time::SystemTime::now()).as_nanosecond().to_be_bytes()[10..],
            );
        }
        Self {
            registry,
            queues,
            authenticator: Arc::new(authenticator),
            guard,
            audit,
            limits,
            requests: AtomicU64::new(0),
            prefix: seed.iter().map(|byte| format!("{byte:02x}")).collect(),
            is_stopping: AtomicBool::new(false),
            open: Arc::default(),
            listeners: ListenerCounts::default(),
            denials: RateLimiters::default(),
            memory: MemoryBudget::new(),
            unsent: ResponseMemory::new(),
            messages,
            readiness: tokio::sync::Mutex::default(),
            endpoints: routes::endpoints()
                .into_iter()
                .map(|endpoint| (endpoint.id, endpoint))
                .collect(),
            form_key: TokenKey::random().ok(),
            reports: ReportCache::default(),
        }
    }

    fn next_request_id(&self) -> String {
        format!("{}-{}", self.prefix, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        self.registry.metrics()
    }

    pub(crate) fn endpoints(&self) -> &EndpointTable {
        &self.endpoints
    }

    pub(crate) fn limits(&self) -> &RequestLimits {
        &self.limits
    }

    pub(crate) fn reports(&self) -> &ReportCache {
        &self.reports
    }

    pub(crate) fn form_key(&self) -> Option<&TokenKey> {
        self.form_key.as_ref()
    }

    pub(crate) fn authenticator(&self) -> &Arc<Authenticator> {
        &self.authenticator
    }

    pub(crate) fn memory_budget(&self) -> &MemoryBudget {
        &self.memory
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Values that are read when metrics are scraped.
    fn readings(&self, visible: ScrapeScope<'_>) -> MetricReadings {
        let store = self.registry.store();
        let workspaces = store.workspaces().unwrap_or_default();
        let visible_workspaces: Vec<_> =
            workspaces.into_iter().filter(|workspace| visible.includes(&workspace.id)).collect();
        let now = moment(std::time::SystemTime::now());
        let suites = visible_workspaces.iter().take(MAX_WORKSPACES);
        let suites = suites
            .filter_map(|one| gbrain_eval::alert::workspace_metrics(store, &one.id, now).ok());
        let jobs = visible_workspaces.iter().flat_map(|workspace| {
            let JobCounts { queued, running } =
                store.job_counts_of(&workspace.id).unwrap_or_default();
            [("queued", queued), ("running", running)].map(|(state, count)| JobCount {
                workspace: workspace.id.clone(),
                state,
                count,
            })
        });
        let depth = |queue| self.queues.waiting(queue) as u64;
        MetricReadings {
            connections: self.open.load(Ordering::Relaxed) as u64,
            queue_depth: vec![("read", depth(WorkQueue::Read)), ("write", depth(WorkQueue::Write))],
            jobs: jobs.collect(),
            spans_dropped: self.registry.tracer().dropped(),
            suites: suites.collect(),
        }
    }

    /// Whether another denied request of this address is audited: an attacker could otherwise fill
    /// the disk.
    fn is_denial_audited(&self, peer: Option<ClientAddress>) -> bool {
        let (peer, clock) = (peer.map(|peer| peer.0), Instant::now());
        self.denials.take(&peer, AUDITED_DENIALS, clock).is_ok()
    }
}

/// Serves until `shutdown` resolves; then requests in flight end and no new ones start. `messages`
/// is the runtime of `/mcp`.
pub(crate) async fn serve(
    listener: TcpListener,
    components: ServerComponents,
    messages: Handle,
    shutdown: impl Future<Output = ()>,
    connections: ConnectionOptions,
) {
    let shared = Arc::new(ServerState::new(components, messages));
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

/// The OpenAPI document of all endpoints and extra routes.
pub fn openapi() -> serde_json::Value {
    openapi::document(&routes::endpoints(), &routes::extra_routes())
}

pub(crate) fn router(shared: Arc<ServerState>) -> Router {
    let mut router = console::router();
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
        // The same for pages: browsers send the cookie, which the API does not take.
        .route("/runs/{id}/events", axum::routing::get(events::of_run))
        .route("/jobs/{id}/events", axum::routing::get(events::of_job))
        .route("/mcp", mcp_route(&shared))
        .fallback(async |State(shared): State<Arc<ServerState>>, request: Request| {
            console::fault(&shared, &request, Fault::not_found("no such path"))
        })
        .method_not_allowed_fallback(
            async |State(shared): State<Arc<ServerState>>, request: Request| {
                let fault = Fault::method_not_allowed("this path does not support this method");
                console::fault(&shared, &request, fault)
            },
        );
    let entering = axum::middleware::from_fn_with_state(shared.clone(), middleware::handle);
    let origins = shared.guard.origins.clone();
    let router = router.layer(entering).with_state(shared);
    match origins.as_slice() {
        [] => router,
        // Outermost, so that pages can read error responses too.
        origins => router.layer(cors(origins)),
    }
}

fn mcp_route(shared: &ServerState) -> axum::routing::MethodRouter<Arc<ServerState>> {
    let service = mcp::service(shared);
    axum::routing::post(async move |State(shared): State<Arc<ServerState>>, request: Request| {
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
            middleware::REQUEST_ID.clone(),
            named(JOB_HEADER),
            named(SUBAGENT_HEADER),
            named("mcp-protocol-version"),
            named("mcp-method"),
            named("mcp-name"),
            named("traceparent"),
        ])
        .expose_headers([middleware::REQUEST_ID.clone(), RETRY_AFTER, WWW_AUTHENTICATE])
        .max_age(Duration::from_secs(600))
}

fn method(endpoint: Endpoint) -> axum::routing::MethodRouter<Arc<ServerState>> {
    let filter = MethodFilter::try_from(endpoint.method.clone()).expect("a method of HTTP");
    let endpoint = Arc::new(endpoint);
    on(
        filter,
        async move |State(shared): State<Arc<ServerState>>,
                    path: Result<RawPathParams, _>,
                    request: Request| {
            let (id, clock) = (endpoint.id, Instant::now());
            let workspace = request
                .extensions()
                .get::<Principal>()
                .map(|principal| principal.workspace.clone());
            let (target, outcome) = answer(&shared, endpoint, path, request).await;
            if let Some(workspace) = workspace {
                let word = match &outcome {
                    Ok(_) => RequestOutcome::Ok,
                    Err(refusal) if is_internal(refusal.fault.kind) => RequestOutcome::Fault,
                    Err(_) => RequestOutcome::Refused,
                };
                shared.metrics().workspace(&workspace).request(id, word, clock.elapsed());
            }
            let mut response =
                outcome.map_or_else(IntoResponse::into_response, IntoResponse::into_response);
            response.extensions_mut().insert(EndpointName(id));
            if let Some(target) = target {
                response.extensions_mut().insert(AuditTarget(target));
            }
            response
        },
    )
}

async fn answer(
    shared: &Arc<ServerState>,
    endpoint: Arc<Endpoint>,
    path: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    request: Request,
) -> (Option<String>, Result<Reply, ErrorResponse>) {
    let Ok(path) = path else {
        return (None, Err(Fault::usage("the path is not valid UTF-8").into()));
    };
    let target = path.iter().next().map(|(_, value)| value.to_owned());
    (target, answer_at(shared, endpoint, &path, request).await)
}

async fn answer_at(
    shared: &Arc<ServerState>,
    endpoint: Arc<Endpoint>,
    path: &RawPathParams,
    request: Request,
) -> Result<Reply, ErrorResponse> {
    let principal = principal(&request)?;
    if principal.scope < endpoint.scope {
        return Err(
            Fault::forbidden(format!("this needs a token of scope {}", endpoint.scope)).into()
        );
    }
    let parameters = parameters(path, request.uri().query().unwrap_or_default());
    let caller = caller(request.headers())?;
    let origin = origin(&request);
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let BufferedBody { bytes: body, held } = body::buffer(request, shared).await?;
    let input = RequestInput { parameters, body, content_type };
    let (registry, budget) = (shared.registry.clone(), shared.memory.clone());
    let queue = endpoint.queue;
    let job = move |stop: &StopFlag| {
        let _held = held;
        let memory = RequestMemoryAccount::new(&budget, registry.metrics(), input.body.len());
        if let Some(cost) = endpoint.reading_cost {
            memory.read_body(&input.body, cost)?;
        }
        let now = moment(std::time::SystemTime::now());
        let call = OperationCall {
            registry: &registry,
            principal: &principal,
            now,
            caller,
            origin,
            stop,
            memory: &memory,
        };
        (endpoint.call)(&call, input)
    };
    in_time(shared, queue, job).await?.map_err(ErrorResponse::from)
}

/// Runs blocking work. On timeout it is asked to stop and no longer awaited.
pub(crate) async fn in_time<T: Send + 'static>(
    shared: &Arc<ServerState>,
    queue: WorkQueue,
    job: impl FnOnce(&StopFlag) -> T + Send + 'static,
) -> Result<T, ErrorResponse> {
    match tokio::time::timeout(shared.limits.timeout, shared.queues.run(queue, job)).await {
        Ok(done) => done.map_err(|refused| refuse(shared, refused)),
        Err(_) => {
            shared.metrics().refused("timeout");
            Err(timeout_fault(queue).into())
        }
    }
}

pub(crate) fn refuse(shared: &ServerState, refused: QueueError) -> ErrorResponse {
    let fault = match refused {
        QueueError::Full | QueueError::Late => {
            shared.metrics().refused("queue_full");
            Fault::overloaded("too many requests are waiting: try again later")
        }
        QueueError::Panicked => Fault::internal("the operation panicked"),
    };
    fault.into()
}

pub(crate) fn principal(request: &Request) -> Result<Principal, Fault> {
    let principal = request.extensions().get::<Principal>().cloned();
    principal.ok_or_else(|| Fault::internal("the request has no principal"))
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

/// The job and the subagent on whose behalf the request is made.
fn caller(headers: &HeaderMap) -> Result<Caller, Fault> {
    let number = |name: &str| {
        let Some(value) = headers.get(name) else { return Ok(None) };
        let number = value.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok());
        let number = number.filter(|number| Caller::ID_RANGE.contains(number));
        number.map(Some).ok_or_else(|| Fault::usage(format!("the header {name} is not a number")))
    };
    Ok(Caller { remote: true, job_id: number(JOB_HEADER)?, subagent_id: number(SUBAGENT_HEADER)? })
}

fn origin(request: &Request) -> RequestOrigin {
    let traceparent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let request_id = request.extensions().get::<RequestId>();
    RequestOrigin {
        request_id: request_id.map(|id| id.0.to_string()).unwrap_or_default(),
        traceparent: traceparent.map(str::to_owned),
    }
}
