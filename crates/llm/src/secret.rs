//! A key of a provider: it can be sent, and nothing else.

use std::fmt;

/// A secret text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// A key, without the line end that a file has; none if nothing is left.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The text, for a header.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without the key: providers echo what they were sent.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_nowhere() {
        let key = Secret::new(" sk-abc\n").unwrap();
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.reveal(), "sk-abc");
        assert_eq!(key.hide_in("bad key sk-abc, sk-abc"), "bad key [key], [key]");
        assert_eq!(Secret::new(" \n"), None);
    }
}
