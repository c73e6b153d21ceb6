//! Reports for browsers: one self-contained page.
//!
//! Guarantees: no network requests (a content security policy forbids them), no scripts, all
//! untrusted text escaped, bounded size. It works in light and dark mode, on small screens, by
//! keyboard and with a screen reader: colour is never the only signal. Queries are shown, because
//! the file stays with the owner of the brain.

mod bars;
mod checks;
mod compare;
mod gate;
mod judged;
mod page;
mod plot;
mod rankings;
mod replay;
mod scatter;

pub use compare::compare;
pub use gate::gate;
pub use replay::replay;

use super::escape::visible_markup;

/// Maximum length of a query or message, in characters.
const TEXT: usize = 600;
/// Maximum length of a page name, in characters.
const NAME: usize = 200;
/// Maximum number of rows, and of judged queries, to list.
const ROWS: usize = 200;
/// Maximum number of pages to list per ranking.
const PAGES: usize = 20;

/// Escapes untrusted text for HTML.
fn text(text: &str) -> String {
    visible_markup(text, TEXT)
}

/// A page name with its source dimmed.
fn page_name(page: &str) -> String {
    match page.split_once("::") {
        Some((source, slug)) => {
            let (source, slug) = (visible_markup(source, NAME), visible_markup(slug, NAME));
            format!("<span class=\"name\"><span class=\"dim\">{source}::</span>{slug}</span>")
        }
        None => format!("<span class=\"name\">{}</span>", visible_markup(page, NAME)),
    }
}

/// A section with its heading; empty without a body.
fn section(id: &str, heading: &str, lead: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let lead =
        if lead.is_empty() { String::new() } else { format!("<p class=\"lead\">{lead}</p>\n") };
    format!(
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n{lead}{body}</section>\n"
    )
}

/// A list; empty without items. Items must be markup.
fn list(class: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// A table that scrolls in a narrow window. Cells must be markup.
fn table(label: &str, class: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let heads: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let row = |cells: &Vec<String>| {
        let (first, rest) =
            cells.split_first().map_or((String::new(), &[][..]), |(f, r)| (f.clone(), r));
        let rest: String = rest.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr><th scope=\"row\">{first}</th>{rest}</tr>\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\n<table \
         class=\"{class}\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}
