//! `gbrain serve`: the HTTP API and MCP.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use gbrain_llm::Task;
use gbrain_server::{
    Audit, Bounds, Connections, Gatekeeper, Guard, LaneSizes, Lanes, Loopback, Parts, Serving,
    TokenKey, Tokens, WorkerOptions,
};
use gbrain_store::Store;
use jiff::SignedDuration;
use serde_json::json;

use crate::asking::{desk, settings};
use crate::commands::Context;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::models::models;
use crate::serving::{
    LOOK, LogArgs, ROLE_REMEDY, autopilot, house, make_token_key, token_key, worker_name,
};

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain serve\n  curl -s localhost:7727/v1/query -H 'content-type: application/json' \\\n    \
    -d '{\"query\": \"who owns the berth planner?\"}'\n  \
    gbrain tokens create --name team --scope write && gbrain serve --listen 0.0.0.0:7727\n\n\
    The API is described at /v1/openapi.json, MCP is at /mcp, numbers are at /metrics. Without a \
    token only callers on this machine are let in, and only while no token exists. Other machines \
    need tokens, and a proxy in front for TLS. Private pages are not served, to anybody."
)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7727")]
    listen: SocketAddr,
    /// Let callers on this machine in without a token although tokens exist.
    #[arg(long)]
    open_loopback: bool,
    /// Another name that this server goes by; may be given again.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// An origin such as `https://app.example` whose pages may call; may be given again.
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    allow_origin: Vec<String>,
    /// How many questions are answered at once [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    readers: Option<u16>,
    /// How many requests wait at most; more are refused with 429.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    queue: u16,
    /// How many connections there are at most.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// How many connections one address may have [default: half of them]. Behind a proxy all callers have
    /// the proxy's address: give it as many as there are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections_per_address: Option<u16>,
    /// The largest body, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64))]
    max_body: u16,
    /// How many seconds an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    timeout: u16,
    /// How many jobs are worked on at once; 0 leaves them to `gbrain worker`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    jobs: u16,
    /// How many seconds without a beat until a job is another worker's.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    /// How often it is looked whether something is due, such as the nightly probe.
    #[arg(long, value_name = "DUR", default_value = LOOK, value_parser = duration)]
    autopilot: SignedDuration,
    #[command(flatten)]
    log: LogArgs,
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
const QUEUE_PATIENCE: Duration = Duration::from_secs(5);

fn parse_origin(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(host) if !host.is_empty() && !host.contains(['/', ' ', '*', '?', '#']) => {
            Ok(text.to_owned())
        }
        _ => Err("an origin is a scheme and a host: https://app.example".to_owned()),
    }
}

/// Serves until the process is told to end.
pub(crate) fn run(context: &Context<'_>, args: &ServeArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let wanted = models(&context.home)?;
    let house = house(context, &args.log, wanted.clone())?;
    let store = house.share_store();
    refuse_unresolved_rerankers(context, store.as_ref())?;
    if let Some(role) = store.role_without_row_security()? {
        context.terminal.warn(format!(
            "the database role {role} is not held by row-level security, the second wall between workspaces: \
             {ROLE_REMEDY}"
        ));
    }
    let lease = Duration::from_secs(args.lease.into());
    let autopilot = autopilot(context, store.clone(), wanted, lease, args.autopilot)?;
    let key = key(context, store.as_ref())?;
    let tokens = Tokens {
        live: store.has_live_tokens(context.now)?,
        ever: store.has_tokens()?,
        has_key: key.is_some(),
    };
    let loopback = Loopback::resolve(args.listen, args.open_loopback, tokens)?;
    let workspace = context.home.workspace.clone();
    let keeper = Gatekeeper::new(store, key, loopback, workspace);
    let sizes = sizes(args.readers, args.queue);
    let serving = Serving {
        listen: args.listen,
        parts: Parts {
            house,
            keeper,
            guard: Guard { hosts: args.allow_host.clone(), origins: args.allow_origin.clone() },
            lanes: Lanes::new(sizes),
            audit: Audit { dir: context.home.audit_dir() },
            bounds: Bounds {
                body: usize::from(args.max_body) << 20,
                body_patience: BODY_PATIENCE,
                patience: Duration::from_secs(args.timeout.into()),
            },
        },
        sizes,
        connections: Connections {
            most: usize::from(args.connections),
            of_address: usize::from(of_address(args)),
            first_patience: FIRST_PATIENCE,
            header_patience: HEADER_PATIENCE,
            write_patience: WRITE_PATIENCE,
            drain: DRAIN,
        },
        workers: usize::from(args.jobs),
        worker: WorkerOptions { name: worker_name(), lease },
        autopilot,
    };
    let drained = gbrain_server::serve(serving, |address| say(context, address))?;
    if drained.unfinished > 0 {
        context.terminal.warn(format!("{} capture(s) were not stored in time", drained.unfinished));
    }
    Ok(Exit::Pass)
}

/// Refuses a setting that names no model, as `query` does: answers would come without the reranker.
fn refuse_unresolved_rerankers(context: &Context<'_>, store: &Store) -> Result<(), CliError> {
    let desk = desk(&context.home)?;
    for workspace in store.workspaces()? {
        let settings = settings(store, &workspace.id)?;
        desk.choose(Task::Rerank, None, &settings).map_err(|error| {
            let (key, id) = (Task::Rerank.key(), &workspace.id);
            CliError::from(error).hint(format!(
                "it is `{key}` of workspace `{id}`: `gbrain config set {key} PROVIDER:MODEL --workspace {id}` sets \
                 another, `gbrain config unset {key} --workspace {id}` none"
            ))
        })?;
    }
    Ok(())
}

fn say(context: &Context<'_>, address: SocketAddr) {
    let url = format!("http://{address}");
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "listening": url }));
    } else {
        context.terminal.line(format!("listening on {url}"));
    }
}

/// How many connections one address may have: half of them unless it is said.
fn of_address(args: &ServeArgs) -> u16 {
    let half = args.connections.div_ceil(2);
    args.connections_per_address.unwrap_or(half).min(args.connections)
}

/// How wide the lanes are: a question keeps a core busy, so more at once only make each slower.
pub(crate) fn sizes(readers: Option<u16>, queue: u16) -> LaneSizes {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    LaneSizes {
        readers: readers.map_or(cores, usize::from),
        writers: WRITERS,
        waiting: usize::from(queue),
        patience: QUEUE_PATIENCE,
    }
}

/// The key that tokens are checked with, also those that are made while the server runs: it is made
/// now if there is none.
fn key(context: &Context<'_>, store: &Store) -> Result<Option<TokenKey>, CliError> {
    match token_key(&context.home)? {
        // Another machine has the key of the tokens that are there.
        None if store.has_tokens()? => Ok(None),
        None => make_token_key(&context.home).map(Some),
        found => Ok(found),
    }
}
