//! Model calls from the command line: the catalog of models, budgets and cassettes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::{
    Allowance, Cassette, CassetteMode, ModelCatalog, ModelClient, ModelLimits, ModelRef, Providers,
    RetryPolicy, Spending, SpendingLimit, load_prices,
};
use gbrain_store::{Budget, DAILY_PREFIX, Store};
use serde_json::Value;

use crate::commands::CommandContext;
use crate::error::CliError;
use crate::home::Home;

/// The file of the user's own prices, in the home.
pub(crate) const PRICES: &str = "prices.json";

/// Flags for recording and replaying model replies.
#[derive(Debug, Clone, Args)]
pub(crate) struct CassetteArgs {
    /// Record model replies in this file, and replay those it already holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) cassette: Option<PathBuf>,
    /// Replay the cassette only: no key, no network, no cost.
    #[arg(long, requires = "cassette")]
    pub(crate) replay_only: bool,
}

impl CassetteArgs {
    /// Opens the cassette, if one was named.
    pub(crate) fn open(&self) -> Result<Option<Cassette>, CliError> {
        let Some(path) = &self.cassette else { return Ok(None) };
        let mode = if self.replay_only { CassetteMode::ReplayOnly } else { CassetteMode::Record };
        let cassette = Cassette::open(path, mode).map_err(|error| {
            CliError::config(error.to_string())
                .hint("record it with --cassette FILE on a machine that has the API key")
        })?;
        Ok(Some(cassette))
    }
}

/// Flags of commands that call models.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelCallArgs {
    #[command(flatten)]
    pub(crate) recording: CassetteArgs,
    /// Share the budget with every process that uses this name [default: a budget for this run only].
    #[arg(long, value_name = "NAME")]
    pub(crate) budget_name: Option<String>,
    /// Start even if the estimate exceeds the budget; the budget is still enforced.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

/// The catalog of models that this home configures.
pub(crate) fn catalog(home: &Home) -> Result<ModelCatalog, CliError> {
    let wrong = |error: &dyn std::error::Error| CliError::config(error.to_string());
    let number = |key: &str, default: u64| match home.file.get(key) {
        None => Ok(default),
        Some(value) => {
            value.as_u64().filter(|number| (1..=3600).contains(number)).ok_or_else(|| {
                CliError::config(format!(
                    "config.json: `{key}` is {value}; it must be from 1 to 3600"
                ))
            })
        }
    };
    let limits = ModelLimits::default();
    let attempts = number("llm.attempts", limits.retry.attempts.into())?;
    let variables = home.variables.0;
    Ok(ModelCatalog {
        providers: Providers::with(&home.providers).map_err(|error| wrong(&error))?,
        prices: load_prices(&home.dir.join(PRICES)).map_err(|error| wrong(&error))?,
        limits: ModelLimits {
            timeout: Duration::from_secs(number("llm.timeout_seconds", limits.timeout.as_secs())?),
            retry: RetryPolicy { attempts: attempts as u32, ..limits.retry },
            concurrency: number("llm.concurrency", limits.concurrency as u64)? as usize,
        },
        environment: Arc::new(move |name: &str| variables(name)),
    })
}

/// The error for a model of an unknown provider; none if the provider is known.
pub(crate) fn unknown_provider(catalog: &ModelCatalog, model: &ModelRef) -> Option<String> {
    if catalog.providers.find(&model.provider).is_some() {
        return None;
    }
    let known: Vec<&str> = catalog.providers.iter().map(|one| one.name.as_str()).collect();
    let (provider, known) = (&model.provider, known.join(", "));
    Some(format!("{model}: unknown provider `{provider}`; the known ones are {known}"))
}

/// The settings that are stored in the database.
pub(crate) fn settings(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<BTreeMap<String, String>, CliError> {
    Ok(store.config_list(workspace)?.into_iter().collect())
}

/// A run that calls models: its budget and its cassette.
pub(crate) struct BudgetedRun<'a> {
    pub(crate) max_usd: Usd,
    pub(crate) purpose: &'a str,
    pub(crate) args: &'a ModelCallArgs,
    /// The number of concurrent calls; `None` for the setting.
    pub(crate) concurrency: Option<usize>,
}

impl BudgetedRun<'_> {
    /// The client for the run; it stops when the user interrupts.
    pub(crate) fn client(
        &self,
        context: &CommandContext<'_>,
        store: &Arc<Store>,
    ) -> Result<ModelClient, CliError> {
        let mut catalog = catalog(&context.home)?;
        if let Some(concurrency) = self.concurrency {
            catalog.limits.concurrency = concurrency;
        }
        let workspace = context.home.workspace.clone();
        let settings = settings(store.as_ref(), &workspace)?;
        let spending = Spending {
            store: store.clone(),
            budget: Some(Budget { name: self.budget(context)?, cap: self.max_usd }),
            per_day: Some(ModelCatalog::per_day(&settings)),
            purpose: self.purpose.to_owned(),
            workspace,
        };
        let client = catalog.client().spending(spending).cancelled_by(interrupted());
        Ok(match self.args.recording.open()? {
            Some(cassette) => client.cassette(cassette),
            None => client,
        })
    }

    /// The name of the run's budget: `--budget-name`, else a name unique to this run.
    fn budget(&self, context: &CommandContext<'_>) -> Result<String, CliError> {
        match &self.args.budget_name {
            Some(name) if name.starts_with(DAILY_PREFIX) || name.is_empty() || name.len() > 200 => {
                Err(CliError::usage(format!("{name:?} is not a valid budget name")).hint(format!(
                    "use a name of 1 to 200 bytes that does not begin with `{DAILY_PREFIX}`"
                )))
            }
            Some(name) => Ok(name.clone()),
            None => Ok(format!("{}:{}:{}", self.purpose, context.now, std::process::id())),
        }
    }
}

/// A flag that SIGINT or SIGTERM sets; a second signal ends the process. A process has one handler, so all
/// callers share the flag.
pub(crate) fn interrupted() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let set = || {
        let flag = Arc::new(AtomicBool::new(false));
        let signalled = flag.clone();
        // Fails if a command has set its own handler, which then takes precedence.
        let _ = ctrlc::try_set_handler(move || {
            if signalled.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        flag
    };
    FLAG.get_or_init(set).clone()
}

/// Refuses to report an interrupted measurement: a part of it is no verdict.
pub(crate) fn refuse_interrupted(stop: &AtomicBool) -> Result<(), CliError> {
    if stop.load(Ordering::SeqCst) {
        return Err(CliError::cancelled("interrupted: there is no verdict").hint("run it again"));
    }
    Ok(())
}

/// Refuses to start a run whose estimate exceeds its budget or the rest of the daily budget, unless `--yes` was
/// given. Both budgets are enforced either way. `flag` is the command's flag for the run's budget.
pub(crate) fn refuse_over_budget(
    client: &ModelClient,
    estimate: Usd,
    flag: &str,
    yes: bool,
) -> Result<(), CliError> {
    let Some(Allowance { left, limit }) = client.allowance()? else { return Ok(()) };
    if estimate <= left || yes {
        return Ok(());
    }
    let (limit, remedy) = match limit {
        SpendingLimit::Run => ("is allowed", format!("allow more with {flag}")),
        SpendingLimit::Day => (
            "is left of today's budget",
            "raise `spend.max_usd_per_day` with `gbrain config set`".to_owned(),
        ),
    };
    Err(CliError::over_budget(format!("it would cost about {estimate}, and {left} {limit}")).hint(
        format!(
            "reduce the work, {remedy}, or start anyway with --yes: the budgets are still enforced"
        ),
    ))
}

/// Parses an amount of dollars.
pub(crate) fn parse_usd(text: &str) -> Result<Usd, String> {
    text.parse().map_err(|error: gbrain_core::money::UsdError| error.to_string())
}

/// An amount of dollars as a JSON number.
pub(crate) fn usd_json(amount: Usd) -> Value {
    Value::from(amount.as_f64())
}
