//! What surrounds the content of a page: the document, navigation in the console, and the notice in
//! a file.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::assets::{STYLE, script, stylesheet};
use crate::part::{CSRF_MARK, command, csrf_field, text};

/// A page before it is put into the console or into a file.
#[derive(Debug, Default)]
pub struct Page {
    pub title: String,
    pub section: Section,
    /// The command that prints the same data; empty for none.
    pub command: String,
    /// Heading and summary, above the content.
    pub header: Markup,
    /// Filters and forms; only in the console.
    pub controls: Markup,
    /// The content, the same bytes in the console and in a file.
    pub main: Markup,
    /// Links to other pages of a list; only in the console.
    pub pager: Markup,
    /// URLs of scripts that only this page has; only in the console.
    pub scripts: Vec<String>,
}

/// An entry of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Section {
    #[default]
    Overview,
    Runs,
    Compare,
    Explain,
    Benchmarks,
    Suites,
    Alerts,
    Incidents,
    Probe,
    Calibration,
    Captures,
    Labels,
    Contradictions,
    Memory,
    Prompts,
    Spending,
}

impl Section {
    fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Runs => "Runs",
            Self::Compare => "Compare",
            Self::Explain => "Explain",
            Self::Benchmarks => "Benchmarks",
            Self::Suites => "Suites",
            Self::Alerts => "Alerts",
            Self::Incidents => "Incidents",
            Self::Probe => "Probe",
            Self::Calibration => "Calibration",
            Self::Captures => "Captures",
            Self::Labels => "Labels",
            Self::Contradictions => "Contradictions",
            Self::Memory => "Memory",
            Self::Prompts => "Prompts",
            Self::Spending => "Spending",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::Runs => "/runs",
            Self::Compare => "/compare",
            Self::Explain => "/explain",
            Self::Benchmarks => "/benchmarks",
            Self::Suites => "/suites",
            Self::Alerts => "/alerts",
            Self::Incidents => "/incidents",
            Self::Probe => "/probe",
            Self::Calibration => "/calibration",
            Self::Captures => "/captures",
            Self::Labels => "/labels",
            Self::Contradictions => "/contradictions",
            Self::Memory => "/pages",
            Self::Prompts => "/prompts",
            Self::Spending => "/spending",
        }
    }
}

const NAVIGATION: [(&str, &[Section]); 4] = [
    (
        "Measure",
        &[
            Section::Overview,
            Section::Runs,
            Section::Compare,
            Section::Explain,
            Section::Benchmarks,
        ],
    ),
    (
        "Monitor",
        &[
            Section::Suites,
            Section::Alerts,
            Section::Incidents,
            Section::Probe,
            Section::Calibration,
        ],
    ),
    ("Review", &[Section::Captures, Section::Labels, Section::Contradictions]),
    ("Manage", &[Section::Memory, Section::Prompts, Section::Spending]),
];

/// What the console shows around a page.
#[derive(Debug, Clone, Copy)]
pub struct Chrome<'a> {
    pub workspace: &'a str,
    /// Name of the token, or how the reader was let in without one; empty before signing in.
    pub reader: &'a str,
    /// Whether the reader signed in with a token and can sign out.
    pub is_signed_in: bool,
    /// Proof that a form came from this console; part of every form that changes something.
    pub csrf: &'a str,
}

/// The page in the console.
pub fn live(page: &Page, chrome: &Chrome<'_>) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta(&page.title))
                link rel="stylesheet" href=(stylesheet());
                script type="module" src=(script()) {}
                @for extra in &page.scripts { script type="module" src=(extra) {} }
            }
            body.live {
                a.skip href="#main" { "Skip to content" }
                (navigation(page.section, chrome))
                div.page {
                    header.banner { (page.header) }
                    @if !page.controls.0.is_empty() { div.controls { (page.controls) } }
                    main #main tabindex="-1" { (page.main) }
                    @if !page.pager.0.is_empty() { nav.pager aria-label="Pages of this list" { (page.pager) } }
                    footer {
                        @if !page.command.is_empty() { p.twin { "The same data in a terminal:" } (command(&page.command)) }
                    }
                }
            }
        }
    }
    .into_string()
    .replace(&field_value(CSRF_MARK), &field_value(chrome.csrf))
}

/// The page of a single document on a server of its own: with filters and other pages of lists, but
/// without navigation.
pub fn document(page: &Page) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta(&page.title))
                link rel="stylesheet" href=(stylesheet());
                script type="module" src=(script()) {}
            }
            body.file {
                a.skip href="#main" { "Skip to content" }
                div.page {
                    header.banner { (page.header) }
                    @if !page.controls.0.is_empty() { div.controls { (page.controls) } }
                    main #main tabindex="-1" { (page.main) }
                    @if !page.pager.0.is_empty() { nav.pager aria-label="Pages of this list" { (page.pager) } }
                    footer {
                        @if !page.command.is_empty() { p.twin { "The same data in a terminal:" } (command(&page.command)) }
                    }
                }
            }
        }
    }
    .into_string()
}

/// External text cannot contain this: its quotes are escaped.
fn field_value(value: &str) -> String {
    format!("name=\"csrf\" value=\"{value}\"")
}

/// The page as a file of its own, without navigation, forms or network access.
pub fn file(page: &Page) -> String {
    let digest = Sha256::digest(STYLE.as_bytes());
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        base64(&digest)
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="referrer" content="no-referrer";
                (meta(&page.title))
                style { (PreEscaped(STYLE)) }
            }
            body.file {
                div.page {
                    header.banner { (page.header) }
                    main #main tabindex="-1" { (page.main) }
                    footer {
                        @if !page.command.is_empty() { p.twin { "The same data in a terminal:" } (command(&page.command)) }
                        p { "Made by gbrain. This file contains queries and page names: share it as you would share the brain." }
                    }
                }
            }
        }
    }
    .into_string()
}

fn meta(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        link rel="icon" href="data:,";
        title { (text(title)) " - gbrain" }
    }
}

fn navigation(current: Section, chrome: &Chrome<'_>) -> Markup {
    html! {
        nav.side aria-label="Console" {
            a.brand href="/" { "gbrain" }
            @if !chrome.reader.is_empty() { (menu(current, chrome)) }
        }
    }
}

/// The links to all sections, and the reader.
fn menu(current: Section, chrome: &Chrome<'_>) -> Markup {
    html! {
        details.menu open {
            summary { "Menu" }
            @for (group, sections) in NAVIGATION {
                h2 { (group) }
                ul {
                    @for section in sections {
                        li {
                            a href=(section.path()) aria-current=[(*section == current).then_some("page")] {
                                (section.name())
                            }
                        }
                    }
                }
            }
            div.reader {
                p { "Workspace " strong { (text(chrome.workspace)) } }
                p { "Signed in as " strong { (text(chrome.reader)) } }
                @if chrome.is_signed_in {
                    form method="post" action="/sign-out" {
                        (csrf_field())
                        button.plain type="submit" { "Sign out" }
                    }
                }
            }
        }
    }
}

/// Base64 with padding, for the hash in a content security policy.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut buffer = [0; 3];
        buffer[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, buffer[0], buffer[1], buffer[2]]);
        for at in 0..4 {
            let sextet = (bits >> (18 - 6 * at)) & 63;
            text.push(if at <= group.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_to_groups_of_four() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
    }

    #[test]
    fn a_page_has_the_same_main_in_the_console_and_in_a_file() {
        let page = Page { main: html! { p { "a < b" } }, ..Page::default() };
        let chrome = Chrome { workspace: "w", reader: "r", is_signed_in: false, csrf: "x" };
        let main = |text: &str| {
            let from = text.find("<main").unwrap();
            text[from..text.find("</main>").unwrap()].to_owned()
        };
        assert_eq!(main(&live(&page, &chrome)), main(&file(&page)));
        assert!(main(&file(&page)).contains("a &lt; b"));
    }
}
