//! Pages of the memory: search, browse, read, compare, write, delete, restore.

use gbrain_console::Page;
use gbrain_console::page::memory::{
    self, ComparedVersions, Draft, LinkList, ListQuery, MemoryContent, PageState, PageVersions,
    PageView, SourceList, StoredText, page_path,
};
use gbrain_core::fault::{Fault, FaultKind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::console::Fields;
use crate::console::call::ConsoleCall;

/// Pages of a search.
const FOUND: u16 = 25;

pub(super) fn list(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let text = |name: &str| fields.get(name).unwrap_or_default().to_owned();
    let query = ListQuery {
        q: text("q"),
        source: text("source"),
        page_type: text("type"),
        tag: text("tag"),
        prefix: text("prefix"),
        is_deleted_shown: fields.get("deleted").is_some(),
        after: text("after"),
    };
    let sources: SourceList = call.read("list_sources", &[])?;
    let content = if query.q.trim().is_empty() {
        let mut filters = fields.only(&["source", "type", "tag", "prefix", "after"]);
        if query.is_deleted_shown {
            filters.push(("deleted", "true"));
        }
        MemoryContent::Browse(call.read("list_pages", &filters)?)
    } else {
        let one = |name: &str| Vec::from_iter(fields.get(name));
        let ask = json!({
            "query": query.q, "limit": FOUND,
            "sources": one("source"), "types": one("type"), "tags": one("tag"),
        });
        MemoryContent::Found(call.send("query", &[], &ask)?)
    };
    Ok(memory::list(&query, &sources, &content, call.may("put_page")))
}

pub(super) fn view(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let name = fields.require("page")?;
    let version = fields.get("version");
    let stored = match read(call, name, version) {
        Ok(stored) => stored,
        Err(missing) if is_missing(&missing) => match missing_page(call, fields, name)? {
            MissingPage::Linked(stored) => *stored,
            MissingPage::Deleted(page) => return Ok(*page),
            MissingPage::Unknown => return Err(missing),
        },
        Err(fault) => return Err(fault),
    };
    let newest = match version {
        None => stored.version,
        Some(_) => versions(call, &stored.name())?
            .versions
            .last()
            .map_or(stored.version, |last| last.version),
    };
    let state = if stored.version == newest { PageState::Newest } else { PageState::Older };
    let links = match state {
        PageState::Newest => Some(links(call, &stored.name())?),
        PageState::Older => None,
    };
    let today = crate::console::now().strftime("%Y-%m-%d").to_string();
    let may_write = call.may("put_page");
    Ok(memory::view(&PageView {
        stored: &stored,
        state,
        links: links.as_ref(),
        may_write,
        today: &today,
    }))
}

fn read(call: &ConsoleCall<'_>, name: &str, version: Option<&str>) -> Result<StoredText, Fault> {
    let fields: Vec<(&str, &str)> =
        [("page", name)].into_iter().chain(version.map(|version| ("version", version))).collect();
    call.read("get_page", &fields)
}

fn links(call: &ConsoleCall<'_>, name: &str) -> Result<LinkList, Fault> {
    call.read("links", &[("page", name), ("evidence", "true")])
}

fn versions(call: &ConsoleCall<'_>, name: &str) -> Result<PageVersions, Fault> {
    call.read("page_history", &[("page", name)])
}

/// Whether a fault says that there is no such page; a title is not even a name of one.
fn is_missing(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::NotFound | FaultKind::Input | FaultKind::Usage)
}

/// What stands in place of a page that cannot be read.
enum MissingPage {
    /// The page that a link means by a slug of another source, a title or an alias.
    Linked(Box<StoredText>),
    Deleted(Box<Page>),
    Unknown,
}

fn missing_page(call: &ConsoleCall<'_>, fields: &Fields, name: &str) -> Result<MissingPage, Fault> {
    if fields.get("version").is_none()
        && let Some(versions) = versions(call, name).ok().filter(PageVersions::is_deleted)
    {
        let page = memory::deleted(&versions.name(), &versions, call.may("restore_page"));
        return Ok(MissingPage::Deleted(Box::new(page)));
    }
    if fields.get("link").is_none() {
        return Ok(MissingPage::Unknown);
    }
    let target = name.split_once("::").map_or(name, |(_, target)| target);
    if let Ok(stored) = read(call, target, None) {
        return Ok(MissingPage::Linked(Box::new(stored)));
    }
    let named = named_page(call, target)?.and_then(|name| read(call, &name, None).ok());
    Ok(named.map_or(MissingPage::Unknown, |stored| MissingPage::Linked(Box::new(stored))))
}

/// The page whose title or alias this is. `explain` captures nothing, as nobody typed this query.
fn named_page(call: &ConsoleCall<'_>, title: &str) -> Result<Option<String>, Fault> {
    #[derive(Deserialize)]
    struct QueryExplanation {
        answer: QueryHits,
    }
    #[derive(Deserialize)]
    struct QueryHits {
        hits: Vec<Value>,
    }
    let ask = json!({ "ask": { "query": title, "limit": 1 }, "operation": "search" });
    let explained: QueryExplanation = call.send("explain", &[], &ask)?;
    let exact = explained.answer.hits.first().filter(|hit| hit["evidence"] == "exact_name");
    let text = |hit: &Value, key: &str| hit[key].as_str().unwrap_or_default().to_owned();
    Ok(exact.map(|hit| format!("{}::{}", text(hit, "source_id"), text(hit, "slug"))))
}

pub(super) fn history(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let versions = versions(call, fields.require("page")?)?;
    let name = versions.name();
    let chosen = |field: &str| fields.get(field).and_then(|version| version.parse::<u32>().ok());
    let pair = versions
        .newest_two()
        .map(|(before, after)| (chosen("from").unwrap_or(before), chosen("to").unwrap_or(after)));
    let text =
        |version: u32| read(call, &name, Some(&version.to_string())).map(|stored| stored.content);
    let compared = match pair {
        Some((before, after)) => Some(ComparedVersions {
            before,
            after,
            before_text: text(before)?,
            after_text: text(after)?,
        }),
        None => None,
    };
    Ok(memory::history(&versions, compared.as_ref(), call.may("restore_page")))
}

pub(super) fn draft(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    require_write(call)?;
    Ok(memory::write(&Draft { name: fields.get("name").unwrap_or_default() }))
}

pub(super) fn edit(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    require_write(call)?;
    Ok(memory::edit(&read(call, fields.require("page")?, None)?))
}

pub(super) fn confirm_delete(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    require_write(call)?;
    let stored = read(call, fields.require("page")?, None)?;
    let links = links(call, &stored.name())?;
    Ok(memory::confirm_delete(&stored, &links))
}

/// A form that the reader may not send is not shown.
fn require_write(call: &ConsoleCall<'_>) -> Result<(), Fault> {
    if call.may("put_page") {
        return Ok(());
    }
    Err(Fault::forbidden("this needs a token of scope write")
        .hint("sign out, then sign in with a token of that scope"))
}

/// Writes a page that does not exist yet.
pub(in crate::console) fn create(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let name = fields.require("page")?.trim();
    put(call, fields, name, "0", "markdown").map_err(|fault| match fault.kind {
        FaultKind::Conflict => Fault::conflict(format!("there is a page `{name}` already, or it was deleted"))
            .hint("go back: your text is still in the form; choose another name, or open that page and edit or restore it"),
        _ => fault,
    })
}

/// Writes a page if it is at the version that its reader saw.
pub(in crate::console) fn write(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let format = match fields.get("format") {
        Some("text") => "text",
        _ => "markdown",
    };
    put(call, fields, path_value(fields, "page")?, fields.require("version")?, format).map_err(|fault| match fault.kind {
        FaultKind::Conflict => fault.hint("go back: your text is still in the form; copy it, reload the page and put your change in again"),
        _ => fault,
    })
}

fn put(
    call: &ConsoleCall<'_>,
    fields: &Fields,
    name: &str,
    version: &str,
    format: &str,
) -> Result<String, Fault> {
    // A form sends line breaks of two characters.
    let content = fields.require("content")?.replace("\r\n", "\n");
    let body = json!({ "content": content, "format": format });
    let written: Value =
        call.send("put_page", &[("page", name), ("if_version", version)], &body)?;
    let part = |key: &str| written[key].as_str().unwrap_or_default().to_owned();
    Ok(page_path(&format!("{}::{}", part("source_id"), part("slug"))))
}

pub(in crate::console) fn delete(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let name = path_value(fields, "page")?;
    call.read::<Value>("delete_page", &[("page", name)])?;
    Ok(page_path(name))
}

pub(in crate::console) fn restore(
    call: &ConsoleCall<'_>,
    fields: &Fields,
) -> Result<String, Fault> {
    let name = path_value(fields, "page")?;
    call.read::<Value>("restore_page", &[("page", name)])?;
    Ok(page_path(name))
}

/// A parameter of the path: it stands behind the fields of the form, which may have its name.
fn path_value<'a>(fields: &'a Fields, name: &str) -> Result<&'a str, Fault> {
    let found = fields.0.iter().rev().find(|(one, _)| one == name);
    found
        .map(|(_, value)| value.as_str())
        .ok_or_else(|| Fault::usage(format!("the field `{name}` is missing")))
}
