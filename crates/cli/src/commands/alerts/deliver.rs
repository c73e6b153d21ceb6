//! `gbrain alerts deliver`, `retry` and `drop`.

use std::sync::Mutex;
use std::time::Duration;

use clap::Args;
use gbrain_core::format::alert::DeliveryRunBody;
use gbrain_eval::alert::{AlertEvaluator, DeliveryOutcome, DeliveryTally};
use gbrain_store::{Delivery, DropMessageOutcome, RequeueMessageOutcome};
use jiff::SignedDuration;
use serde_json::json;

use crate::channels::{alert_tools, deliver};
use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};
use crate::model_access::interrupted;
use crate::terminal::count;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain alerts deliver\n  gbrain alerts deliver --within 5m --json\n\n\
    For machines without a running server: from cron, or after a build. Messages of all workspaces are sent.\n\n\
    Exit codes: 0 all that was due was received, 1 something was not."
)]
pub(super) struct DeliverArgs {
    /// How long to send at most.
    #[arg(long, value_name = "DUR", default_value = "1m", value_parser = duration)]
    within: SignedDuration,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain alerts history --state dead\n  gbrain alerts retry 12")]
pub(super) struct RetryArgs {
    /// The number of the message.
    id: i64,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain alerts history --state queued\n  gbrain alerts drop 12 --reason \"the channel is gone\"\n\n\
    The message is dropped, and the next one of its alert is sent. `gbrain alerts retry` queues it again."
)]
pub(super) struct DropArgs {
    /// The number of the message.
    id: i64,
    /// The reason, recorded with the message.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Looks, and sends what is due.
pub(super) fn deliver_now(
    context: &CommandContext<'_>,
    args: &DeliverArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let tools = alert_tools(&context.home, source.clone())?;
    let mut body = DeliveryRunBody::default();
    let evaluator =
        AlertEvaluator { store: &store, registry: &tools.registry, settings: &tools.settings };
    let mut problems = Vec::new();
    evaluator.evaluate_all(store.clock()?, &mut |workspace, looked| match looked {
        Ok(raised) => {
            body.changed += raised.changes.raised.len() + raised.changes.resolved.len();
            problems.extend(raised.problems);
        }
        Err(error) => problems.push(format!("{workspace}: {error}")),
    })?;
    problems.iter().for_each(|problem| context.terminal.warn(problem));
    let errors = Mutex::new(Vec::new());
    let on_delivery = |delivery: &Delivery, outcome: &DeliveryOutcome| {
        if let DeliveryOutcome::Later(why) | DeliveryOutcome::Dead(why) = outcome {
            let line = format!("{} to {}: {why}", delivery.id, delivery.channel);
            errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(line);
        }
    };
    let within = Duration::try_from(args.within).unwrap_or_default();
    let attempts = deliver(&tools, &store, within, &interrupted(), &on_delivery)?;
    let errors = errors.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    body = DeliveryRunBody { attempts, errors, ..body };
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        body.errors.iter().for_each(|line| context.terminal.warn(line));
        let DeliveryTally { sent, failed, dead } = attempts;
        let changed = crate::terminal::count(body.changed, "alert", "alerts");
        let sent = count(sent, "message", "messages");
        context.terminal.line(format!(
            "{changed} changed; {sent} sent, {failed} to be tried again, {dead} given up"
        ));
    }
    Ok(if attempts.failed + attempts.dead == 0 && problems.is_empty() {
        Exit::Pass
    } else {
        Exit::Fail
    })
}

/// Queues a message again.
pub(super) fn retry(context: &CommandContext<'_>, args: &RetryArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let workspace = &context.home.workspace;
    match store.requeue_delivery(workspace, args.id, store.clock()?)? {
        RequeueMessageOutcome::Queued => (),
        RequeueMessageOutcome::NotDead => {
            return Err(CliError::usage(format!(
                "there is no message {} in workspace {workspace} that was given up",
                args.id
            ))
            .hint("`gbrain alerts history --state dead` lists them"));
        }
        RequeueMessageOutcome::Overtaken => {
            return Err(CliError::conflict(format!(
                "a later message of the same alert was sent already: message {} would come too late",
                args.id
            )));
        }
    }
    say(context, args.id, "queued", "queued");
    Ok(Exit::Pass)
}

/// Gives a message up.
pub(super) fn drop(context: &CommandContext<'_>, args: &DropArgs) -> Result<Exit, CliError> {
    let why = format!("dropped by hand: {}", super::reason(&args.reason)?);
    let store = context.store()?;
    let (workspace, id) = (&context.home.workspace, args.id);
    match store.drop_delivery(workspace, id, &why, store.clock()?)? {
        DropMessageOutcome::Dropped => (),
        DropMessageOutcome::NotQueued => {
            return Err(CliError::usage(format!(
                "there is no message {id} in workspace {workspace} that is queued"
            ))
            .hint("`gbrain alerts history --state queued` lists them"));
        }
        DropMessageOutcome::BeingSent => {
            return Err(CliError::conflict(format!("message {id} is being sent right now"))
                .hint("try again in a minute: if it was not received it is queued again"));
        }
    }
    say(context, id, "dead", "given up");
    Ok(Exit::Pass)
}

fn say(context: &CommandContext<'_>, id: i64, state: &str, word: &str) {
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "id": id, "state": state }));
    } else {
        context.terminal.line(format!("message {id} is {word}"));
    }
}
