//! Forms that write and delete pages.

use maud::{Markup, html};

use super::view::{LinkList, StoredText};
use super::{command_line, page_link, page_path, path_below};
use crate::part::{self, count, csrf_field, facts, heading, section};
use crate::shell::{Page, Section};

/// The longest text that a form takes, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The start of a new page.
#[derive(Debug, Default)]
pub struct Draft<'a> {
    pub name: &'a str,
}

/// The form for a new page.
pub fn write(draft: &Draft<'_>) -> Page {
    let body = html! {
        form.write method="post" action="/pages/new" {
            (csrf_field())
            label { "Name: a slug, or source::slug" input name="page" size="48" required maxlength="546" value=(part::text(draft.name)) placeholder="notes/first-idea"; }
            (text_field("---\ntitle: \ntype: note\ntags: []\n---\n\n"))
            p.row { button.primary type="submit" { "Write the page" } a.button href="/pages" { "Cancel" } }
        }
    };
    Page {
        title: "New page".to_owned(),
        section: Section::Memory,
        command: "gbrain put notes/first-idea FILE".to_owned(),
        header: heading(
            "",
            "New page",
            None,
            "Markdown, with frontmatter if you like. The page must not exist yet.",
        ),
        main: section("write", "Text", "", &body),
        ..Page::default()
    }
}

/// The form for an existing page: it is written only if it still is at this version.
pub fn edit(stored: &StoredText) -> Page {
    let name = stored.name();
    Page {
        title: format!("Edit {}", stored.title),
        section: Section::Memory,
        command: command_line("gbrain put", &[("", &name), ("", "FILE")]),
        header: html! {
            (heading("Edit", &part::text(&stored.title), None, "The history keeps the text as it is now."))
            (facts(&[("Page", page_link(&name)), ("Version", html! { (stored.version) })]))
        },
        main: section("write", "Text", "", &form(stored, &name)),
        ..Page::default()
    }
}

fn form(stored: &StoredText, name: &str) -> Markup {
    let with_file = command_line("gbrain put", &[("", name), ("", "FILE")]);
    if stored.kind == "chat" || stored.content.len() > MAX_BYTES {
        let why = if stored.kind == "chat" {
            "A conversation is imported, not edited."
        } else {
            "This text is too long for a form."
        };
        return html! { p { (why) " Write it from a file:" } (part::command(&with_file)) };
    }
    html! {
        form.write method="post" action=(path_below(name, "write")) {
            (csrf_field())
            input type="hidden" name="version" value=(stored.version);
            input type="hidden" name="format" value=(stored.kind);
            (text_field(&stored.content))
            p.row { button.primary type="submit" { "Save" } a.button href=(page_path(name)) { "Cancel" } }
            p.more { "If the page has changed since, nothing is saved and you are told so; your text stays in this form when you go back." }
        }
    }
}

/// A text to edit. Browsers drop a line break at its start.
fn text_field(text: &str) -> Markup {
    html! { label { "Text" textarea name="content" rows="24" required spellcheck="true" dir="auto" { "\n" (text) } } }
}

/// Asks whether to delete a page.
pub fn confirm_delete(stored: &StoredText, links: &LinkList) -> Page {
    let name = stored.name();
    let mut linking: Vec<&str> =
        links.edges.iter().filter(|edge| edge.to == name).map(|edge| edge.from.as_str()).collect();
    linking.sort_unstable();
    linking.dedup();
    let body = html! {
        p { "Its text no longer answers questions. Its history stays, and it can be restored." }
        @if !linking.is_empty() {
            p { (count(linking.len() as u64, "page links", "pages link")) " to it:" }
            ul.plain { @for page in linking.iter().take(20) { li { (page_link(page)) } } }
            @if linking.len() > 20 { p.more { "And " (linking.len() - 20) " more." } }
        }
        form method="post" action=(path_below(&name, "delete")) {
            (csrf_field())
            p.row { button.danger type="submit" { "Delete the page" } a.button href=(page_path(&name)) { "Keep it" } }
        }
        p.more { "To erase a page and its history: " code { (command_line("gbrain purge", &[("", &name)])) } }
    };
    Page {
        title: format!("Delete {}", stored.title),
        section: Section::Memory,
        command: command_line("gbrain delete", &[("", &name)]),
        header: html! {
            (heading("Delete", &part::text(&stored.title), None, "Delete this page?"))
            (facts(&[("Page", page_link(&name)), ("Version", html! { (stored.version) })]))
        },
        main: section("delete", "Delete", "", &body),
        ..Page::default()
    }
}
