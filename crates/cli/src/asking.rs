//! Asking models from the command line: who can be asked, with whose money, from which cassette.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::{
    Allowance, Asker, Cassette, CassetteMode, Desk, Limits, ModelRef, Providers, Retry, Spending,
    SpendingLimit, prices_with,
};
use gbrain_store::{Budget, STANDING, Store};
use serde_json::Value;

use crate::commands::Context;
use crate::error::CliError;
use crate::home::Home;

/// Where the user's own prices are, in the home.
pub(crate) const PRICES: &str = "prices.json";

/// Where answers of models are recorded.
#[derive(Debug, Clone, Args)]
pub(crate) struct TapeArgs {
    /// Record what models say in this file, and answer from it what it holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) cassette: Option<PathBuf>,
    /// Ask nobody but the cassette: no key, no network, no money.
    #[arg(long, requires = "cassette")]
    pub(crate) replay_only: bool,
}

impl TapeArgs {
    /// The cassette, if one was named.
    pub(crate) fn open(&self) -> Result<Option<Cassette>, CliError> {
        let Some(path) = &self.cassette else { return Ok(None) };
        let mode = if self.replay_only { CassetteMode::ReplayOnly } else { CassetteMode::Record };
        let tape = Cassette::open(path, mode).map_err(|error| {
            CliError::config(error.to_string())
                .hint("record it with --cassette FILE, where there is a key")
        })?;
        Ok(Some(tape))
    }
}

/// Flags of every command that asks models.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskingArgs {
    #[command(flatten)]
    pub(crate) tape: TapeArgs,
    /// Share the budget with every process that gives it this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) budget_name: Option<String>,
    /// Start although it may cost more than the budget; the budget still holds.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

/// Who can be asked from this home.
pub(crate) fn desk(home: &Home) -> Result<Desk, CliError> {
    let wrong = |error: &dyn std::error::Error| CliError::config(error.to_string());
    let number = |key: &str, default: u64| match home.file.get(key) {
        None => Ok(default),
        Some(value) => {
            value.as_u64().filter(|number| (1..=3600).contains(number)).ok_or_else(|| {
                CliError::config(format!("config.json: `{key}` is {value}; it takes 1 to 3600"))
            })
        }
    };
    let limits = Limits::default();
    let attempts = number("llm.attempts", limits.retry.attempts.into())?;
    let variables = home.variables.0;
    Ok(Desk {
        providers: Providers::with(&home.providers).map_err(|error| wrong(&error))?,
        prices: prices_with(&home.dir.join(PRICES)).map_err(|error| wrong(&error))?,
        limits: Limits {
            timeout: Duration::from_secs(number("llm.timeout_seconds", limits.timeout.as_secs())?),
            retry: Retry { attempts: attempts as u32, ..limits.retry },
            concurrency: number("llm.concurrency", limits.concurrency as u64)? as usize,
        },
        environment: Arc::new(move |name: &str| variables(name)),
    })
}

/// What is wrong with a model of a provider that nobody knows.
pub(crate) fn unknown_provider(desk: &Desk, model: &ModelRef) -> Option<String> {
    if desk.providers.find(&model.provider).is_some() {
        return None;
    }
    let known: Vec<&str> = desk.providers.iter().map(|one| one.name.as_str()).collect();
    let (provider, known) = (&model.provider, known.join(", "));
    Some(format!("{model}: nobody knows the provider `{provider}`; there are {known}"))
}

/// The settings of the database plane.
pub(crate) fn settings(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<BTreeMap<String, String>, CliError> {
    Ok(store.config_list(workspace)?.into_iter().collect())
}

/// A run that asks models: its budget and its cassette.
pub(crate) struct Paid<'a> {
    /// The most that it may cost.
    pub(crate) max_usd: Usd,
    /// What for.
    pub(crate) purpose: &'a str,
    /// Its flags.
    pub(crate) args: &'a AskingArgs,
    /// Calls under way at once.
    pub(crate) concurrency: Option<usize>,
}

impl Paid<'_> {
    /// The door for the run, which stops when the user interrupts.
    pub(crate) fn asker(
        &self,
        context: &Context<'_>,
        store: &Arc<Store>,
    ) -> Result<Asker, CliError> {
        let mut desk = desk(&context.home)?;
        if let Some(concurrency) = self.concurrency {
            desk.limits.concurrency = concurrency;
        }
        let workspace = context.home.workspace.clone();
        let settings = settings(store.as_ref(), &workspace)?;
        let spending = Spending {
            store: store.clone(),
            budget: Some(Budget { name: self.budget(context)?, cap: self.max_usd }),
            per_day: Some(Desk::per_day(&settings)),
            purpose: self.purpose.to_owned(),
            workspace,
        };
        let asker = desk.asker().spending(spending).until(interrupted());
        Ok(match self.args.tape.open()? {
            Some(tape) => asker.cassette(tape),
            None => asker,
        })
    }

    /// The name of the run's budget: given, or of this run alone.
    fn budget(&self, context: &Context<'_>) -> Result<String, CliError> {
        match &self.args.budget_name {
            Some(name) if name.starts_with(STANDING) || name.is_empty() || name.len() > 200 => {
                Err(CliError::usage(format!("{name:?} can't be the name of a budget"))
                    .hint(format!("use 1 to 200 bytes that do not begin with `{STANDING}`")))
            }
            Some(name) => Ok(name.clone()),
            None => Ok(format!("{}:{}:{}", self.purpose, context.now, std::process::id())),
        }
    }
}

/// Set by SIGINT or SIGTERM; a second signal ends the process. A process has one handler, so all callers
/// share one flag.
pub(crate) fn interrupted() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let set = || {
        let flag = Arc::new(AtomicBool::new(false));
        let told = flag.clone();
        // Where a command has set a handler of its own, that decides.
        let _ = ctrlc::try_set_handler(move || {
            if told.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        flag
    };
    FLAG.get_or_init(set).clone()
}

/// Ends a measurement that was interrupted: what was measured until then is no verdict.
pub(crate) fn refuse_interrupted(stop: &AtomicBool) -> Result<(), CliError> {
    if stop.load(Ordering::SeqCst) {
        return Err(CliError::cancelled("interrupted: there is no verdict").hint("run it again"));
    }
    Ok(())
}

/// Refuses to start a run whose estimate exceeds what its budget or the day's leaves, unless the user
/// said yes. Both budgets hold either way. `flag` is the command's flag for the run's budget.
pub(crate) fn refuse_too_dear(
    asker: &Asker,
    estimate: Usd,
    flag: &str,
    yes: bool,
) -> Result<(), CliError> {
    let Some(Allowance { left, limit }) = asker.allowance()? else { return Ok(()) };
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
        format!("ask for less, {remedy}, or start anyway with --yes: the budgets still hold"),
    ))
}

/// An amount of dollars as it is typed.
pub(crate) fn usd(text: &str) -> Result<Usd, String> {
    text.parse().map_err(|error: gbrain_core::money::UsdError| error.to_string())
}

/// A value of JSON for an amount.
pub(crate) fn usd_json(amount: Usd) -> Value {
    Value::from(amount.as_f64())
}
