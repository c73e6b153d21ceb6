//! What the tools do, as data: one operation with its input, done by whoever stands behind.
//!
//! The inputs are what an agent writes, and their documentation is what it reads: the JSON Schemas
//! of the tools are made from it. Unknown fields are refused, so that a misspelt filter is an error
//! and not a wider answer.

use gbrain_core::fault::Fault;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::Caller;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::visitor::Visitor;

/// Does operations for visitors. Calls block, so they are never made on the reactor.
pub trait Backend: Send + Sync + 'static {
    /// Does one operation. The answer is the body that the HTTP API gives.
    fn call(&self, who: &Visitor, caller: Caller, operation: Operation) -> Result<Value, Fault>;
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Find pages by their words.
    Search(AskBody),
    /// Ask the whole brain.
    Query(AskBody),
    /// Read a page.
    GetPage(GetPage),
    /// Write a page.
    PutPage(PutPage),
    /// Delete a page; its history stays.
    DeletePage(DeletePage),
    /// List pages by name.
    ListPages(ListPages),
    /// The edges of a page.
    Links(Links),
    /// Where pages come from.
    Sources,
    /// How retrieval is doing: captures, baselines, last verdict.
    EvalStatus,
}

/// Which page to read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPage {
    /// The page: `source::slug` as in a hit's `page`, or a bare slug where only one source has it.
    #[schemars(length(min = 1, max = 600))]
    pub page: String,
    /// An older version of it. Left out: the newest.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
}

/// A page to write.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutPage {
    /// Its name: `source::slug`, or a bare slug for the source `default`. A slug is a path such as
    /// `people/ada-quill`.
    #[schemars(length(min = 1, max = 600))]
    pub page: String,
    /// The whole new text. It replaces the page's text; earlier versions stay in its history.
    /// Markdown may start with frontmatter (`title`, `type`, `tags`, `date`, `aliases`), and
    /// `[[slug]]` links to another page.
    pub content: String,
    /// How `content` is written.
    #[serde(default)]
    pub format: PageFormat,
}

/// How a page's text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageFormat {
    /// Markdown with optional frontmatter.
    #[default]
    Markdown,
    /// Plain text.
    Text,
    /// A chat as one JSON value.
    ChatJson,
    /// A chat with one JSON turn a line.
    ChatJsonl,
}

/// Which page to delete.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletePage {
    /// The page: `source::slug`, or a bare slug where only one source has it.
    #[schemars(length(min = 1, max = 600))]
    pub page: String,
}

/// Which pages to list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPages {
    /// Only pages of this source.
    #[serde(default)]
    pub source: Option<String>,
    /// Only pages of this type, such as `person` or `meeting`.
    #[serde(default, rename = "type")]
    pub page_type: Option<String>,
    /// Only pages with this tag.
    #[serde(default)]
    pub tag: Option<String>,
    /// Only slugs that start with this, such as `meetings/2026-`.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Only pages after this one: the `next_after` of the list before.
    #[serde(default)]
    pub after: Option<String>,
    /// How many pages at most.
    #[serde(default = "ListPages::default_limit")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: u16,
}

impl ListPages {
    fn default_limit() -> u16 {
        50
    }

    /// The first pages of all, or those after one.
    pub(super) fn after(after: Option<String>, limit: u16) -> Self {
        Self { source: None, page_type: None, tag: None, prefix: None, after, limit }
    }
}

/// Whose edges to show.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// The page: `source::slug`, or a bare slug where only one source has it.
    #[schemars(length(min = 1, max = 600))]
    pub page: String,
}

/// No arguments.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}
