//! `gbrain query`: keywords, embeddings, names and links together. `search` calls [`ask`] too.

use std::sync::Arc;

use clap::Args;
use gbrain_brain::capture::QueryService;
use gbrain_brain::{Assistants, Brain, BuiltInModels, Query, QueryOptions, Requester};
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::{Operation, RetrievalMode, Viewer};
use gbrain_store::{OpenMode, PageFilter, Store};

use crate::args::{AskArgs, ModeArgs};
use crate::capture;
use crate::commands::{CommandContext, page_key, refuse_unknown_sources};
use crate::error::{CliError, Exit};
use crate::home::Home;
use crate::model_access::catalog;
use crate::terminal::{advance, count};

pub(super) mod print;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain query \"who owns the berth planner?\"\n  \
    gbrain query \"what depends on the tide router?\" --mode graph --explain\n  \
    gbrain query \"latest on pricing\" --now 2026-05-14T12:00:00Z\n  \
    gbrain query \"night charging\" --why-not projects/night-ferry\n\n\
    `query` asks the brain once. `gbrain queries` manages the canonical queries that suites ask.")]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    mode: ModeArgs,
}

/// One call of `search` or `query`.
pub(crate) struct RetrievalCall<'a> {
    pub(crate) operation: Operation,
    pub(crate) args: &'a AskArgs,
    pub(crate) mode: RetrievalMode,
    pub(crate) vectors: bool,
    /// None leaves it to the settings.
    pub(crate) expand: Option<bool>,
}

impl RetrievalCall<'_> {
    /// The arguments as a request body of the API.
    fn wire_body(&self) -> AskBody {
        let AskArgs {
            text,
            limit,
            source,
            types,
            tag,
            since,
            until,
            detail,
            now,
            untrusted: _,
            explain,
            why_not,
            index: _,
        } = self.args;
        AskBody {
            query: text.join(" "),
            limit: Some(*limit),
            detail: *detail,
            retrieval_mode: Some(self.mode),
            sources: source.clone(),
            types: types.clone(),
            tags: tag.clone(),
            since: since.map(|date| date.to_string()),
            until: until.map(|date| date.to_string()),
            now: now.map(|now| now.to_string()),
            vectors: Some(self.vectors),
            expand: self.expand,
            explain: Some(*explain),
            why_not: why_not.clone(),
            job_id: None,
            subagent_id: None,
        }
    }
}

/// Runs the whole pipeline.
pub(crate) fn run(context: &CommandContext<'_>, args: &QueryArgs) -> Result<Exit, CliError> {
    let asked = RetrievalCall {
        operation: Operation::Query,
        args: &args.ask,
        mode: args.mode.mode,
        vectors: !args.mode.no_vector,
        expand: args.mode.expansion(),
    };
    ask(context, &asked)
}

/// Asks and prints. An answer without hits is an answer.
pub(crate) fn ask(
    context: &CommandContext<'_>,
    asked: &RetrievalCall<'_>,
) -> Result<Exit, CliError> {
    context.make_home()?;
    let store = gbrain_store::Store::open(&context.home.location, OpenMode::Use, context.now)?;
    let store: Arc<Store> = store.into();
    let brain = context.brain_in(store.clone(), asked.args.index.into())?;
    refuse_unknown_sources(&brain, &asked.args.source)?;
    let viewer = if asked.args.untrusted { Viewer::Untrusted } else { Viewer::Trusted };
    let (body, requester) = (asked.wire_body(), Requester::Owner(viewer));
    let query = Query::new(&brain, asked.operation, &body, requester, context.now)?;
    let assistants = match asked.operation {
        Operation::Search => None,
        Operation::Query => {
            let (catalog, allowed) = (catalog(&context.home)?, BuiltInModels::Allowed);
            Assistants::choose(&catalog, &store, &context.home.workspace, &query.config, allowed)?
        }
    };
    let why_not = body.why_not.as_deref().map(|slug| page_key(&brain, slug, None)).transpose()?;
    let bar = context.terminal.progress("indexing");
    let on_progress = |done: i64, total: i64| {
        bar.set_length(total.unsigned_abs());
        advance(&bar, done.unsigned_abs());
    };
    let options = QueryOptions { why_not, progress: &on_progress, ..QueryOptions::default() };
    let door = QueryService::new(Arc::new(brain), capture::options(&context.home)?);
    let answered = query.answer(&door, assistants.as_ref(), body.caller(false), options)?;
    bar.finish_and_clear();
    if answered.served.behind > 0 {
        context.terminal.warn(format!(
            "answered from generation {}, {} behind: another process is indexing",
            answered.served.generation,
            count(answered.served.behind, "change", "changes")
        ));
    }
    if answered.ranking.degraded.iter().any(|degraded| degraded.reason == "other_model") {
        context.terminal.warn(
            "this gbrain does not have the model that made this brain's vectors: only keywords were searched; \
             `gbrain reembed` makes new vectors",
        );
    }
    if context.terminal.is_json() {
        context.terminal.json(&Answer::new(&answered.request, &answered.ranking, &answered.served));
    } else {
        let edges = answered.ranking.hits.iter().flat_map(|hit| &hit.edges);
        let evidence = door.brain().evidence_texts(edges)?;
        context.terminal.out_paged(print::answer(&answered, &evidence));
    }
    if answered.ranking.hits.is_empty() {
        explain_nothing(context, door.brain(), asked.args)?;
    }
    // The process is about to end. Closing the database would only take away files that the next
    // search makes again, which costs more than the search.
    std::mem::forget(door.clone_brain());
    let drained = door.close();
    if drained.unfinished > 0 {
        let captures = count(drained.unfinished as usize, "capture was", "captures were");
        context.terminal.warn(format!("{captures} not stored in time"));
    }
    Ok(Exit::Pass)
}

/// Says why an answer has no hits, where a mistake is likely: an empty brain, or a filter that no page passes.
fn explain_nothing(
    context: &CommandContext<'_>,
    brain: &Brain,
    args: &AskArgs,
) -> Result<(), CliError> {
    let has = |filter: PageFilter| {
        let pages = brain.store().list(brain.workspace(), &filter, None, 1)?;
        Ok::<_, CliError>(!pages.is_empty())
    };
    if !has(PageFilter::default())? {
        let Home { location, workspace, .. } = &context.home;
        context.terminal.warn(format!(
            "workspace `{workspace}` of {location} has no pages: `gbrain import PATH` brings some, --home and --workspace \
             name another brain"
        ));
        return Ok(());
    }
    for page_type in &args.types {
        let filter = PageFilter { page_type: Some(page_type.clone()), ..PageFilter::default() };
        if !has(filter)? {
            context.terminal.warn(format!("no page has the type `{page_type}`"));
        }
    }
    for tag in &args.tag {
        let filter = PageFilter { tag: Some(tag.to_lowercase()), ..PageFilter::default() };
        if !has(filter)? {
            context.terminal.warn(format!("no page has the tag `{tag}`"));
        }
    }
    Ok(())
}
