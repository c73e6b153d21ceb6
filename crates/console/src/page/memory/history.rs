//! The versions of a page, and the difference between two of them.

use maud::{Markup, html};
use serde::Deserialize;
use similar::{Change, ChangeTag};

use super::{command_line, page_path, path_below};
use crate::diff::{Hunk, hunks};
use crate::part::{
    self, Tone, count, csrf_field, empty, facts, heading, moment, section, table, tag, url,
};
use crate::shell::{Page, Section};

/// Most bytes of a text that is compared.
const MAX_BYTES: usize = 2 << 20;
/// Most changed lines that are shown.
const MAX_LINES: usize = 2_000;
/// Most versions in the list.
const MAX_VERSIONS: usize = 200;

/// `GET /v1/pages/{page}/history`.
#[derive(Debug, Deserialize)]
pub struct PageVersions {
    pub source_id: String,
    pub slug: String,
    /// Oldest first.
    pub versions: Vec<VersionEntry>,
}

/// One version.
#[derive(Debug, Deserialize)]
pub struct VersionEntry {
    pub version: u32,
    pub op: String,
    pub title: String,
    pub bytes: u64,
    pub created_at: String,
}

impl PageVersions {
    /// The page, as `source::slug`.
    pub fn name(&self) -> String {
        format!("{}::{}", self.source_id, self.slug)
    }

    pub fn is_deleted(&self) -> bool {
        self.versions.last().is_some_and(|version| version.op == "delete")
    }

    fn with_text(&self) -> impl DoubleEndedIterator<Item = &VersionEntry> {
        self.versions.iter().filter(|version| version.op != "delete")
    }

    /// The two newest versions with a text.
    pub fn newest_two(&self) -> Option<(u32, u32)> {
        let mut newest = self.with_text().rev();
        let (after, before) = (newest.next()?, newest.next()?);
        Some((before.version, after.version))
    }
}

/// Two versions and their texts.
#[derive(Debug)]
pub struct ComparedVersions {
    pub before: u32,
    pub after: u32,
    pub before_text: String,
    pub after_text: String,
}

pub fn history(
    versions: &PageVersions,
    compared: Option<&ComparedVersions>,
    may_write: bool,
) -> Page {
    let name = versions.name();
    let title = versions.versions.last().map_or(name.as_str(), |version| version.title.as_str());
    Page {
        title: format!("History of {title}"),
        section: Section::Memory,
        command: command_line("gbrain history", &[("", &name)]),
        header: html! {
            (heading("History", &part::text(title), None, &format!("{} of this page.", count(versions.versions.len() as u64, "version", "versions"))))
            (facts(&[("Page", html! { a href=(page_path(&name)) { (part::page_name(&name)) } })]))
        },
        controls: controls(versions, &name, compared, may_write),
        main: html! {
            @match compared {
                Some(compared) => { (difference(compared)) }
                None => { (empty("There is one text of this page, so nothing to compare.", "")) }
            }
            (list(versions, &name))
        },
        ..Page::default()
    }
}

fn controls(
    versions: &PageVersions,
    name: &str,
    compared: Option<&ComparedVersions>,
    may_write: bool,
) -> Markup {
    let choice = |field: &str, label: &str, chosen: u32| {
        html! {
            label { (label)
                select name=(field) {
                    @for version in versions.with_text().rev().take(MAX_VERSIONS) {
                        option value=(version.version) selected[version.version == chosen] { (version.version) }
                    }
                }
            }
        }
    };
    html! {
        @if let Some(compared) = compared {
            form method="get" action=(path_below(name, "history")) data-update="main" {
                (choice("from", "From version", compared.before))
                (choice("to", "To version", compared.after))
                button type="submit" { "Compare" }
            }
        }
        @if may_write && versions.is_deleted() {
            form method="post" action=(path_below(name, "restore")) { (csrf_field()) button type="submit" { "Restore the page" } }
        }
    }
}

fn difference(compared: &ComparedVersions) -> Markup {
    let title = format!("From version {} to version {}", compared.before, compared.after);
    if compared.before_text.len().max(compared.after_text.len()) > MAX_BYTES {
        return section(
            "difference",
            &title,
            "",
            &html! { p { "These texts are too long to compare here: " code { "gbrain get --version N" } " prints each." } },
        );
    }
    let hunks = hunks(&compared.before_text, &compared.after_text);
    let lines =
        |tag: ChangeTag| hunks.iter().flatten().filter(|line| line.tag() == tag).count() as u64;
    let lead = format!(
        "{} removed, {} added.",
        count(lines(ChangeTag::Delete), "line", "lines"),
        count(lines(ChangeTag::Insert), "line", "lines")
    );
    let body = if hunks.is_empty() {
        html! { p { "The texts are equal." } }
    } else {
        diff_table(&hunks)
    };
    section("difference", &title, if hunks.is_empty() { "" } else { &lead }, &body)
}

fn diff_table(hunks: &[Hunk<'_>]) -> Markup {
    let all: usize = hunks.iter().map(Vec::len).sum();
    html! {
        div.scroll role="region" aria-label="changed lines" tabindex="0" {
            table.diff {
                caption.aloud { "Changed lines, with the lines around them" }
                thead {
                    tr {
                        th scope="col" { "Before" }
                        th scope="col" { "After" }
                        th scope="col" { span.aloud { "Change" } }
                        th scope="col" { "Line" }
                    }
                }
                @for hunk in first_lines(hunks, MAX_LINES) {
                    tbody { @for line in hunk { (diff_line(line)) } }
                }
            }
        }
        @if all > MAX_LINES {
            p.more { "Shown: the first " (part::thousands(MAX_LINES as u64)) " of " (part::thousands(all as u64)) " lines." }
        }
    }
}

/// The hunks with this many lines at most.
fn first_lines<'h, 't>(hunks: &'h [Hunk<'t>], most: usize) -> Vec<&'h [Change<&'t str>]> {
    let mut left = most;
    let mut shown = Vec::new();
    for hunk in hunks {
        let count = hunk.len().min(left);
        if count == 0 {
            break;
        }
        shown.push(&hunk[..count]);
        left -= count;
    }
    shown
}

fn diff_line(line: &Change<&str>) -> Markup {
    let (class, mark, word) = match line.tag() {
        ChangeTag::Equal => (None, "", ""),
        ChangeTag::Delete => (Some("removed"), "−", "removed"),
        ChangeTag::Insert => (Some("added"), "+", "added"),
    };
    html! {
        tr class=[class] {
            td { @if let Some(index) = line.old_index() { (index + 1) } }
            td { @if let Some(index) = line.new_index() { (index + 1) } }
            td { span aria-hidden="true" { (mark) } span.aloud { (word) } }
            td { code { bdi { (gbrain_core::report::visible(&line.value().replace('\t', "    "), 2_000)) } } }
        }
    }
}

fn list(versions: &PageVersions, name: &str) -> Markup {
    let row = |version: &VersionEntry| {
        let has_text = version.op != "delete";
        let own = version.version.to_string();
        vec![
            html! { @if has_text { a href=(url(&page_path(name), &[("version", &own)])) { "Version " (own) } } @else { "Version " (own) } },
            match version.op.as_str() {
                "delete" => tag(Tone::Bad, "deleted"),
                "restore" => tag(Tone::Good, "restored"),
                _ => html! { "written" },
            },
            html! { bdi { (part::text(&version.title)) } },
            html! { @if has_text { (part::thousands(version.bytes)) } @else { span.dim { "no text" } } },
            moment(&version.created_at),
        ]
    };
    let rows: Vec<Vec<Markup>> =
        versions.versions.iter().rev().take(MAX_VERSIONS).map(row).collect();
    let body = html! {
        (table("versions", "versions", &["Version", "What happened", "Title", "Bytes", "When"], &rows))
        @if versions.versions.len() > MAX_VERSIONS { p.more { "And " (versions.versions.len() - MAX_VERSIONS) " older ones." } }
    };
    section("versions", "All versions", "Newest first.", &body)
}
