//! Pages: read, list, write, delete, bring back. Private ones do not exist here.

use gbrain_brain::Put;
use gbrain_brain::wire::{
    self, DeleteBody, HistoryBody, LinksBody, PagesBody, PutBody, RestoreBody,
};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::{Format, Page, PageBody, PageInput, StoredPage, Visibility, parse};
use gbrain_core::reading::shape::{ReadingCost, Shape};
use gbrain_core::request::Viewer;
use gbrain_store::{DeleteOutcome, PageFilter, PageWrite, StoreError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::house::House;
use crate::http::{Call, Reply};

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
    /// An older version of it.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
}

/// The text of a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageText {
    /// The whole text, frontmatter included. A page that is there is replaced; its history stays.
    pub content: String,
    /// What kind of text it is; markdown if it is not said.
    #[serde(default)]
    pub format: Option<TextFormat>,
}

/// What kind of text a page is made of.
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

impl From<TextFormat> for Format {
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
    /// Deleted pages too.
    #[serde(default)]
    pub deleted: Option<bool>,
    /// Only pages after this one (`source::slug`): where the last list ended.
    #[serde(default)]
    #[schemars(length(min = 1, max = 546))]
    pub after: Option<String>,
    /// How many.
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

pub(crate) fn list(call: &Call<'_>, input: ListPages) -> Result<Reply, Fault> {
    let limit = usize::from(input.limit.unwrap_or(50));
    if !(1..=500).contains(&limit) {
        return Err(Fault::usage("a limit is 1 to 500"));
    }
    let filter = PageFilter {
        source: input.source.as_deref().map(SourceId::new).transpose()?,
        page_type: input.page_type,
        tag: input.tag.map(|tag| tag.to_lowercase()),
        prefix: input.prefix,
        include_deleted: input.deleted.unwrap_or(false),
        visibility: Some(Visibility::World),
    };
    let after = input.after.as_deref().map(named).transpose()?;
    let store = call.house.store();
    let mut pages = store.list(&call.who.workspace, &filter, after.as_ref(), limit + 1)?;
    let next = wire::cut(&mut pages, limit).map(|page| page.key.clone());
    Reply::json(&PagesBody { pages: &pages, next_after: next.as_ref() })
}

pub(crate) fn get(call: &Call<'_>, input: GetPage) -> Result<Reply, Fault> {
    let stored = read(call.house, &call.who.workspace, &input)?;
    Reply::json(&PageBody::new(&stored))
}

/// A page that a caller over a wire may read.
pub(crate) fn read(house: &House, ws: &WorkspaceId, input: &GetPage) -> Result<StoredPage, Fault> {
    let key = visible(house, ws, &input.page)?;
    let stored = match input.version {
        None => house.store().page(ws, &key)?,
        Some(version) => house.store().page_at_version(ws, &key, version)?,
    };
    // An older version may have been private though the page no longer is.
    let stored = stored.filter(|stored| stored.page.visibility == Visibility::World);
    refuse_hidden(house, ws, &key)?;
    stored.ok_or_else(|| no_page(&key))
}

/// The edges of a page.
pub(crate) fn links(call: &Call<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.house, &call.who.workspace, &input.page)?;
    let door = call.house.door(&call.who.workspace)?;
    // The brain would name pages that are close to the one that is missing, private ones too.
    let is_stopped = || call.stop.is_stopped();
    let links = door.brain().links(&key, Viewer::Untrusted, &is_stopped);
    let links = links.map_err(|error| match error {
        gbrain_brain::BrainError::NoPage { .. } => no_page(&key),
        error => error.into(),
    })?;
    refuse_hidden(call.house, &call.who.workspace, &key)?;
    Reply::json(&LinksBody::new(&key, &links))
}

/// The versions of a page.
pub(crate) fn history(call: &Call<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.house, &call.who.workspace, &input.page)?;
    let mut versions = call.house.store().history(&call.who.workspace, &key)?;
    versions.retain(|info| info.visibility == Visibility::World);
    refuse_hidden(call.house, &call.who.workspace, &key)?;
    Reply::json(&HistoryBody::new(&key, &versions))
}

/// Writes a page; when it is answered, the page is safe.
pub(crate) fn put(call: &Call<'_>, input: PageName, text: PageText) -> Result<Reply, Fault> {
    let key = named(&input.page)?;
    let format = text.format.unwrap_or(TextFormat::Markdown).into();
    // Of the body its text stays, while a chat is read from it.
    call.memory.shrink_to(text.content.len());
    let reading = call.memory.reserve(reading_cost(&text.content, format)?)?;
    let page = parsed(&key, &text.content, format)?;
    drop(reading);
    call.check_stop()?;
    let write = PageWrite { page: &page, origin: None };
    let (store, ws) = (call.house.store(), &call.who.workspace);
    let mut outcomes = store.write_pages_by(Viewer::Untrusted, ws, &[write], call.now)?;
    let outcome = outcomes.pop().expect("one write has one outcome");
    Reply::json(&PutBody::new(&key, &Put { outcome, warnings: page.warnings }))
}

/// A text as a page that a caller over a wire may write, unless the page of that name is private: the store
/// refuses that in the transaction that writes.
pub(crate) fn parsed(key: &PageKey, content: &str, format: Format) -> Result<Page, Fault> {
    reading_cost(content, format)?;
    let file_name = key.slug.as_str().rsplit('/').next();
    let input = PageInput { key: key.clone(), file_name, content, format };
    let page = parse(input).map_err(|error| Fault::of(FaultKind::Page, &error))?;
    if page.visibility == Visibility::Private {
        return Err(Fault::forbidden("a private page can't be written from here")
            .hint("leave `visibility: private` out, or write it with `gbrain put`"));
    }
    Ok(page)
}

/// What reading a chat takes beside its text: the document, and a turn for each of its objects.
const CHAT_COST: ReadingCost = ReadingCost { copies: 3, per_value: 56, per_object: 120 };

/// What a value of frontmatter takes while it is read.
const FRONTMATTER_VALUE_BYTES: usize = 350;

/// What reading a text takes, if it is a document; an error where that is too much.
fn reading_cost(content: &str, format: Format) -> Result<usize, Fault> {
    match format {
        Format::ChatJson | Format::ChatJsonl => {
            let cost = CHAT_COST.of(Shape::of(content.as_bytes()));
            cost.map_err(|error| Fault::too_large(format!("the content: {error}")))
        }
        Format::Markdown => Ok(frontmatter_values(content) * FRONTMATTER_VALUE_BYTES),
        _ => Ok(0),
    }
}

/// No fewer than the values of the frontmatter of a page.
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

/// Deletes a page; its history stays.
pub(crate) fn delete(call: &Call<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.house, &call.who.workspace, &input.page)?;
    let (store, ws, keys) = (call.house.store(), &call.who.workspace, std::slice::from_ref(&key));
    let outcomes = store.delete_pages_by(Viewer::Untrusted, ws, keys, call.now)?;
    if outcomes.contains(&DeleteOutcome::Unknown) {
        return Err(no_page(&key));
    }
    Reply::json(&DeleteBody::new(&[key], &outcomes))
}

/// Brings a deleted page back.
pub(crate) fn restore(call: &Call<'_>, input: PageName) -> Result<Reply, Fault> {
    let key = visible(call.house, &call.who.workspace, &input.page)?;
    let (store, ws) = (call.house.store(), &call.who.workspace);
    match store.restore_page_by(Viewer::Untrusted, ws, &key, call.now) {
        Ok(outcome) => Reply::json(&RestoreBody::new(&key, &outcome)),
        Err(StoreError::NotFound(_)) => Err(no_page(&key)),
        Err(error) => Err(error.into()),
    }
}

/// The page that a text names. The schema can't say all that the rules of names do, so a text that
/// breaks them is a document that can't be understood, and not a request.
pub(crate) fn named(text: &str) -> Result<PageKey, Fault> {
    PageKey::parse(text, &SourceId::default()).map_err(|error| Fault::of(FaultKind::Input, &error))
}

/// The page of a name, if there is one that may be seen, deleted or not.
fn visible(house: &House, ws: &WorkspaceId, text: &str) -> Result<PageKey, Fault> {
    let key = named(text)?;
    let keys = if text.contains("::") {
        vec![key.clone()]
    } else {
        let sources = house.store().sources(ws)?;
        sources.into_iter().map(|source| PageKey::new(source.id, key.slug.clone())).collect()
    };
    let seen = house.store().visibilities(ws, &keys)?;
    let mut found: Vec<PageKey> = keys
        .into_iter()
        .zip(seen)
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
                .hint("say which with `source::slug`"))
        }
    }
}

/// Refuses a page that was made private while it was read. Checked after reading: what was read then belongs to
/// a page that callers might still see.
fn refuse_hidden(house: &House, ws: &WorkspaceId, key: &PageKey) -> Result<(), Fault> {
    let seen = house.store().visibilities(ws, std::slice::from_ref(key))?;
    if seen == [Some(Visibility::World)] { Ok(()) } else { Err(no_page(key)) }
}

fn no_page(key: &PageKey) -> Fault {
    Fault::not_found(format!("there is no page `{key}`"))
}
