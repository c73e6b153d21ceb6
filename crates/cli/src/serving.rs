//! What `serve`, `mcp`, `worker` and `autopilot` have in common: the house of all workspaces, what is
//! looked after, the key of the tokens, logs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gbrain_brain::capture::software;
use gbrain_core::clock::moment;
use gbrain_eval::alert::SendLimits;
use gbrain_eval::probe::{Embedding, Probes};
use gbrain_server::telemetry::logs::{LogFormat, LogOptions};
use gbrain_server::telemetry::metrics::Metrics;
use gbrain_server::telemetry::traces::{TraceError, Tracer, resolve};
use gbrain_server::{AlertTools, Autopilot, House, HouseOptions, SuiteTools, TokenKey};
use gbrain_store::Store;
use jiff::SignedDuration;

use crate::asking::desk;
use crate::capture;
use crate::channels::alert_tools;
use crate::commands::Context;
use crate::commands::baseline_key::of_environment;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::home::{Home, write_private_new};
use crate::identity::make_home_key;
use crate::models::Wanted;
use crate::targets::target_registry;
use crate::terminal::Terminal;

/// The shortest time between two looks: looking costs a few queries.
const LEAST_LOOK: Duration = Duration::from_millis(100);

/// Flags of every process that is left running.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LogArgs {
    /// How the log on stderr is written: text, or one JSON object a line.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormatArg,
    /// What is logged: error, warn, info, debug, or a filter such as warn,gbrain_server=debug
    /// [env: GBRAIN_LOG] [default: info].
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Send OpenTelemetry spans to this OTLP/HTTP address [env: OTEL_EXPORTER_OTLP_ENDPOINT].
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Put what was asked and the names of the pages found into the spans; without it they have the
    /// question's length only.
    #[arg(long)]
    otlp_queries: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogFormatArg {
    Text,
    Json,
}

/// What to do about a database role that row-level security does not hold.
pub(crate) const ROLE_REMEDY: &str =
    "serve as a role that is neither a superuser nor BYPASSRLS (docs/serving.md)";

impl LogArgs {
    /// Starts logging.
    pub(crate) fn start(&self, home: &Home, terminal: &Terminal) -> Result<(), CliError> {
        let format = match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        };
        let filter = self.log.clone().or_else(|| home.log.clone());
        let filter = filter.unwrap_or_else(|| LogOptions::default().filter);
        gbrain_server::telemetry::logs::init(&LogOptions { format, filter }, terminal.stderr())
            .map_err(|error| CliError::usage(error.to_string()))
    }

    /// Where spans go; nowhere unless an address was given.
    fn tracer(&self, home: &Home) -> Result<Tracer, CliError> {
        let set = |name: &str| home.otel.get(name).cloned();
        let options = resolve(self.otlp.as_deref(), self.otlp_queries, set);
        let wrong = |error: TraceError| CliError::config(error.to_string());
        match options.map_err(wrong)? {
            None => Ok(Tracer::off()),
            Some(options) => Tracer::start(&options).map_err(wrong),
        }
    }
}

/// The house of all workspaces of this home.
pub(crate) fn house(
    context: &Context<'_>,
    log: &LogArgs,
    wanted: Wanted,
) -> Result<Arc<House>, CliError> {
    let store = context.store()?;
    let desk = desk(&context.home)?;
    let suites = SuiteTools {
        targets: target_registry(&context.home, SuiteSource::new(&context.home, None)),
        scrubber: capture::scrubber(&context.home).map_err(CliError::config)?,
        identity: make_home_key(&context.home).ok(),
        desk,
        alerts: alert_tools(&context.home, SuiteSource::new(&context.home, None))?,
    };
    let options = HouseOptions {
        index_dir: context.home.index_dir(),
        models: Arc::new(move |store, workspace| Ok(wanted.of(store, workspace)?)),
        capture: capture::options(&context.home)?,
        metrics: Metrics::new(software(), SystemTime::now()),
        tracer: log.tracer(&context.home)?,
        suites,
        baseline_key: of_environment(&context.home)?,
    };
    // A workspace that is not there is refused before anybody is let in.
    store.head(&context.home.workspace)?;
    Ok(Arc::new(House::new(store.into(), options)))
}

/// How often it is looked whether something is due, unless somebody says so.
pub(crate) const LOOK: &str = "1m";

/// What is looked after beside, in all workspaces of a store.
pub(crate) fn autopilot(
    context: &Context<'_>,
    store: Arc<Store>,
    wanted: Wanted,
    lease: Duration,
    every: SignedDuration,
) -> Result<Autopilot, CliError> {
    let every = Duration::try_from(every).unwrap_or_default();
    let limits = SendLimits::of_lease(lease);
    let alerts = alert_tools(&context.home, SuiteSource::new(&context.home, None))?;
    let alerts = AlertTools { limits, ..alerts };
    let probes = probes(context, store, wanted, lease)?;
    Ok(Autopilot { probes, every: every.max(LEAST_LOOK), alerts })
}

/// What the probes of all workspaces of a store are made with.
pub(crate) fn probes(
    context: &Context<'_>,
    store: Arc<Store>,
    wanted: Wanted,
    lease: Duration,
) -> Result<Probes, CliError> {
    Ok(Probes {
        store,
        desk: desk(&context.home)?,
        embedding: match wanted {
            Wanted::Own(models) => Embedding::Own(models),
            Wanted::Remote { model, dims, desk: _ } => Embedding::Remote { model, dims },
        },
        audit_dir: context.home.audit_dir(),
        worker: worker_name(),
        lease,
        clock: || moment(SystemTime::now()),
    })
}

/// Where the key of the tokens is kept.
pub(crate) fn key_path(home: &Home) -> PathBuf {
    home.dir.join("token.key")
}

/// The key of the tokens: of the environment, else of the home; none if neither has one.
pub(crate) fn token_key(home: &Home) -> Result<Option<TokenKey>, CliError> {
    let wrong = |whence: &str| {
        CliError::config(format!("{whence} is not a key: 64 hexadecimal digits"))
            .hint("take it from the machine on which the tokens were made")
    };
    if let Some(text) = &home.token_key {
        return TokenKey::from_hex(text).map(Some).ok_or_else(|| wrong("GBRAIN_TOKEN_KEY"));
    }
    let path = key_path(home);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let shown = path.display().to_string();
            TokenKey::from_hex(&text).map(Some).ok_or_else(|| wrong(&shown))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

/// The key of the tokens, made if there is none.
pub(crate) fn make_token_key(home: &Home) -> Result<TokenKey, CliError> {
    if let Some(key) = token_key(home)? {
        return Ok(key);
    }
    let key = TokenKey::random().map_err(|error| CliError::config(error.to_string()))?;
    let path = key_path(home);
    match write_private_new(&path, &format!("{}\n", key.to_hex())) {
        Ok(()) => Ok(key),
        // Another process was quicker: its key is the key.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            token_key(home)?.ok_or_else(|| CliError::io(path.display(), &error))
        }
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

/// What this process calls itself among workers: the host's name and the process's number.
pub(crate) fn worker_name() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    let host = if host.trim().is_empty() { "host" } else { host.trim() };
    format!("{host}:{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_named_by_host_and_process() {
        let name = worker_name();
        let (host, process) = name.rsplit_once(':').unwrap();
        assert_eq!(process, std::process::id().to_string());
        assert!(!host.trim().is_empty(), "{name}");
        // Where the kernel tells the name in a file too, it is the same.
        if let Ok(known) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            assert_eq!(host, known.trim());
        }
    }
}
