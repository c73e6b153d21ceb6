//! Templates: `{{key}}` is replaced once by the key's value, verbatim.
//!
//! No escaping, no nesting, no recursion: one pass over the template, so that a value that contains
//! `{{other}}` stays as it is.

use super::vars::is_key;

/// A template with its variables filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPrompt {
    pub text: String,
    /// Keys without a value, each once, in order; their placeholders stay in the text.
    pub unset: Vec<String>,
}

/// Replaces the placeholders for which `value` returns a value.
pub fn render<'v>(template: &str, value: impl Fn(&str) -> Option<&'v str>) -> RenderedPrompt {
    let mut text = String::with_capacity(template.len());
    let mut unset: Vec<String> = Vec::new();
    for piece in pieces(template) {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Key { key, as_written } => match value(key) {
                Some(value) => text.push_str(value),
                None => {
                    text.push_str(as_written);
                    if !unset.iter().any(|known| known == key) {
                        unset.push(key.to_owned());
                    }
                }
            },
        }
    }
    RenderedPrompt { text, unset }
}

/// The placeholders of a template, each once, in order.
pub fn placeholders(template: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    for piece in pieces(template) {
        if let Piece::Key { key, .. } = piece
            && !keys.contains(&key)
        {
            keys.push(key);
        }
    }
    keys
}

enum Piece<'a> {
    Text(&'a str),
    Key { key: &'a str, as_written: &'a str },
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(open) = template[at..].find("{{").map(|found| at + found) {
        match key_at(&template[open + 2..]) {
            Some(key) => {
                let end = open + 2 + key.len() + 2;
                pieces.push(Piece::Text(&template[start..open]));
                pieces.push(Piece::Key { key, as_written: &template[open..end] });
                (start, at) = (end, end);
            }
            None => at = open + 1,
        }
    }
    pieces.push(Piece::Text(&template[start..]));
    pieces
}

fn key_at(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))?;
    let key = &rest[..end];
    (rest[end..].starts_with("}}") && is_key(key)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expected: &str, unset: &[&str]) {
        let values = [("x", "1"), ("y", "{{x}}"), ("long-key.2", "é")];
        let rendered = render(template, |key| {
            values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
        });
        assert_eq!(
            (rendered.text.as_str(), rendered.unset),
            (expected, unset.iter().map(|&s| s.to_owned()).collect())
        );
    }

    #[test]
    fn one_pass_over_the_template() {
        check("", "", &[]);
        check("a {{x}} b", "a 1 b", &[]);
        check("{{y}}{{x}}", "{{x}}1", &[]);
        check("{{{x}}}", "{1}", &[]);
        check("{{long-key.2}}", "é", &[]);
        check("{{z}} {{z}} {{w}}", "{{z}} {{z}} {{w}}", &["z", "w"]);
        check("{{ x }} {{x} {{}} {{x", "{{ x }} {{x} {{}} {{x", &[]);
        check("ü{{x}}ü{{", "ü1ü{{", &[]);
    }

    #[test]
    fn keys_in_order_each_once() {
        assert_eq!(placeholders("{{b}} {{a}} {{b}} {{1}}"), ["b", "a"]);
    }
}
