//! `gbrain alerts`: what is wrong, who was told, and when not to tell.

mod channel;
mod close;
mod deliver;
mod export;
mod list;
mod silence;

pub(crate) use list::stuck;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::commands::Context;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

/// Arguments of `alerts`.
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
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List alerts that fire, silences, and messages that wait.
    List(list::ListArgs),
    /// Show an alert with its messages.
    Show(list::ShowArgs),
    /// List messages, newest first.
    History(list::HistoryArgs),
    /// Send a word to a channel now, and say what the receiver answered.
    Test(channel::TestArgs),
    /// Keep messages about something back for a while.
    Silence(silence::SilenceArgs),
    /// End a silence.
    Unsilence(silence::UnsilenceArgs),
    /// Print rules for Prometheus, a dashboard for Grafana, or the numbers themselves.
    Export(export::ExportArgs),
    /// Queue a message again that was given up.
    Retry(deliver::RetryArgs),
    /// Give a message up that is queued.
    Drop(deliver::DropArgs),
    /// Take an alert back by hand, and tell those who were told of it.
    Close(close::CloseArgs),
    /// Look at what was recorded, and send what is due, once.
    Deliver(deliver::DeliverArgs),
}

/// Does what was asked.
pub(crate) fn run(context: &Context<'_>, args: &AlertsArgs) -> Result<Exit, CliError> {
    let source = SuiteSource::new(&context.home, args.file.as_deref());
    match &args.action {
        Action::List(args) => list::list(context, args, &source),
        Action::Show(args) => list::show(context, args),
        Action::History(args) => list::history(context, args),
        Action::Test(args) => channel::test(context, args, &source),
        Action::Silence(args) => silence::silence(context, args),
        Action::Unsilence(args) => silence::unsilence(context, args),
        Action::Export(args) => export::run(context, args, &source),
        Action::Retry(args) => deliver::retry(context, args),
        Action::Drop(args) => deliver::drop(context, args),
        Action::Close(args) => close::close(context, args, &source),
        Action::Deliver(args) => deliver::deliver_now(context, args, &source),
    }
}

/// What to do with the key of an alert that another workspace has.
pub(crate) fn elsewhere(context: &Context<'_>, key: &str) -> Option<String> {
    let workspace = key.strip_prefix("gbrain/")?.split('/').next()?;
    let is_other = !workspace.is_empty() && workspace != context.home.workspace.as_str();
    is_other.then(|| format!("it is one of workspace {workspace}: say --workspace {workspace}"))
}

/// A reason, which must say something.
fn reason(text: &str) -> Result<&str, CliError> {
    match text.trim() {
        "" => Err(CliError::usage("--reason is empty: say why, for whoever wonders")),
        reason => Ok(reason),
    }
}
