//! `gbrain queries`: what suites ask, with what must be found.

mod change;
mod import;
mod list;
mod promote;

use clap::{Args, Subcommand};
use gbrain_eval::suite::{StoredQuery, all_queries};
use gbrain_store::Store;

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `queries`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain queries add \"who owns the planner?\" --expected teams/routing --family ownership\n  \
    gbrain queries import queries.jsonl\n  gbrain queries promote\n  gbrain queries promote --accept 12 13\n  \
    gbrain queries list --state active\n\n\
    Queries are scrubbed on the way in, and names of threads are taken out. Two of the same text are one: \
    what they must find is joined.")]
pub(crate) struct QueriesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a query.
    Add(change::AddArgs),
    /// Take queries in from files: JSON lines, JSON or YAML.
    Import(import::ImportArgs),
    /// List queries.
    List(list::ListArgs),
    /// Change a query: what is given takes the place of what was there.
    Edit(change::EditArgs),
    /// Keep queries from being asked.
    Retire(change::RetireArgs),
    /// Propose queries from captured traffic and labels, or accept some.
    Promote(promote::PromoteArgs),
}

/// Does what was asked.
pub(crate) fn run(context: &Context<'_>, args: &QueriesArgs) -> Result<Exit, CliError> {
    match &args.action {
        Action::Add(args) => change::add(context, args),
        Action::Import(args) => import::run(context, args),
        Action::List(args) => list::run(context, args),
        Action::Edit(args) => change::edit(context, args),
        Action::Retire(args) => change::retire(context, args),
        Action::Promote(args) => promote::run(context, args),
    }
}

/// The query that was typed: its number, or its id.
fn find(context: &Context<'_>, store: &Store, typed: &str) -> Result<StoredQuery, CliError> {
    let all = all_queries(store, &context.home.workspace)?.read;
    let number: Option<i64> = typed.parse().ok();
    let is_it = |one: &&StoredQuery| one.query.id == typed || Some(one.number) == number;
    let found = all.iter().find(is_it).cloned();
    found.ok_or_else(|| {
        CliError::usage(format!("there is no query {typed}"))
            .hint("`gbrain queries list` shows their numbers and ids")
    })
}
