//! The tools: their names, what an agent reads about them, and who may call them.
//!
//! The list is the only place that knows a tool; listing, calling and refusing follow from it.
//! A description says when to use the tool and what to do next, because that is what an agent
//! decides by.

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

use crate::http::{Call, NoParameters, Reply};
use crate::lanes::Lane;
use crate::operations::pages::{PageName, PageText, TextFormat};
use crate::operations::{ask, contradictions, pages, sources, status};

/// A tool and what stands behind it.
pub(super) struct Entry {
    /// Its name: for clients, in metrics and in the audit log.
    pub(super) name: &'static str,
    pub(super) tool: Tool,
    /// Who may call it.
    pub(super) scope: Scope,
    /// Where its work is done.
    pub(super) lane: Lane,
    run: Box<Run>,
}

type Run = dyn Fn(&Call<'_>, JsonObject) -> Result<Reply, Fault> + Send + Sync;

impl Entry {
    /// Does what arguments ask for. Arguments that can't be read are the caller's to set right, so
    /// they are a fault that it sees and not a protocol error that it does not.
    pub(super) fn run(&self, call: &Call<'_>, arguments: JsonObject) -> Result<Reply, Fault> {
        if !call.who.scope.allows(self.scope) {
            let (name, scope) = (self.name, self.scope);
            return Err(Fault::forbidden(format!("`{name}` needs a token of scope {scope}")));
        }
        (self.run)(call, arguments)
    }

    /// The same tool, with what it answers.
    fn gives<O: JsonSchema>(mut self) -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        self.tool.output_schema = Some(schema_of::<O>(settings));
        self
    }
}

/// A page to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PutPage {
    /// Its name: `source::slug`, or a bare slug for the source `default`. A slug is a path such as
    /// `people/ada-quill`.
    #[schemars(length(min = 1))]
    page: String,
    /// The whole new text. It replaces the page's text; earlier versions stay in its history.
    /// Markdown may start with frontmatter (`title`, `type`, `tags`, `date`, `aliases`), and
    /// `[[slug]]` links to another page.
    content: String,
    /// How `content` is written; markdown unless said otherwise.
    #[serde(default)]
    format: Option<TextFormat>,
}

/// What a call does to the brain; the annotations follow from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Looks,
    /// A new version; earlier ones stay.
    Adds,
    /// Something is gone from view.
    Destroys,
}

static ALL: LazyLock<Vec<Entry>> = LazyLock::new(all);

/// The tools that a visitor of this scope may call.
pub(super) fn visible(scope: Scope) -> impl Iterator<Item = &'static Entry> {
    ALL.iter().filter(move |entry| scope.allows(entry.scope))
}

/// A tool by its name, whoever may call it.
pub(super) fn named(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

fn all() -> Vec<Entry> {
    use Effect::{Adds, Destroys, Looks};
    const NONE: NoParameters = NoParameters {};
    vec![
        entry("query", "Ask the memory", QUERY, Looks, |call, body: AskBody| {
            ask::query(call, NONE, body)
        })
        .gives::<Answer<'_>>(),
        entry("search", "Search by words", SEARCH, Looks, |call, body: AskBody| {
            ask::search(call, NONE, body)
        })
        .gives::<Answer<'_>>(),
        entry("get_page", "Read a page", GET, Looks, pages::get).gives::<PageBody<'_>>(),
        entry("list_pages", "List pages", LIST, Looks, pages::list).gives::<PagesBody<'_>>(),
        entry("links", "Links of a page", LINKS, Looks, pages::links).gives::<LinksBody<'_>>(),
        entry("sources", "List sources", SOURCES, Looks, sources::list).gives::<SourcesBody<'_>>(),
        entry("eval_status", "State of evaluation", EVAL, Looks, status::status)
            .gives::<EvalStatusBody>(),
        entry("find_contradictions", "Suspected contradictions", FIND, Looks, contradictions::find)
            .gives::<FoundContradictions>(),
        entry("put_page", "Write a page", PUT, Adds, |call, page: PutPage| {
            let PutPage { page, content, format } = page;
            pages::put(call, PageName { page }, PageText { content, format })
        })
        .gives::<PutBody<'_>>(),
        entry("delete_page", "Delete a page", DELETE, Destroys, pages::delete)
            .gives::<DeleteBody<'_>>(),
    ]
}

const QUERY: &str = "\
Answers a question from the memory of this workspace: words, meaning, names and links together. \
Use it first, before you say that something is not known, and with the question as a person would \
ask it. Each hit has a page, a score and the passage that matched; read the page with `get_page` \
when the passage is not enough, and cite the page you used.";

const SEARCH: &str = "\
Finds pages that hold given words: exact names, identifiers, error messages, ticket numbers. Text \
is taken literally; there is no query syntax. For a question, use `query`.";

const GET: &str = "\
Reads one page whole: its text, title, type, tags, date, links and version. Use it on a page that \
`query`, `search`, `list_pages` or `links` named.";

const LIST: &str = "\
Lists pages in the order of their names, filtered by source, type, tag or the start of the slug. \
Use it to see what there is, not to find an answer. When `next_after` is not null there are more: \
call again with it as `after`.";

const LINKS: &str = "\
Shows the typed links out of and into a page (who works where, what depends on what), each with \
its date and the passage that is its evidence. Use it to follow relations from a page you know.";

const SOURCES: &str = "\
Lists the sources that pages come from, with their trust and number of pages. A page is named \
`source::slug`.";

const EVAL: &str = "\
Tells how retrieval of this memory is watched: captured requests, failed captures, baselines and \
the last verdict. Nothing that was asked is shown.";

const FIND: &str = "\
Lists pairs of passages that the last probe suspects to contradict each other, the gravest first, each with \
both passages, their pages and dates, and what could be done. Use it before you rely on a page, or when two \
pages disagree; `slug` narrows it to pages whose name holds it. A judge may be wrong: read both pages. It \
looks at the last run and judges nothing itself.";

const PUT: &str = "\
Writes one page of memory, new or in place of its current text; when it returns, the page is safe. \
Read the page first if it may exist, and give back its whole text with your change. One page per \
thing (a person, a project, a meeting), facts with their date, `[[slug]]` links to other pages. \
Earlier versions stay in the page's history.";

const DELETE: &str = "\
Deletes one page: no tool finds or reads it afterwards. A person can restore it from its history. \
Only when asked to; to correct a page use `put_page`.";

fn entry<I: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effect: Effect,
    operation: fn(&Call<'_>, I) -> Result<Reply, Fault>,
) -> Entry {
    let tool = Tool::new(name, description, input_schema::<I>())
        .with_title(title)
        .with_annotations(effect.annotations(title));
    let (scope, lane) = match effect {
        Effect::Looks => (Scope::Read, Lane::Read),
        Effect::Adds | Effect::Destroys => (Scope::Write, Lane::Write),
    };
    let run = Box::new(move |call: &Call<'_>, arguments| {
        let input = body::of_object(arguments).map_err(|error| {
            Fault::usage(format!("the arguments can't be read: {error}"))
                .hint(format!("see the input schema of `{name}`"))
        })?;
        call.check_stop()?;
        operation(call, input)
    });
    Entry { name, tool, scope, lane, run }
}

impl Effect {
    /// Everything a tool does can be repeated without harm, and happens inside this brain.
    fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(self == Self::Looks)
            .destructive(self == Self::Destroys)
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
    fn what_a_tool_does_is_what_it_says() {
        for entry in visible(Scope::Admin) {
            let annotations = entry.tool.annotations.as_ref().unwrap();
            let looks = entry.scope == Scope::Read;
            assert_eq!(annotations.read_only_hint, Some(looks), "{}", entry.name);
            assert_eq!(entry.lane == Lane::Read, looks, "{}", entry.name);
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
