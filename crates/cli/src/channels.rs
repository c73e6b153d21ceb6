//! Channels from the command line: those that config.json describes, and those of the file of suites.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gbrain_core::alert::Policy;
use gbrain_core::duration::duration;
use gbrain_core::id::WorkspaceId;
use gbrain_eval::alert::{
    AlertEvaluator, AlertSettings, ChannelRegistry, Channels, DeliveryCount, DeliveryMode,
    DeliveryWorker, Evaluation, OnDelivery, SendLimits,
};
use gbrain_server::AlertTools;
use gbrain_store::{Store, StoreError};
use serde_json::Value;

use crate::commands::Context;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::home::Home;
use crate::serving::worker_name;

/// How long a command that was asked for something else begins to send messages, and how long one may take:
/// five seconds together.
const ASIDE: Duration = Duration::from_secs(2);
const ASIDE_EACH: Duration = Duration::from_secs(3);

/// Longer than anybody waits.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// What alerts are raised and sent with.
pub(crate) fn alert_tools(home: &Home, source: SuiteSource) -> Result<AlertTools, CliError> {
    let registry = channel_registry(home, source);
    Ok(AlertTools { registry, settings: alert_settings(home)?, limits: SendLimits::default() })
}

/// Where channels are looked up: in config.json, and in a file of suites as it is then.
fn channel_registry(home: &Home, source: SuiteSource) -> ChannelRegistry {
    let (described, variables) = (home.channels.clone(), home.variables.0);
    let read = move || {
        let (file, problem) = match source.read() {
            Ok(file) => (file, None),
            Err(error) => (None, Some(error.message)),
        };
        Channels::of(&described, file, problem)
    };
    ChannelRegistry {
        read: Arc::new(read),
        environment: Arc::new(move |name: &str| variables(name)),
    }
}

fn alert_settings(home: &Home) -> Result<AlertSettings, CliError> {
    let wrong = |key: &str, wanted: &str| {
        CliError::config(format!("{}: `{key}` takes {wanted}", home.config_path().display()))
    };
    let text = |key: &str, wanted: &str| match home.file.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(key, wanted)),
    };
    let url = text("server.public_url", "an address")?;
    if url.as_ref().is_some_and(|url| !url.starts_with("https://") && !url.starts_with("http://")) {
        return Err(wrong("server.public_url", "an address that begins with https:// or http://"));
    }
    let mut policy = Policy::default();
    if let Some(text) = text("alerts.cooldown", "a duration, such as \"4h\"")? {
        policy.cooldown = duration(&text).map_err(|why| {
            wrong("alerts.cooldown", &format!("a duration, such as \"4h\": {why}"))
        })?;
    }
    let with_queries = match home.file.get("alerts.include_query_text") {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => return Err(wrong("alerts.include_query_text", "true or false")),
    };
    Ok(AlertSettings { policy, public_url: url, with_queries })
}

/// Sends what is due once.
pub(crate) fn deliver(
    tools: &AlertTools,
    store: &Store,
    within: Duration,
    stop: &AtomicBool,
    on_delivery: &OnDelivery<'_>,
) -> Result<DeliveryCount, StoreError> {
    let worker = format!("{}/once", worker_name());
    let delivery =
        DeliveryWorker { store, registry: &tools.registry, worker: &worker, limits: tools.limits };
    let until = Instant::now().checked_add(within).unwrap_or_else(|| Instant::now() + LONGEST);
    delivery.run(DeliveryMode::Due(until), stop, on_delivery)
}

/// Looks at a run that was just recorded; what that changed. Nothing that goes wrong is the run's fault.
pub(crate) fn evaluate_run(
    context: &Context<'_>,
    store: &Store,
    source: &SuiteSource,
    workspace: &WorkspaceId,
) -> Evaluation {
    let looked = || -> Result<Evaluation, CliError> {
        let tools = alert_tools(&context.home, source.clone())?;
        let evaluator =
            AlertEvaluator { store, registry: &tools.registry, settings: &tools.settings };
        Ok(evaluator.evaluate(workspace, store.clock()?)?)
    };
    looked().unwrap_or_else(|error| {
        context.terminal.warn(format!("alerts could not be looked at: {}", error.message));
        Evaluation::default()
    })
}

/// Tells what a look gave, and sends it if that can be done from here. What can't stays queued.
pub(crate) fn report_alerts(
    context: &Context<'_>,
    store: &Store,
    source: &SuiteSource,
    raised: &Evaluation,
) {
    let Evaluation { raised, resolved, still_open, queued, problems, runs: _ } = raised;
    problems.iter().for_each(|problem| context.terminal.warn(problem));
    for (word, keys) in [("alert", raised), ("over", resolved)] {
        keys.iter().for_each(|key| context.terminal.remark(format!("{word}: {key}")));
    }
    for (key, why) in still_open {
        context.terminal.remark(format!("still open: {key}: {why}"));
    }
    if let Err(error) = sent(context, store, source, queued) {
        context.terminal.warn(format!("messages could not be sent: {}", error.message));
    }
}

fn sent(
    context: &Context<'_>,
    store: &Store,
    source: &SuiteSource,
    queued: &[String],
) -> Result<(), CliError> {
    if queued.is_empty() {
        return Ok(());
    }
    let mut tools = alert_tools(&context.home, source.clone())?;
    tools.limits.timeout = ASIDE_EACH;
    let channels = (tools.registry.read)();
    let is_usable = |name: &String| {
        channels.channel(name).is_ok_and(|channel| tools.registry.unset(channel).is_empty())
    };
    let count = match queued.iter().all(is_usable) {
        true => deliver(&tools, store, ASIDE, &AtomicBool::new(false), &|_, _| ())?,
        false => DeliveryCount::default(),
    };
    if count.sent < queued.len() {
        let left = queued.len() - count.sent;
        context.terminal.remark(format!(
            "{left} message(s) are queued: `gbrain serve`, `gbrain worker` or `gbrain alerts deliver` sends them"
        ));
    }
    Ok(())
}
