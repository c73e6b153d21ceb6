//! `gbrain queries`: the canonical queries of suites, with their expected results.

mod edit;
mod import;
mod list;
mod promote;

use clap::{Args, Subcommand};
use gbrain_eval::suite::{StoredQuery, all_queries};
use gbrain_store::Store;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain queries add \"who owns the planner?\" --expected teams/routing --family ownership\n  \
    gbrain queries import queries.jsonl\n  gbrain queries promote\n  gbrain queries promote --accept 12 13\n  \
    gbrain queries list --state active\n\n\
    `queries` manages the canonical queries of suites; `gbrain query` asks the brain once. Queries are scrubbed \
    when they are stored, and thread names are removed. Two queries with the same text become one, with the \
    expected results of both.")]
pub(crate) struct QueriesArgs {
    #[command(subcommand)]
    command: QueriesCommand,
}

#[derive(Debug, Subcommand)]
enum QueriesCommand {
    /// Add a canonical query.
    Add(edit::AddArgs),
    /// Import queries from files: JSON lines, JSON or YAML.
    Import(import::ImportArgs),
    /// List the canonical queries.
    List(list::QueryListArgs),
    /// Change a query: the given fields replace the stored ones.
    Edit(edit::EditArgs),
    /// Retire queries: suites no longer ask them.
    Retire(edit::RetireArgs),
    /// Propose queries from captured traffic and labels, or accept some.
    Promote(promote::PromoteArgs),
}

/// Does what was asked.
pub(crate) fn run(context: &CommandContext<'_>, args: &QueriesArgs) -> Result<Exit, CliError> {
    match &args.command {
        QueriesCommand::Add(args) => edit::add(context, args),
        QueriesCommand::Import(args) => import::run(context, args),
        QueriesCommand::List(args) => list::run(context, args),
        QueriesCommand::Edit(args) => edit::edit(context, args),
        QueriesCommand::Retire(args) => edit::retire(context, args),
        QueriesCommand::Promote(args) => promote::run(context, args),
    }
}

/// The query that was typed: its number, or its id.
fn find(context: &CommandContext<'_>, store: &Store, typed: &str) -> Result<StoredQuery, CliError> {
    let all = all_queries(store, &context.home.workspace)?.read;
    let number: Option<i64> = typed.parse().ok();
    let is_it = |one: &&StoredQuery| one.query.id == typed || Some(one.number) == number;
    let found = all.iter().find(is_it).cloned();
    found.ok_or_else(|| {
        CliError::usage(format!("there is no query {typed}"))
            .hint("`gbrain queries list` shows their numbers and ids")
    })
}
