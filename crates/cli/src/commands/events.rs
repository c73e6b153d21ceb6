//! `gbrain events`: events of other systems that trigger suites.

use clap::{Args, Subcommand};
use gbrain_core::format::suite::{EventBody, EventsBody};
use gbrain_core::suite::due::EventKind;
use gbrain_eval::suite::wire;
use gbrain_store::NewEvent;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{local_time_of, table};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain events emit deploy.finished --version 4711\n  \
    gbrain events emit knowledge.persisted --document doc-1 --version 3\n  gbrain events list\n\n\
    An event with the same document and version is recorded once. Changes of the local brain need no event: \
    suites on it see them.")]
pub(crate) struct EventsArgs {
    #[command(subcommand)]
    command: EventsCommand,
}

#[derive(Debug, Subcommand)]
enum EventsCommand {
    /// Emit an event that may trigger suites.
    Emit {
        /// knowledge.persisted, graph.changed, rerank.changed or deploy.finished.
        #[arg(value_name = "KIND", value_parser = kind)]
        kind: EventKind,
        /// The document that it happened to.
        #[arg(long, value_name = "ID", default_value = "")]
        document: String,
        /// The version of it [default: one of its own].
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
    },
    /// List events, the newest last.
    List {
        /// Events with higher numbers than this.
        #[arg(long, value_name = "N", default_value_t = 0)]
        after: i64,
        /// At most so many.
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        limit: u16,
    },
}

fn kind(text: &str) -> Result<EventKind, String> {
    let names = || EventKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    EventKind::from_name(text).ok_or_else(|| format!("there are {}", names()))
}

pub(crate) fn run(context: &CommandContext<'_>, args: &EventsArgs) -> Result<Exit, CliError> {
    match &args.command {
        EventsCommand::Emit { kind, document, version } => {
            emit(context, *kind, document, version.as_deref())
        }
        EventsCommand::List { after, limit } => list(context, *after, usize::from(*limit)),
    }
}

fn emit(
    context: &CommandContext<'_>,
    kind: EventKind,
    document: &str,
    version: Option<&str>,
) -> Result<Exit, CliError> {
    // An event that names no version is one of its own.
    let own = || format!("{}-{}", context.now, std::process::id());
    let version = version.map_or_else(own, str::to_owned);
    let event = NewEvent {
        kind: kind.name().to_owned(),
        document: document.to_owned(),
        version: version.clone(),
        body: "{}".to_owned(),
    };
    let told = context.store()?.add_event(&context.home.workspace, &event, context.now)?;
    let body = EventBody {
        seq: told.seq,
        kind: event.kind,
        document: event.document,
        version,
        at: None,
        is_new: Some(told.is_new),
    };
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        let word = if told.is_new { "recorded" } else { "already known" };
        context.terminal.line(format!("{}  {kind}  {word}", body.seq));
    }
    Ok(Exit::Pass)
}

fn list(context: &CommandContext<'_>, after: i64, limit: usize) -> Result<Exit, CliError> {
    let events = context.store()?.events_after(&context.home.workspace, after, limit)?;
    let events: Vec<EventBody> = events.iter().map(wire::event).collect();
    if context.terminal.is_json() {
        context.terminal.json(&EventsBody { events });
    } else if events.is_empty() {
        context.terminal.remark("there are no events");
    } else {
        let row = |one: &EventBody| {
            let at = one.at.as_deref().map(local_time_of).unwrap_or_default();
            vec![
                one.seq.to_string(),
                at,
                one.kind.clone(),
                one.document.clone(),
                one.version.clone(),
            ]
        };
        let head = ["NUMBER", "WHEN", "KIND", "DOCUMENT", "VERSION"];
        context.terminal.out_paged(table(&head, events.iter().map(row)));
    }
    Ok(Exit::Pass)
}
