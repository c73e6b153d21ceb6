//! Links between the pages of the documentation lead to files and headings that exist.

use std::fs;
use std::path::Path;

use super::{pages, shown};

#[test]
fn every_link_resolves() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            if let Some(problem) = problem(&page, &link) {
                broken.push(format!("{}: ({link}) {problem}", shown(&page)));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// The reason why a link of a page does not resolve; none for a good link and for other sites.
fn problem(page: &Path, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    if !path.exists() {
        return Some("there is no such file");
    }
    if heading.is_empty() {
        return None;
    }
    let anchors = anchors(&fs::read_to_string(&path).unwrap());
    (!anchors.iter().any(|anchor| anchor == heading)).then_some("there is no such heading")
}

/// The targets of the links of a text, without those in code.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        let outside = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for part in outside.split("](").skip(1) {
            links.extend(part.split(')').next().map(str::to_owned));
        }
    }
    links
}

/// The lines of a text outside of fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors of the headings of a text, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let mut anchors: Vec<String> = Vec::new();
    for heading in headings {
        let plain = heading.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor: String = plain.chars().filter(is_kept).collect::<String>().replace(' ', "-");
        let same = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
    }
    anchors
}

#[test]
fn anchors_are_those_of_github() {
    let text =
        "# A page\n\n## `eval compare`: what it reads\n```\n# no heading\n```\n## Why?\n## Why?\n";
    assert_eq!(anchors(text), ["a-page", "eval-compare-what-it-reads", "why", "why-1"]);
}

#[test]
fn links_in_code_are_text() {
    assert_eq!(links("a [b](c.md#d) `[x](y)` [e](f)\n```\n[g](h)\n```\n"), ["c.md#d", "f"]);
}
