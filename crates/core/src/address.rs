//! Addresses as settings hold them: they are shown in messages and reports, so no key may be in them.

use std::borrow::Cow;

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

/// Why an address can't be used. It is not repeated: what is wrong with it may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is none.
    #[error("is no http(s) address")]
    None,
    /// Somebody's name and password are in it.
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

/// A text without the passwords of addresses in it: `//user:password@host` becomes `//user:***@host`. Messages quote
/// what a user or a file gave, which may be an address in the wrong place.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("//") {
        let (before, address) = rest.split_at(start + 2);
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#');
        let authority = address.split(ends).next().unwrap_or_default();
        let user = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        shown.push_str(before);
        rest = match user {
            Some((user, password)) => {
                shown.push_str(user);
                shown.push_str(":***");
                &address[user.len() + 1 + password.len()..]
            }
            None => address,
        };
    }
    match shown.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(shown + rest),
    }
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
