//! Renders the Markdown of pages: CommonMark with tables, strikethrough, lists of tasks and
//! wikilinks, as `pulldown-cmark` reads it, and web addresses without brackets.
//!
//! Promises: every element of the output is written here, so raw HTML is shown as text; addresses
//! are `http`, `https` or `mailto`, or pages of the console; invisible characters are shown;
//! headings continue the order of the page that they are in; time is linear in the text, and what
//! is nested deeper than [`MAX_DEPTH`] is shown as it was written.
//!
//! Not here: images (a page of the console loads nothing from elsewhere: their place has a link),
//! titles of links, footnotes, HTML.

use std::iter::Peekable;
use std::ops::Range;

use gbrain_core::link::{target_of_address, target_of_value};
use gbrain_core::report::visible;
use maud::{Markup, html};
use pulldown_cmark::{
    CowStr, Event, LinkType, OffsetIter, Options, Parser, Tag, TextMergeWithOffset,
};

use crate::part::percent_encoded;

/// How deep quotes, lists, emphasis and links nest, counted together.
const MAX_DEPTH: usize = 16;

const EXTENSIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_WIKILINKS);

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
    let text = &text.replace("\r\n", "\n");
    let events = Parser::new_ext(text, EXTENSIONS).into_offset_iter();
    let mut renderer = Renderer {
        text,
        place,
        events: TextMergeWithOffset::new(events).peekable(),
        heading: place.heading,
        depth: 0,
        is_in_link: false,
        is_in_table_head: false,
    };
    renderer.content()
}

struct Renderer<'t> {
    text: &'t str,
    place: TextPlace<'t>,
    events: Peekable<TextMergeWithOffset<'t, OffsetIter<'t>>>,
    /// The level of the last heading.
    heading: usize,
    /// The elements around the next event that count towards [`MAX_DEPTH`].
    depth: usize,
    /// HTML has no links inside links.
    is_in_link: bool,
    is_in_table_head: bool,
}

impl<'t> Renderer<'t> {
    /// Everything up to the end of the open element.
    fn content(&mut self) -> Markup {
        html! { @while let Some(part) = self.part() { (part) } }
    }

    /// The next text or element; none at the end of the open element.
    fn part(&mut self) -> Option<Markup> {
        let (event, range) = self.events.next()?;
        Some(match event {
            Event::End(_) => return None,
            Event::Start(tag) if nests(&tag) => self.nested(tag, range),
            Event::Start(tag) => self.element(tag),
            Event::Text(text) if self.is_in_link => shown(&text),
            Event::Text(text) => self.linked(&text),
            Event::Code(text) => html! { code { (shown(&text)) } },
            Event::Html(text) | Event::InlineHtml(text) => shown(&text),
            Event::SoftBreak => html! { "\n" },
            Event::HardBreak => html! { br; },
            Event::Rule => html! { hr; },
            Event::TaskListMarker(is_done) => html! { (if is_done { "☑ " } else { "☐ " }) },
            // Of extensions that are not enabled.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                shown(&text)
            }
        })
    }

    /// An element that may hold others of its kind.
    fn nested(&mut self, tag: Tag<'t>, range: Range<usize>) -> Markup {
        if self.depth == MAX_DEPTH {
            return self.unrendered(range);
        }
        self.depth += 1;
        let element = match tag {
            Tag::BlockQuote(_) => html! { blockquote { (self.content()) } },
            Tag::List(None) => html! { ul { (self.content()) } },
            Tag::List(Some(start)) => {
                html! { ol start=[(start != 1).then_some(start)] { (self.content()) } }
            }
            Tag::Emphasis => html! { em { (self.content()) } },
            Tag::Strong => html! { strong { (self.content()) } },
            Tag::Strikethrough => html! { s { (self.content()) } },
            Tag::Link { link_type, dest_url, .. } => self.link(link_type, dest_url, "", range),
            Tag::Image { link_type, dest_url, .. } => {
                let is_wikilink = matches!(link_type, LinkType::WikiLink { .. });
                let prefix = if is_wikilink { "" } else { "image: " };
                self.link(link_type, dest_url, prefix, range)
            }
            _ => self.content(),
        };
        self.depth -= 1;
        element
    }

    fn element(&mut self, tag: Tag<'t>) -> Markup {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => html! { p dir="auto" { (self.content()) } },
            Tag::Heading { level, .. } => self.heading(level as usize),
            Tag::CodeBlock(_) => self.code_block(),
            Tag::Item => html! { li dir="auto" { (self.content()) } },
            Tag::Table(_) => html! {
                div.scroll role="region" aria-label="table of the page" tabindex="0" {
                    table { (self.content()) }
                }
            },
            Tag::TableHead => {
                self.is_in_table_head = true;
                let head = html! { thead { tr { (self.content()) } } };
                self.is_in_table_head = false;
                head
            }
            Tag::TableRow => html! { tr { (self.content()) } },
            Tag::TableCell if self.is_in_table_head => {
                html! { th scope="col" { (self.content()) } }
            }
            Tag::TableCell => html! { td { (self.content()) } },
            _ => self.content(),
        }
    }

    /// A heading one level below those above it at most, so that levels have no gaps.
    fn heading(&mut self, level: usize) -> Markup {
        self.heading = (level + self.place.heading).min(self.heading + 1).clamp(2, 6);
        match self.heading {
            2 => html! { h2 { (self.content()) } },
            3 => html! { h3 { (self.content()) } },
            4 => html! { h4 { (self.content()) } },
            5 => html! { h5 { (self.content()) } },
            _ => html! { h6 { (self.content()) } },
        }
    }

    /// Code: its text holds no links.
    fn code_block(&mut self) -> Markup {
        let mut code = String::new();
        while let Some((Event::Text(text), _)) = self.events.next() {
            code.push_str(&text);
        }
        html! {
            pre.code tabindex="0" { code { @for line in code.lines() { (shown(line)) "\n" } } }
        }
    }

    /// A link, or its label and address if it must not be followed.
    fn link(
        &mut self,
        link_type: LinkType,
        address: CowStr<'t>,
        prefix: &str,
        range: Range<usize>,
    ) -> Markup {
        if self.is_in_link {
            return html! { (prefix) (self.content()) };
        }
        let link = match link_type {
            LinkType::WikiLink { .. } => target_of_value(&address).map(|t| self.page_link(&t)),
            LinkType::Email => self.link_of_address(&format!("mailto:{address}")),
            // `<std::vector>` is no page.
            LinkType::Autolink if !is_followed(&address) => None,
            _ => self.link_of_address(&address),
        };
        let has_label = !matches!(link_type, LinkType::WikiLink { .. } | LinkType::Autolink);
        if link.is_none() && !has_label {
            return self.unrendered(range);
        }
        self.is_in_link = link.is_some();
        let label = html! { (prefix) (self.content()) };
        self.is_in_link = false;
        match link {
            Some(link) => link.element(&label),
            None => html! { (label) " " span.dim { "(" (shown(&address)) ")" } },
        }
    }

    /// Text whose web addresses are links. One that emphasis cuts would lead to the wrong place.
    fn linked(&mut self, text: &str) -> Markup {
        let is_cut = matches!(self.events.peek(), Some((Event::Start(_), _)));
        let (mut start, mut end) = (0, 0);
        let mut parts = Vec::new();
        while let Some(step) = text[end..].find(['h', 'H']) {
            let at = end + step;
            let address = bare_address(&text[..at], &text[at..]);
            end = at + address.map_or(1, str::len);
            if let Some(address) = address.filter(|_| !(is_cut && end == text.len())) {
                parts.push((&text[start..at], address));
                start = end;
            }
        }
        html! {
            @for (before, address) in parts {
                (shown(before)) (Link::Web(address.to_owned()).element(&shown(address)))
            }
            (shown(&text[start..]))
        }
    }

    /// Where an address of a Markdown link leads; none if it must not be followed.
    fn link_of_address(&self, address: &str) -> Option<Link> {
        if is_followed(address) {
            return Some(Link::Web(address.to_owned()));
        }
        target_of_address(address, self.place.slug).map(|target| self.page_link(&target))
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

    /// The open element as it was written.
    fn unrendered(&mut self, range: Range<usize>) -> Markup {
        let mut open = 1;
        while open > 0
            && let Some((event, _)) = self.events.next()
        {
            match event {
                Event::Start(_) => open += 1,
                Event::End(_) => open -= 1,
                _ => {}
            }
        }
        shown(&self.text[range])
    }
}

/// Whether an element may hold others of its kind.
fn nests(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::BlockQuote(_)
            | Tag::List(_)
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Link { .. }
            | Tag::Image { .. }
    )
}

/// Where a link leads.
enum Link {
    Web(String),
    Page(String),
}

impl Link {
    fn element(&self, label: &Markup) -> Markup {
        match self {
            Self::Web(address) => {
                html! { a rel="noopener noreferrer" href=(shown(address)) { (label) } }
            }
            Self::Page(path) => html! { a href=(path) { (label) } },
        }
    }
}

/// Text of a page, with its invisible characters.
fn shown(text: &str) -> Markup {
    html! {
        @for (at, line) in text.split('\n').enumerate() {
            @if at > 0 { "\n" }
            (visible(&line.replace('\t', "    "), usize::MAX))
        }
    }
}

/// The web address at the start of `rest`, without the punctuation of the sentence around it.
fn bare_address<'t>(before: &str, rest: &'t str) -> Option<&'t str> {
    let starts = |scheme: &str| {
        rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let ends = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`' | '|' | '*')
    };
    let is_inside_word = before.chars().next_back().is_some_and(char::is_alphanumeric);
    if is_inside_word || !(starts("http://") || starts("https://")) {
        return None;
    }
    let address = &rest[..rest.find(ends).unwrap_or(rest.len())];
    let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '_']);
    is_followed(address).then_some(address)
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
