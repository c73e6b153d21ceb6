//! `gbrain alerts`: list, silence, deliver and export alerts.

mod channel;
mod close;
mod deliver;
mod export;
mod list;
mod silence;

pub(crate) use list::stuck;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain alerts list\n  gbrain alerts show gbrain/default/weekly/recall@5/all\n  \
    gbrain alerts test pagerduty\n  gbrain alerts silence 'gbrain/default/weekly/*' --for 2h --reason \"reindexing\"\n  \
    gbrain alerts export --format prometheus > rules.yml\n  gbrain alerts deliver\n\n\
    Channels are described in `channels:` of the file of suites and in `channels` of config.json. \
    `gbrain serve`, `gbrain worker` and `gbrain autopilot` raise alerts and send messages; `gbrain suites run` \
    does so for its own run."
)]
pub(crate) struct AlertsArgs {
    /// The file of suites [default: suites.yaml, else braintrust_suites.yaml, in the home].
    #[arg(long, short, value_name = "FILE", global = true)]
    file: Option<PathBuf>,
    #[command(subcommand)]
    command: AlertsCommand,
}

#[derive(Debug, Subcommand)]
enum AlertsCommand {
    /// List alerts that fire, silences, and messages that wait.
    List(list::AlertListArgs),
    /// Show an alert with its messages.
    Show(list::AlertShowArgs),
    /// List messages, newest first.
    History(list::AlertHistoryArgs),
    /// Send a test message to a channel, and show the reply.
    Test(channel::TestArgs),
    /// Silence alerts for a while.
    Silence(silence::SilenceArgs),
    /// End a silence early.
    Unsilence(silence::UnsilenceArgs),
    /// Print rules for Prometheus, a dashboard for Grafana, or the numbers themselves.
    Export(export::ExportArgs),
    /// Queue a dropped message again.
    Retry(deliver::RetryArgs),
    /// Drop a queued message.
    Drop(deliver::DropArgs),
    /// Resolve an alert manually, and notify its channels.
    Close(close::CloseArgs),
    /// Evaluate alerts and send due messages once.
    Deliver(deliver::DeliverArgs),
}

/// Does what was asked.
pub(crate) fn run(context: &CommandContext<'_>, args: &AlertsArgs) -> Result<Exit, CliError> {
    let source = SuiteSource::new(&context.home, args.file.as_deref());
    match &args.command {
        AlertsCommand::List(args) => list::list(context, args, &source),
        AlertsCommand::Show(args) => list::show(context, args),
        AlertsCommand::History(args) => list::history(context, args),
        AlertsCommand::Test(args) => channel::test(context, args, &source),
        AlertsCommand::Silence(args) => silence::silence(context, args),
        AlertsCommand::Unsilence(args) => silence::unsilence(context, args),
        AlertsCommand::Export(args) => export::run(context, args, &source),
        AlertsCommand::Retry(args) => deliver::retry(context, args),
        AlertsCommand::Drop(args) => deliver::drop(context, args),
        AlertsCommand::Close(args) => close::close(context, args, &source),
        AlertsCommand::Deliver(args) => deliver::deliver_now(context, args, &source),
    }
}

/// The hint for an alert key that belongs to another workspace.
pub(crate) fn other_workspace_hint(context: &CommandContext<'_>, key: &str) -> Option<String> {
    let workspace = key.strip_prefix("gbrain/")?.split('/').next()?;
    let is_other = !workspace.is_empty() && workspace != context.home.workspace.as_str();
    is_other.then(|| format!("it is one of workspace {workspace}: say --workspace {workspace}"))
}

/// A reason, which must say something.
fn reason(text: &str) -> Result<&str, CliError> {
    match text.trim() {
        "" => Err(CliError::usage("--reason is empty: state the reason")),
        reason => Ok(reason),
    }
}
