//! Links as written: wikilinks and Markdown links to other pages.
//!
//! Images, links to the web, links inside code and links to a place on the same page are not links
//! between pages.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::page::slug;

/// The longest slug, title or source that a link is read to point to, in bytes.
const LONGEST_TARGET: usize = 512;

/// A link in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkOccurrence {
    /// Its bytes, brackets included.
    pub(super) range: Range<usize>,
    /// The page it points to.
    pub(super) target: String,
}

/// The links of a range, in order. `from` is the slug of the page they stand on.
pub(super) fn links(content: &str, range: Range<usize>, from: &str) -> Vec<LinkOccurrence> {
    let bytes = content.as_bytes();
    let mut found = Vec::new();
    let mut ticks = None;
    let mut at = range.start;
    while let Some(step) =
        bytes[at..range.end].iter().position(|byte| matches!(byte, b'[' | b'`' | b'\\'))
    {
        at += step;
        let rest = &content[at..range.end];
        let length = match bytes[at] {
            b'`' => {
                let ticks = ticks.get_or_insert_with(|| BacktickRuns::of(content, at..range.end));
                ticks.code_length(rest, at)
            }
            b'\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ if rest.starts_with("[[") => {
                let wiki = wikilink(rest);
                if let Some((length, inner)) = wiki
                    && bytes[..at].last() != Some(&b'!')
                    && let Some(target) = target_of_value(inner)
                {
                    found.push(LinkOccurrence { range: at..at + length, target });
                }
                wiki.map_or(2, |(length, _)| length)
            }
            _ => match markdown_link(rest) {
                Some((length, address)) => {
                    if bytes[..at].last() != Some(&b'!')
                        && let Some(target) = target_of_address(address, from)
                    {
                        found.push(LinkOccurrence { range: at..at + length, target });
                    }
                    length
                }
                None => 1,
            },
        };
        at += length;
    }
    found
}

/// The target of a wikilink or a frontmatter value: a path becomes a slug, a title stays as it is.
pub fn target_of_value(value: &str) -> Option<String> {
    let inner = value.trim();
    let inner = inner.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")).unwrap_or(inner);
    let (target, _) = inner.split_once('|').unwrap_or((inner, ""));
    let (target, _) = target.split_once('#').unwrap_or((target, ""));
    let target = target.trim().trim_end_matches('\\');
    if is_web(target) {
        return None;
    }
    let (source, path) =
        target.split_once("::").map_or((None, target), |(source, path)| (Some(source), path));
    let (stem, extension) = slug::split_extension(path);
    let path = if path.contains('/') || !extension.is_empty() {
        slug::normalise(stem)
    } else {
        path.to_owned()
    };
    let is_long = path.len() > LONGEST_TARGET || source.is_some_and(|s| s.len() > LONGEST_TARGET);
    if path.is_empty() || is_long || path.chars().any(char::is_control) {
        return None;
    }
    Some(match source {
        Some(source) => format!("{source}::{path}"),
        None => path,
    })
}

/// Runs of backticks: where the last one of each length begins. Knowing it, a run that nothing closes costs nothing,
/// however many there are.
struct BacktickRuns(FxHashMap<usize, usize>);

impl BacktickRuns {
    /// Of a range that begins with a backtick.
    fn of(content: &str, range: Range<usize>) -> Self {
        let mut last = FxHashMap::default();
        let mut at = range.start;
        while let Some(step) = content[at..range.end].find('`') {
            at += step;
            let run = run_of_ticks(&content[at..range.end]);
            last.insert(run, at);
            at += run;
        }
        Self(last)
    }

    /// The bytes of a code span at the start of `rest`, or of its ticks if nothing closes them.
    fn code_length(&self, rest: &str, start: usize) -> usize {
        let ticks = run_of_ticks(rest);
        if self.0.get(&ticks).is_none_or(|last| *last <= start) {
            return ticks;
        }
        let mut at = ticks;
        while let Some(step) = rest[at..].find('`') {
            at += step;
            let run = run_of_ticks(&rest[at..]);
            at += run;
            if run == ticks {
                return at;
            }
        }
        ticks
    }
}

fn run_of_ticks(text: &str) -> usize {
    text.bytes().take_while(|&byte| byte == b'`').count()
}

/// The longest link that is read as one, in bytes: what is longer is not a link, and looking for
/// its end would take time.
const LONGEST: usize = 1000;

/// The length of a wikilink and what is between its brackets.
fn wikilink(rest: &str) -> Option<(usize, &str)> {
    let window = &rest[..rest.floor_char_boundary(LONGEST)];
    let end = 2 + window[2..].find([']', '\n', '['])?;
    if !window[end..].starts_with("]]") {
        return None;
    }
    let inner = &window[2..end];
    Some((end + 2, inner))
}

/// The length of a Markdown link and its address.
fn markdown_link(rest: &str) -> Option<(usize, &str)> {
    let window = &rest[..rest.floor_char_boundary(LONGEST)];
    let label = matching(window, b'[', b']')?;
    let after = &window[label + 1..];
    if !after.starts_with('(') {
        return None;
    }
    let close = matching(after, b'(', b')')?;
    let inside = after[1..close].trim();
    let address = match inside.strip_prefix('<') {
        Some(inner) => inner.split_once('>')?.0,
        None => inside.split([' ', '\t', '\n']).next()?,
    };
    Some((label + 1 + close + 1, address))
}

/// Where the bracket that opens `text` closes.
fn matching(text: &str, open: u8, close: u8) -> Option<usize> {
    const DEEPEST: usize = 8;
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == open => {
                depth += 1;
                if depth > DEEPEST {
                    return None;
                }
            }
            byte if byte == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The page that an address points to, seen from the page `from`; none for an address of the web.
pub fn target_of_address(address: &str, from: &str) -> Option<String> {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || is_web(path) || path.starts_with("//") {
        return None;
    }
    let path = percent_decoded(path)?;
    let path = match path.strip_prefix('/') {
        Some(absolute) => slug::normalise(absolute),
        None if path.starts_with("./") || path.starts_with("../") => relative(&path, from)?,
        None => slug::normalise(&path),
    };
    let (stem, extension) = slug::split_extension(&path);
    if extension.is_empty() && has_other_extension(&path) {
        return None;
    }
    let directory = stem.rsplit_once('/').filter(|(_, name)| {
        !extension.is_empty() && matches!(*name, "index" | "_index" | "readme")
    });
    let stem = directory.map_or(stem, |(directory, _)| directory);
    let fits =
        !stem.is_empty() && stem.len() <= LONGEST_TARGET && !stem.chars().any(char::is_control);
    (fits && !stem.split('/').any(|segment| segment == "..")).then(|| stem.to_owned())
}

/// Files that are not pages: `diagram.png`, `data.csv`.
fn has_other_extension(path: &str) -> bool {
    const FILES: &[&str] = &[
        "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "pdf", "csv", "tsv", "zip", "gz", "tar",
        "html", "htm", "css", "js", "ts", "rs", "py", "go", "c", "h", "sh", "yaml", "yml", "toml",
        "xml", "mp3", "mp4", "mov", "wav", "docx", "xlsx", "pptx",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, extension)| FILES.contains(&extension))
}

fn relative(path: &str, from: &str) -> Option<String> {
    let mut segments: Vec<&str> = from.split('/').collect();
    segments.pop();
    let path = slug::normalise(path);
    for segment in path.split('/') {
        match segment {
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

/// Whether an address has a scheme: `https:`, `mailto:`, `obsidian:`.
fn is_web(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once(':') else { return false };
    let is_scheme = scheme.len() >= 2
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    is_scheme && !rest.starts_with(':') && !rest.starts_with(' ')
}

fn percent_decoded(path: &str) -> Option<String> {
    if !path.contains('%') {
        return Some(path.to_owned());
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let pair =
            tail.get(..2).filter(|_| first == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = links(text, 0..text.len(), "notes/deep/here");
        let targets: Vec<_> = found.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, expected, "{text}");
        for link in found {
            assert!(text[link.range.clone()].starts_with('['), "{text}");
        }
    }

    #[test]
    fn reads_wikilinks() {
        check(
            "[[Ada Quill]] [[people/Ada|her]] [[x#y]] [[wiki::a/b]]",
            &["Ada Quill", "people/ada", "x", "wiki::a/b"],
        );
        check("![[image.png]] [[]] [[#here]] [[open", &[]);
        check("| [[people/ada\\|Ada]] |", &["people/ada"]);
    }

    #[test]
    fn reads_addresses() {
        check(
            "[a](people/ada) [b](../people/bo.md#x) [c](/people/cy) [d](./d.md)",
            &["people/ada", "notes/people/bo", "people/cy", "notes/deep/d"],
        );
        check(
            "[a](ada%20q.md \"title\") [b](<b c.md>) [c [d]](e_(f).md) [g](../../a/index.md)",
            &["ada-q", "b-c", "e_(f)", "a"],
        );
    }

    #[test]
    fn leaves_the_rest_alone() {
        check(
            "[a](https://x.y) [b](mailto:a@b) ![c](d.md) [e](#f) [g](h.png) [i] (j) [k](../../../../l)",
            &[],
        );
        check("`[a](b)` ``[[c]] ` `` \\[d](e) [f][g]", &[]);
        check("`unclosed [a](b)", &["b"]);
        check("``two [a](b) `one [c](d)` ```three [e](f)", &["b", "f"]);
        check("\\``` [a](b) `` [c](d)", &["d"]);
    }
}
