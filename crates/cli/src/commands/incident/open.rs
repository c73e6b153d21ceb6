//! `gbrain incident open` and `note`.

use std::sync::Arc;

use clap::Args;
use gbrain_core::format::incident::IncidentRecord;
use gbrain_core::request::Viewer;
use gbrain_eval::incident::incident_body;
use gbrain_eval::triage::{TriageError, find};
use gbrain_store::Store;

use super::{author, found, scribe, shown};
use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::commands::triage::{TriageRunArgs, triage_run};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain incident open \"recall fell after the import\" --run 12"
)]
pub(super) struct OpenArgs {
    /// The title of the incident.
    title: String,
    /// The run that shows the problem: it is triaged, and the findings are stored.
    #[arg(long, value_name = "RUN", conflicts_with = "alert")]
    run: Option<i64>,
    /// The alert that told of it: its run is triaged.
    #[arg(long, value_name = "KEY")]
    alert: Option<String>,
    /// The author [default: the user].
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    #[command(flatten)]
    how: TriageRunArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident note 1 \"the import stopped half-way\"")]
pub(super) struct NoteArgs {
    /// The number of the incident.
    id: i64,
    /// The text of the note.
    text: String,
    /// The author of the note [default: the user].
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

pub(super) fn open(context: &CommandContext<'_>, args: &OpenArgs) -> Result<Exit, CliError> {
    let store: Arc<Store> = context.store()?.into();
    let record = record(context, &store, args)?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let author = author(context, args.author.as_deref());
    let scribe = scribe(context, store.as_ref(), &scrubber, &author);
    let id = scribe.open(&args.title, &record)?;
    scribe.note(id, "opened")?;
    let incident = found(context, store.as_ref(), id)?;
    shown(context, &incident_body(&incident))
}

/// The evidence recorded when an incident is opened. A run of which only the figures remain can have an incident too.
fn record(
    context: &CommandContext<'_>,
    store: &Arc<Store>,
    args: &OpenArgs,
) -> Result<IncidentRecord, CliError> {
    let what = args.run.map(|run| run.to_string()).or_else(|| args.alert.clone());
    let Some(what) = what else { return Ok(IncidentRecord::default()) };
    match find(store.as_ref(), &context.home.workspace, &what) {
        Ok(subject) => {
            // Records are read over a wire too.
            let body = triage_run(context, store, &subject, &args.how, (Viewer::Untrusted, false))?;
            Ok(IncidentRecord::of_triage(&body))
        }
        Err(error @ (TriageError::Gone(_) | TriageError::Unreadable(_))) => {
            context.terminal.warn(format!("{error}: the incident is stored without triage"));
            Ok(IncidentRecord { run: args.run, alert: args.alert.clone(), ..Default::default() })
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) fn note(context: &CommandContext<'_>, args: &NoteArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let author = author(context, args.author.as_deref());
    let incident = scribe(context, &store, &scrubber, &author).note(args.id, &args.text)?;
    shown(context, &incident_body(&incident))
}
