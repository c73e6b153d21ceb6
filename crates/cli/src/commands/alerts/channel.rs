//! `gbrain alerts test`: sends a test message to a channel.

use std::time::Duration;

use clap::Args;
use gbrain_core::alert::AlertMessage;
use gbrain_core::alert::channel::Channel;
use gbrain_core::format::alert::ChannelTestBody;
use gbrain_core::search::edit_distance;
use gbrain_eval::alert::{ChannelSettings, MessageId, SendResult, Transport};

use crate::channels::alert_tools;
use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

/// How long the receiver may take.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain alerts test slack\n\n\
    Sends immediately, without the queue. An incident that it opens at PagerDuty is closed again.\n\n\
    Exit codes: 0 received, 1 not received.")]
pub(super) struct TestArgs {
    /// The name of the channel.
    channel: String,
}

/// Sends a word to a channel.
pub(super) fn test(
    context: &CommandContext<'_>,
    args: &TestArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let tools = alert_tools(&context.home, source.clone())?;
    let channels = (tools.registry.read)();
    let channel = channels
        .channel(&args.channel)
        .map_err(|why| CliError::config(why).hint(known(&channels, &args.channel)))?;
    let workspace = context.home.workspace.as_str();
    let key = format!("gbrain/{workspace}/test/{}", args.channel);
    let summary = format!("a test of the channel {} by gbrain", args.channel);
    let at = format!("{:.0}", context.now);
    let notice = AlertMessage::notice(workspace, &key, summary, at);
    let transport = Transport::new(PATIENCE);
    let send = |message: &AlertMessage| {
        let id = format!("test-{}-{}", std::process::id(), context.now.as_millisecond());
        let id = MessageId { id, written: context.now, now: context.now };
        transport.send(channel, &tools.registry, message, &id)
    };
    let mut posted = send(&notice);
    if matches!((channel, &posted), (Channel::Pagerduty { .. }, SendResult::Received(_))) {
        posted = send(&AlertMessage { action: "resolve".to_owned(), ..notice });
    }
    let (received, answer) = match posted {
        SendResult::Received(said) => (true, said),
        SendResult::Later { error, .. }
        | SendResult::Unusable(error)
        | SendResult::Never(error) => (false, error),
    };
    let (name, kind) = (args.channel.clone(), channel.kind().to_owned());
    let tested = ChannelTestBody { channel: name, kind, received, answer };
    if context.terminal.is_json() {
        context.terminal.json(&tested);
    } else {
        let word = if received { "received" } else { "not received" };
        context
            .terminal
            .line(format!("{} ({}): {word}: {}", tested.channel, tested.kind, tested.answer));
    }
    Ok(if received { Exit::Pass } else { Exit::Fail })
}

fn known(channels: &ChannelSettings, name: &str) -> String {
    let nearest = channels.channels.keys().min_by_key(|known| edit_distance(known, name));
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => {
            "describe it under `channels:` of suites.yaml; docs/alerts.md has examples".to_owned()
        }
    }
}
