//! Slugs from paths, and the kind of page that a slug implies.

use unicode_normalization::UnicodeNormalization as _;

use crate::id::{IdError, Slug};

const EXTENSIONS: &[&str] = &[".md", ".markdown", ".txt", ".json", ".jsonl"];

/// Makes a slug from a path relative to its source's root.
///
/// The extension goes; letters become lower-case NFC; white space becomes a hyphen; `\` is `/`.
/// `index.md`, `_index.md` and `README.md` stand for their directory. Two paths can still meet in
/// one slug (`a.md` and `a/index.md`), which an import has to check. Characters that change the
/// direction of text are left out: a name must read as it is spelt.
pub fn slug_of_path(relative_path: &str) -> Result<Slug, IdError> {
    let spelt: String = relative_path.chars().filter(|c| !is_direction_mark(*c)).collect();
    let normal = normalise(&spelt);
    let (stem, extension) = split_extension(&normal);
    let slug = match stem.rsplit_once('/') {
        Some((directory, name)) if is_directory_page(name, extension) => directory,
        _ => stem,
    };
    Slug::new(slug).map_err(|refused| IdError { value: relative_path.to_owned(), ..refused })
}

/// Whether a character is invisible and changes the direction in which the text round it is shown: marks, embeddings,
/// overrides and isolates of the bidirectional algorithm (Unicode's `Bidi_Control`).
pub(crate) fn is_direction_mark(c: char) -> bool {
    matches!(
        c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Lower-cases and tidies a path or slug, keeping any extension.
pub(crate) fn normalise(path: &str) -> String {
    let lower: String = path.to_lowercase().nfc().collect();
    let segments = lower.split(['/', '\\']).map(hyphenated);
    let segments: Vec<_> =
        segments.filter(|segment| !segment.is_empty() && segment != ".").collect();
    segments.join("/")
}

/// Splits `.md` and its kind off.
pub(crate) fn split_extension(path: &str) -> (&str, &str) {
    let known = EXTENSIONS.iter().filter(|extension| {
        path.len() > extension.len()
            && path.is_char_boundary(path.len() - extension.len())
            && path[path.len() - extension.len()..].eq_ignore_ascii_case(extension)
    });
    match known.max_by_key(|extension| extension.len()) {
        Some(extension) if !path[..path.len() - extension.len()].ends_with('/') => {
            path.split_at(path.len() - extension.len())
        }
        _ => (path, ""),
    }
}

/// A title from a file name or the last segment of a slug: `ada-quill.md` is `Ada quill`.
pub(crate) fn humanise(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let (stem, _) = split_extension(name);
    let words: Vec<_> = stem
        .split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'))
        .filter(|w| !w.is_empty())
        .collect();
    let text = words.join(" ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => stem.to_owned(),
    }
}

/// The kind of page that the first segment of a slug implies: `people/ada` is a `person`.
pub(crate) fn type_of_slug(slug: &str) -> Option<&'static str> {
    let (first, _) = slug.split_once('/')?;
    Some(match first {
        "people" | "persons" | "person" | "contacts" => "person",
        "companies" | "company" | "organizations" | "organisations" | "orgs" => "company",
        "meetings" | "meeting" => "meeting",
        "concepts" | "concept" | "ideas" => "concept",
        "services" | "service" => "service",
        "components" | "component" => "component",
        "repos" | "repositories" | "repo" => "repo",
        "teams" | "team" | "groups" => "team",
        "projects" | "project" => "project",
        "goals" | "goal" | "okrs" | "objectives" => "goal",
        "tickets" | "ticket" | "issues" | "issue" | "bugs" => "ticket",
        "incidents" | "incident" | "postmortems" => "incident",
        "changes" | "prs" | "pulls" | "pull-requests" => "change",
        "decisions" | "adr" | "adrs" => "decision",
        "deals" | "deal" => "deal",
        "events" | "event" => "event",
        "places" | "place" => "place",
        "daily" | "journal" | "diary" => "daily",
        "chats" | "chat" | "conversations" | "sessions" => "chat",
        _ => return None,
    })
}

fn is_directory_page(name: &str, extension: &str) -> bool {
    matches!(extension, ".md" | ".markdown") && matches!(name, "index" | "_index" | "readme")
}

/// Turns each run of white space, with the hyphens beside it, into one hyphen.
fn hyphenated(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    let mut rest = segment.trim();
    while let Some(at) = rest.find(char::is_whitespace) {
        out.push_str(rest[..at].trim_end_matches('-'));
        out.push('-');
        rest = rest[at..].trim_start_matches(|c: char| c.is_whitespace() || c == '-');
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_slugs() {
        for (path, slug) in [
            ("people/Ada Quill.md", "people/ada-quill"),
            ("./a//b.markdown", "a/b"),
            ("a\\B_c.txt", "a/b_c"),
            ("chat - may 2nd.jsonl", "chat-may-2nd"),
            ("files/en-us/a/b/index.md", "files/en-us/a/b"),
            ("docs/_index.md", "docs"),
            ("docs/README.md", "docs"),
            ("README.md", "readme"),
            ("docs/index.txt", "docs/index"),
            ("v1.2/notes.MD", "v1.2/notes"),
            ("Ångström.md", "ångström"),
            ("日本/東京.md", "日本/東京"),
            (".md", ".md"),
            ("a\u{202e}gpj\u{2069}.md", "agpj"),
            ("س\u{200f}لام.md", "سلام"),
        ] {
            assert_eq!(slug_of_path(path).unwrap().as_str(), slug, "{path}");
        }
        for bad in ["", "/", "../a.md", "a/../b.md", "a\nb\0.md"] {
            assert!(slug_of_path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_become_titles() {
        assert_eq!(humanise("notes/ada-quill_2.md"), "Ada quill 2");
        assert_eq!(humanise("---"), "---");
    }
}
