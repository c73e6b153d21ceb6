//! JSON web tokens and bearer tokens, as the reference finds them.

use std::sync::LazyLock;

use memchr::memmem;

use super::byte::{is_url64, is_word};
use super::sink::Sink;
use super::text::Text;

/// The fewest characters of a part of a JSON web token.
const PART: usize = 8;
/// The fewest characters of a bearer token.
const BEARER: usize = 10;
/// The word without its first letter, which has two cases.
const EARER: &str = "earer";

/// `{"` in base64.
static HEADER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("eyJ"));
static WORD: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(EARER));

/// `eyJ` and three parts of base64url joined by dots, at the beginning of a word.
pub(super) fn find_jwt(text: &Text<'_>, sink: &mut Sink) {
    let mut from = 0;
    let beginnings = text.long_words().iter().flat_map(|word| {
        let places = HEADER.find_iter(&text.bytes[word.start..word.end]);
        places.map(|at| word.start + at)
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
fn next_part(text: &Text<'_>, dot: usize) -> Option<usize> {
    let end = text.end_of(dot + 1, is_url64);
    (text.at(dot) == b'.' && end - dot > PART).then_some(end)
}

/// `Bearer` or `bearer`, blanks, and ten token characters or more.
pub(super) fn find_bearer(text: &Text<'_>, sink: &mut Sink) {
    for rest in WORD.find_iter(text.bytes) {
        if rest == 0 || !matches!(text.bytes[rest - 1], b'b' | b'B') {
            continue;
        }
        let (start, word_end) = (rest - 1, rest + EARER.len());
        let token = text.end_of(word_end, |byte| byte.is_ascii_whitespace());
        let end = text.end_of(token, is_token);
        if !is_word(text.before(start)) && token > word_end && end - token >= BEARER {
            sink.offer(start, end);
        }
    }
}

fn is_token(byte: u8) -> bool {
    is_url64(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}
