//! `gbrain incident resolve` and `post`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gbrain_core::format::incident::IncidentBody;
use gbrain_core::format::suite::SuiteEntry;
use gbrain_core::incident;
use gbrain_eval::incident::{IncidentProblem, ResolutionText, incident_body, post as queue, read};
use gbrain_store::{Incident, Store};
use serde_json::Value;

use super::{author, found, scribe, shown};
use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

/// The channels to notify.
#[derive(Debug, Clone, Args)]
pub(super) struct NotifyArgs {
    /// Tell this channel of the suites' file; may be given again [default: those the suite notifies].
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// The file of suites [default: the home's].
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident resolve 1 --root-cause \"the disk was full\" \
    --fix \"imported again\" --follow-up \"alert on free space\"")]
pub(super) struct ResolveArgs {
    /// The number of the incident.
    id: i64,
    /// The cause of the incident.
    #[arg(long, value_name = "TEXT")]
    root_cause: String,
    /// The action that was taken.
    #[arg(long, value_name = "TEXT")]
    fix: String,
    /// A follow-up action; may be given again. State it if there is none.
    #[arg(long = "follow-up", value_name = "TEXT", required = true)]
    follow_ups: Vec<String>,
    /// The author [default: the user].
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    #[command(flatten)]
    notify: NotifyArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident post 1 --channel slack")]
pub(super) struct PostArgs {
    /// The number of the incident.
    id: i64,
    #[command(flatten)]
    notify: NotifyArgs,
}

/// Ends an incident, and queues what is told of it.
pub(super) fn resolve(context: &CommandContext<'_>, args: &ResolveArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let recipients = recipients(context, &store, args.id, &args.notify)?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let author = author(context, args.author.as_deref());
    let said = ResolutionText {
        root_cause: &args.root_cause,
        fix: &args.fix,
        follow_ups: &args.follow_ups,
    };
    let scribe = scribe(context, &store, &scrubber, &author);
    let incident = scribe.resolve(args.id, &said)?;
    queue_message(context, &store, &incident, &recipients)
}

/// Queues what is told of an incident that is over.
pub(super) fn post(context: &CommandContext<'_>, args: &PostArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let incident = found(context, &store, args.id)?;
    let recipients = recipients(context, &store, args.id, &args.notify)?;
    queue_message(context, &store, &incident, &recipients)
}

/// Channels, and who looks after the suite.
struct Recipients {
    channels: Vec<String>,
    owners: Vec<String>,
}

/// Finds the channels to notify, before anything is written.
fn recipients(
    context: &CommandContext<'_>,
    store: &Store,
    id: i64,
    notify_args: &NotifyArgs,
) -> Result<Recipients, CliError> {
    let incident = found(context, store, id)?;
    let record = read(&incident).ok_or(IncidentProblem::Unreadable(id))?;
    let file = SuiteSource::new(&context.home, notify_args.file.as_deref()).read()?;
    let workspace = &context.home.workspace;
    let described = |name: &str| file.as_ref()?.find(name, workspace.as_str()).cloned();
    let entry = match record.suite.as_deref() {
        None => None,
        Some(name) => match described(name) {
            Some(entry) => Some(entry),
            None => registered(store.suite(workspace, name)?),
        },
    };
    let notify = entry.as_ref().and_then(|one| one.alerts.clone()).unwrap_or_default().notify;
    let none = BTreeMap::<String, Value>::new();
    let known = file.as_ref().map_or(&none, |file| &file.channels);
    let channels = incident::notified_channels(&notify_args.channel, &notify, known)
        .map_err(IncidentProblem::Invalid)?;
    Ok(Recipients { channels, owners: entry.map(|one| one.owners).unwrap_or_default() })
}

fn registered(stored: Option<gbrain_store::StoredSuite>) -> Option<SuiteEntry> {
    serde_json::from_str(&stored?.spec).ok()
}

fn queue_message(
    context: &CommandContext<'_>,
    store: &Store,
    incident: &Incident,
    recipients: &Recipients,
) -> Result<Exit, CliError> {
    let public_url = context.home.file.get("server.public_url").and_then(Value::as_str);
    let workspace = &context.home.workspace;
    let (owners, channels) = (&recipients.owners, &recipients.channels);
    queue(store, incident, workspace, owners, channels, public_url, context.now)?;
    if channels.is_empty() {
        context
            .terminal
            .remark("no channel was notified: the suites file defines no non-paging channel");
    }
    shown(context, &IncidentBody { notified: channels.clone(), ..incident_body(incident) })
}
