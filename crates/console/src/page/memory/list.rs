//! The list of pages, and the search for pages.

use maud::{Markup, html};
use serde::Deserialize;

use super::{command_line, page_path, titled_link};
use crate::part::{self, Tone, count, empty, heading, moment, section, table, tag, url};
use crate::shell::{Page, Section};

/// `GET /v1/pages`.
#[derive(Debug, Default, Deserialize)]
pub struct PageList {
    pub pages: Vec<PageEntry>,
    pub next_after: Option<String>,
}

/// One page of the list.
#[derive(Debug, Deserialize)]
pub struct PageEntry {
    pub source_id: String,
    pub slug: String,
    pub title: String,
    #[serde(rename = "type")]
    pub page_type: String,
    #[serde(default)]
    pub tags: Vec<String>,
    pub effective_date: Option<String>,
    pub updated_at: String,
    pub deleted_at: Option<String>,
}

/// `GET /v1/sources`.
#[derive(Debug, Default, Deserialize)]
pub struct SourceList {
    pub sources: Vec<SourceEntry>,
}

/// One source.
#[derive(Debug, Deserialize)]
pub struct SourceEntry {
    pub id: String,
    #[serde(default)]
    pub pages: u64,
}

/// `POST /v1/query`.
#[derive(Debug, Default, Deserialize)]
pub struct SearchResult {
    pub hits: Vec<SearchHit>,
}

/// One page that was found.
#[derive(Debug, Deserialize)]
pub struct SearchHit {
    pub source_id: String,
    pub slug: String,
    pub title: String,
    #[serde(rename = "type")]
    pub page_type: String,
    pub effective_date: Option<String>,
    pub evidence: String,
    #[serde(default)]
    pub passages: Vec<SnippetEntry>,
}

/// A passage of a page that was found.
#[derive(Debug, Deserialize)]
pub struct SnippetEntry {
    pub snippet: String,
    /// Matching words, as ranges of characters.
    #[serde(default)]
    pub highlights: Vec<(usize, usize)>,
}

/// What the reader asked for: the parameters of the URL.
#[derive(Debug, Default, Clone)]
pub struct ListQuery {
    pub q: String,
    pub source: String,
    pub page_type: String,
    pub tag: String,
    pub prefix: String,
    pub is_deleted_shown: bool,
    pub after: String,
}

/// Pages in order of their names, or in order of a search.
#[derive(Debug)]
pub enum MemoryContent {
    Browse(PageList),
    Found(SearchResult),
}

pub fn list(
    query: &ListQuery,
    sources: &SourceList,
    content: &MemoryContent,
    may_write: bool,
) -> Page {
    let main = match content {
        MemoryContent::Browse(pages) => browse(query, pages),
        MemoryContent::Found(result) => found(query, result),
    };
    let all: u64 = sources.sources.iter().map(|source| source.pages).sum();
    let why = format!(
        "{} in {}.",
        count(all, "page", "pages"),
        count(sources.sources.len() as u64, "source", "sources")
    );
    Page {
        title: "Memory".to_owned(),
        section: Section::Memory,
        command: command(query),
        header: heading("", "Memory", None, &why),
        controls: controls(query, sources, may_write),
        main,
        ..Page::default()
    }
}

fn command(query: &ListQuery) -> String {
    let filters =
        [("--source", query.source.as_str()), ("--type", &query.page_type), ("--tag", &query.tag)];
    if query.q.is_empty() {
        let deleted = if query.is_deleted_shown { "gbrain list --deleted" } else { "gbrain list" };
        let list = [("--prefix", query.prefix.as_str()), ("--after", &query.after)];
        command_line(deleted, &[&filters[..], &list].concat())
    } else {
        command_line("gbrain query", &[&filters[..], &[("", query.q.as_str())]].concat())
    }
}

fn controls(query: &ListQuery, sources: &SourceList, may_write: bool) -> Markup {
    html! {
        form method="get" action="/pages" data-update="main" role="search" aria-label="Find pages" {
            label { "Search" input type="search" name="q" size="32" value=(query.q) placeholder="a question or a name"; }
            label {
                "Source"
                select name="source" {
                    option value="" { "all" }
                    @for source in &sources.sources {
                        option value=(source.id) selected[source.id == query.source] { (source.id) " (" (part::thousands(source.pages)) ")" }
                    }
                }
            }
            label { "Type" input name="type" size="10" value=(query.page_type) placeholder="all"; }
            label { "Tag" input name="tag" size="10" value=(query.tag) placeholder="all"; }
            label { "Name starts with" input name="prefix" size="16" value=(query.prefix) placeholder="people/"; }
            label.inline { input type="checkbox" name="deleted" value="true" checked[query.is_deleted_shown]; "Deleted pages, too" }
            button type="submit" { "Show" }
            @if may_write { a.button href="/pages/new" { "New page" } }
        }
    }
}

/// The same list with one parameter changed, from its start.
fn with(query: &ListQuery, name: &str, value: &str) -> String {
    let value_of =
        |key: &str, own: &str| if key == name { value.to_owned() } else { own.to_owned() };
    let deleted = if query.is_deleted_shown { "true" } else { "" };
    let fields = [
        ("q", value_of("q", &query.q)),
        ("source", value_of("source", &query.source)),
        ("type", value_of("type", &query.page_type)),
        ("tag", value_of("tag", &query.tag)),
        ("prefix", value_of("prefix", &query.prefix)),
        ("deleted", value_of("deleted", deleted)),
        ("after", value_of("after", "")),
    ];
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    url("/pages", &fields)
}

fn browse(query: &ListQuery, list: &PageList) -> Markup {
    let rows: Vec<Vec<Markup>> = list.pages.iter().map(|page| row(query, page)).collect();
    let lead = if query.after.is_empty() {
        "In order of their names.".to_owned()
    } else {
        format!("After {}.", part::text(&query.after))
    };
    let body = table("pages", "pages", &["Page", "Type", "Date", "Tags", "Changed"], &rows);
    html! {
        @if rows.is_empty() { (nothing(query)) } @else { (section("pages", "Pages", &lead, &body)) }
        @if list.next_after.is_some() || !query.after.is_empty() {
            nav.pager aria-label="Pages of this list" {
                @if !query.after.is_empty() { a href=(with(query, "after", "")) { "First page" } }
                @if let Some(after) = &list.next_after { a rel="next" href=(with(query, "after", after)) { "Next page" } }
            }
        }
    }
}

fn row(query: &ListQuery, page: &PageEntry) -> Vec<Markup> {
    let name = format!("{}::{}", page.source_id, page.slug);
    vec![
        html! {
            (titled_link(&name, &page.title))
            @if page.deleted_at.is_some() { (tag(Tone::Bad, "deleted")) }
        },
        html! { a href=(with(query, "type", &page.page_type)) { (part::text(&page.page_type)) } },
        html! { @if let Some(date) = &page.effective_date { time datetime=(date) { (date) } } @else { span.dim { "none" } } },
        tags(query, &page.tags),
        moment(&page.updated_at),
    ]
}

/// The first tags of a page, each a filter.
fn tags(query: &ListQuery, tags: &[String]) -> Markup {
    const SHOWN: usize = 5;
    html! {
        @for (at, tag) in tags.iter().take(SHOWN).enumerate() {
            @if at > 0 { ", " }
            a href=(with(query, "tag", tag)) { (part::text(tag)) }
        }
        @if tags.len() > SHOWN { span.dim { " and " (tags.len() - SHOWN) " more" } }
    }
}

fn nothing(query: &ListQuery) -> Markup {
    let is_filtered = [&query.source, &query.page_type, &query.tag, &query.prefix, &query.after]
        .iter()
        .any(|value| !value.is_empty());
    if is_filtered {
        html! { div.empty { p { "No page fits. " a href="/pages" { "Show all pages" } } } }
    } else {
        empty("The memory is empty.", "gbrain import ~/notes")
    }
}

fn found(query: &ListQuery, result: &SearchResult) -> Markup {
    let explain = url("/explain", &[("q", &query.q)]);
    let lead = format!("{}, best first.", count(result.hits.len() as u64, "page", "pages"));
    let body = html! {
        ul.plain.hits { @for hit in &result.hits { li { (one_hit(hit)) } } }
        p.more {
            a href=(explain) { "Explain this ranking" } " · " a href=(with(query, "q", "")) { "Browse instead" }
            @if !query.prefix.is_empty() || query.is_deleted_shown { " · A search looks at live pages of every name." }
        }
    };
    if result.hits.is_empty() {
        return html! {
            div.empty { p { "Nothing found for " (part::query(&query.q)) ". " a href=(explain) { "Find out why" } " or " a href=(with(query, "q", "")) { "browse the pages" } "." } }
        };
    }
    section("found", "Found", &lead, &body)
}

fn one_hit(hit: &SearchHit) -> Markup {
    let name = format!("{}::{}", hit.source_id, hit.slug);
    html! {
        a data-row href=(page_path(&name)) { bdi { (part::text(if hit.title.is_empty() { &name } else { &hit.title })) } }
        " " span.dim { (part::text(&hit.page_type)) @if let Some(date) = &hit.effective_date { ", " (date) } ", " (reason(&hit.evidence)) }
        span.note { (part::page_name(&name)) }
        @if let Some(passage) = hit.passages.first() { p.snippet { bdi { (marked(passage)) } } }
    }
}

/// Why a page was found, in words.
pub(crate) fn reason(evidence: &str) -> String {
    match evidence {
        "exact_name" => "the query is its name".to_owned(),
        "relation" => "a link answers the question".to_owned(),
        "title_match" => "its title holds the query".to_owned(),
        "all_words" => "one passage holds every word".to_owned(),
        "some_words" => "a passage holds some of the words".to_owned(),
        "meaning" => "near in meaning".to_owned(),
        other => other.replace('_', " "),
    }
}

/// A snippet with the words that match.
fn marked(passage: &SnippetEntry) -> Markup {
    let chars: Vec<char> = passage.snippet.chars().collect();
    let slice = |from: usize, to: usize| part::text(&chars[from..to].iter().collect::<String>());
    let mut end = 0;
    let mut parts = Vec::new();
    for &(from, to) in &passage.highlights {
        if from < end || to > chars.len() || from >= to {
            continue;
        }
        parts.push(html! { (slice(end, from)) mark { (slice(from, to)) } });
        end = to;
    }
    html! { @for part in &parts { (part) } (slice(end, chars.len())) }
}
