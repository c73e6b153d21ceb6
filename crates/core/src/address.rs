//! Addresses as settings hold them: they are shown in messages and reports, so no key may be in them.

use std::borrow::Cow;
use std::ops::Range;

/// Names of parameters that hold keys.
const KEYS: [&str; 12] = [
    "key",
    "apikey",
    "api_key",
    "api-key",
    "token",
    "access_token",
    "auth",
    "secret",
    "sig",
    "signature",
    "password",
    "code",
];

/// Why an address can't be used. The address is not repeated, since it may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("is no http(s) address")]
    None,
    /// It contains a user name or a password.
    #[error("holds a user, and addresses are shown")]
    User,
    /// A key is in it.
    #[error("holds a key behind its `?`, and addresses are shown")]
    Key,
}

/// Checks an address over HTTP.
pub fn check(url: &str) -> Result<(), AddressError> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest = rest.ok_or(AddressError::None)?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err(AddressError::User);
    }
    if host.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(AddressError::None);
    }
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let is_key = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        !value.is_empty() && KEYS.contains(&&*name.to_ascii_lowercase())
    };
    if query.split('&').any(is_key) { Err(AddressError::Key) } else { Ok(()) }
}

/// The longest password with a `/`, a `?` or a `#` in it that is looked for, in bytes.
const LONGEST_PASSWORD: usize = 256;

/// A text without the passwords in it: `user:password@host` becomes `user:***@host`, with or without a scheme before it,
/// and `password=secret` becomes `password=***`. Messages quote what a user or a file gave, which may be an address in the
/// wrong place, or one with a mistake in it. So a mail address behind a colon is hidden too (`mailto:***@host`), but no
/// version of a model (`provider:model@20260101`).
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut hidden = passwords_of_urls(text);
    hidden.extend(passwords_before_hosts(text));
    hidden.extend(passwords_of_keywords(text));
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    hidden.sort_by_key(|range| (range.start, range.end));
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for Range { start, end } in hidden {
        // One that overlaps the one before it is a part of the same password.
        if start >= done {
            shown.push_str(&text[done..start]);
            shown.push_str("***");
        }
        done = done.max(end);
    }
    shown.push_str(&text[done..]);
    Cow::Owned(shown)
}

/// Behind `//`, up to the last `@` of the authority. A password may hold quotes; one with a `/` in it goes on to the next
/// `@`, unless it is the number of a port.
fn passwords_of_urls(text: &str) -> Vec<Range<usize>> {
    let password = |(start, _): (usize, &str)| {
        let start = start + 2;
        let address = &text[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#');
        let authority = address.split(ends).next().unwrap_or_default();
        let (user, rest) = authority.split_once(':')?;
        let first = start + user.len() + 1;
        if let Some(at) = rest.rfind('@') {
            return Some(first..first + at);
        }
        let is_port = rest.bytes().all(|byte| byte.is_ascii_digit());
        if is_port || authority.starts_with('[') || user.contains('@') {
            return None;
        }
        let password = &address[user.len() + 1..];
        let password = &password[..password.floor_char_boundary(LONGEST_PASSWORD)];
        let at = password.find(|c: char| c.is_whitespace() || c == '@')?;
        password[at..].starts_with('@').then(|| first..first + at)
    };
    match text.contains('@') {
        true => text.match_indices("//").filter_map(password).collect(),
        false => Vec::new(),
    }
}

/// Between a colon and an `@`, without a blank, a quote or a slash in between.
fn passwords_before_hosts(text: &str) -> Vec<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || "\"'`/?#".contains(c);
    let password = |part: &str| {
        let (before, host) = part.rsplit_once('@')?;
        let host = host.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_version = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit());
        let (user, password) = before.split_once(':')?;
        (!is_version && !password.is_empty()).then(|| user.len() + 1..before.len())
    };
    let mut start = 0;
    let mut found = Vec::new();
    for part in text.split_inclusive(ends) {
        found.extend(password(part).map(|range| start + range.start..start + range.end));
        start += part.len();
    }
    found
}

/// Behind `password=`, as in the keyword strings of PostgreSQL and in the parameters of a URL.
fn passwords_of_keywords(text: &str) -> Vec<Range<usize>> {
    const WORD: &str = "password";
    // In ASCII, so that places in it are places in the text.
    let lower = text.to_ascii_lowercase();
    let password = |(start, _): (usize, &str)| {
        let rest = text[start + WORD.len()..].trim_start().strip_prefix('=')?.trim_start();
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => quoted_value(quoted),
            None => {
                let value = rest.split(|c: char| c.is_whitespace() || c == '&').next()?;
                // The quotes and the punctuation are those of the sentence around it.
                value.trim_end_matches(|c: char| c.is_ascii_punctuation())
            }
        };
        let first = text.len() - rest.len() + usize::from(rest.starts_with('\''));
        (!value.is_empty()).then(|| first..first + value.len())
    };
    lower.match_indices(WORD).filter_map(password).collect()
}

/// The text before the quote that ends it; a quote behind a backslash does not.
fn quoted_value(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let is_end = c == '\'' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let check = |text: &str, expected: &str| assert_eq!(without_passwords(text), expected);
        check("no address", "no address");
        check("https://search.example/a:b", "https://search.example/a:b");
        check("https://ada@search.example", "https://ada@search.example");
        check("is \"ftp://ada:s3cret@h/v1\", no", "is \"ftp://ada:***@h/v1\", no");
        check("//ada:s3@cret@h and //b:x@h", "//ada:***@h and //b:***@h");
        check("http://127.0.0.1:7727/v1/pages/a@b", "http://127.0.0.1:7727/v1/pages/a@b");
        check("http://h/ then postgres://ada:s3cret@h", "http://h/ then postgres://ada:***@h");
        check("//ada:s3/c?ret@h/d and s3\"", "//ada:***@h/d and s3\"");
        check("//ada:s3\"c`ret@h/d", "//ada:***@h/d");
        check("http://h:80/a@b http://[::1]:80/a@b", "http://h:80/a@b http://[::1]:80/a@b");
    }

    #[test]
    fn passwords_of_malformed_addresses_are_not_shown() {
        let check = |text: &str, expected: &str| assert_eq!(without_passwords(text), expected);
        check("ada:s3cret@h/d", "ada:***@h/d");
        check("postgres:ada:s3cret@h/d", "postgres:***@h/d");
        check("https:/ada:s3cret@h", "https:/ada:***@h");
        check("https://a a:s3cret@x.example", "https://a a:***@x.example");
        check("./a:b.d\u{17}ada:s3@cret@h", "./a:***@h");
        check("`ad\":s3cret@h`", "`ad\":***@h`");
        check("größe:s3cret@", "größe:***@");
        check("wiki::people/ada@home", "wiki::people/ada@home");
        check("openai:gpt@20260101, a:b@7", "openai:gpt@20260101, a:b@7");
        check(
            "a: ada@home, {\"a\":\"b\",\"c\":\"d@e\"}",
            "a: ada@home, {\"a\":\"b\",\"c\":\"d@e\"}",
        );
    }

    #[test]
    fn passwords_behind_their_keyword_are_not_shown() {
        let check = |text: &str, expected: &str| assert_eq!(without_passwords(text), expected);
        check("`host=h password=s3cret`", "`host=h password=***`");
        check("PGPASSWORD = 's3 c\\'ret' user=a", "PGPASSWORD = '***' user=a");
        check("h?password=s3cret&a=b", "h?password=***&a=b");
        check("give `password=` or password=...", "give `password=` or password=...");
        check("password=password=s3cret x", "password=*** x");
        check("user=ada:x@h password=s3:c@ret", "user=ada:***@h password=***");
    }

    #[test]
    fn hiding_twice_is_hiding_once() {
        for text in ["//ada:s3@cret@h", "a:b@c password='x y' z", "password=a:b@c", "//a:b/c:d@e@f"]
        {
            let once = without_passwords(text).into_owned();
            assert_eq!(without_passwords(&once), once);
        }
    }

    #[test]
    fn addresses() {
        let check = |url: &str, expected| assert_eq!(super::check(url), expected, "{url}");
        check("https://search.example/v1?team=a&limit=3", Ok(()));
        check("http://127.0.0.1:9", Ok(()));
        check("https://search.example/a@b", Ok(()));
        check("https://u:pw@search.example", Err(AddressError::User));
        check("https://search.example/?a=1&API_KEY=x", Err(AddressError::Key));
        check("https://search.example?token=x#top", Err(AddressError::Key));
        check("ftp://x", Err(AddressError::None));
        check("https:///x", Err(AddressError::None));
        check("https://a b", Err(AddressError::None));
    }
}
