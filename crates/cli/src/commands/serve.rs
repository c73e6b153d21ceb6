//! `gbrain serve`: the HTTP API and MCP.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use clap::Args;
use gbrain_llm::ModelTask;
use gbrain_server::{
    Audit, Authenticator, ConnectionOptions, LoopbackAccess, OriginGuard, QueueLimits,
    RequestLimits, ServeOptions, ServerComponents, TokenKey, TokenStatus, WorkQueues,
    WorkerOptions,
};
use gbrain_store::Store;
use jiff::SignedDuration;
use serde_json::json;

use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::model_access::{catalog, settings};
use crate::models::configured_embedder;
use crate::serving::{
    DEFAULT_INTERVAL, LoggingArgs, ROLE_REMEDY, autopilot, make_token_key, registry, token_key,
    worker_name,
};
use crate::terminal::count;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain serve\n  curl -s localhost:7727/v1/query -H 'content-type: application/json' \\\n    \
    -d '{\"query\": \"who owns the berth planner?\"}'\n  \
    gbrain tokens create --name team --scope write && gbrain serve --listen 0.0.0.0:7727\n\n\
    The API is described at /v1/openapi.json, MCP is at /mcp, metrics are at /metrics. Without a \
    token only callers on this machine are accepted, and only while no token exists. Other machines \
    need tokens, and a proxy in front for TLS. Private pages are never served."
)]
pub(crate) struct ServeArgs {
    /// The address to listen on, as HOST:PORT; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7727", value_parser = parse_address)]
    listen: SocketAddr,
    /// Accept callers on this machine without a token even if tokens exist.
    #[arg(long)]
    open_loopback: bool,
    /// Another host name of this server; may be given again.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// An origin such as `https://app.example` whose pages may call the API; may be given again.
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    allow_origin: Vec<String>,
    /// Queries answered concurrently [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    readers: Option<u16>,
    /// Maximum number of queued requests; more are rejected with 429.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    queue: u16,
    /// Maximum number of connections.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// Maximum number of connections per client address [default: half of --connections]. Behind a proxy
    /// all callers have the proxy's address: set it to the value of --connections.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections_per_address: Option<u16>,
    /// The largest request body, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64))]
    max_body: u16,
    /// Request timeout in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    timeout: u16,
    /// Jobs run concurrently; 0 leaves them to `gbrain worker`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    jobs: u16,
    /// Lease timeout: seconds without a heartbeat before another worker may claim the job.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    /// How often to check for due work, such as the nightly probe.
    #[arg(long, value_name = "DUR", default_value = DEFAULT_INTERVAL, value_parser = duration)]
    autopilot: SignedDuration,
    #[command(flatten)]
    log: LoggingArgs,
}

/// How long an unfinished request is waited for at the end, and how long headers and bodies may take.
const DRAIN: Duration = Duration::from_secs(10);
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a new connection may take to send the head of its first request.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How long a caller may take nothing of its answer.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// Writers of one SQLite file queue anyway; those of a server are many.
const WRITERS: usize = 4;
/// How long a request waits for its turn.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// Parses HOST:PORT. A name is resolved, to an IPv4 address if it has one.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let form = "write it as HOST:PORT, such as 127.0.0.1:7727 or localhost:7727";
    if !text.contains(':') {
        return Err(format!("the port is missing: {form}"));
    }
    let found = text.to_socket_addrs().map_err(|error| format!("{error}; {form}"))?;
    let found: Vec<SocketAddr> = found.collect();
    let ipv4 = found.iter().find(|address| address.is_ipv4());
    ipv4.or(found.first()).copied().ok_or_else(|| format!("the name has no address; {form}"))
}

fn parse_origin(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(host) if !host.is_empty() && !host.contains(['/', ' ', '*', '?', '#']) => {
            Ok(text.to_owned())
        }
        _ => Err("an origin is a scheme and a host: https://app.example".to_owned()),
    }
}

/// Serves until the process is terminated.
pub(crate) fn run(context: &CommandContext<'_>, args: &ServeArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let wanted = configured_embedder(&context.home)?;
    let registry = registry(context, &args.log, wanted.clone())?;
    let store = registry.share_store();
    refuse_unresolved_rerankers(context, store.as_ref())?;
    if let Some(role) = store.role_without_row_security()? {
        context.terminal.warn(format!(
            "row-level security, the second barrier between workspaces, does not apply to the database role {role}: \
             {ROLE_REMEDY}"
        ));
    }
    let lease = Duration::from_secs(args.lease.into());
    let autopilot = autopilot(context, store.clone(), wanted, lease, args.autopilot)?;
    let key = key(context, store.as_ref())?;
    let tokens = TokenStatus {
        live: store.has_live_tokens(context.now)?,
        ever: store.has_tokens()?,
        has_key: key.is_some(),
    };
    let loopback = LoopbackAccess::resolve(args.listen, args.open_loopback, tokens)?;
    let workspace = context.home.workspace.clone();
    let authenticator = Authenticator::new(store, key, loopback, workspace);
    let queue_limits = queue_limits(args.readers, args.queue);
    let serving = ServeOptions {
        listen: args.listen,
        components: ServerComponents {
            registry,
            authenticator,
            guard: OriginGuard {
                hosts: args.allow_host.clone(),
                origins: args.allow_origin.clone(),
            },
            queues: WorkQueues::new(queue_limits),
            audit: Audit { dir: context.home.audit_dir() },
            limits: RequestLimits {
                body: usize::from(args.max_body) << 20,
                body_timeout: BODY_PATIENCE,
                timeout: Duration::from_secs(args.timeout.into()),
            },
        },
        queue_limits,
        connections: ConnectionOptions {
            max_connections: usize::from(args.connections),
            per_address: usize::from(per_address(args)),
            first_request_timeout: FIRST_PATIENCE,
            header_timeout: HEADER_PATIENCE,
            write_timeout: WRITE_PATIENCE,
            drain: DRAIN,
        },
        workers: usize::from(args.jobs),
        worker: WorkerOptions { name: worker_name(), lease },
        autopilot,
    };
    let drained = gbrain_server::serve(serving, |address| say(context, address))?;
    if drained.unfinished > 0 {
        let captures = count(drained.unfinished, "capture was", "captures were");
        context.terminal.warn(format!("{captures} not stored in time"));
    }
    Ok(Exit::Pass)
}

/// Refuses a setting that names no model, as `query` does: answers would come without the reranker.
fn refuse_unresolved_rerankers(
    context: &CommandContext<'_>,
    store: &Store,
) -> Result<(), CliError> {
    let catalog = catalog(&context.home)?;
    for workspace in store.workspaces()? {
        let settings = settings(store, &workspace.id)?;
        catalog.choose(ModelTask::Rerank, None, &settings).map_err(|error| {
            let (key, id) = (ModelTask::Rerank.key(), &workspace.id);
            CliError::from(error).hint(format!(
                "it is `{key}` of workspace `{id}`: `gbrain config set {key} PROVIDER:MODEL --workspace {id}` sets \
                 another, `gbrain config unset {key} --workspace {id}` none"
            ))
        })?;
    }
    Ok(())
}

fn say(context: &CommandContext<'_>, address: SocketAddr) {
    let url = format!("http://{address}");
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "listening": url }));
    } else {
        context.terminal.line(format!("listening on {url}"));
    }
}

/// Connections allowed per client address: half of all, unless the flag is given.
fn per_address(args: &ServeArgs) -> u16 {
    let half = args.connections.div_ceil(2);
    args.connections_per_address.unwrap_or(half).min(args.connections)
}

/// The limits of the work queues. A query keeps a core busy, so more at once only make each slower.
pub(crate) fn queue_limits(readers: Option<u16>, queue: u16) -> QueueLimits {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    QueueLimits {
        readers: readers.map_or(cores, usize::from),
        writers: WRITERS,
        waiting: usize::from(queue),
        timeout: QUEUE_TIMEOUT,
    }
}

/// The key that verifies tokens. It is created if there is none, so that tokens created while the server runs work too.
fn key(context: &CommandContext<'_>, store: &Store) -> Result<Option<TokenKey>, CliError> {
    match token_key(&context.home)? {
        // Another machine has the key of the tokens that are there.
        None if store.has_tokens()? => Ok(None),
        None => make_token_key(&context.home).map(Some),
        found => Ok(found),
    }
}
