//! Shared by `serve`, `mcp`, `worker` and `autopilot`: the workspace registry, scheduled work, the token key,
//! logging.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gbrain_brain::capture::software;
use gbrain_core::clock::moment;
use gbrain_core::fault::{Fault, chain};
use gbrain_eval::alert::SendLimits;
use gbrain_eval::probe::{EmbeddingSource, Probes};
use gbrain_prompts::Library;
use gbrain_server::telemetry::logs::{LogFormat, LogOptions};
use gbrain_server::telemetry::metrics::Metrics;
use gbrain_server::telemetry::traces::{TraceError, Tracer, resolve};
use gbrain_server::{
    AlertTools, PromptLister, RegistryOptions, SchedulerOptions, SuiteTools, TokenKey,
    WorkspaceRegistry,
};
use gbrain_store::Store;
use jiff::SignedDuration;

use crate::capture;
use crate::channels::alert_tools;
use crate::commands::CommandContext;
use crate::commands::baseline_key::of_environment;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::home::{Home, write_private_new};
use crate::identity::make_home_key;
use crate::model_access::catalog;
use crate::models::EmbedderChoice;
use crate::targets::target_registry;
use crate::terminal::Terminal;

/// The shortest interval between two checks for due work: a check costs a few queries.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Flags of every process that is left running.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LoggingArgs {
    /// The format of the log on stderr: text, or json (one object per line).
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormatArg,
    /// The log filter: error, warn, info, debug, or a filter such as warn,gbrain_server=debug
    /// [env: GBRAIN_LOG] [default: info].
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Send OpenTelemetry spans to this OTLP/HTTP address [env: OTEL_EXPORTER_OTLP_ENDPOINT].
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Put query texts and page names into the spans [default: only the length of the query].
    #[arg(long)]
    otlp_queries: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogFormatArg {
    Text,
    Json,
}

/// The remedy for a database role that bypasses row-level security.
pub(crate) const ROLE_REMEDY: &str =
    "serve as a role that is neither a superuser nor BYPASSRLS (docs/serving.md)";

impl LoggingArgs {
    /// Starts logging to stderr in the chosen format.
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

    /// The exporter of spans; off unless an address is configured.
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

/// The registry of all workspaces of this home.
pub(crate) fn registry(
    context: &CommandContext<'_>,
    log: &LoggingArgs,
    embedder: EmbedderChoice,
) -> Result<Arc<WorkspaceRegistry>, CliError> {
    let store = context.store()?;
    let catalog = catalog(&context.home)?;
    let suites = SuiteTools {
        targets: target_registry(&context.home, SuiteSource::new(&context.home, None)),
        scrubber: capture::scrubber(&context.home).map_err(CliError::config)?,
        identity: make_home_key(&context.home).ok(),
        catalog,
        alerts: alert_tools(&context.home, SuiteSource::new(&context.home, None))?,
    };
    let options = RegistryOptions {
        index_dir: context.home.index_dir(),
        models: Arc::new(move |store, workspace| Ok(embedder.for_workspace(store, workspace)?)),
        capture: capture::options(&context.home)?,
        metrics: Metrics::new(software(), SystemTime::now()),
        tracer: log.tracer(&context.home)?,
        suites,
        baseline_key: of_environment(&context.home)?,
        benchmarks: context.home.dir.join("runs/benchmarks"),
        prompts: prompts(),
    };
    // A missing workspace is an error before the server accepts requests.
    store.head(&context.home.workspace)?;
    Ok(Arc::new(WorkspaceRegistry::new(store.into(), options)))
}

/// Lists the prompts of the folder that EVA_ROOT names; nothing without it.
fn prompts() -> Option<PromptLister> {
    let root = PathBuf::from(crate::eva::variable("EVA_ROOT")?);
    Some(Arc::new(move || {
        let library = Library::find(Some(&root), &root);
        let library = library.map_err(|error| Fault::internal(chain(&error)))?;
        crate::eva::shown_prompts(&library)
    }))
}

/// The default interval between checks for due work.
pub(crate) const DEFAULT_INTERVAL: &str = "1m";

/// The scheduled work of all workspaces of a store.
pub(crate) fn autopilot(
    context: &CommandContext<'_>,
    store: Arc<Store>,
    embedder: EmbedderChoice,
    lease: Duration,
    every: SignedDuration,
) -> Result<SchedulerOptions, CliError> {
    let every = Duration::try_from(every).unwrap_or_default();
    let limits = SendLimits::for_lease(lease);
    let alerts = alert_tools(&context.home, SuiteSource::new(&context.home, None))?;
    let alerts = AlertTools { limits, ..alerts };
    let probes = probes(context, store, embedder, lease)?;
    Ok(SchedulerOptions { probes, every: every.max(MIN_INTERVAL), alerts })
}

/// The nightly probes of all workspaces of a store.
pub(crate) fn probes(
    context: &CommandContext<'_>,
    store: Arc<Store>,
    embedder: EmbedderChoice,
    lease: Duration,
) -> Result<Probes, CliError> {
    Ok(Probes {
        store,
        catalog: catalog(&context.home)?,
        embedding: match embedder {
            EmbedderChoice::Own(models) => EmbeddingSource::Own(models),
            EmbedderChoice::Remote { model, dims, catalog: _ } => {
                EmbeddingSource::Remote { model, dims }
            }
        },
        audit_dir: context.home.audit_dir(),
        worker: worker_name(),
        lease,
        clock: || moment(SystemTime::now()),
    })
}

/// The file of the token key.
pub(crate) fn key_path(home: &Home) -> PathBuf {
    home.dir.join("token.key")
}

/// Reads the token key from `GBRAIN_TOKEN_KEY`, else from the home.
pub(crate) fn token_key(home: &Home) -> Result<Option<TokenKey>, CliError> {
    let invalid = |origin: &str| {
        CliError::config(format!("{origin} is not a token key: it must have 64 hexadecimal digits"))
            .hint("copy it from the machine on which the tokens were created")
    };
    if let Some(text) = &home.token_key {
        return TokenKey::from_hex(text).map(Some).ok_or_else(|| invalid("GBRAIN_TOKEN_KEY"));
    }
    let path = key_path(home);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let shown = path.display().to_string();
            TokenKey::from_hex(&text).map(Some).ok_or_else(|| invalid(&shown))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

/// Reads the token key, or creates it.
pub(crate) fn make_token_key(home: &Home) -> Result<TokenKey, CliError> {
    if let Some(key) = token_key(home)? {
        return Ok(key);
    }
    let key = TokenKey::random().map_err(|error| CliError::config(error.to_string()))?;
    let path = key_path(home);
    match write_private_new(&path, &format!("{}\n", key.to_hex())) {
        Ok(()) => Ok(key),
        // Another process created the key first: use that one.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            token_key(home)?.ok_or_else(|| CliError::io(path.display(), &error))
        }
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

/// The name of this process among workers: host name and process id.
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
        // Linux has the host name in a file too.
        if let Ok(known) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            assert_eq!(host, known.trim());
        }
    }
}
