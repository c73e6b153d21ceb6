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

/// Whether `window` ends with `word`, whatever its case. `word` is lower-case.
pub(super) fn ends_with_word(window: &[u8], word: &str) -> bool {
    window.len() >= word.len()
        && window[window.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
}
