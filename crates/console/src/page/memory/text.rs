//! The text of a page: frontmatter, Markdown, and the turns of a chat.

use maud::{Markup, html};

use crate::markdown::{TextPlace, render};
use crate::part::{self, moment};

/// Most bytes of a text that are rendered.
const MAX_BYTES: usize = 200_000;
/// Most lines of frontmatter that are read.
const MAX_FACTS: usize = 40;

/// A text without its frontmatter.
pub(super) struct SplitText<'t> {
    pub(super) frontmatter: Option<&'t str>,
    pub(super) body: &'t str,
}

impl<'t> SplitText<'t> {
    pub(super) fn of(content: &'t str) -> Self {
        let whole = Self { frontmatter: None, body: content };
        let text = content.trim_start_matches('\u{feff}');
        let Some(rest) = text
            .strip_prefix("---")
            .and_then(|rest| rest.trim_start_matches([' ', '\r']).strip_prefix('\n'))
        else {
            return whole;
        };
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if matches!(line.trim_end(), "---" | "...") {
                return Self { frontmatter: Some(&rest[..at]), body: &rest[at + line.len()..] };
            }
            at += line.len();
        }
        whole
    }

    /// The keys of the frontmatter that the page does not show elsewhere, with values on one line.
    pub(super) fn facts(&self) -> Vec<(&'t str, &'t str)> {
        const SHOWN_ELSEWHERE: &[&str] =
            &["title", "type", "tags", "tag", "aliases", "alias", "takes", "visibility"];
        let lines = self.frontmatter.unwrap_or_default().lines();
        let pairs = lines
            .filter(|line| !line.starts_with([' ', '\t', '-', '#']))
            .filter_map(|line| line.split_once(':'));
        let pairs = pairs.map(|(key, value)| (key.trim(), value.trim().trim_matches(['"', '\''])));
        pairs
            .filter(|(key, value)| {
                !key.is_empty() && !value.is_empty() && !SHOWN_ELSEWHERE.contains(key)
            })
            .take(MAX_FACTS)
            .collect()
    }
}

/// The start of a long text, up to the end of a line.
fn cut(text: &str) -> &str {
    let start = &text[..text.floor_char_boundary(MAX_BYTES)];
    match text.len() > MAX_BYTES {
        true => &start[..start.rfind('\n').unwrap_or(start.len())],
        false => start,
    }
}

/// The text as elements, below a heading of level 2. A heading that repeats the title is left out.
pub(super) fn body(text: &str, title: &str, kind: &str, place: TextPlace<'_>) -> Markup {
    let shown = cut(text);
    html! {
        @match kind {
            "text" => { pre.code tabindex="0" { (plain(shown)) } }
            "chat" => { (chat(shown, title, place)) }
            _ => { div.prose { (render(without_title(shown, title), place)) } }
        }
        @if shown.len() < text.len() {
            p.more { "Shown: the first " (part::thousands(shown.len() as u64)) " of " (part::thousands(text.len() as u64)) " bytes." }
        }
    }
}

fn plain(text: &str) -> Markup {
    html! {
        @for line in text.lines() { (gbrain_core::report::visible(&line.replace('\t', "    "), usize::MAX)) "\n" }
    }
}

fn without_title<'t>(text: &'t str, title: &str) -> &'t str {
    let text = text.trim_start();
    let heading =
        text.strip_prefix("# ").and_then(|rest| rest.split_once('\n').or(Some((rest, ""))));
    match heading {
        Some((first, rest)) if first.trim() == title.trim() => rest,
        _ => text,
    }
}

/// A turn of a chat.
#[derive(Debug, PartialEq, Eq)]
struct Turn<'t> {
    speaker: &'t str,
    time: Option<&'t str>,
    text: String,
}

/// The text before the first turn, and the turns: each starts with `**Name** (time): text`.
fn turns(text: &str) -> (String, Vec<Turn<'_>>) {
    let (mut before, mut turns): (String, Vec<Turn<'_>>) = (String::new(), Vec::new());
    let mut is_code = false;
    for line in text.lines() {
        match turn_start(line).filter(|_| !is_code) {
            Some(turn) => turns.push(turn),
            None => {
                let text = turns.last_mut().map_or(&mut before, |turn| &mut turn.text);
                text.push_str(line);
                text.push('\n');
            }
        }
        is_code ^= line.trim_start().starts_with("```");
    }
    (before, turns)
}

fn turn_start(line: &str) -> Option<Turn<'_>> {
    let (name, after) = line.strip_prefix("**")?.split_once("**")?;
    let name_with_colon = name.strip_suffix(':');
    let (time, rest) =
        match after.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((time, rest)) => (Some(time), rest),
            None => (None, after),
        };
    let rest = rest.trim_start();
    let text = rest.strip_prefix(':').or(name_with_colon.map(|_| rest))?;
    let speaker = name_with_colon.unwrap_or(name).trim();
    (!speaker.is_empty()).then(|| Turn { speaker, time, text: format!("{}\n", text.trim_start()) })
}

/// The time of a turn: a moment as on every other page, anything else as it was written.
fn said_at(time: &str) -> Markup {
    let is_moment = time.len() >= 19 && time.as_bytes()[10] == b'T' && time.ends_with('Z');
    if is_moment {
        moment(&part::text(time))
    } else {
        html! { (part::text(time)) }
    }
}

fn chat(text: &str, title: &str, place: TextPlace<'_>) -> Markup {
    let (before, turns) = turns(text);
    let before = without_title(&before, title).trim();
    html! {
        @if !before.is_empty() { div.prose { (render(before, place)) } }
        ol.turns {
            @for turn in &turns {
                li {
                    p.speaker { strong { bdi { (part::text(turn.speaker)) } } @if let Some(time) = turn.time { " " span.dim { (said_at(time)) } } }
                    div.prose { (render(&turn.text, place)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_is_split_off() {
        let split = SplitText::of(
            "---\ntitle: A\nowner: \"Ada\"\ntakes:\n  - claim: x\n# note: no\nurl: https://x.example\n---\n# A\ntext",
        );
        assert_eq!(split.body, "# A\ntext");
        assert_eq!(split.facts(), [("owner", "Ada"), ("url", "https://x.example")]);
        for text in ["no frontmatter", "---\nnever: ends", "--- x\na: b\n---\n", ""] {
            let split = SplitText::of(text);
            assert_eq!((split.body, split.facts()), (text, vec![]));
        }
    }

    #[test]
    fn turns_have_speakers() {
        let (before, turns) = turns(
            "# T\n\n**Ada** (2026-05-01): Hi\nmore\n\n**Bo:** yes\n```\n**not**: a turn\n```\n**bold** text",
        );
        assert_eq!(before, "# T\n\n");
        let shown: Vec<_> =
            turns.iter().map(|turn| (turn.speaker, turn.time, turn.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("Ada", Some("2026-05-01"), "Hi\nmore\n\n"),
                ("Bo", None, "yes\n```\n**not**: a turn\n```\n**bold** text\n"),
            ]
        );
    }

    #[test]
    fn long_texts_end_at_a_line() {
        let text = "é line\n".repeat(60_000);
        let shown = cut(&text);
        assert!(shown.len() <= MAX_BYTES && shown.ends_with("line"));
        assert_eq!(cut("short"), "short");
    }
}
