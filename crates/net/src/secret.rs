//! A secret: it can be sent, and nothing else.

use std::fmt;
use std::path::Path;

/// A secret text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key, without the line end that a file has; none if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key that is in a file, alone; or why there is none.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("the file {shown} can't be read ({error})"))?;
        Self::new(&text).ok_or_else(|| format!("the file {shown} is empty"))
    }

    /// The text, for a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without the key: others echo what they were sent, also as it stands in a URL or in JSON.
    pub fn hide_in(&self, text: &str) -> String {
        let escaped = json_escaped(&self.0);
        let forms =
            [self.0.clone(), percent_encoded(&self.0), escaped.replace('/', "\\/"), escaped];
        forms.iter().fold(text.to_owned(), |text, form| text.replace(form, "[key]"))
    }
}

/// A text as it stands in the query of a URL.
fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// A text as it stands between the quotes of a JSON string.
fn json_escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
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
        let key = Secret::new("p/w=\"1").unwrap();
        assert_eq!(
            key.hide_in(r#"k=p%2Fw%3D%221, "p\/w=\"1" and p/w="1"#),
            "k=[key], \"[key]\" and [key]"
        );
    }
}
