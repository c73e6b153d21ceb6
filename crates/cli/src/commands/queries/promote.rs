//! `gbrain queries promote`: from what was asked to what suites ask, by way of a person.

use clap::Args;
use gbrain_core::fault::FaultKind;
use gbrain_core::suite::query::QueryState;
use gbrain_eval::suite::{StoredQuery, all_queries, import_queries, propose};
use serde_json::{Value, json};

use super::edit::set;
use super::find;
use super::list::{HEAD, row, wire};
use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::identity::workspace_key;
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain queries promote --limit 20\n  gbrain queries promote --accept 12 13\n\n\
    Captured queries are proposed, most frequent first, with the page that most often ranked first as \
    the expected result; queries with labels or votes are proposed with the pages marked relevant. \
    Proposals are candidates, which no suite runs until they are accepted; correct their expected \
    results with `gbrain queries edit` first."
)]
pub(super) struct PromoteArgs {
    /// Propose at most so many new ones.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Accept these candidates, by number or id.
    #[arg(long, value_name = "QUERY", num_args = 1..)]
    accept: Vec<String>,
}

pub(super) fn run(context: &CommandContext<'_>, args: &PromoteArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    if !args.accept.is_empty() {
        for typed in &args.accept {
            refuse_retired(&find(context, &store, typed)?)?;
        }
        return set(context, &args.accept, QueryState::Active);
    }
    let workspace = &context.home.workspace;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let proposals = propose(&store, workspace, &scrubber, usize::from(args.limit))?;
    let entries = proposals.into_iter().map(|one| one.entry).collect();
    let key = workspace_key(&context.home)?;
    import_queries(&store, workspace, entries, &scrubber, key.as_ref(), context.now)
        .map_err(|error| CliError::new(FaultKind::Input, error.to_string()))?;
    let all = all_queries(&store, workspace)?.read;
    let waiting: Vec<&StoredQuery> =
        all.iter().filter(|one| one.query.state == QueryState::Candidate).collect();
    if context.terminal.is_json() {
        let list: Vec<Value> = waiting.iter().map(|one| wire(one)).collect();
        context.terminal.json(&json!({ "candidates": list }));
    } else if waiting.is_empty() {
        context
            .terminal
            .remark("there is nothing to propose; queries are captured while eval.capture is on");
    } else {
        context.terminal.out_paged(table(&HEAD, waiting.iter().map(|one| row(one))));
        context.terminal.remark("accept with `gbrain queries promote --accept NUMBER...`");
    }
    Ok(Exit::Pass)
}

/// A retired query was removed on purpose, so it must be restored explicitly.
fn refuse_retired(one: &StoredQuery) -> Result<(), CliError> {
    if one.query.state != QueryState::Retired {
        return Ok(());
    }
    let StoredQuery { number, query } = one;
    Err(CliError::usage(format!("query {number} ({}) is retired, and no candidate", query.id))
        .hint(format!("`gbrain queries edit {number} --state active` takes it back")))
}
