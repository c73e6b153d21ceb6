//! `gbrain incident`: what went wrong, what was done, and how it ended.

mod end;
mod keep;
mod print;

use clap::{Args, Subcommand};
use gbrain_core::format::incident::IncidentsBody;
use gbrain_core::scrub::Scrubber;
use gbrain_eval::incident::{IncidentProblem, Scribe, told};
use gbrain_store::{Incident, IncidentState, Store};

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `incident`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain incident open \"recall fell after the import\" --run 12\n  \
    gbrain incident note 1 \"the import stopped half-way\"\n  \
    gbrain incident resolve 1 --root-cause \"the disk was full\" --fix \"imported again\" \\\n    \
    --follow-up \"alert on free space\"\n  gbrain incident list --state open\n\n\
    What is written is scrubbed of personal data. A resolution is queued for the channels of the suites' \
    file: those that are named, else those that the suite notifies, else all that wake nobody."
)]
pub(crate) struct IncidentArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Open an incident, with what a run or an alert is triaged as.
    Open(keep::OpenArgs),
    /// Add a note.
    Note(keep::NoteArgs),
    /// End an incident, and tell how.
    Resolve(end::ResolveArgs),
    /// Tell of one that is over again.
    Post(end::PostArgs),
    /// List incidents, newest first.
    List(ListArgs),
    /// Show an incident.
    Show(ShowArgs),
}

/// Arguments of `incident list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident list --state open")]
struct ListArgs {
    /// open or resolved only.
    #[arg(long, value_name = "STATE")]
    state: Option<IncidentState>,
    /// At most so many.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

/// Arguments of `incident show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain incident show 1")]
struct ShowArgs {
    /// Its number.
    id: i64,
}

/// Does what was asked.
pub(crate) fn run(context: &Context<'_>, args: &IncidentArgs) -> Result<Exit, CliError> {
    match &args.action {
        Action::Open(args) => keep::open(context, args),
        Action::Note(args) => keep::note(context, args),
        Action::Resolve(args) => end::resolve(context, args),
        Action::Post(args) => end::post(context, args),
        Action::List(args) => list(context, args),
        Action::Show(args) => {
            let store = context.store()?;
            let incident = found(context, &store, args.id)?;
            shown(context, &told(&incident))
        }
    }
}

fn list(context: &Context<'_>, args: &ListArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let incidents =
        store.incidents(&context.home.workspace, args.state, usize::from(args.limit))?;
    let incidents: Vec<_> = incidents.iter().map(told).collect();
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
fn found(context: &Context<'_>, store: &Store, id: i64) -> Result<Incident, CliError> {
    let found = store.incident(&context.home.workspace, id)?;
    Ok(found.ok_or(IncidentProblem::None(id))?)
}

/// Shows an incident as it is now.
fn shown(
    context: &Context<'_>,
    body: &gbrain_core::format::incident::IncidentBody,
) -> Result<Exit, CliError> {
    if context.terminal.is_json() {
        context.terminal.json(body);
    } else {
        context.terminal.out(print::whole(body));
    }
    Ok(Exit::Pass)
}

/// Who writes down: who was named, else the user.
fn scribe<'a>(
    context: &'a Context<'_>,
    store: &'a Store,
    scrubber: &'a Scrubber,
    author: &'a str,
) -> Scribe<'a> {
    Scribe { store, workspace: &context.home.workspace, scrubber, author, now: context.now }
}

/// The author that was named, else the user that the environment names.
fn author(context: &Context<'_>, named: Option<&str>) -> String {
    let user = || (context.home.variables.0)("USER").filter(|name| !name.is_empty());
    named.map(str::to_owned).or_else(user).unwrap_or_else(|| "unknown".to_owned())
}
