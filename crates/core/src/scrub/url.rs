//! URLs with a password: `scheme://user:password@host`, up to the end of the host and port.

use memchr::{memchr, memmem, memrchr};

use super::sink::Sink;
use super::text::ScannedText;

/// The longest scheme that is looked for (`mongodb+srv` has 11 characters).
const LONGEST_SCHEME: usize = 24;

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    for colon in memmem::find_iter(text.bytes, "://") {
        let floor = colon.saturating_sub(LONGEST_SCHEME);
        let start = text.start_of(colon, floor, is_scheme);
        let authority = colon + "://".len();
        let end = text.end_of(authority, is_authority);
        if start < colon && has_password(&text.bytes[authority..end]) {
            sink.offer(
                start,
                text.start_of(end, authority, |byte| matches!(byte, b'.' | b',' | b')')),
            );
        }
    }
}

/// A scheme is ASCII, so that a range begins on a character.
fn is_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-')
}

fn is_authority(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
        && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
}

/// Whether there is a password before the last `@`, and not the place of one.
fn has_password(authority: &[u8]) -> bool {
    let Some(at) = memrchr(b'@', authority) else { return false };
    let Some(colon) = memchr(b':', &authority[..at]) else { return false };
    let password = &authority[colon + 1..at];
    let is_place = |byte: &u8| matches!(byte, b'$' | b'{' | b'[' | b'*' | b'%');
    at + 1 < authority.len() && password.first().is_some_and(|byte| !is_place(byte))
}
