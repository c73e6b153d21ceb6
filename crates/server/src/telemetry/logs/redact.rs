//! Redaction of log lines.
//!
//! Two rules, because each alone has gaps: fields with private names are never written, and secrets
//! are masked wherever they appear. In addition, the capture scrubber masks keys of services,
//! encoded secrets and URL schemes in any case.

use std::ops::Range;
use std::sync::LazyLock;

use gbrain_core::scrub::{ScrubFamily, Scrubber};

/// Words in a field name, separated by dots and underscores, that make it private.
const PRIVATE: [&str; 19] = [
    "authorization",
    "body",
    "content",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "dsn",
    "key",
    "passwd",
    "password",
    "prompt",
    "query",
    "secret",
    "snippet",
    "text",
    "title",
    "token",
    "url",
];

/// Last words of a name that denote metadata about a private value and not the value itself.
const METADATA_WORDS: [&str; 5] = ["bytes", "count", "id", "len", "micros"];

/// Words before `=` whose value is masked in any text.
const ASSIGNED: [&str; 5] = ["password=", "passwd=", "secret=", "token=", "key="];

/// Prefix of gbrain's API tokens.
const TOKEN: &str = "gbt_";

/// Longest logged value, in bytes.
const MAX_VALUE_BYTES: usize = 4_096;

const MASK: &str = "[redacted]";

/// The scrubber families applied here: secrets. Personal data is not expected in log lines.
const SECRETS: [ScrubFamily; 6] = [
    ScrubFamily::Jwt,
    ScrubFamily::Bearer,
    ScrubFamily::ApiKey,
    ScrubFamily::Secret,
    ScrubFamily::PrivateKey,
    ScrubFamily::ConnectionString,
];

static SCRUBBER: LazyLock<Scrubber> = LazyLock::new(Scrubber::default);

pub(super) fn is_private(name: &str) -> bool {
    let mut parts = name.split(['.', '_']);
    let about = parts.clone().next_back().is_some_and(|last| METADATA_WORDS.contains(&last));
    !about && parts.any(|part| PRIVATE.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// The logged form of a field.
pub(super) fn value(name: &str, value: &str) -> String {
    match is_private(name) {
        true => format!("{MASK} ({} bytes)", value.len()),
        false => text(value),
    }
}

/// Masks secrets and truncates the text.
pub(super) fn text(text: &str) -> String {
    // Process twice the shown length, because masks are shorter than secrets; a megabyte of input
    // costs no more than that.
    let mut safe = text[..text.floor_char_boundary(2 * MAX_VALUE_BYTES)].to_owned();
    for find in [token, bearer, userinfo] {
        safe = masked(&safe, find);
    }
    for word in ASSIGNED {
        safe = masked(&safe, |text| assigned(text, word));
    }
    safe = scrubbed(&safe);
    if text.len() > MAX_VALUE_BYTES {
        safe.truncate(safe.floor_char_boundary(MAX_VALUE_BYTES));
        safe.push_str(&format!("… ({} bytes)", text.len()));
    }
    safe
}

fn scrubbed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in SCRUBBER.find(text).iter().filter(|found| SECRETS.contains(&found.family)) {
        out.push_str(&text[from..found.start]);
        out.push_str(MASK);
        from = found.end;
    }
    out + &text[from..]
}

fn masked(text: &str, find: impl Fn(&str) -> Option<Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(Range { start, end }) = find(rest) {
        out.push_str(&rest[..start]);
        out.push_str(MASK);
        rest = &rest[end..];
    }
    out + rest
}

/// The secret part of a gbrain token.
fn token(text: &str) -> Option<Range<usize>> {
    runs_after(text, TOKEN, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).next()
}

/// The value after `Bearer`, if it is long enough to be a secret rather than a word.
fn bearer(text: &str) -> Option<Range<usize>> {
    let of_a_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    runs_after(text, "bearer ", of_a_token).find(|run| run.len() >= 12)
}

/// The value after `password=` and similar words.
fn assigned(text: &str, word: &str) -> Option<Range<usize>> {
    let of_a_value = |c: char| !c.is_whitespace() && !matches!(c, '&' | ';' | ',' | '[' | '"');
    runs_after(text, word, of_a_value).next()
}

/// The password in `scheme://user:password@host`. It may contain an unescaped slash; a port before
/// a path with an `@` is not a password.
fn userinfo(text: &str) -> Option<Range<usize>> {
    let of_a_url = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '<' | '>');
    runs_after(text, "://", of_a_url).find_map(|run| {
        let before = &text[run.start..run.start + text[run.clone()].rfind('@')?];
        let colon = before.find(':')?;
        let secret = &before[colon + 1..];
        let port = secret.split_once('/').is_some_and(|(port, _)| port.parse::<u16>().is_ok());
        let is_masked = secret.is_empty() || secret == MASK || port;
        (!is_masked).then(|| run.start + colon + 1..run.start + before.len())
    })
}

/// Every non-empty run of matching characters after a word, case-insensitive.
fn runs_after(
    text: &str,
    word: &str,
    is_of_run: impl Fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..(text.len() + 1).saturating_sub(word.len()))
        .filter(move |at| {
            text.as_bytes()[*at..*at + word.len()].eq_ignore_ascii_case(word.as_bytes())
        })
        .map(move |at| at + word.len());
    starts
        .map(move |start| {
            let run = &text[start..];
            start..start + run.find(|c| !is_of_run(c)).unwrap_or(run.len())
        })
        .filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(text(input), expected);
        assert_eq!(text(expected), expected, "masking again changes nothing");
    }

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        check("token gbt_Ab-9_z, then", "token gbt_[redacted], then");
        check("GBT_abc gbt_def", "GBT_[redacted] gbt_[redacted]");
        check("gbt_", "gbt_");
        check("Bearer abcdefghij.klm", "Bearer [redacted]");
        check("the bearer of news", "the bearer of news");
        check("postgres://ada:s3:c@ret@db:5432/x", "postgres://ada:[redacted]@db:5432/x");
        check("at postgres://ada:a/b@db, at", "at postgres://ada:[redacted]@db, at");
        check("http://ada@host/a:b", "http://ada@host/a:b");
        check("http://host:7727/@x", "http://host:7727/@x");
        check("a://b:c@d e://f:g@h", "a://b:[redacted]@d e://f:[redacted]@h");
        check("host=db password=s3cret user=ada", "host=db password=[redacted] user=ada");
        check("/x?api_key=1&Token=2&q=3", "/x?api_key=[redacted]&Token=[redacted]&q=3");
        check("naïve ünïcode 🔑://", "naïve ünïcode 🔑://");
        check("Authorization: BASIC dXNlcjpwYXNz", "Authorization: BASIC [redacted]");
        check("authorization: Token abcdefgh12", "authorization: Token [redacted]");
        check("BEARER\u{a0}abcdefghij0123", "[redacted]");
        check("?password%3Dswordfish", "?password%3D[redacted]");
        check("AKIAIOSFODNN7EXAMPLE in a header", "[redacted] in a header");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let cut = text(&"é".repeat(4_000));
        assert_eq!(cut, format!("{}… (8000 bytes)", "é".repeat(2_048)));
    }

    #[test]
    fn names_of_private_things() {
        for name in ["query", "database_url", "http.authorization", "api_key", "Token", "page.text"]
        {
            assert!(is_private(name), "{name}");
        }
        for name in ["token_id", "query_bytes", "monkey", "operation", "message", "text.len"] {
            assert!(!is_private(name), "{name}");
        }
    }
}
