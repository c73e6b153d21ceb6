//! Renders the Markdown of pages.
//!
//! Promises: every element of the output is written here, so raw HTML is shown as text; addresses
//! are `http`, `https` or `mailto`, or pages of the console; invisible characters are shown;
//! headings continue the order of the page that they are in; time is linear in the text, and what
//! is nested deeper than [`MAX_DEPTH`] is shown as text.
//!
//! Not here: images (a page of the console loads nothing from elsewhere: their place has a link),
//! footnotes, reference links, HTML.

mod block;
mod inline;

use std::fmt::Write as _;

use gbrain_core::link::{target_of_address, target_of_value};
use gbrain_core::report::visible;
use maud::{Escaper, Markup, PreEscaped};

use crate::part::percent_encoded;

/// How deep quotes and lists nest.
const MAX_DEPTH: usize = 8;

/// The page that a text stands on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextPlace<'a> {
    pub(crate) source: &'a str,
    pub(crate) slug: &'a str,
    /// The level of the heading above the text, from 1 to 6.
    pub(crate) heading: usize,
}

/// Renders a text as elements.
pub(crate) fn render(text: &str, place: TextPlace<'_>) -> Markup {
    let text = text.replace('\t', "    ");
    let lines: Vec<&str> = text.lines().collect();
    let mut writer = Writer { out: String::new(), place, heading: place.heading };
    writer.blocks(&lines, 0, Spacing::Loose);
    PreEscaped(writer.out)
}

/// Renders a text without blocks.
#[cfg(test)]
fn render_line(text: &str, place: TextPlace<'_>) -> String {
    let mut writer = Writer { out: String::new(), place, heading: 1 };
    writer.inline(text);
    writer.out
}

/// Whether the paragraphs of a list are elements of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Tight,
    Loose,
}

/// HTML that is built from constant tags and escaped text.
struct Writer<'a> {
    out: String,
    place: TextPlace<'a>,
    /// The level of the last heading.
    heading: usize,
}

impl Writer<'_> {
    fn tag(&mut self, tag: &'static str) {
        self.out.push_str(tag);
    }

    fn text(&mut self, text: &str) {
        let shown = visible(text, usize::MAX);
        Escaper::new(&mut self.out).write_str(&shown).expect("writing to a string succeeds");
    }

    /// A start tag of a link.
    fn open_link(&mut self, link: &Link) {
        match link {
            Link::Web(address) => {
                self.tag("<a rel=\"noopener noreferrer\" href=\"");
                self.text(address);
            }
            Link::Page(path) => {
                self.tag("<a href=\"");
                self.text(path);
            }
        }
        self.tag("\">");
    }

    /// Where an address of a Markdown link leads; none if it must not be followed.
    fn link_of_address(&self, address: &str) -> Option<Link> {
        if is_followed(address) {
            return Some(Link::Web(address.to_owned()));
        }
        target_of_address(address, self.place.slug).map(|target| self.page_link(&target))
    }

    /// Where a wikilink leads.
    fn link_of_wikilink(&self, inner: &str) -> Option<Link> {
        target_of_value(inner).map(|target| self.page_link(&target))
    }

    /// A slug, title or alias, as written; the page of the console resolves it.
    fn page_link(&self, target: &str) -> Link {
        let name = if target.contains("::") {
            target.to_owned()
        } else {
            format!("{}::{target}", self.place.source)
        };
        Link::Page(format!("/pages/{}?link=1", percent_encoded(&name)))
    }
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Link {
    Web(String),
    Page(String),
}

/// Whether an address is of a scheme that a browser may open from here.
fn is_followed(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once(':') else { return false };
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_whole = if is_web { rest.len() > 2 && rest.starts_with("//") } else { !rest.is_empty() };
    (is_web || scheme.eq_ignore_ascii_case("mailto"))
        && is_whole
        && !address.chars().any(|c| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests;
