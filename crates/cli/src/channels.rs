//! Alert channels of config.json and of the suites file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gbrain_core::alert::NotifyPolicy;
use gbrain_core::duration::duration;
use gbrain_core::format::suite::{ChangedAlerts, OpenAlert};
use gbrain_core::id::WorkspaceId;
use gbrain_eval::alert::{
    AlertEvaluation, AlertEvaluator, AlertSettings, ChannelRegistry, ChannelSettings, DeliveryMode,
    DeliveryTally, DeliveryWorker, OnDelivery, SendLimits,
};
use gbrain_server::AlertTools;
use gbrain_store::{Store, StoreError};
use serde_json::Value;

use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::home::Home;
use crate::serving::worker_name;

/// A command that sends messages as a side effect starts sends for two seconds, with a timeout of three
/// seconds each: it is delayed by at most five seconds.
const SIDE_SEND_WINDOW: Duration = Duration::from_secs(2);
const SIDE_SEND_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest delivery window.
const MAX_WINDOW: Duration = Duration::from_secs(7 * 24 * 3600);

/// The registry, settings and limits for evaluating and sending alerts.
pub(crate) fn alert_tools(home: &Home, source: SuiteSource) -> Result<AlertTools, CliError> {
    let registry = channel_registry(home, source);
    Ok(AlertTools { registry, settings: alert_settings(home)?, limits: SendLimits::default() })
}

/// Looks channels up in config.json and in the suites file, which is read again at each lookup.
fn channel_registry(home: &Home, source: SuiteSource) -> ChannelRegistry {
    let (described, variables) = (home.channels.clone(), home.variables.0);
    let read = move || {
        let (file, problem) = match source.read() {
            Ok(file) => (file, None),
            Err(error) => (None, Some(error.message)),
        };
        ChannelSettings::parse(&described, file, problem)
    };
    ChannelRegistry {
        read: Arc::new(read),
        environment: Arc::new(move |name: &str| variables(name)),
    }
}

fn alert_settings(home: &Home) -> Result<AlertSettings, CliError> {
    let wrong = |key: &str, expected: &str| {
        CliError::config(format!("{}: `{key}` takes {expected}", home.config_path().display()))
    };
    let text = |key: &str, expected: &str| match home.file.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(key, expected)),
    };
    let url = text("server.public_url", "a URL")?;
    if url.as_ref().is_some_and(|url| !url.starts_with("https://") && !url.starts_with("http://")) {
        return Err(wrong("server.public_url", "a URL that begins with https:// or http://"));
    }
    let mut policy = NotifyPolicy::default();
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

/// Sends due messages once.
pub(crate) fn deliver(
    tools: &AlertTools,
    store: &Store,
    within: Duration,
    stop: &AtomicBool,
    on_delivery: &OnDelivery<'_>,
) -> Result<DeliveryTally, StoreError> {
    let worker = format!("{}/once", worker_name());
    let delivery =
        DeliveryWorker { store, registry: &tools.registry, worker: &worker, limits: tools.limits };
    let until = Instant::now().checked_add(within).unwrap_or_else(|| Instant::now() + MAX_WINDOW);
    delivery.run(DeliveryMode::Due(until), stop, on_delivery)
}

/// Evaluates alerts after a recorded run, and returns the changes. An error here does not fail the run.
pub(crate) fn evaluate_run(
    context: &CommandContext<'_>,
    store: &Store,
    source: &SuiteSource,
    workspace: &WorkspaceId,
) -> AlertEvaluation {
    let evaluate = || -> Result<AlertEvaluation, CliError> {
        let tools = alert_tools(&context.home, source.clone())?;
        let evaluator =
            AlertEvaluator { store, registry: &tools.registry, settings: &tools.settings };
        Ok(evaluator.evaluate(workspace, store.clock()?)?)
    };
    evaluate().unwrap_or_else(|error| {
        context.terminal.warn(format!("alerts could not be evaluated: {}", error.message));
        AlertEvaluation::default()
    })
}

/// Prints the changed alerts, and sends their messages if all channels are usable here; otherwise they stay queued.
pub(crate) fn report_alerts(
    context: &CommandContext<'_>,
    store: &Store,
    source: &SuiteSource,
    evaluation: &AlertEvaluation,
) {
    let AlertEvaluation { changes, queued, problems, runs: _ } = evaluation;
    let ChangedAlerts { raised, resolved, still_open } = changes;
    problems.iter().for_each(|problem| context.terminal.warn(problem));
    for (word, keys) in [("alert", raised), ("resolved", resolved)] {
        keys.iter().for_each(|key| context.terminal.remark(format!("{word}: {key}")));
    }
    for OpenAlert { key, reason } in still_open {
        context.terminal.remark(format!("still open: {key}: {reason}"));
    }
    if let Err(error) = send_queued(context, store, source, queued) {
        context.terminal.warn(format!("messages could not be sent: {}", error.message));
    }
}

fn send_queued(
    context: &CommandContext<'_>,
    store: &Store,
    source: &SuiteSource,
    queued: &[String],
) -> Result<(), CliError> {
    if queued.is_empty() {
        return Ok(());
    }
    let mut tools = alert_tools(&context.home, source.clone())?;
    tools.limits.timeout = SIDE_SEND_TIMEOUT;
    let channels = (tools.registry.read)();
    let is_usable = |name: &String| {
        channels.channel(name).is_ok_and(|channel| tools.registry.unset(channel).is_empty())
    };
    let delivered = match queued.iter().all(is_usable) {
        true => deliver(&tools, store, SIDE_SEND_WINDOW, &AtomicBool::new(false), &|_, _| ())?,
        false => DeliveryTally::default(),
    };
    if delivered.sent < queued.len() {
        let left =
            crate::terminal::count(queued.len() - delivered.sent, "message is", "messages are");
        context.terminal.remark(format!(
            "{left} queued: send them with `gbrain serve`, `gbrain worker` or `gbrain alerts deliver`"
        ));
    }
    Ok(())
}
