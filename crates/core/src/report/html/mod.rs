//! Reports for a browser: one page that needs nothing else.
//!
//! Promises: no request to anywhere (a policy in the page forbids it), no script, everything from
//! outside escaped, a bounded size. It reads in light and dark, on a phone, by keyboard and aloud:
//! what a colour says, a word says too. Queries are shown: the file stays with the brain's owner.

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

/// The longest query or message, in characters.
const TEXT: usize = 600;
/// The longest name of a page, in characters.
const NAME: usize = 200;
/// Rows, and judged queries, that are told one by one.
const ROWS: usize = 200;
/// Pages of one ranking that are listed.
const PAGES: usize = 20;

/// A text from outside.
fn text(text: &str) -> String {
    visible_markup(text, TEXT)
}

/// A page's name, its source standing back.
fn page_name(page: &str) -> String {
    match page.split_once("::") {
        Some((source, slug)) => {
            let (source, slug) = (visible_markup(source, NAME), visible_markup(slug, NAME));
            format!("<span class=\"name\"><span class=\"dim\">{source}::</span>{slug}</span>")
        }
        None => format!("<span class=\"name\">{}</span>", visible_markup(page, NAME)),
    }
}

/// A part of the page with its heading; nothing without a body.
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

/// Items one below the other; nothing without items. Items are markup already.
fn list(class: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// A table that scrolls by itself when the window is narrow. Cells are markup already.
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
