//! `gbrain queries add`, `edit` and `retire`.

use clap::Args;
use gbrain_core::fault::FaultKind;
use gbrain_core::format::suite::{FilterEntry, QUERY_VERSION, QueryEntry, WireKey, WireSnippet};
use gbrain_core::request::RetrievalMode;
use gbrain_core::suite::query::{
    Difficulty, EdgeEnd, KeyKind, QueryOrigin, QueryState, QuestionFamily,
};
use gbrain_eval::suite::{
    ImportedQuery, QueryImport, QueryProblem, StoredQuery, import_queries, row,
};
use gbrain_store::{OnDuplicate, Store};
use serde_json::json;

use super::find;
use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::identity::make_home_key;

/// The editable fields of a query.
#[derive(Debug, Clone, Args)]
pub(super) struct QueryFieldArgs {
    /// An expected result: a document's id, or chunk:ID, observation:ID; may be given again.
    #[arg(long, value_name = "KEY", value_parser = key)]
    expected: Vec<WireKey>,
    /// An equally acceptable result; may be given again.
    #[arg(long, value_name = "KEY", value_parser = key)]
    acceptable: Vec<WireKey>,
    /// A text that a highlight must show; may be given again.
    #[arg(long, value_name = "TEXT")]
    snippet: Vec<String>,
    /// An entity that answers a question about links: an id or a name; may be given again.
    #[arg(long, value_name = "NAME")]
    entity: Vec<String>,
    /// A suite that it belongs to; may be given again [default: all].
    #[arg(long, value_name = "SUITE")]
    tag: Vec<String>,
    /// The source that it is about.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// easy, medium or hard.
    #[arg(long, value_name = "LEVEL")]
    difficulty: Option<Difficulty>,
    /// knowledge, graph or hybrid [default: the target's own choice].
    #[arg(long, value_name = "MODE")]
    mode: Option<RetrievalMode>,
    /// ownership, dependencies or alignment, for questions about links.
    #[arg(long, value_name = "FAMILY")]
    family: Option<QuestionFamily>,
    /// Where the answer stands on an edge: from (what depends on Y?) or to (what does Y depend on?)
    /// [default: either].
    #[arg(long, value_name = "END")]
    answer_end: Option<EdgeEnd>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    gbrain queries add \"who owns the planner?\" --expected teams/routing --family ownership --entity teams/routing")]
pub(super) struct AddArgs {
    /// The text of the query.
    text: String,
    /// Its id [default: made from its text].
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    fields: QueryFieldArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain queries edit 12 --expected teams/routing --difficulty hard"
)]
pub(super) struct EditArgs {
    /// Its number or id.
    query: String,
    /// active, candidate or retired: suites ask active ones.
    #[arg(long, value_name = "STATE")]
    state: Option<QueryState>,
    #[command(flatten)]
    fields: QueryFieldArgs,
}

#[derive(Debug, Args)]
pub(super) struct RetireArgs {
    /// The numbers or ids of the queries.
    #[arg(required = true)]
    queries: Vec<String>,
}

fn key(text: &str) -> Result<WireKey, String> {
    let typed = |kind: KeyKind, id: &str| WireKey::Typed { kind, id: id.to_owned() };
    Ok(match text.split_once(':') {
        Some(("chunk", id)) if !id.starts_with(':') => typed(KeyKind::Chunk, id),
        Some(("observation", id)) if !id.starts_with(':') => typed(KeyKind::Observation, id),
        _ => WireKey::Document(text.to_owned()),
    })
}

impl QueryFieldArgs {
    /// An entry with what was said in place of what it has.
    fn apply_to(&self, entry: QueryEntry) -> QueryEntry {
        let list =
            |new: &[WireKey], old: Vec<WireKey>| if new.is_empty() { old } else { new.to_vec() };
        let texts =
            |new: &[String], old: Vec<String>| if new.is_empty() { old } else { new.to_vec() };
        let snippets: Vec<WireSnippet> =
            self.snippet.iter().map(|text| WireSnippet::Text(text.clone())).collect();
        QueryEntry {
            source: self.source.clone().or(entry.source),
            difficulty: self.difficulty.unwrap_or(entry.difficulty),
            retrieval_mode: self.mode.or(entry.retrieval_mode),
            family: self.family.or(entry.family),
            expected: list(&self.expected, entry.expected),
            acceptable: list(&self.acceptable, entry.acceptable),
            expected_snippets: if snippets.is_empty() { entry.expected_snippets } else { snippets },
            entities: texts(&self.entity, entry.entities),
            answer_end: self.answer_end.or(entry.answer_end),
            tags: texts(&self.tag, entry.tags),
            ..entry
        }
    }
}

pub(super) fn add(context: &CommandContext<'_>, args: &AddArgs) -> Result<Exit, CliError> {
    let blank = QueryEntry {
        schema_version: QUERY_VERSION,
        id: args.id.clone(),
        query: args.text.clone(),
        original_hash: None,
        source: None,
        difficulty: Difficulty::default(),
        retrieval_mode: None,
        filter: FilterEntry::default(),
        family: None,
        expected: Vec::new(),
        acceptable: Vec::new(),
        expected_snippets: Vec::new(),
        entities: Vec::new(),
        answer_end: None,
        tags: Vec::new(),
        origin: QueryOrigin::Manual,
        state: QueryState::Active,
    };
    import_entries(context, vec![args.fields.apply_to(blank)], &[])
}

/// Takes queries in, and tells what became of them.
pub(super) fn import_entries(
    context: &CommandContext<'_>,
    entries: Vec<QueryEntry>,
    places: &[String],
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let workspace = &context.home.workspace;
    let key = make_home_key(&context.home)?.for_workspace(workspace);
    let import = import_queries(&store, workspace, entries, &scrubber, Some(&key), context.now)
        .map_err(|problem| match &problem {
            QueryProblem::Query { at, source }
                if at.checked_sub(1).is_some_and(|at| at < places.len()) =>
            {
                CliError::new(FaultKind::Input, format!("{}: {source}", places[at - 1]))
            }
            _ => CliError::new(FaultKind::Input, problem.to_string()),
        })?;
    let QueryImport { queries: added, entries, scrubbed, retired } = import;
    if context.terminal.is_json() {
        let list: Vec<_> = added.iter().map(wire).collect();
        context.terminal.json(&json!({
            "queries": list, "lines": entries, "scrubbed": scrubbed, "retired_merged": retired,
        }));
    } else {
        if !places.is_empty() {
            let became = added.len();
            context.terminal.remark(format!(
                "{entries} lines became {became} queries ({scrubbed} with a scrubbed text)"
            ));
        }
        if !retired.is_empty() {
            context.terminal.remark(format!(
                "retired, because they stood for several queries with the same scrubbed text: {}",
                retired.join(", ")
            ));
        }
        for one in &added {
            let state = match one.state {
                QueryState::Active => String::new(),
                state => format!("  {state}"),
            };
            context.terminal.line(format!("{}  {}  {}{state}", one.number, one.id, word(one)));
        }
    }
    Ok(Exit::Pass)
}

fn wire(added: &ImportedQuery) -> serde_json::Value {
    let ImportedQuery { number, id, state, kind: _ } = added;
    json!({ "number": number, "id": id, "outcome": word(added), "state": state.name() })
}

fn word(added: &ImportedQuery) -> &'static str {
    use gbrain_store::WriteKind;
    match added.kind {
        WriteKind::Added => "added",
        WriteKind::Changed => "joined",
        _ => "unchanged",
    }
}

/// Changes a query. Its text stays: another text is another query.
pub(super) fn edit(context: &CommandContext<'_>, args: &EditArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let found = find(context, &store, &args.query)?;
    let entry = args.fields.apply_to(QueryEntry::from(&found.query));
    let is_moved = args.state.is_some_and(|state| state != found.query.state);
    if entry == QueryEntry::from(&found.query) && !is_moved {
        context
            .terminal
            .remark("nothing changes: say what is to be otherwise, such as --expected PAGE");
        return unchanged(context, &found);
    }
    let query = entry.read().map_err(|error| CliError::new(FaultKind::Input, error.to_string()))?;
    let hash = query.identity_hash();
    store.put_queries(
        &context.home.workspace,
        &[row(hash, &query)],
        OnDuplicate::Replace,
        context.now,
    )?;
    if let Some(state) = args.state {
        move_to(context, &store, std::slice::from_ref(&found), state)?;
    }
    if context.terminal.is_json() {
        context.terminal.json(&QueryEntry::from(&query));
    } else {
        context.terminal.line(format!("{}  {}  changed", found.number, query.id));
    }
    Ok(Exit::Pass)
}

fn unchanged(context: &CommandContext<'_>, found: &StoredQuery) -> Result<Exit, CliError> {
    if context.terminal.is_json() {
        context.terminal.json(&QueryEntry::from(&found.query));
    } else {
        context.terminal.line(format!("{}  {}  unchanged", found.number, found.query.id));
    }
    Ok(Exit::Pass)
}

pub(super) fn retire(context: &CommandContext<'_>, args: &RetireArgs) -> Result<Exit, CliError> {
    set(context, &args.queries, QueryState::Retired)
}

/// Says where queries are to be.
pub(super) fn set(
    context: &CommandContext<'_>,
    typed: &[String],
    state: QueryState,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let found: Result<Vec<_>, _> = typed.iter().map(|one| find(context, &store, one)).collect();
    let found = found?;
    move_to(context, &store, &found, state)?;
    if context.terminal.is_json() {
        let ids: Vec<&str> = found.iter().map(|one| one.query.id.as_str()).collect();
        context.terminal.json(&json!({ "queries": ids, "state": state.name() }));
    } else {
        for one in &found {
            context.terminal.line(format!("{}  {}  {state}", one.number, one.query.id));
        }
    }
    Ok(Exit::Pass)
}

fn move_to(
    context: &CommandContext<'_>,
    store: &Store,
    queries: &[StoredQuery],
    state: QueryState,
) -> Result<(), CliError> {
    let stored =
        gbrain_store::QueryState::from_name(state.name()).expect("both know the same states");
    for one in queries {
        store.set_query_state(&context.home.workspace, one.number, stored, context.now)?;
    }
    Ok(())
}
