//! Name keys: the form in which two spellings of a whole name are the same.

use super::fold::fold_into;

/// The key of a name: folded, inner whitespace collapsed, quotes and brackets round it and
/// punctuation after it gone. A slug such as `people/ada-quill` is its own key; a text of nothing
/// but punctuation has the empty key, which names nothing.
pub fn name_key(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    let mut key = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(word);
    }
    bare(&key).to_owned()
}

fn bare(key: &str) -> &str {
    let key = key.trim_start_matches(|c: char| is_bracket(c) || c.is_whitespace());
    key.trim_end_matches(|c: char| is_bracket(c) || is_closing(c) || c.is_whitespace())
}

fn is_bracket(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '`'
            | '*'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '<'
            | '>'
            | '«'
            | '»'
            | '「'
            | '」'
    )
}

fn is_closing(c: char) -> bool {
    matches!(c, '?' | '!' | '.' | ',' | ';' | ':' | '。' | '、' | '…')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_by_example() {
        for (text, expected) in [
            ("people/ada-quill", "people/ada-quill"),
            ("  Ada   Quill ", "ada quill"),
            ("“Café Noir”?", "cafe noir"),
            ("[[Ada Quill]]", "ada quill"),
            ("Acme Inc.", "acme inc"),
            ("C++", "c++"),
            ("#123", "#123"),
            ("ＡＢＣ－１２", "abc-12"),
            ("Wiki::People/Ada", "wiki::people/ada"),
            ("?!", ""),
            ("", ""),
        ] {
            assert_eq!(name_key(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(text in any::<String>()) {
            let key = name_key(&text);
            prop_assert_eq!(name_key(&key), key);
        }
    }
}
