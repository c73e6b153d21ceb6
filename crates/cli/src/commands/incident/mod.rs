//! `gbrain incident`: what went wrong, what was done, and how it ended.

mod open;
mod print;
mod resolve;

use clap::{Args, Subcommand};
use gbrain_core::format::incident::IncidentsBody;
use gbrain_core::scrub::Scrubber;
use gbrain_eval::incident::{IncidentEditor, IncidentProblem, incident_body};
use gbrain_store::{Incident, IncidentState, Store};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain incident open \"recall fell after the import\" --run 12\n  \
    gbrain incident note 1 \"the import stopped half-way\"\n  \
    gbrain incident resolve 1 --root-cause \"the disk was full\" --fix \"imported again\" \\\n    \
    --follow-up \"alert on free space\"\n  gbrain incident list --state open\n\n\
    What is written is scrubbed of personal data. A resolution is queued for the channels of the suites' \
    file: those that are named, else those that the suite notifies, else all that do not page."
)]
pub(crate) struct IncidentArgs {
    #[command(subcommand)]
    command: IncidentCommand,
}

#[derive(Debug, Subcommand)]
enum IncidentCommand {
    /// Open an incident, with what a run or an alert is triaged as.
    Open(open::OpenArgs),
    /// Add a note to an incident.
    Note(open::NoteArgs),
    /// End an incident, and tell how.
    Resolve(resolve::ResolveArgs),
    /// Tell of one that is over again.
    Post(resolve::PostArgs),
    /// List incidents, newest first.
    List(IncidentListArgs),
    /// Show an incident with its record.
    Show(IncidentShowArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident list --state open")]
struct IncidentListArgs {
    /// open or resolved only.
    #[arg(long, value_name = "STATE")]
    state: Option<IncidentState>,
    /// At most so many.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident show 1")]
struct IncidentShowArgs {
    /// The number of the incident.
    id: i64,
}

/// Does what was asked.
pub(crate) fn run(context: &CommandContext<'_>, args: &IncidentArgs) -> Result<Exit, CliError> {
    match &args.command {
        IncidentCommand::Open(args) => open::open(context, args),
        IncidentCommand::Note(args) => open::note(context, args),
        IncidentCommand::Resolve(args) => resolve::resolve(context, args),
        IncidentCommand::Post(args) => resolve::post(context, args),
        IncidentCommand::List(args) => list(context, args),
        IncidentCommand::Show(args) => {
            let store = context.store()?;
            let incident = found(context, &store, args.id)?;
            shown(context, &incident_body(&incident))
        }
    }
}

fn list(context: &CommandContext<'_>, args: &IncidentListArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let incidents =
        store.incidents(&context.home.workspace, args.state, usize::from(args.limit))?;
    let incidents: Vec<_> = incidents.iter().map(incident_body).collect();
    if context.terminal.is_json() {
        context.terminal.json(&IncidentsBody { incidents });
    } else if incidents.is_empty() {
        context.terminal.remark("there are no incidents");
    } else {
        context.terminal.out(print::list(&incidents));
    }
    Ok(Exit::Pass)
}

/// An incident by its number.
fn found(context: &CommandContext<'_>, store: &Store, id: i64) -> Result<Incident, CliError> {
    let found = store.incident(&context.home.workspace, id)?;
    Ok(found.ok_or(IncidentProblem::None(id))?)
}

/// Shows an incident as it is now.
fn shown(
    context: &CommandContext<'_>,
    body: &gbrain_core::format::incident::IncidentBody,
) -> Result<Exit, CliError> {
    if context.terminal.is_json() {
        context.terminal.json(body);
    } else {
        context.terminal.out(print::whole(body));
    }
    Ok(Exit::Pass)
}

/// The author: the name given, else the user.
fn scribe<'a>(
    context: &'a CommandContext<'_>,
    store: &'a Store,
    scrubber: &'a Scrubber,
    author: &'a str,
) -> IncidentEditor<'a> {
    IncidentEditor { store, workspace: &context.home.workspace, scrubber, author, now: context.now }
}

/// The author that was named, else the user that the environment names.
fn author(context: &CommandContext<'_>, named: Option<&str>) -> String {
    let user = || (context.home.variables.0)("USER").filter(|name| !name.is_empty());
    named.map(str::to_owned).or_else(user).unwrap_or_else(|| "unknown".to_owned())
}
