//! PEM blocks with a private key, also one whose end was cut off.

use memchr::memmem;

use super::sink::Sink;
use super::text::ScannedText;

const DASHES: &str = "-----";
const BEGIN: &str = "-----BEGIN ";
const END: &[u8] = b"-----END ";
const KIND: &str = "PRIVATE KEY";
/// The longest kind in a header: `ENCRYPTED PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`.
const LONGEST_KIND: usize = 40;
/// The fewest characters of a line of base64 in a block without an end.
const LINE: usize = 16;

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    for start in memmem::find_iter(text.bytes, BEGIN) {
        if let Some(end) = header_end(text, start).and_then(|body| block_end(text, body)) {
            sink.offer(start, end);
        }
    }
}

/// Where the header of a private key ends.
fn header_end(text: &ScannedText<'_>, start: usize) -> Option<usize> {
    let kind = start + BEGIN.len();
    let window = &text.bytes[kind..text.bytes.len().min(kind + LONGEST_KIND + DASHES.len())];
    let length = memmem::find(window, DASHES.as_bytes())?;
    memmem::find(&window[..length], KIND.as_bytes())?;
    Some(kind + length + DASHES.len())
}

/// Where a block ends whose body begins at a place.
fn block_end(text: &ScannedText<'_>, body: usize) -> Option<usize> {
    let rest = &text.bytes[body..];
    // Only up to the next dashes: a text of nothing but headers is walked once.
    if let Some(end) = memmem::find(rest, DASHES.as_bytes())
        && rest[end..].starts_with(END)
    {
        let kind = end + END.len();
        let window = &rest[kind..rest.len().min(kind + LONGEST_KIND + DASHES.len())];
        let length = memmem::find(window, DASHES.as_bytes());
        return Some(body + length.map_or(end + END.len(), |length| kind + length + DASHES.len()));
    }
    cut_end(text, body)
}

/// Where the lines of base64 end that follow a header.
fn cut_end(text: &ScannedText<'_>, body: usize) -> Option<usize> {
    let mut end = None;
    let mut at = body;
    loop {
        let line = text.end_of(at, |byte| byte.is_ascii_whitespace() || byte == b'\\');
        let line_end = text.end_of(line, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
        });
        if line_end - line < LINE {
            return end;
        }
        (end, at) = (Some(line_end), line_end);
    }
}
