//! The tools: names, descriptions, schemas and scopes.
//!
//! Listing, calling and refusing tools follow from this one list. A description says when to use the tool and what
//! to do next, because an agent chooses by it.

use std::sync::{Arc, LazyLock};

use gbrain_brain::wire::{DeleteBody, LinksBody, PagesBody, PutBody, SourcesBody};
use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::format::ask::AskBody;
use gbrain_core::format::contradiction::FoundContradictions;
use gbrain_core::format::serving::EvalStatusBody;
use gbrain_core::format::{Answer, body};
use gbrain_core::page::PageBody;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::compact;
use crate::http::{NoParameters, OperationCall, Reply};
use crate::operations::pages::{PageName, PageText, TextFormat};
use crate::operations::{ask, contradictions, pages, sources, status};
use crate::work_queue::WorkQueue;

/// A tool and its operation.
pub(super) struct ToolEntry {
    /// The name for clients, metrics and the audit log.
    pub(super) name: &'static str,
    pub(super) tool: Tool,
    pub(super) scope: Scope,
    pub(super) queue: WorkQueue,
    run: Box<ToolFn>,
}

type ToolFn = dyn Fn(&OperationCall<'_>, JsonObject) -> Result<Reply, Fault> + Send + Sync;

impl ToolEntry {
    /// Runs the operation. Invalid arguments are a fault, not a protocol error, so that the agent sees them and can
    /// correct them.
    pub(super) fn run(
        &self,
        call: &OperationCall<'_>,
        arguments: JsonObject,
    ) -> Result<Reply, Fault> {
        if !call.principal.scope.allows(self.scope) {
            let (name, scope) = (self.name, self.scope);
            return Err(Fault::forbidden(format!("`{name}` needs a token of scope {scope}")));
        }
        (self.run)(call, arguments)
    }

    /// The same tool, with the schema of its result.
    fn gives<O: JsonSchema>(mut self) -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = Value::Object((*schema_of::<O>(settings)).clone());
        compact::relax(&mut schema);
        self.tool.output_schema = schema.as_object().cloned().map(Arc::new);
        self
    }
}

/// A page to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PutPage {
    /// The page name: `source::slug`, or a bare slug for the source `default`. A slug is a path such as
    /// `people/ada-quill`.
    #[schemars(length(min = 1))]
    page: String,
    /// The whole new text. It replaces the page's text; earlier versions stay in its history.
    /// Markdown may start with frontmatter (`title`, `type`, `tags`, `date`, `aliases`), and
    /// `[[slug]]` links to another page.
    content: String,
    /// The format of `content`; markdown by default.
    #[serde(default)]
    format: Option<TextFormat>,
}

/// The effect of a tool on the brain; its annotations follow from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolEffect {
    Reads,
    /// Adds a version; earlier ones stay.
    Writes,
    /// Removes a page from view.
    Deletes,
}

static ALL: LazyLock<Vec<ToolEntry>> = LazyLock::new(all);

/// The tools that a principal of this scope may call.
pub(super) fn visible(scope: Scope) -> impl Iterator<Item = &'static ToolEntry> {
    ALL.iter().filter(move |entry| scope.allows(entry.scope))
}

/// The tool with this name, for any scope.
pub(super) fn named(name: &str) -> Option<&'static ToolEntry> {
    ALL.iter().find(|entry| entry.name == name)
}

fn all() -> Vec<ToolEntry> {
    use ToolEffect::{Deletes, Reads, Writes};
    const NONE: NoParameters = NoParameters {};
    vec![
        entry("query", "Query the memory", QUERY, Reads, |call, body: AskBody| {
            ask::query(call, NONE, body)
        })
        .gives::<Answer<'_>>(),
        entry("search", "Search by words", SEARCH, Reads, |call, body: AskBody| {
            ask::search(call, NONE, body)
        })
        .gives::<Answer<'_>>(),
        entry("get_page", "Read a page", GET, Reads, pages::get).gives::<PageBody<'_>>(),
        entry("list_pages", "List pages", LIST, Reads, pages::list).gives::<PagesBody<'_>>(),
        entry("links", "Links of a page", LINKS, Reads, pages::links).gives::<LinksBody<'_>>(),
        entry("sources", "List sources", SOURCES, Reads, sources::list).gives::<SourcesBody<'_>>(),
        entry("eval_status", "State of evaluation", EVAL, Reads, status::status)
            .gives::<EvalStatusBody>(),
        entry("find_contradictions", "Suspected contradictions", FIND, Reads, contradictions::find)
            .gives::<FoundContradictions>(),
        entry("put_page", "Write a page", PUT, Writes, |call, page: PutPage| {
            let PutPage { page, content, format } = page;
            pages::put(call, PageName { page }, PageText { content, format })
        })
        .gives::<PutBody<'_>>(),
        entry("delete_page", "Delete a page", DELETE, Deletes, pages::delete)
            .gives::<DeleteBody<'_>>(),
    ]
}

const QUERY: &str = "\
Answers a question from the memory of this workspace, with keywords, embeddings, names and links. \
Use it first, before you say that something is unknown, with the question as a person would ask it. \
Each hit has a page, a score and the passage that matched; read the page with `get_page` when the \
passage is not enough, and cite the page you used.";

const SEARCH: &str = "\
Finds pages that contain given words: exact names, identifiers, error messages, ticket numbers. Text \
is taken literally; there is no query syntax. For a question, use `query`.";

const GET: &str = "\
Reads one whole page: its text, title, type, tags, date, links and version. Use it on a page that \
`query`, `search`, `list_pages` or `links` named.";

const LIST: &str = "\
Lists pages in the order of their names, filtered by source, type, tag or the start of the slug. \
Use it to see which pages exist, not to find an answer. When `next_after` is present there are \
more: call again with it as `after`.";

const LINKS: &str = "\
Shows the typed links out of and into a page (who works where, what depends on what), each with \
its date and the page that is its evidence. Use it to follow relations from a page you know.";

const SOURCES: &str = "\
Lists the sources that pages come from, with their trust and number of pages. A page is named \
`source::slug`.";

const EVAL: &str = "\
Shows how retrieval of this memory is evaluated: captured requests, failed captures, baselines and \
the last verdict. It shows no queries.";

const FIND: &str = "\
Lists pairs of passages that may contradict each other, as found by the last probe, the most severe first, \
each with both passages, their pages and dates, and a suggested action. Use it before you rely on a page, or when two \
pages disagree; `slug` keeps only pages whose name contains it. A judge may be wrong: read both pages. The \
tool reads the last run and judges nothing itself.";

const PUT: &str = "\
Writes one page of memory, or replaces its text; when it returns, the page is stored. \
Read the page first if it may exist, and send its whole text with your change. One page per \
subject (a person, a project, a meeting), facts with their date, `[[slug]]` links to other pages. \
Earlier versions stay in the page's history.";

const DELETE: &str = "\
Deletes one page: no tool finds or reads it afterwards. A person can restore it from its history. \
Only when asked to; to correct a page use `put_page`.";

fn entry<I: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effect: ToolEffect,
    operation: fn(&OperationCall<'_>, I) -> Result<Reply, Fault>,
) -> ToolEntry {
    let mut input = (*input_schema::<I>()).clone();
    compact::describe_details(&mut input);
    let tool = Tool::new(name, description, Arc::new(input))
        .with_title(title)
        .with_annotations(effect.annotations(title));
    let (scope, queue) = match effect {
        ToolEffect::Reads => (Scope::Read, WorkQueue::Read),
        ToolEffect::Writes | ToolEffect::Deletes => (Scope::Write, WorkQueue::Write),
    };
    let run = Box::new(move |call: &OperationCall<'_>, arguments| {
        let input = body::of_object(arguments).map_err(|error| {
            Fault::usage(format!("the arguments can't be read: {error}"))
                .hint(format!("see the input schema of `{name}`"))
        })?;
        call.check_stop()?;
        operation(call, input)
    });
    ToolEntry { name, tool, scope, queue, run }
}

impl ToolEffect {
    /// Every tool is idempotent and acts only on this brain.
    fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(self == Self::Reads)
            .destructive(self == Self::Deletes)
            .idempotent(true)
            .open_world(false)
    }
}

/// The schema of an input has no references: it is read by models, and not every client resolves
/// them first.
fn input_schema<I: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    schema_of::<I>(settings)
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let Value::Object(mut schema) = Value::from(schema) else {
        unreachable!("the schema of a struct is an object")
    };
    // The tool has a name and a description of its own.
    schema.remove("title");
    schema.remove("description");
    Arc::new(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scope: Scope) -> Vec<&'static str> {
        visible(scope).map(|entry| entry.name).collect()
    }

    #[test]
    fn a_reader_sees_no_tool_that_writes() {
        let all = names(Scope::Admin);
        assert_eq!(all.len(), 10);
        assert_eq!(names(Scope::Write), all);
        let read = names(Scope::Read);
        assert_eq!(read.len(), 8);
        assert!(!read.contains(&"put_page") && !read.contains(&"delete_page"));
    }

    #[test]
    fn tool_annotations_match_the_operations() {
        for entry in visible(Scope::Admin) {
            let annotations = entry.tool.annotations.as_ref().unwrap();
            let looks = entry.scope == Scope::Read;
            assert_eq!(annotations.read_only_hint, Some(looks), "{}", entry.name);
            assert_eq!(entry.queue == WorkQueue::Read, looks, "{}", entry.name);
            let destroys = entry.name == "delete_page";
            assert_eq!(annotations.destructive_hint, Some(destroys), "{}", entry.name);
            assert_eq!(entry.tool.input_schema["type"], "object");
            assert_eq!(entry.tool.input_schema["additionalProperties"], false);
            let output = entry.tool.output_schema.as_ref().unwrap();
            assert_eq!(output["type"], "object", "{}", entry.name);
            assert!(
                !Value::Object((*entry.tool.input_schema).clone()).to_string().contains("$ref")
            );
        }
    }
}
