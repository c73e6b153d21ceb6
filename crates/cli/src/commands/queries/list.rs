//! `gbrain queries list`: lists canonical queries.

use clap::Args;
use gbrain_core::format::suite::{QueryEntry, WireKey};
use gbrain_core::suite::query::{QueryOrigin, QueryState};
use gbrain_eval::suite::{AllQueries, StoredQuery, all_queries};
use serde_json::{Value, json};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

#[derive(Debug, Args)]
pub(super) struct QueryListArgs {
    /// candidate, active or retired only.
    #[arg(long, value_name = "STATE")]
    state: Option<QueryState>,
    /// About this source only.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

pub(super) fn run(context: &CommandContext<'_>, args: &QueryListArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let AllQueries { read: all, unreadable } = all_queries(&store, &context.home.workspace)?;
    for number in unreadable {
        context.terminal.warn(format!("query {number} can't be read; add it again"));
    }
    let is_meant = |one: &&StoredQuery| {
        args.state.is_none_or(|state| one.query.state == state)
            && args.source.as_ref().is_none_or(|source| one.query.source.as_ref() == Some(source))
    };
    let found: Vec<&StoredQuery> = all.iter().filter(is_meant).collect();
    if context.terminal.is_json() {
        let list: Vec<Value> = found.iter().map(|one| wire(one)).collect();
        context.terminal.json(&json!({ "queries": list }));
    } else if found.is_empty() {
        context
            .terminal
            .remark("there are no queries; `gbrain queries add --help` shows how to make one");
    } else {
        context.terminal.out_paged(table(&HEAD, found.iter().map(|one| row(one))));
    }
    Ok(Exit::Pass)
}

/// The headings of the cells of [`row`].
pub(super) const HEAD: [&str; 9] = [
    "NUMBER",
    "ID",
    "STATE",
    "SOURCE",
    "DIFFICULTY",
    "QUERY",
    "EXPECTED",
    "ACCEPTABLE",
    "KEYS FROM",
];

/// A query with its number.
pub(super) fn wire(one: &StoredQuery) -> Value {
    let mut value = json!(QueryEntry::from(&one.query));
    value["number"] = one.number.into();
    value
}

/// The longest query that a table shows whole, in characters.
const LONGEST: usize = 80;

fn shortened(query: &str) -> String {
    match query.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &query[..end]),
        None => query.to_owned(),
    }
}

pub(super) fn row(one: &StoredQuery) -> Vec<String> {
    let entry = QueryEntry::from(&one.query);
    let name = |key: &WireKey| match key {
        WireKey::Document(id) => id.clone(),
        WireKey::Typed { kind, id } => format!("{kind}:{id}"),
    };
    let names = |keys: &[WireKey]| keys.iter().map(name).collect::<Vec<_>>().join(", ");
    let (expected, acceptable) = (names(&entry.expected), names(&entry.acceptable));
    let from = match entry.origin {
        QueryOrigin::Manual | QueryOrigin::Support => "people",
        QueryOrigin::Feedback => "labels and votes",
        QueryOrigin::Analytics => "what was returned first",
    };
    vec![
        one.number.to_string(),
        one.query.id.clone(),
        one.query.state.to_string(),
        entry.source.unwrap_or_default(),
        entry.difficulty.to_string(),
        shortened(&entry.query),
        expected,
        acceptable,
        from.to_owned(),
    ]
}
