//! Pages as resources: paginated lists and contents.
//!
//! This module only translates response bodies to the protocol; the operations decide what a caller
//! may see.

use gbrain_core::id::{PageKey, Slug, SourceId};
use rmcp::model::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::Value;

use super::address;

/// Pages per list response.
pub(super) const PAGE_SIZE: u16 = 100;

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(address::TEMPLATE, "page").with_title("A page").with_description(
        "One page of memory. `source` and `slug` are the two halves of a page's name, \
             `source::slug`.",
    )
}

/// A page of the resource list, from the body of `list_pages`.
pub(super) fn list(body: &Value) -> ListResourcesResult {
    let pages = body["pages"].as_array().into_iter().flatten();
    let mut list = ListResourcesResult::with_all_items(pages.filter_map(resource).collect());
    list.next_cursor = body["next_after"].as_str().map(str::to_owned);
    list
}

fn resource(page: &Value) -> Option<Resource> {
    let text = |name: &str| page[name].as_str().filter(|text| !text.is_empty());
    let source = SourceId::new(text("source_id")?).ok()?;
    let key = PageKey::new(source, Slug::new(text("slug")?).ok()?);
    let mut resource =
        Resource::new(address::of(&key), key.to_string()).with_mime_type(mime_type(page));
    if let Some(title) = text("title") {
        resource = resource.with_title(title);
    }
    Some(match (text("type"), text("effective_date")) {
        (Some(kind), Some(date)) => resource.with_description(format!("{kind}, {date}")),
        (Some(kind), None) => resource.with_description(kind),
        _ => resource,
    })
}

/// The content of a page, from the body of `get_page`.
pub(super) fn read(uri: String, body: &Value) -> ReadResourceResult {
    let content = body["content"].as_str().unwrap_or_default();
    let contents = ResourceContents::text(content, uri).with_mime_type(mime_type(body));
    ReadResourceResult::new(vec![contents])
}

/// A chat may be JSON or markdown; both are served as text.
fn mime_type(page: &Value) -> &'static str {
    match page["kind"].as_str() {
        Some("markdown") => "text/markdown",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_pages_is_a_list_of_resources() {
        let body = json!({
            "pages": [
                { "source_id": "wiki", "slug": "people/ada", "title": "Ada", "type": "person",
                  "kind": "markdown", "effective_date": null },
                { "source_id": "chats", "slug": "a b", "title": "", "type": "chat", "kind": "chat",
                  "effective_date": "2026-05-01" },
            ],
            "next_after": "chats::a b",
        });
        let list = serde_json::to_value(list(&body)).unwrap();
        assert_eq!(list["nextCursor"], "chats::a b");
        assert_eq!(
            list["resources"],
            json!([
                { "uri": "gbrain://page/wiki/people/ada", "name": "wiki::people/ada",
                  "title": "Ada", "description": "person", "mimeType": "text/markdown" },
                { "uri": "gbrain://page/chats/a%20b", "name": "chats::a b",
                  "description": "chat, 2026-05-01", "mimeType": "text/plain" },
            ])
        );
    }

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let body = json!({ "kind": "markdown", "content": "# Ada\n" });
        let read = serde_json::to_value(read("gbrain://page/wiki/ada".to_owned(), &body)).unwrap();
        let expected = json!([{
            "uri": "gbrain://page/wiki/ada", "mimeType": "text/markdown", "text": "# Ada\n",
        }]);
        assert_eq!(read["contents"], expected);
    }
}
