//! Pages: read, list, write, delete, restore. Private pages do not exist here.

use gbrain_brain::wire::{
    self, DeleteBody, HistoryBody, LinksBody, PagesBody, PutBody, RestoreBody,
};
use gbrain_brain::{Brain, EvidenceTexts, PutOutcome};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::{Page, PageBody, PageFormat, PageInput, StoredPage, Visibility, parse};
use gbrain_core::ranking::Edge;
use gbrain_core::reading::shape::{ReadingCost, Shape};
use gbrain_core::request::Viewer;
use gbrain_store::{DeleteOutcome, PageFilter, PageWrite, StoreError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{OperationCall, Reply};
use crate::workspace_registry::WorkspaceRegistry;

/// A page by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageName {
    /// The page: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub page: String,
}

/// A page to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetPage {
    /// The page: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub page: String,
    /// A version of the page; the latest by default.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
}

/// A page to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutPage {
    /// The page: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub page: String,
    /// Write only if the page is at this version, 0 for a page that does not exist; otherwise the
    /// answer is 409 and nothing is written. By default any version is replaced.
    #[serde(default)]
    pub if_version: Option<u32>,
}

/// The links of a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetLinks {
    /// The page: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub page: String,
    /// Whether to show the text that an edge was read from, for the first 100 edges; false by
    /// default.
    #[serde(default)]
    pub evidence: Option<bool>,
}

/// The text of a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageText {
    /// The whole text, including frontmatter. It replaces an existing page, whose history is kept.
    pub content: String,
    /// The format of the text; markdown by default.
    #[serde(default)]
    pub format: Option<TextFormat>,
}

/// The format of a page's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    /// Markdown with frontmatter.
    Markdown,
    /// Plain text.
    Text,
    /// A chat as one JSON document.
    ChatJson,
    /// A chat as one JSON object a line.
    ChatJsonl,
}

impl From<TextFormat> for PageFormat {
    fn from(format: TextFormat) -> Self {
        match format {
            TextFormat::Markdown => Self::Markdown,
            TextFormat::Text => Self::Text,
            TextFormat::ChatJson => Self::ChatJson,
            TextFormat::ChatJsonl => Self::ChatJsonl,
        }
    }
}

/// Which pages to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListPages {
    /// Only pages of this source.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$"))]
    pub source: Option<String>,
    /// Only pages of this type.
    #[serde(default, rename = "type")]
    pub page_type: Option<String>,
    /// Only pages with this tag.
    #[serde(default)]
    pub tag: Option<String>,
    /// Only slugs that start with this.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Whether to include deleted pages; false by default.
    #[serde(default)]
    pub deleted: Option<bool>,
    /// Only pages after this one (`source::slug`): `next_after` of the previous response.
    #[serde(default)]
    #[schemars(length(min = 1, max = 546))]
    pub after: Option<String>,
    /// The maximum number of pages; 50 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

pub(crate) fn list(call: &OperationCall<'_>, input: ListPages) -> Result<Reply, Fault> {
    let limit = usize::from(input.limit.unwrap_or(50));
    if !(1..=500).contains(&limit) {
        return Err(Fault::usage("`limit` must be from 1 to 500"));
    }
    let filter = PageFilter {
        source: input.source.as_deref().map(SourceId::new).transpose()?,
        page_type: input.page_type,
        tag: input.tag.map(|tag| tag.to_lowercase()),
        prefix: input.prefix,
        include_deleted: input.deleted.unwrap_or(false),
        visibility: Some(Visibility::World),
    };
    let after = input.after.as_deref().map(parse_page_name).transpose()?;
    let store = call.registry.store();
    let mut pages = store.list(&call.principal.workspace, &filter, after.as_ref(), limit + 1)?;
    let next = wire::truncate_page(&mut pages, limit).map(|page| page.key.clone());
    Reply::json(&PagesBody { pages: &pages, next_after: next.as_ref() })
}

pub(crate) fn get(call: &OperationCall<'_>, input: GetPage) -> Result<Reply, Fault> {
    let stored = read(call.registry, &call.principal.workspace, &input)?;
    Reply::json(&PageBody::new(&stored))
}

/// A page that a remote caller may read.
pub(crate) fn read(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    input: &GetPage,
) -> Result<StoredPage, Fault> {
    let key = visible(registry, ws, &input.page)?;
    let stored = match input.version {
        None => registry.store().page(ws, &key)?,
        Some(version) => registry.store().page_at_version(ws, &key, version)?,
    };
    // An older version may have been private although the page no longer is.
    let stored = stored.filter(|stored| stored.page.visibility == Visibility::World);
    refuse_hidden(registry, ws, &key)?;
    stored.ok_or_else(|| no_page(&key))
}

pub(crate) fn links(call: &OperationCall<'_>, input: PageName) -> Result<Reply, Fault> {
    links_with_evidence(call, GetLinks { page: input.page, evidence: None })
}

/// Most edges whose text is read: each may be on a page of its own.
const MAX_EVIDENCE: usize = 100;

pub(crate) fn links_with_evidence(
    call: &OperationCall<'_>,
    input: GetLinks,
) -> Result<Reply, Fault> {
    let key = visible(call.registry, &call.principal.workspace, &input.page)?;
    let service = call.registry.query_service(&call.principal.workspace)?;
    // The brain's error would suggest similar page names, including private ones.
    let is_stopped = || call.stop.is_stopped();
    let links = service.brain().links(&key, Viewer::Untrusted, &is_stopped);
    let links = links.map_err(|error| match error {
        gbrain_brain::BrainError::NoPage { .. } => no_page(&key),
        error => error.into(),
    })?;
    let shown = if input.evidence.unwrap_or(false) { MAX_EVIDENCE } else { 0 };
    let texts =
        public_evidence(call, service.brain(), &links.edges[..links.edges.len().min(shown)])?;
    refuse_hidden(call.registry, &call.principal.workspace, &key)?;
    Reply::json(&LinksBody::with_evidence(&key, &links, |edge| texts.of(edge)))
}

/// The texts that edges were read from, without those of pages that are private now. Checked after
/// reading.
fn public_evidence(
    call: &OperationCall<'_>,
    brain: &Brain,
    edges: &[Edge],
) -> Result<EvidenceTexts, Fault> {
    let mut texts = EvidenceTexts::default();
    for edge in edges {
        call.check_stop()?;
        texts.read(brain, edge)?;
    }
    let keys: Vec<PageKey> = texts.pages().cloned().collect();
    let visibilities = call.registry.store().visibilities(&call.principal.workspace, &keys)?;
    for (key, visibility) in keys.iter().zip(visibilities) {
        if visibility != Some(Visibility::World) {
            texts.remove(key);
        }
    }
    Ok(texts)
}

pub(crate) fn history(call: &OperationCall<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.registry, &call.principal.workspace, &input.page)?;
    let mut versions = call.registry.store().history(&call.principal.workspace, &key)?;
    versions.retain(|info| info.visibility == Visibility::World);
    refuse_hidden(call.registry, &call.principal.workspace, &key)?;
    Reply::json(&HistoryBody::new(&key, &versions))
}

/// Writes a page; the page is stored when this returns.
pub(crate) fn put(
    call: &OperationCall<'_>,
    input: PageName,
    text: PageText,
) -> Result<Reply, Fault> {
    put_at(call, PutPage { page: input.page, if_version: None }, text)
}

/// Writes a page, if it is at the version that its writer has read.
pub(crate) fn put_at(
    call: &OperationCall<'_>,
    input: PutPage,
    text: PageText,
) -> Result<Reply, Fault> {
    let key = parse_page_name(&input.page)?;
    let format = text.format.unwrap_or(TextFormat::Markdown).into();
    // Only the text is still needed while a chat is parsed.
    call.memory.shrink_to(text.content.len());
    let reading = call.memory.reserve(reading_cost(&text.content, format)?)?;
    let page = parsed(&key, &text.content, format)?;
    drop(reading);
    call.check_stop()?;
    let write = PageWrite { page: &page, origin: None };
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let outcome = match input.if_version {
        Some(version) => store.write_page_at(Viewer::Untrusted, ws, &write, version, call.now)?,
        None => {
            let mut outcomes = store.write_pages_by(Viewer::Untrusted, ws, &[write], call.now)?;
            outcomes.pop().expect("one write has one outcome")
        }
    };
    Reply::json(&PutBody::new(&key, &PutOutcome { outcome, warnings: page.warnings }))
}

/// Parses a page that a remote caller may write. The store refuses to overwrite a private page, in
/// the same transaction.
pub(crate) fn parsed(key: &PageKey, content: &str, format: PageFormat) -> Result<Page, Fault> {
    reading_cost(content, format)?;
    let file_name = key.slug.as_str().rsplit('/').next();
    let input = PageInput { key: key.clone(), file_name, content, format };
    let page = parse(input).map_err(|error| Fault::of(FaultKind::Page, &error))?;
    if page.visibility == Visibility::Private {
        return Err(Fault::forbidden("a remote caller cannot write a private page")
            .hint("leave `visibility: private` out, or write it with `gbrain put`"));
    }
    Ok(page)
}

/// Memory cost of parsing a chat: the document, and a turn for each of its objects.
const CHAT_COST: ReadingCost = ReadingCost { copies: 3, per_value: 56, per_object: 120 };

/// Memory cost of a frontmatter value while it is parsed.
const FRONTMATTER_VALUE_BYTES: usize = 350;

/// Memory cost of parsing a text; an error if it exceeds the limit.
fn reading_cost(content: &str, format: PageFormat) -> Result<usize, Fault> {
    match format {
        PageFormat::ChatJson | PageFormat::ChatJsonl => {
            let cost = CHAT_COST.of(Shape::of(content.as_bytes()));
            cost.map_err(|error| Fault::too_large(format!("the content: {error}")))
        }
        PageFormat::Markdown => Ok(frontmatter_values(content) * FRONTMATTER_VALUE_BYTES),
        _ => Ok(0),
    }
}

/// An upper bound on the number of frontmatter values.
fn frontmatter_values(content: &str) -> usize {
    let mut lines = content.trim_start_matches('\u{feff}').lines();
    if lines.next().is_none_or(|first| first.trim_end() != "---") {
        return 0;
    }
    let is_end = |line: &&str| matches!(line.trim_end(), "---" | "...");
    let values_of = |line: &str| {
        1 + line.bytes().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count()
    };
    lines.take_while(|line| !is_end(line)).map(values_of).sum()
}

/// Deletes a page; its history is kept.
pub(crate) fn delete(call: &OperationCall<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.registry, &call.principal.workspace, &input.page)?;
    let (store, ws, keys) =
        (call.registry.store(), &call.principal.workspace, std::slice::from_ref(&key));
    let outcomes = store.delete_pages_by(Viewer::Untrusted, ws, keys, call.now)?;
    if outcomes.contains(&DeleteOutcome::Unknown) {
        return Err(no_page(&key));
    }
    Reply::json(&DeleteBody::new(&[key], &outcomes))
}

pub(crate) fn restore(call: &OperationCall<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.registry, &call.principal.workspace, &input.page)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    match store.restore_page_by(Viewer::Untrusted, ws, &key, call.now) {
        Ok(outcome) => Reply::json(&RestoreBody::new(&key, &outcome)),
        Err(StoreError::NotFound(_)) => Err(no_page(&key)),
        Err(error) => Err(error.into()),
    }
}

/// Parses a page name. A syntactically valid request with an invalid name is an input error,
/// because the schema cannot express all rules for names.
pub(crate) fn parse_page_name(text: &str) -> Result<PageKey, Fault> {
    PageKey::parse(text, &SourceId::default()).map_err(|error| Fault::of(FaultKind::Input, &error))
}

/// The key of an existing page that the caller may see, deleted or not.
fn visible(registry: &WorkspaceRegistry, ws: &WorkspaceId, text: &str) -> Result<PageKey, Fault> {
    let key = parse_page_name(text)?;
    let keys = if text.contains("::") {
        vec![key.clone()]
    } else {
        let sources = registry.store().sources(ws)?;
        sources.into_iter().map(|source| PageKey::new(source.id, key.slug.clone())).collect()
    };
    let visibilities = registry.store().visibilities(ws, &keys)?;
    let mut found: Vec<PageKey> = keys
        .into_iter()
        .zip(visibilities)
        .filter(|(_, visibility)| *visibility == Some(Visibility::World))
        .map(|(key, _)| key)
        .collect();
    match found.len() {
        0 => Err(no_page(&key)),
        1 => Ok(found.remove(0)),
        _ => {
            let names: Vec<String> = found.iter().map(|key| format!("`{key}`")).collect();
            let slug = &key.slug;
            Err(Fault::conflict(format!("`{slug}` is in several sources: {}", names.join(", ")))
                .hint("name the page as `source::slug`"))
        }
    }
}

/// Refuses a page that was made private while it was read. Checked after reading, so that the
/// content read was still visible at some moment before the check.
fn refuse_hidden(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    key: &PageKey,
) -> Result<(), Fault> {
    let visibilities = registry.store().visibilities(ws, std::slice::from_ref(key))?;
    if visibilities == [Some(Visibility::World)] { Ok(()) } else { Err(no_page(key)) }
}

fn no_page(key: &PageKey) -> Fault {
    Fault::not_found(format!("there is no page `{key}`"))
}
