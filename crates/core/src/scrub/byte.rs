//! Classes of bytes, for boundaries and bodies.

/// A letter, a digit or an underscore; bytes of characters beyond ASCII are none of them.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A character of base64url.
pub(super) fn is_url64(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// A space or a tab: what may separate groups of digits. Lines are kept apart.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Whether `window` ends with `word`, ignoring case. `word` is lower-case.
pub(super) fn ends_with_word(window: &[u8], word: &str) -> bool {
    window.len() >= word.len()
        && window[window.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
}

/// Endings of English words of ten letters or more: what follows a scheme's word in prose.
const ENDINGS: [&str; 40] = [
    "tion", "tions", "sion", "sions", "ment", "ments", "ness", "ity", "ities", "ing", "ings",
    "ence", "ences", "ance", "ances", "ency", "encies", "icate", "icates", "ated", "able", "ible",
    "ally", "ively", "ship", "ships", "tial", "tials", "ture", "tures", "ology", "ologies", "ism",
    "isms", "ative", "atives", "ized", "ator", "ators", "holders",
];

/// Whether a token is an ordinary word, in one case or with a capital, also a few joined by dashes.
pub(super) fn is_english(token: &[u8]) -> bool {
    let token = token.strip_suffix(b".").unwrap_or(token);
    let is_part = |part: &[u8]| {
        !part.is_empty()
            && (part[1..].iter().all(u8::is_ascii_lowercase) && part[0].is_ascii_alphabetic()
                || part.iter().all(u8::is_ascii_uppercase))
    };
    let last = token.rsplit(|byte| *byte == b'-').next().unwrap_or(token);
    token.split(|byte| *byte == b'-').all(is_part)
        && ENDINGS.iter().any(|ending| ends_with_word(last, ending))
}
