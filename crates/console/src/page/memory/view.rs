//! One page of the memory: its text, facts, claims and links.

use gbrain_core::search::display::plain;
use maud::{Markup, html};
use serde::Deserialize;

use super::text::{SplitText, body};
use super::{command_line, page_link, page_path, path_below};
use crate::chart::neighbourhood::{MAX_SIDE, Neighbour, neighbourhood};
use crate::chart::periods::{MAX_PERIODS, Period, periods};
use crate::chart::plot::figure;
use crate::markdown::TextPlace;
use crate::part::{self, Tone, count, csrf_field, facts, heading, section, state, table, tag, url};
use crate::shell::{Page, Section};

/// Most links shown in a table.
const MAX_LINKS: usize = 100;

/// `GET /v1/pages/{page}`.
#[derive(Debug, Deserialize)]
pub struct StoredText {
    pub source_id: String,
    pub slug: String,
    pub version: u32,
    pub kind: String,
    pub title: String,
    #[serde(rename = "type")]
    pub page_type: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub aliases: Vec<String>,
    pub effective_date: Option<String>,
    pub content: String,
    #[serde(default)]
    pub takes: Vec<TakeEntry>,
}

impl StoredText {
    /// The page, as `source::slug`.
    pub fn name(&self) -> String {
        format!("{}::{}", self.source_id, self.slug)
    }
}

/// A dated claim.
#[derive(Debug, Clone, Deserialize)]
pub struct TakeEntry {
    pub claim: String,
    pub kind: String,
    pub holder: Option<String>,
    pub weight: f64,
    pub since: Option<String>,
    pub until: Option<String>,
    pub active: bool,
}

impl TakeEntry {
    /// Days in this form are in the order of their texts.
    fn has_ended(&self, today: &str) -> bool {
        self.until.as_deref().is_some_and(|until| until < today)
    }
}

/// `GET /v1/pages/{page}/links?evidence=true`.
#[derive(Debug, Default, Deserialize)]
pub struct LinkList {
    pub edges: Vec<EdgeEntry>,
    #[serde(default)]
    pub unresolved: Vec<String>,
}

/// A link between two pages.
#[derive(Debug, Deserialize)]
pub struct EdgeEntry {
    #[serde(rename = "type")]
    pub link_type: String,
    pub from: String,
    pub to: String,
    pub confidence: f64,
    #[serde(default)]
    pub detected_by: String,
    pub since: Option<String>,
    pub until: Option<String>,
    pub evidence_page: String,
    pub evidence: Option<String>,
}

/// Whether a version of a page is its newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    Newest,
    Older,
}

/// A page and what surrounds it.
#[derive(Debug)]
pub struct PageView<'a> {
    pub stored: &'a StoredText,
    pub state: PageState,
    /// Only of the newest version.
    pub links: Option<&'a LinkList>,
    pub may_write: bool,
    pub today: &'a str,
}

pub fn view(view: &PageView<'_>) -> Page {
    let PageView { stored, state: version, links, may_write, today } = *view;
    let (name, split) = (stored.name(), SplitText::of(&stored.content));
    let (newest, own) = (version == PageState::Newest, stored.version.to_string());
    Page {
        title: stored.title.clone(),
        section: Section::Memory,
        command: if newest {
            command_line("gbrain get", &[("", &name)])
        } else {
            command_line("gbrain get --version", &[("", &own), ("", &name)])
        },
        header: header(stored, &name, newest),
        controls: controls(stored, &name, newest && may_write),
        main: html! {
            (text_section(stored, &split))
            (frontmatter(&split))
            (takes(&stored.takes, today))
            @if let Some(links) = links { (link_sections(&name, links)) }
        },
        ..Page::default()
    }
}

fn header(stored: &StoredText, name: &str, newest: bool) -> Markup {
    let title = if stored.title.is_empty() { name.to_owned() } else { part::text(&stored.title) };
    let why = if newest {
        String::new()
    } else {
        format!("Version {}, which is not the newest.", stored.version)
    };
    let mut all = vec![("Name to paste", html! { code { (part::text(name)) } })];
    if let Some(date) = &stored.effective_date {
        all.push(("Date", html! { time datetime=(date) { (date) } }));
    }
    if !stored.tags.is_empty() {
        all.push((
            "Tags",
            list(stored.tags.iter().map(
                |tag| html! { a href=(url("/pages", &[("tag", tag)])) { (part::text(tag)) } },
            )),
        ));
    }
    if !stored.aliases.is_empty() {
        all.push((
            "Also called",
            list(stored.aliases.iter().map(|alias| html! { bdi { (part::text(alias)) } })),
        ));
    }
    let version = html! {
        (stored.version) " "
        @if !newest { a href=(page_path(name)) { "newest" } ", " }
        a href=(path_below(name, "history")) { "history" }
    };
    all.push(("Version", version));
    html! { (heading(&part::text(&stored.page_type), &title, None, &why)) (facts(&all)) }
}

/// Values with commas; a long list is cut.
fn list(values: impl Iterator<Item = Markup>) -> Markup {
    const SHOWN: usize = 20;
    let values: Vec<Markup> = values.collect();
    html! {
        @for (at, value) in values.iter().take(SHOWN).enumerate() { @if at > 0 { ", " } (value) }
        @if values.len() > SHOWN { " and " (values.len() - SHOWN) " more" }
    }
}

fn controls(stored: &StoredText, name: &str, may_write: bool) -> Markup {
    html! {
        div.row {
            @if may_write {
                @if stored.kind != "chat" { a.button href=(path_below(name, "edit")) { "Edit" } }
                a.button href=(path_below(name, "delete")) { "Delete" }
            }
            a.button href=(path_below(name, "history")) { "History" }
            a.button href=(url("/explain", &[("q", &stored.title)])) { "Explain a search for it" }
        }
    }
}

fn text_section(stored: &StoredText, split: &SplitText<'_>) -> Markup {
    let place = TextPlace { source: &stored.source_id, slug: &stored.slug, heading: 2 };
    let shown = if split.body.trim().is_empty() {
        html! { p.dim { "This page has no text." } }
    } else {
        body(split.body, &stored.title, &stored.kind, place)
    };
    section("text", if stored.kind == "chat" { "Conversation" } else { "Text" }, "", &shown)
}

fn frontmatter(split: &SplitText<'_>) -> Markup {
    let Some(written) = split.frontmatter else { return html! {} };
    let found: Vec<(&str, Markup)> = split
        .facts()
        .into_iter()
        .map(|(key, value)| (key, html! { bdi { (part::text(value)) } }))
        .collect();
    let body = html! {
        (facts(&found))
        details.source { summary { "As written" } pre.code tabindex="0" { @for line in written.lines().take(500) { (part::text(line)) "\n" } } }
    };
    section("frontmatter", "Frontmatter", "", &body)
}

fn takes(takes: &[TakeEntry], today: &str) -> Markup {
    let mut sorted: Vec<&TakeEntry> = takes.iter().collect();
    sorted.sort_by(|a, b| (a.since.is_none(), &a.since).cmp(&(b.since.is_none(), &b.since)));
    let rows: Vec<Vec<Markup>> = sorted.iter().map(|take| take_row(take, today)).collect();
    let head = ["Claim", "Kind", "Held by", "Confidence", "Since", "Until", "State"];
    let body = html! {
        (take_chart(&sorted, today))
        (table("claims with dates", "takes", &head, &rows))
    };
    if takes.is_empty() {
        html! {}
    } else {
        section(
            "takes",
            "Claims over time",
            "Dated claims of the frontmatter, oldest first.",
            &body,
        )
    }
}

fn take_row(take: &TakeEntry, today: &str) -> Vec<Markup> {
    let date = |date: &Option<String>, missing: &str| html! { @match date { Some(date) => { time datetime=(date) { (date) } } None => span.dim { (missing) } } };
    vec![
        html! { bdi { (part::text(&take.claim)) } },
        html! { (part::text(&take.kind)) },
        html! { @match &take.holder { Some(holder) => bdi { (part::text(holder)) } None => span.dim { "not stated" } } },
        html! { (format!("{:.2}", take.weight)) },
        date(&take.since, "not stated"),
        date(&take.until, "open"),
        match (take.active, take.has_ended(today)) {
            (false, _) => tag(Tone::Neutral, "superseded"),
            (true, true) => tag(Tone::Neutral, "ended"),
            (true, false) => tag(Tone::Good, "holds"),
        },
    ]
}

/// The claims with a start, as periods; nothing for fewer than two.
fn take_chart(takes: &[&TakeEntry], today: &str) -> Markup {
    let day = |date: &Option<String>| date.as_deref().and_then(day_number);
    let dated: Vec<Period> = takes
        .iter()
        .filter_map(|take| {
            let (name, since) = (gbrain_core::report::visible(&take.claim, 70), day(&take.since)?);
            Some(Period {
                name,
                since,
                until: day(&take.until),
                is_active: take.active && !take.has_ended(today),
            })
        })
        .take(MAX_PERIODS)
        .collect();
    let Some(first) = dated.iter().map(|period| period.since).min().filter(|_| dated.len() > 1)
    else {
        return html! {};
    };
    let ended = dated.iter().filter_map(|period| period.until).max().unwrap_or(first);
    let started = dated.iter().map(|period| period.since).max().unwrap_or(first);
    let last = day_number(today).unwrap_or(first).max(ended).max(started);
    let start = takes.iter().filter_map(|take| take.since.as_deref()).min().unwrap_or_default();
    let end = if day_number(today) == Some(last) { "today" } else { "later" };
    let words = format!(
        "{} from {start} on; the table has their dates",
        count(dated.len() as u64, "claim", "claims")
    );
    figure(
        "When each claim held",
        &part::scrolling(
            "Drawing of the claims",
            &periods(&dated, (first, last), [start, end], &words),
        ),
        "Grey: superseded or ended.",
    )
}

/// Days since a fixed day, of a date such as `2026-05-01` (H. Hinnant, `days_from_civil`).
fn day_number(date: &str) -> Option<i64> {
    let mut parts = date.get(..10)?.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year)
}

fn link_sections(name: &str, links: &LinkList) -> Markup {
    let (outgoing, incoming): (Vec<&EdgeEntry>, Vec<&EdgeEntry>) =
        links.edges.iter().partition(|edge| edge.from == name);
    let drawing = neighbourhood(
        name,
        &neighbours(&incoming, |edge| &edge.from),
        &neighbours(&outgoing, |edge| &edge.to),
    );
    let body = html! {
        @if links.edges.is_empty() { p.dim { "No page links to this one, and it links to no page." } }
        @if !links.edges.is_empty() { (part::scrolling("Drawing of the links", &drawing)) }
        (edges("out", "Links from this page", &outgoing, |edge| &edge.to))
        (edges("in", "Links to this page", &incoming, |edge| &edge.from))
        (unresolved(&links.unresolved))
        @if !links.edges.is_empty() { p.more { "The same in a terminal: " code { (command_line("gbrain links", &[("", name)])) } } }
    };
    let more = links.edges.len() > 2 * MAX_SIDE;
    let lead = if more {
        "The strongest links are drawn; each is read from a sentence of a page."
    } else {
        "Each link is read from a sentence of a page."
    };
    section("links", "Links", lead, &body)
}

/// The pages at the other ends, in the order of their strongest link.
fn neighbours(edges: &[&EdgeEntry], other: impl Fn(&EdgeEntry) -> &String) -> Vec<Neighbour> {
    let mut found: Vec<Neighbour> = Vec::new();
    for edge in edges.iter().take(MAX_LINKS) {
        let (page, words) = (other(edge), link_words(&edge.link_type));
        match found.iter_mut().find(|neighbour| neighbour.page == *page) {
            Some(neighbour) if neighbour.types.split(", ").any(|one| one == words) => {}
            Some(neighbour) => {
                neighbour.types.push_str(", ");
                neighbour.types.push_str(&words);
            }
            None => {
                found.push(Neighbour { page: page.clone(), href: page_path(page), types: words })
            }
        }
    }
    found
}

fn link_words(link_type: &str) -> String {
    link_type.replace('_', " ")
}

fn edges(
    id: &str,
    title: &str,
    edges: &[&EdgeEntry],
    other: impl Fn(&EdgeEntry) -> &String,
) -> Markup {
    let row = |edge: &&EdgeEntry| {
        vec![
            page_link(other(edge)),
            html! { (link_words(&edge.link_type)) span.note { (format!("confidence {:.2}, ", edge.confidence)) (edge.detected_by.replace('_', " ")) } },
            dates(edge),
            html! {
                @match &edge.evidence { Some(text) => bdi { (part::text(&plain(text, &[]).text)) } None => span.dim { "in the frontmatter, or not shown" } }
                span.note { "on " (page_link(&edge.evidence_page)) }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = edges.iter().take(MAX_LINKS).map(row).collect();
    html! {
        @if !rows.is_empty() {
            h3 id=(id) { (title) ": " (edges.len()) }
            (table(title, "links", &["Page", "Link", "When", "Evidence"], &rows))
            @if edges.len() > MAX_LINKS { p.more { "And " (edges.len() - MAX_LINKS) " more." } }
        }
    }
}

fn dates(edge: &EdgeEntry) -> Markup {
    html! {
        @match (&edge.since, &edge.until) {
            (Some(since), Some(until)) => { (since) " to " (until) }
            (Some(since), None) => { "since " (since) }
            (None, Some(until)) => { "until " (until) }
            (None, None) => span.dim { "no date" },
        }
    }
}

fn unresolved(targets: &[String]) -> Markup {
    html! {
        @if !targets.is_empty() {
            h3 { "Links to pages that do not exist yet: " (targets.len()) }
            ul.plain { @for target in targets.iter().take(MAX_LINKS) { li { (part::page_name(target)) } } }
        }
    }
}

/// A page that was deleted: its history stays.
pub fn deleted(name: &str, versions: &super::PageVersions, may_write: bool) -> Page {
    let last = versions.versions.iter().rev().find(|version| version.op != "delete");
    let title = last.map_or_else(|| name.to_owned(), |version| version.title.clone());
    let restore = html! {
        @if may_write {
            form method="post" action=(path_below(name, "restore")) { (csrf_field()) button.primary type="submit" { "Restore the page" } }
        } @else { p { "A token of scope write can restore it." } }
    };
    let read =
        last.map(|version| url(&page_path(name), &[("version", &version.version.to_string())]));
    Page {
        title: title.clone(),
        section: Section::Memory,
        command: command_line("gbrain history", &[("", name)]),
        header: html! {
            (heading("Deleted page", &part::text(&title), None, "This page was deleted; its history stays."))
            (facts(&[("Name to paste", html! { code { (part::text(name)) } }), ("State", state("deleted"))]))
        },
        main: section(
            "restore",
            "What to do",
            "",
            &html! {
                (restore)
                @if let Some(read) = read { p.more { a href=(read) { "Read its last text" } " · " a href=(path_below(name, "history")) { "History" } } }
            },
        ),
        ..Page::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted() {
        let span = |from, to| day_number(to).unwrap() - day_number(from).unwrap();
        assert_eq!(span("2024-02-28", "2024-03-01"), 2);
        assert_eq!(span("2026-01-01", "2027-01-01"), 365);
        assert_eq!(span("1999-12-31", "2000-01-01"), 1);
        assert_eq!(day_number("soon"), None);
        assert_eq!(day_number("2026-0x-01"), None);
    }
}
