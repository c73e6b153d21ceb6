//! Parts that pages share: text, names, tags, tables, lists, forms.

use gbrain_core::report::visible;
use maud::{Markup, html};

/// Maximum length of a query or message, in characters.
const TEXT: usize = 600;
/// Maximum length of a page name, in characters.
const NAME: usize = 200;

/// External text on one line: truncated, with invisible characters made visible. The template
/// escapes it.
pub(crate) fn text(text: &str) -> String {
    visible(text, TEXT)
}

/// A message for people: what stands between backticks is code.
pub(crate) fn message(message: &str) -> Markup {
    let message = text(message);
    let parts: Vec<&str> = message.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (message) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A word with a capital letter, as a title.
pub(crate) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A query, isolated from the direction of the text around it.
pub(crate) fn query(query: &str) -> Markup {
    html! { bdi.query { (text(query)) } }
}

/// The name of a page, with its source dimmed.
pub(crate) fn page_name(page: &str) -> Markup {
    html! {
        bdi.name {
            @match page.split_once("::") {
                Some((source, slug)) => { span.dim { (visible(source, NAME)) "::" } (visible(slug, NAME)) }
                None => (visible(page, NAME)),
            }
        }
    }
}

/// The meaning of a tag, which sets its colour. The word of the tag says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
    Accent,
    Neutral,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "pass",
            Self::Bad => "fail",
            Self::Warning => "inconclusive",
            Self::Accent => "moved",
            Self::Neutral => "neutral",
        }
    }

    /// The tone of a verdict, a status or a state by its word.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "pass" | "ok" | "healthy" | "done" | "resolved" | "better" | "delivered" | "sent" => {
                Self::Good
            }
            "fail" | "failed" | "broken" | "firing" | "worse" | "critical" | "errored" => Self::Bad,
            "inconclusive" | "shifted" | "warning" | "not_measured" | "too_few_rows" | "queued"
            | "cancelled" => Self::Warning,
            "running" => Self::Accent,
            _ => Self::Neutral,
        }
    }
}

pub(crate) fn tag(tone: Tone, word: &str) -> Markup {
    html! { span class={ "tag " (tone.class()) } { (word) } }
}

/// A verdict or state as a tag, with the underscores of its key as spaces.
pub(crate) fn state(word: &str) -> Markup {
    tag(Tone::of(word), &word.replace('_', " "))
}

/// The heading of a page, its state and one sentence about it.
pub(crate) fn heading(what: &str, title: &str, tone: Option<Tone>, why: &str) -> Markup {
    html! {
        p.what { (what) }
        h1 class=[tone.map(Tone::class)] { (title) }
        @if !why.is_empty() { p.why { (why) } }
    }
}

/// Names and values below a heading.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
        }
    }
}

/// A section with its heading; nothing without a body.
pub(crate) fn section(id: &str, heading: &str, lead: &str, body: &Markup) -> Markup {
    html! {
        @if !body.0.is_empty() {
            section aria-labelledby=(id) {
                h2 id=(id) { (heading) }
                @if !lead.is_empty() { p.lead { (lead) } }
                (body)
            }
        }
    }
}

/// A table that scrolls sideways in a narrow window. The first cell of a row is its heading.
pub(crate) fn table(label: &str, class: &str, head: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.scroll role="region" aria-label=(label) tabindex="0" {
                table class=(class) {
                    thead { tr { @for name in head { th scope="col" { (text(name)) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (at, cell) in row.iter().enumerate() {
                                    @if at == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A drawing that scrolls sideways in a narrow window.
pub(crate) fn scrolling(label: &str, drawing: &Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(label) tabindex="0" { (drawing) } }
}

/// What stands in place of an empty list: what is missing, and the command that adds it.
pub(crate) fn empty(what: &str, remedy: &str) -> Markup {
    html! {
        div.empty {
            p { (what) }
            @if !remedy.is_empty() { (command(remedy)) }
        }
    }
}

/// A command to copy into a terminal.
pub(crate) fn command(command: &str) -> Markup {
    html! { pre.command { code { (visible(command, 2_000)) } } }
}

/// Stands for the token of forms until [`live`](crate::live) puts in that of the session.
pub(crate) const CSRF_MARK: &str = "@csrf-of-this-session@";

/// The hidden field of every form that changes something.
pub(crate) fn csrf_field() -> Markup {
    html! { input type="hidden" name="csrf" value=(CSRF_MARK); }
}

/// A link to the next page of a list.
pub(crate) fn next_page(url: Option<&str>) -> Markup {
    html! { @if let Some(url) = url { a rel="next" href=(url) { "Next page" } } }
}

/// A count with its noun.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", thousands(n)) }
}

/// A number with separators between thousands.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A moment of the API (`2026-05-01T10:00:00Z`) for readers: to the minute, in UTC.
pub(crate) fn moment(moment: &str) -> Markup {
    let short = moment.get(..16).map_or_else(|| moment.to_owned(), |start| start.replace('T', " "));
    html! { time datetime=(moment) { (short) " UTC" } }
}

/// A URL with a query string. Values are percent-encoded.
pub(crate) fn url(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut url = path.to_owned();
    let used = parameters.iter().filter(|(_, value)| !value.is_empty());
    for (at, (name, value)) in used.enumerate() {
        url.push(if at == 0 { '?' } else { '&' });
        url.push_str(name);
        url.push('=');
        url.push_str(&percent_encoded(value));
    }
    url
}

/// Text as one segment of a path or value of a query string.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte))
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_encode_values_and_leave_out_empty_ones() {
        assert_eq!(url("/runs", &[]), "/runs");
        assert_eq!(url("/runs", &[("state", ""), ("q", "a&b=c d")]), "/runs?q=a%26b%3Dc%20d");
        assert_eq!(percent_encoded("wiki::people/ada"), "wiki%3A%3Apeople%2Fada");
    }

    #[test]
    fn messages_have_code_between_backticks() {
        for (said, expected) in [
            ("no `<b>` here", "no <code>&lt;b&gt;</code> here"),
            ("`a` and `b`", "<code>a</code> and <code>b</code>"),
            ("a ` alone", "a ` alone"),
            ("", ""),
        ] {
            assert_eq!(message(said).into_string(), expected);
        }
        assert_eq!(
            (capitalised("no reranker"), capitalised("")),
            ("No reranker".to_owned(), String::new())
        );
    }

    #[test]
    fn thousands_are_separated() {
        for (n, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), expected);
        }
    }

    #[test]
    fn external_text_is_escaped_and_isolated() {
        let shown = query("<script>\u{202e}x").into_string();
        assert_eq!(shown, "<bdi class=\"query\">&lt;script&gt;\\u{202e}x</bdi>");
        let name = page_name("wiki::\"a\"").into_string();
        assert!(name.contains("&quot;a&quot;"), "{name}");
    }
}
