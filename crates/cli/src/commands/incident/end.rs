//! `gbrain incident resolve` and `post`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gbrain_core::format::incident::IncidentBody;
use gbrain_core::format::suite::SuiteEntry;
use gbrain_core::incident;
use gbrain_eval::incident::{IncidentProblem, Said, post as queue, read, told};
use gbrain_store::{Incident, Store};
use serde_json::Value;

use super::{author, found, scribe, shown};
use crate::capture::scrubber;
use crate::commands::Context;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

/// Who is told.
#[derive(Debug, Clone, Args)]
pub(super) struct TellArgs {
    /// Tell this channel of the suites' file; may be given again [default: those the suite notifies].
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// The file of suites [default: the home's].
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Arguments of `incident resolve`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident resolve 1 --root-cause \"the disk was full\" \
    --fix \"imported again\" --follow-up \"alert on free space\"")]
pub(super) struct ResolveArgs {
    /// Its number.
    id: i64,
    /// What it was.
    #[arg(long, value_name = "TEXT")]
    root_cause: String,
    /// What was done.
    #[arg(long, value_name = "TEXT")]
    fix: String,
    /// What is still to do; may be given again. Where nothing is, say so.
    #[arg(long = "follow-up", value_name = "TEXT", required = true)]
    follow_ups: Vec<String>,
    /// Who says so [default: the user].
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    #[command(flatten)]
    tell: TellArgs,
}

/// Arguments of `incident post`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident post 1 --channel slack")]
pub(super) struct PostArgs {
    /// Its number.
    id: i64,
    #[command(flatten)]
    tell: TellArgs,
}

/// Ends an incident, and queues what is told of it.
pub(super) fn resolve(context: &Context<'_>, args: &ResolveArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let whom = whom(context, &store, args.id, &args.tell)?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let author = author(context, args.author.as_deref());
    let said = Said { root_cause: &args.root_cause, fix: &args.fix, follow_ups: &args.follow_ups };
    let scribe = scribe(context, &store, &scrubber, &author);
    let incident = scribe.resolve(args.id, &said)?;
    tell(context, &store, &incident, &whom)
}

/// Queues what is told of an incident that is over.
pub(super) fn post(context: &Context<'_>, args: &PostArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let incident = found(context, &store, args.id)?;
    let whom = whom(context, &store, args.id, &args.tell)?;
    tell(context, &store, &incident, &whom)
}

/// Channels, and who looks after the suite.
struct Whom {
    channels: Vec<String>,
    owners: Vec<String>,
}

/// Whoever is told, found out before anything is written.
fn whom(context: &Context<'_>, store: &Store, id: i64, tell: &TellArgs) -> Result<Whom, CliError> {
    let incident = found(context, store, id)?;
    let record = read(&incident).ok_or(IncidentProblem::Unreadable(id))?;
    let file = SuiteSource::new(&context.home, tell.file.as_deref()).read()?;
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
    let channels = incident::told(&tell.channel, &notify, known).map_err(IncidentProblem::Said)?;
    Ok(Whom { channels, owners: entry.map(|one| one.owners).unwrap_or_default() })
}

fn registered(stored: Option<gbrain_store::Suite>) -> Option<SuiteEntry> {
    serde_json::from_str(&stored?.spec).ok()
}

fn tell(
    context: &Context<'_>,
    store: &Store,
    incident: &Incident,
    whom: &Whom,
) -> Result<Exit, CliError> {
    let public_url = context.home.file.get("server.public_url").and_then(Value::as_str);
    let workspace = &context.home.workspace;
    let (owners, channels) = (&whom.owners, &whom.channels);
    queue(store, incident, workspace, owners, channels, public_url, context.now)?;
    if channels.is_empty() {
        context.terminal.remark("no channel is told: the suites' file has none that wakes nobody");
    }
    shown(context, &IncidentBody { told: channels.clone(), ..told(incident) })
}
