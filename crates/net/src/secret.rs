//! A secret that can be sent but is never printed.

use std::fmt;
use std::path::Path;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Trims the text, e.g. the newline of a file; `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Reads a secret from a file that contains nothing else.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("the file {shown} can't be read ({error})"))?;
        Self::new(&text).ok_or_else(|| format!("the file {shown} is empty"))
    }

    /// The text, to be sent.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Redacts the secret in a text, because servers echo what they receive: as is, percent-encoded
    /// or JSON-escaped.
    pub fn hide_in(&self, text: &str) -> String {
        let escaped = json_escaped(&self.0);
        let forms =
            [self.0.clone(), percent_encoded(&self.0), escaped.replace('/', "\\/"), escaped];
        forms.iter().fold(text.to_owned(), |text, form| text.replace(form, "[key]"))
    }
}

fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// Escapes a text for a JSON string, without the quotes.
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
