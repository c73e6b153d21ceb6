//! JSON web tokens and bearer tokens, as the reference finds them, except that the word has any case
//! and prose (`bearer authentication`) is no token.

use std::sync::LazyLock;

use memchr::memmem;

use super::byte::{is_english, is_url64, is_word};
use super::sink::Sink;
use super::text::ScannedText;

/// The fewest characters of a part of a JSON web token.
const PART: usize = 8;
/// The fewest characters of a bearer token.
const BEARER: usize = 10;
const WORD: &[u8] = b"bearer";

/// The base64 form of `{"`.
static HEADER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("eyJ"));

/// `eyJ` and three parts of base64url joined by dots, at the beginning of a word.
pub(super) fn find_jwt(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut from = 0;
    let beginnings = text.long_words().flat_map(|word| {
        let places = HEADER.find_iter(&text.bytes[word.start..word.end]);
        places.map(move |at| word.start + at)
    });
    for start in beginnings {
        if start < from || is_word(text.before(start)) {
            continue;
        }
        let first = text.end_of(start, is_url64);
        let end = next_part(text, first).and_then(|second| next_part(text, second));
        // Another beginning in the same part would fail for the same reasons.
        from = first;
        if let Some(end) = end.filter(|_| first - start >= PART) {
            sink.offer(start, end);
        }
    }
}

/// Where the part behind a dot ends.
fn next_part(text: &ScannedText<'_>, dot: usize) -> Option<usize> {
    let end = text.end_of(dot + 1, is_url64);
    (text.at(dot) == b'.' && end - dot > PART).then_some(end)
}

/// `Bearer` in any case, blanks, and ten token characters or more that are no English word.
pub(super) fn find_bearer(text: &ScannedText<'_>, sink: &mut Sink) {
    for word in text.words() {
        let may_follow = |bytes: &[u8]| match bytes {
            [.., last, _] => last | 0x20 == b'r' || last.is_ascii_whitespace() || *last == b':',
            _ => false,
        };
        if !may_follow(&text.bytes[..word.start]) {
            continue;
        }
        let Some(start) = scheme_before(text, word.start, WORD) else { continue };
        let end = text.end_of(word.start, is_token);
        let token = &text.bytes[word.start..end];
        if token.len() >= BEARER && !is_english(token) {
            sink.offer(start, end);
        }
    }
}

/// Where the word of a scheme begins that stands, in any case, before the blanks before a place.
pub(super) fn scheme_before(text: &ScannedText<'_>, at: usize, scheme: &[u8]) -> Option<usize> {
    if at == 0 || !text.before(at).is_ascii_whitespace() {
        return None;
    }
    let end = text.start_of(at, 0, |byte| byte.is_ascii_whitespace());
    // `Bearer: abc` is written by mistake and holds the same token.
    let end = if text.before(end) == b':' { end - 1 } else { end };
    let start = end.checked_sub(scheme.len())?;
    let is_scheme = text.bytes[start..end].eq_ignore_ascii_case(scheme);
    (is_scheme && !is_word(text.before(start))).then_some(start)
}

fn is_token(byte: u8) -> bool {
    is_url64(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}
